"""Word vectors as they were downloaded: a file is made a store once, in the cache folder.

    open_vectors("crawl.vectors")            a store opens at once
    open_vectors("crawl-300d-2M.vec.gz")     a file is converted the first time, then found again

The store is named by the content of the file: one that was moved or renamed is found again, one
that was changed is converted anew, and so is a store that was damaged. The folder is `vectors` in
$MTGAUGE_CACHE, or else in the user's cache folder; what lies there may be deleted. Words are kept
in lower case, as they are looked up.
"""

from __future__ import annotations

import functools
import shutil
import sys
from pathlib import Path

from mtgauge.data.output import cache_folder
from mtgauge.data.seal import sha256_of
from mtgauge.encode.words.store import WordVectors
from mtgauge.errors import ResourceError, UsageError


def open_vectors(where: str | Path) -> WordVectors:
    """A store, or the store of a word-vector file (.vec, .txt, .bin, each may be .gz)."""
    path = Path(where).expanduser()
    if not path.is_file():
        return WordVectors.open(where)
    about = path.stat()
    key = (path.resolve(), about.st_size, about.st_mtime_ns)
    store = _store_of(*key)
    try:
        return WordVectors.open(store)
    except ResourceError:  # damaged since, or of an older version: it is ours to make again
        shutil.rmtree(store, ignore_errors=True)
        _store_of.cache_clear()
        return WordVectors.open(_store_of(*key))


@functools.lru_cache(maxsize=64)
def _store_of(path: Path, size: int, changed: int) -> Path:
    """The folder of the file's store, made if it is not there; size and time tell a new file."""
    from mtgauge.encode.words.files import convert

    folder = cache_folder() / "vectors"
    store = folder / f"{sha256_of(path)[:16]}.vectors"
    if (store / "header.json").is_file():
        return store
    print(f"mtgauge: converting {path.name} into {store}, once ...", file=sys.stderr, flush=True)
    try:
        convert(path, store, lowercase=True)
    except UsageError:
        if not (store / "header.json").is_file():  # else another process was faster
            raise
    return store
