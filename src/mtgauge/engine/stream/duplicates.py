"""Which records stood before: exactly, and in bounded memory, whatever the size of the corpus.

    find(keys, n, folder, Path("duplicate.bits"))
    bits = Bits(Path("duplicate.bits")); bits[7]         whether record 7 repeats an earlier one

A record's key is a hash of 128 bits of its texts (data/seal.py): among ten billion different texts
the chance that two share one is below 1 in 10^18. One pass over the input appends (hash, place), 24
bytes, to one of 256 files by the first byte of the hash. Equal texts meet in one file, which is
sorted in memory; all but the first place of each hash are marked. A file of more than `MOST`
entries is split once more by the next byte. The marks are one bit per record on disk, read through
a memory map. So 10^8 records take 2.4 GB of disk while it works and 12.5 MB afterwards, and memory
for `MOST` entries (about 250 MB) at most.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

MOST = 4_000_000
_ENTRY = np.dtype([("high", "<u8"), ("low", "<u8"), ("place", "<u8")])
_BLOCK = 250_000  # entries that wait in memory
Entries = NDArray[np.void]


def find(keys: Iterable[tuple[int, bytes]], folder: Path, marks: Path, most: int = MOST) -> None:
    """Write `marks`: bit `place` is 1 where the same key came with a smaller place.

    `folder` is for the files that are needed meanwhile; places grow from one key to the next.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():  # of a run that was killed
        old.unlink()
    size = 0
    waiting: list[tuple[int, bytes]] = []
    for item in keys:
        waiting.append(item)
        size = item[0] + 1
        if len(waiting) == _BLOCK:
            _spread(_entries(waiting), folder, "", 0)
            waiting = []
    _spread(_entries(waiting), folder, "", 0)
    draft = marks.with_name(marks.name + ".draft")
    with draft.open("wb") as stream:
        stream.truncate(max(1, (size + 7) // 8))
    bits = np.memmap(draft, dtype=np.uint8, mode="r+")
    for file in sorted(folder.iterdir()):
        _mark(file, bits, 1, most)
    bits.flush()
    del bits
    folder.rmdir()
    draft.replace(marks)


def _entries(items: Sequence[tuple[int, bytes]]) -> Entries:
    found = np.empty(len(items), _ENTRY)
    hashes = np.frombuffer(b"".join(digest for _, digest in items), "<u8").reshape(-1, 2)
    found["high"], found["low"] = hashes[:, 0], hashes[:, 1]
    found["place"] = [place for place, _ in items]
    return found


def _spread(entries: Entries, folder: Path, stem: str, level: int) -> None:
    """Append entries to files by one byte of their hash."""
    parts = (entries["high"] >> np.uint64(8 * level)) & np.uint64(255)
    order = np.argsort(parts, kind="stable")
    borders = np.searchsorted(parts[order], np.arange(257))
    for part in range(256):
        rows = order[borders[part] : borders[part + 1]]
        if len(rows):
            with (folder / f"{stem}{part:02x}").open("ab") as stream:
                stream.write(entries[rows].tobytes())


def _mark(file: Path, bits: NDArray[np.uint8], level: int, most: int) -> None:
    many = file.stat().st_size // _ENTRY.itemsize
    if many > most and level < 8:
        with file.open("rb") as stream:
            while len(block := np.fromfile(stream, _ENTRY, _BLOCK)):
                _spread(block, file.parent, file.name, level)
        file.unlink()
        for part in sorted(file.parent.glob(f"{file.name}??")):
            _mark(part, bits, level + 1, most)
        return
    entries = np.fromfile(file, _ENTRY)
    file.unlink()
    entries = entries[np.lexsort((entries["place"], entries["low"], entries["high"]))]
    same = (entries["high"][1:] == entries["high"][:-1]) & (
        entries["low"][1:] == entries["low"][:-1]
    )
    places = entries["place"][1:][same]
    np.bitwise_or.at(
        bits, places >> np.uint64(3), np.uint8(1) << (places & np.uint64(7)).astype(np.uint8)
    )


class Bits:
    """Marks on disk, by place."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as stream:
            self._map = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)

    def __getitem__(self, place: int) -> bool:
        byte = place >> 3
        return byte < len(self._map) and bool(self._map[byte] >> (place & 7) & 1)
