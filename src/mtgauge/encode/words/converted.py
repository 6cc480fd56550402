"""Word vectors as they were downloaded: a file is made a store once, in the cache folder.

    open_vectors("crawl.vectors")            a store opens at once
    open_vectors("crawl-300d-2M.vec.gz")     a file is converted the first time, then found again

The store is named by the content of the file: one that was moved or renamed is found again, one
that was changed is converted anew. The folder is `vectors` in $MTGAUGE_CACHE, or else in the user's
cache folder; what lies there may be deleted. Words are kept in lower case, as they are looked up.
"""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import sys
import tempfile
from pathlib import Path

from mtgauge.data.output import cache_folder, make_folder
from mtgauge.encode.words.store import WordVectors


def open_vectors(where: str | Path) -> WordVectors:
    """A store, or the store of a word-vector file (.vec, .txt, .bin, each may be .gz)."""
    path = Path(where).expanduser()
    if not path.is_file():
        return WordVectors.open(where)
    about = path.stat()
    return WordVectors.open(_store_of(path.resolve(), about.st_size, about.st_mtime_ns))


@functools.lru_cache(maxsize=64)
def _store_of(path: Path, size: int, changed: int) -> Path:
    """The folder of the file's store, made if it is not there; size and time tell a new file."""
    from mtgauge.encode.words.files import convert

    with path.open("rb") as handle:
        digest = hashlib.file_digest(handle, "sha256").hexdigest()[:16]
    folder = cache_folder() / "vectors"
    store = folder / f"{digest}.vectors"
    if (store / "header.json").is_file():
        return store
    print(f"mtgauge: converting {path.name} into {store}, once ...", file=sys.stderr, flush=True)
    make_folder(folder)
    scratch = Path(tempfile.mkdtemp(dir=folder, prefix="unfinished-"))
    try:
        convert(path, scratch / "store", lowercase=True)
        try:
            os.replace(scratch / "store", store)
        except OSError:  # another process was faster
            if not (store / "header.json").is_file():
                raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return store
