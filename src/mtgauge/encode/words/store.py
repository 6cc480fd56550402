"""Static word vectors in a memory-mapped store, made once from any common file.

    convert("crawl-300d-2M.vec.gz", "crawl.vectors")          # once; files.py tells formats
    vectors = WordVectors.open("crawl.vectors")                   # at once, whatever the size
    rows = vectors.rows(["cat", "dog"])                       # -1 for a word that is not there
    vectors.take(rows)                                        # (2, d) float32
    WordVectors.embedded("de")                                    # compact vectors in the package

A store is a folder:

    header.json     format, words, dimensions, dtype, origin, subword settings, digests of files
    vectors.npy     (words, d) float16; float32 where that stays below 64 MiB; or int8, then with
                    scales.npy (one float32 per word)
    hashes.npy      sorted 64-bit hashes of the words;  rows.npy: the row of each hash
    words.txt       the words, one per line;  starts.npy: where each line begins
    buckets.npy     fastText's subword vectors, float16, where the model has them

Opening a store checks its digests (a large one once, until a file changes: `data/seal.py`). Then
only the pages that are asked for are read, and a word is found by a binary search in the hashes,
then compared with its line in words.txt. A store is written beside its place and renamed: it is
whole or not there.

Limits: float16 keeps three digits, int8 two; a word with a line feed in it is not stored.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mtgauge.data.output import make_folder
from mtgauge.data.scratch import Scratch
from mtgauge.data.seal import is_whole, sha256_of
from mtgauge.encode.card import TEXT, Field, check_fields, read_object, whole
from mtgauge.errors import InputError, LanguageError, ResourceError, UsageError
from mtgauge.models import shipped

FORMAT = "mtgauge-vectors-2"
HEADER = {
    "words": whole(1, 2**31),
    "dimensions": whole(1),
    "dtype": Field(
        "float32, float16 or int8", lambda value, _: value in ("float32", "float16", "int8")
    ),
    "fingerprint": TEXT,
    "digests": Field(
        "an object of file names and their SHA-256",
        lambda value, _: (
            isinstance(value, dict)
            and all(isinstance(digest, str) and len(digest) == 64 for digest in value.values())
        ),
    ),
    "subwords": Field(
        "an object with minn, maxn and bucket, or null",
        lambda value, _: (
            value is None
            or (
                isinstance(value, dict)
                and sorted(value) == ["bucket", "maxn", "minn"]
                and all(type(number) is int for number in value.values())
            )
        ),
        required=False,
    ),
}
EMBEDDED = shipped("vectors")
Dtype = Literal["auto", "float32", "float16", "int8"]
Float32 = NDArray[np.float32]
Int = NDArray[np.int64]
_ROWS = 65_536  # rows that are worked on at once
_LARGEST_HALF = 65_504.0
_SMALL = 64 * 2**20  # bytes of float32 that are not worth a loss of digits
_FILES = ("vectors.npy", "hashes.npy", "rows.npy", "starts.npy", "words.txt")


class WordVectors:
    """An open store. `header` says what is in it; nothing is read before it is asked for."""

    def __init__(self, folder: Path, header: dict[str, Any]) -> None:
        self.folder, self.header = folder, header
        self.dimensions: int = header["dimensions"]
        self._check_files()
        self._values = self._map("vectors")
        self._scales = self._map("scales") if self._has("scales") else None
        self._hashes, self._rows = self._map("hashes"), self._map("rows")
        self._starts = self._map("starts")
        self._words = np.memmap(folder / "words.txt", dtype=np.uint8, mode="r")
        self._subwords = header.get("subwords")
        self._buckets = self._map("buckets") if self._has("buckets") else None
        self._check()

    @classmethod
    def open(cls, folder: str | Path) -> WordVectors:
        path = Path(folder)
        remedy = f"Make a store of your vector file with: mtgauge vectors convert {folder} -o DIR"
        if not path.exists():
            raise ResourceError(
                f"There are no word vectors at {folder}: no such file or folder. Name a file "
                "(.vec, .txt, .bin, also .gz), or a store that mtgauge vectors convert has made."
            )
        header_file = path / "header.json"
        if not header_file.is_file():
            raise ResourceError(f"{folder} is not a store of word vectors. {remedy}.")
        header = read_object(header_file)
        if header.get("format") != FORMAT:
            raise ResourceError(f"{folder} is not of the format {FORMAT}. {remedy}.")
        check_fields(header, HEADER, header_file)
        return cls(path, header)

    @classmethod
    def embedded(cls, lang: str) -> WordVectors:
        """The compact vectors that come with mtgauge; an error says which languages there are."""
        if not (EMBEDDED / lang / "header.json").is_file():
            raise LanguageError(
                f"mtgauge has no word vectors of its own for {lang!r} (it has "
                f"{', '.join(embedded_languages()) or 'none'}). Get vectors of that language, for "
                "example from fasttext.cc, and make a store of them: "
                "mtgauge vectors convert FILE -o DIR; then score with std:vectors=DIR."
            )
        return cls.open(EMBEDDED / lang)

    def __len__(self) -> int:
        return len(self._values)

    @property
    def fingerprint(self) -> str:
        """Eight digits that change with the content, for signatures."""
        return str(self.header["fingerprint"])

    @property
    def has_subwords(self) -> bool:
        return self._buckets is not None

    def rows(self, words: Sequence[str]) -> Int:
        """Row of each word, -1 where there is none."""
        keys = np.array([_hash(word) for word in words], dtype=np.uint64)
        at = np.searchsorted(self._hashes, keys)
        at[at == len(self._hashes)] = 0
        found = np.where(self._hashes[at] == keys, self._rows[at].astype(np.int64), -1)
        for i in np.flatnonzero(found >= 0).tolist():  # equal hashes are not yet equal words
            if self.word(int(found[i])) != words[i]:
                found[i] = -1
        return found

    def word(self, row: int) -> str:
        """The word of a row."""
        piece = self._words[self._starts[row] : self._starts[row + 1] - 1]
        return bytes(piece).decode("utf-8")

    def words(self) -> Iterator[str]:
        """All words, in the order of the file they came from."""
        return (self.word(row) for row in range(len(self)))

    def take(self, rows: Int) -> Float32:
        """The vectors of the given rows."""
        values: Float32 = self._values[rows].astype(np.float32)
        if self._scales is not None:
            values *= self._scales[rows][:, None]
        return values

    def subword_vectors(self, words: Sequence[str]) -> Float32:
        """What fastText makes of words outside its vocabulary: the mean of their subwords."""
        from mtgauge.encode.words.fasttext import subword_buckets

        out = np.zeros((len(words), self.dimensions), dtype=np.float32)
        if self._buckets is None or self._subwords is None:
            return out
        for i, word in enumerate(words):
            rows = subword_buckets(word, **self._subwords)
            if rows:
                out[i] = self._buckets[rows].astype(np.float32).mean(axis=0)
        return out

    def _map(self, name: str) -> NDArray[Any]:
        file = self.folder / f"{name}.npy"
        try:
            mapped: NDArray[Any] = np.load(file, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError) as error:
            raise ResourceError(
                f"The store of word vectors {self.folder} is damaged at {file.name} ({error}). "
                "Make it again with: mtgauge vectors convert."
            ) from None
        return mapped

    def _check_files(self) -> None:
        """Refuse a store of which a file is not what was written."""
        extra = [f"{name}.npy" for name in ("scales", "buckets") if self._has(name)]
        for name in (*_FILES, *extra):
            try:
                whole = is_whole(self.folder / name, self.header["digests"].get(name, "none"))
            except OSError:
                whole = False
            if not whole:
                raise ResourceError(
                    f"The store of word vectors {self.folder} is damaged: {name} is not what was "
                    "written. Make it again with: mtgauge vectors convert."
                )

    def _has(self, name: str) -> bool:
        return bool(
            self.header["dtype"] == "int8" if name == "scales" else self.header.get("subwords")
        )

    def _check(self) -> None:
        n = self.header["words"]
        shapes = (self._values.shape, self._rows.shape, self._hashes.shape, self._starts.shape)
        if shapes != ((n, self.dimensions), (n,), (n,), (n + 1,)):
            raise ResourceError(
                f"The store of word vectors {self.folder} is not whole: {n} words of "
                f"{self.dimensions} dimensions are promised, but its arrays have shapes {shapes}. "
                "Make it again with: mtgauge vectors convert."
            )


def embedded_languages() -> list[str]:
    return sorted(file.parent.name for file in EMBEDDED.glob("*/header.json"))


def write_store(
    folder: str | Path,
    words: Sequence[str],
    values: NDArray[Any],
    *,
    dtype: Dtype = "auto",
    origin: str = "",
    subwords: dict[str, int] | None = None,
    buckets: NDArray[Any] | None = None,
    made_of: str = "",
) -> WordVectors:
    """Write a store; `values` (words, d) may itself be memory-mapped, it is read in blocks.

    `made_of` is a digest of the file and the options behind it, kept in the header.
    """
    if dtype == "auto":
        dtype = "float32" if 4 * values.size <= _SMALL else "float16"
    target = Path(folder)
    make_folder(target.absolute().parent)
    with Scratch(beside=target) as scratch:
        path = Path(scratch) / "store"
        path.mkdir()
        facts = {"origin": origin, "made_of": made_of, "subwords": subwords}
        _write_files(path, words, values, dtype, facts, buckets)
        try:
            if target.is_dir():
                target.rmdir()  # an empty one may stand there
            os.replace(path, target)
        except OSError:
            raise UsageError(f"{folder} is there already: name a new folder.") from None
    return WordVectors.open(target)


def _write_files(
    path: Path,
    words: Sequence[str],
    values: NDArray[Any],
    dtype: Dtype,
    facts: dict[str, Any],
    buckets: NDArray[Any] | None,
) -> None:
    hashes = np.fromiter((_hash(word) for word in words), np.uint64, len(words))
    order = np.argsort(hashes, kind="stable")
    twice = np.flatnonzero(np.diff(hashes[order]) == 0)
    if len(twice):
        raise InputError(f"the word {words[int(order[twice[0]])]!r} is there twice")
    lines = [word.encode("utf-8") + b"\n" for word in words]
    starts = np.concatenate([[0], np.cumsum([len(line) for line in lines])]).astype(np.uint32)
    (path / "words.txt").write_bytes(b"".join(lines))
    digest = _write_values(path, values, dtype)
    np.save(path / "hashes.npy", hashes[order])
    np.save(path / "rows.npy", order.astype(np.uint32))
    np.save(path / "starts.npy", starts)
    if buckets is not None:
        digest.update(_write_blocks(path / "buckets.npy", buckets, np.dtype(np.float16)))
    digest.update(b"".join(lines))
    header = {
        "format": FORMAT,
        "words": len(words),
        "dimensions": int(values.shape[1]),
        "dtype": dtype,
        **facts,
        "fingerprint": digest.hexdigest()[:8],
        "digests": {file.name: sha256_of(file) for file in sorted(path.iterdir())},
    }
    text = json.dumps(header, ensure_ascii=False, indent=1) + "\n"
    (path / "header.json").write_text(text, encoding="utf-8")


def _hash(word: str) -> int:
    return int.from_bytes(hashlib.blake2b(word.encode("utf-8"), digest_size=8).digest(), "little")


def _write_values(path: Path, values: NDArray[Any], dtype: Dtype) -> hashlib._Hash:
    digest = hashlib.sha256()
    if dtype != "int8":
        digest.update(_write_blocks(path / "vectors.npy", values, np.dtype(dtype)))
        return digest
    scales = np.empty(len(values), dtype=np.float32)
    for start in range(0, len(values), _ROWS):
        largest = np.abs(np.asarray(values[start : start + _ROWS], dtype=np.float32)).max(axis=1)
        scales[start : start + _ROWS] = np.where(largest > 0, largest / 127.0, 1.0)
    digest.update(_write_blocks(path / "vectors.npy", values, np.dtype(np.int8), scales))
    np.save(path / "scales.npy", scales)
    digest.update(scales.tobytes())
    return digest


def _write_blocks(
    file: Path, values: NDArray[Any], dtype: np.dtype[Any], scales: Float32 | None = None
) -> bytes:
    """Save in blocks, so that no second copy of a large matrix is ever in memory.

    Through the file and not through a map: a disk that is full is then an error, not a signal.
    """
    digest = hashlib.sha256()
    about = {"descr": dtype.str, "fortran_order": False, "shape": values.shape}
    with file.open("wb") as out:
        np.lib.format.write_array_header_1_0(out, about)
        for start in range(0, len(values), _ROWS):
            block = np.asarray(values[start : start + _ROWS], dtype=np.float32)
            if scales is not None:
                block = np.rint(block / scales[start : start + _ROWS, None])
            elif dtype == np.float16 and block.size and np.abs(block).max() > _LARGEST_HALF:
                raise InputError("a value is too large for float16: use --dtype float32")
            data = block.astype(dtype).tobytes()
            out.write(data)
            digest.update(data)
    return digest.digest()
