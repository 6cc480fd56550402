"""fastText's binary models (.bin): word vectors and the subword vectors behind them.

    model = read("cc.de.300.bin")          # words, matrix (words + buckets, d), subword settings
    subword_buckets("Haus", minn=5, maxn=5, bucket=2_000_000)

A word's vector is the mean of its own row and of the rows of its character n-grams (minn to maxn
characters of "<word>"); an n-gram's row is its FNV-1a hash modulo the number of buckets. A word
outside the vocabulary has its n-grams alone.

Limits: dense models only (not the quantised .ftz), format 11 and 12, as fastText writes since 2017.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mtgauge.errors import InputError

MAGIC = 793712314
_WORD = 0  # entry type; 1 is a label of a classifier


@dataclass(frozen=True)
class FastTextModel:
    words: list[str]
    matrix: NDArray[np.float32]  # memory-mapped: words first, then buckets
    minn: int
    maxn: int
    bucket: int

    def vectors(self, rows: range) -> NDArray[np.float32]:
        """Full vectors (own row and subwords) of the given words."""
        out = np.empty((len(rows), self.matrix.shape[1]), dtype=np.float32)
        for k, row in enumerate(rows):
            subwords = subword_buckets(self.words[row], self.minn, self.maxn, self.bucket)
            at = [row, *(len(self.words) + b for b in subwords)]
            out[k] = self.matrix[at].mean(axis=0)
        return out


def subword_buckets(word: str, minn: int, maxn: int, bucket: int) -> list[int]:
    """Bucket numbers of the character n-grams of a word."""
    if word == "</s>" or bucket <= 0 or maxn <= 0:
        return []
    characters = [c.encode("utf-8") for c in f"<{word}>"]
    out = []
    for start in range(len(characters)):
        value = 2166136261
        for end in range(start, min(start + maxn, len(characters))):
            for byte in characters[end]:
                signed = byte if byte < 128 else byte | 0xFFFFFF00  # a C char is signed
                value = ((value ^ signed) * 16777619) & 0xFFFFFFFF
            size = end - start + 1
            edge = size == 1 and (start == 0 or end == len(characters) - 1)
            if size >= minn and not edge:
                out.append(value % bucket)
    return out


def read(path: str | Path) -> FastTextModel:
    """Open a dense fastText model; only its dictionary is read into memory."""
    file = Path(path)
    try:
        return _read(file)
    except (struct.error, IndexError):
        raise InputError(
            "the fastText model ends too early", file=file, remedy="Download it again."
        ) from None


def _read(file: Path) -> FastTextModel:
    data: Any = np.memmap(file, dtype=np.uint8, mode="r")
    magic, version, dim = struct.unpack("<3i", data[:12].tobytes())
    settings = struct.unpack("<11i", data[12:56].tobytes())
    bucket, minn, maxn = settings[7], settings[8], settings[9]
    if magic != MAGIC or version not in (11, 12) or dim <= 0:
        raise InputError("this is not a fastText model of format 11 or 12", file=file)
    if version == 11 and settings[6] == 3:
        maxn = 0  # classifiers of that format had no subwords
    at = 64  # 12 numbers of 4 bytes, two of the format, one of 8 bytes
    size, n_words, _ = struct.unpack("<3i", data[at : at + 12].tobytes())
    pruned = struct.unpack("<q", data[at + 20 : at + 28].tobytes())[0]
    at += 28
    words = []
    for _ in range(size):
        end = at + int(np.argmin(data[at : at + 4096]))  # the next zero byte
        if data[end] != 0:
            raise InputError("a word of the dictionary does not end", file=file)
        text = data[at:end].tobytes().decode("utf-8", errors="replace")
        if data[end + 9] == _WORD:
            words.append(text)
        at = end + 10
    if pruned > 0 or data[at] != 0:
        raise InputError("quantised fastText models (.ftz) cannot be read", file=file)
    rows, columns = struct.unpack("<2q", data[at + 1 : at + 17].tobytes())
    at += 17
    if columns != dim or rows != n_words + bucket or at + 4 * rows * columns > len(data):
        raise InputError(
            f"the model promises {rows} rows of {columns} numbers and holds fewer",
            file=file,
            remedy="Download it again.",
        )
    matrix: Any = np.memmap(file, dtype="<f4", mode="r", offset=at, shape=(rows, columns))
    return FastTextModel(words, matrix, minn, maxn, bucket)
