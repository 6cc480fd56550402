"""Whether a knowledge base is finished and still what was written.

    seal(path)              at the end of a build
    is_sealed(path)         when it is opened: False if it is unfinished, damaged or changed since

The digest stands in the file itself, so that it moves with it: in two fields of SQLite's header
that are left to applications (user_version at byte 60, application_id at byte 68). SQLite's
counters of changes (24 and 92) and of schemas (40) are set to 1, so that the same content is the
same bytes, however often the build was broken off.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from mtgauge.data.seal import is_whole

_HEADER = 100
_HIGH, _LOW = slice(60, 64), slice(68, 72)
_COUNTERS = (slice(24, 28), slice(40, 44), slice(92, 96))
_ONE = (1).to_bytes(4, "big")


def seal(path: Path) -> None:
    """Write the digest of a file that nobody has open into its header."""
    with path.open("r+b") as handle:
        header = bytearray(handle.read(_HEADER))
        for field in _COUNTERS:
            header[field] = _ONE
        handle.seek(0)
        handle.write(header)
    digest = bytes.fromhex(_digest(path))
    header[_HIGH], header[_LOW] = digest[:4], digest[4:8]
    with path.open("r+b") as handle:
        handle.write(header)


def is_sealed(path: Path) -> bool:
    """Whether the file is, byte for byte, what `seal` left."""
    with path.open("rb") as handle:
        header = handle.read(_HEADER)
    return is_whole(path, (header[_HIGH] + header[_LOW]).hex(), _digest)


def _digest(path: Path) -> str:
    """SHA-256 of a file in which the fields of the digest are zero."""
    with path.open("rb") as handle:
        header = bytearray(handle.read(_HEADER))
        header[_HIGH] = header[_LOW] = bytes(4)
        made = hashlib.sha256(header)
        while block := handle.read(1 << 20):
            made.update(block)
    return made.hexdigest()
