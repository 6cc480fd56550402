"""Word-vector files of other programs, read once and kept as a store (`store.py`).

    convert("GoogleNews-vectors-negative300.bin.gz", "news.vectors", lowercase=True)

Formats are told apart by their content: word2vec text (`N d`, then `word v1 ... vd`; fastText's
.vec is the same), GloVe text (no first line), word2vec binary, fastText .bin with its subwords;
each may be .gz. Values go to disk as they are read: memory is needed for the words alone.

Words that occur twice count once, the first time; words that are not UTF-8 are left out. Both are
counted. Damaged, truncated and mixed-dimension files are refused with the line.
"""

from __future__ import annotations

import gzip
import hashlib
import shutil
import struct
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from mtgauge.data.scratch import Scratch
from mtgauge.data.seal import sha256_of
from mtgauge.encode.words import fasttext
from mtgauge.encode.words.store import Dtype, WordVectors, write_store
from mtgauge.errors import InputError, MtgaugeError, UsageError

Float32 = NDArray[np.float32]


@dataclass
class FileRows:
    """What a reader yields from: word and vector by line, in the order of the file."""

    file: Path
    dimensions: int
    pairs: Iterator[tuple[int, str | None, Float32]]  # line, word (None: not UTF-8), vector


@dataclass
class Conversion:
    """The store that was made, and counts of what was left out."""

    store: WordVectors
    notes: Counter[str] = field(default_factory=Counter)


def convert(
    file: str | Path,
    folder: str | Path,
    *,
    dtype: Dtype = "auto",
    lowercase: bool = False,
    vocabulary: Collection[str] | None = None,
    limit: int | None = None,
    progress: Callable[[int], object] | None = None,
) -> Conversion:
    """Make a store of a word-vector file.

    lowercase: keep each word under its lower-case form, the first of equals (files list frequent
    words first). vocabulary: keep these words alone. limit: keep the first so many. A store that
    this very conversion made is kept; anything else in the folder is refused.
    """
    path = Path(file)
    if not path.is_file():
        raise InputError("there is no such file", file=file)
    kept = None if vocabulary is None else sorted(vocabulary)
    options = repr((dtype, lowercase, kept, limit)).encode("utf-8", "surrogatepass")
    made_of = hashlib.sha256(sha256_of(path).encode() + options).hexdigest()
    target = Path(folder)
    if target.exists() and not (target.is_dir() and not any(target.iterdir())):
        done = _finished(target, made_of)
        if done is not None:
            return Conversion(done)
        raise UsageError(f"{folder} is there already and is not empty: name a new folder.")
    with Scratch() as scratch:
        plain = _uncompressed(path, Path(scratch))
        head = plain.open("rb").read(4)
        if len(head) == 4 and struct.unpack("<i", head)[0] == fasttext.MAGIC:
            return _convert_fasttext(plain, path, folder, dtype, vocabulary, limit, made_of)
        rows = _open_rows(plain, path)
        words, notes = _gather(rows, Path(scratch), lowercase, vocabulary, limit, progress)
        raw = Path(scratch) / "values"
        shape = (len(words), rows.dimensions)
        if not words:
            raise InputError("no word of the file was kept", file=path)
        values: Any = np.memmap(raw, dtype=np.float32, mode="r", shape=shape)
        store = write_store(folder, words, values, dtype=dtype, origin=path.name, made_of=made_of)
        return Conversion(store, notes)


def _finished(folder: Path, made_of: str) -> WordVectors | None:
    """The store that the same conversion made, in a run that was killed at its very end."""
    try:
        store = WordVectors.open(folder)
    except MtgaugeError:
        return None
    return store if store.header.get("made_of") == made_of else None


def _convert_fasttext(
    plain: Path,
    path: Path,
    folder: str | Path,
    dtype: Dtype,
    vocabulary: Collection[str] | None,
    limit: int | None,
    made_of: str,
) -> Conversion:
    model = fasttext.read(plain)
    kept = [i for i, w in enumerate(model.words) if vocabulary is None or w in vocabulary][:limit]
    if not kept:
        raise InputError("no word of the file was kept", file=path)
    values = np.empty((len(kept), model.matrix.shape[1]), dtype=np.float32)
    for k, row in enumerate(kept):
        values[k] = model.vectors(range(row, row + 1))[0]
    has_subwords = model.bucket > 0 and model.maxn > 0
    settings = {"minn": model.minn, "maxn": model.maxn, "bucket": model.bucket}
    store = write_store(
        folder,
        [model.words[i] for i in kept],
        values,
        dtype=dtype,
        origin=path.name,
        subwords=settings if has_subwords else None,
        buckets=model.matrix[len(model.words) :] if has_subwords else None,
        made_of=made_of,
    )
    return Conversion(store)


def _gather(
    rows: FileRows,
    scratch: Path,
    lowercase: bool,
    vocabulary: Collection[str] | None,
    limit: int | None,
    progress: Callable[[int], object] | None,
) -> tuple[list[str], Counter[str]]:
    """The words kept, with their vectors written one after another to scratch/values."""
    words: dict[str, None] = {}
    notes: Counter[str] = Counter()
    with (scratch / "values").open("wb") as out:
        for line, found, vector in rows.pairs:
            if progress is not None and line % 100_000 == 0:
                progress(line)
            if found is None or "\n" in found:
                notes["not UTF-8"] += 1
                continue
            word = found.lower() if lowercase else found
            if vocabulary is not None and word not in vocabulary:
                notes["not in the vocabulary"] += 1
            elif word in words:
                notes["twice"] += 1
            else:
                if not np.isfinite(vector).all():
                    raise InputError(
                        f"the vector of {word!r} is not finite", file=rows.file, line=line
                    )
                words[word] = None
                out.write(vector.tobytes())
                if limit is not None and len(words) == limit:
                    break
    return list(words), notes


def _uncompressed(path: Path, scratch: Path) -> Path:
    """The file itself, or its content unpacked."""
    with path.open("rb") as handle:
        if handle.read(2) != b"\x1f\x8b":
            return path
    plain = scratch / "plain"
    try:
        with gzip.open(path, "rb") as packed, plain.open("wb") as out:
            shutil.copyfileobj(packed, out, 1 << 20)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(
            f"the compressed file is damaged ({error})", file=path, remedy="Download it again."
        ) from None
    return plain


def _open_rows(plain: Path, path: Path) -> FileRows:
    """Tell the format by the first lines."""
    handle = plain.open("rb")
    first = handle.readline(1 << 20)
    fields = first.split()
    if not fields:
        raise InputError("the file is empty or begins with an empty line", file=path, line=1)
    if len(fields) == 2 and all(f.isdigit() for f in fields):
        count, dimensions = int(fields[0]), int(fields[1])
        if dimensions == 0 or count == 0:
            raise InputError(f"the first line promises {count} words", file=path, line=1)
        start = handle.tell()
        second = handle.readline(1 << 20)
        handle.seek(start)
        if _is_text(second, dimensions):
            return FileRows(path, dimensions, _text(handle, path, dimensions, count, 2))
        return FileRows(path, dimensions, _binary(handle, path, dimensions, count))
    if len(fields) < 2 or not _is_text(first, len(fields) - 1):
        raise InputError(
            "this is no word-vector file: the first line is neither `N d` nor `word v1 ... vd`",
            file=path,
            line=1,
            remedy="Formats known: word2vec text and binary, GloVe, fastText .vec and .bin.",
        )
    handle.seek(0)
    return FileRows(path, len(fields) - 1, _text(handle, path, len(fields) - 1, None, 1))


def _is_text(line: bytes, dimensions: int) -> bool:
    fields = line.split()
    return len(fields) > dimensions and all(map(_is_number, fields[-dimensions:]))


def _is_number(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _text(
    handle: IO[bytes], path: Path, dimensions: int, count: int | None, first: int
) -> Iterator[tuple[int, str | None, Float32]]:
    line = first - 1
    for line, raw in enumerate(handle, first):
        fields = raw.rstrip().replace(b"\t", b" ").rsplit(b" ", dimensions)
        extra = fields[0].split()
        if len(fields) <= dimensions or not extra or all(map(_is_number, extra[1:] or [b"x"])):
            raise InputError(
                f"{max(len(raw.split()) - 1, 0)} numbers, where {dimensions} are wanted",
                file=path,
                line=line,
                remedy="The file is damaged or mixes dimensions.",
            )
        try:
            vector = np.array(fields[1:], dtype=np.float32)
        except ValueError:
            raise InputError("not all values are numbers", file=path, line=line) from None
        yield line, _decoded(fields[0]), vector
    if count is not None and line - first + 1 != count:
        raise InputError(
            f"the first line promises {count} words, the file holds {line - first + 1}",
            file=path,
            line=line,
            remedy="The file is cut off or damaged: download it again.",
        )


def _binary(
    handle: IO[bytes], path: Path, dimensions: int, count: int
) -> Iterator[tuple[int, str | None, Float32]]:
    size = 4 * dimensions
    for number in range(1, count + 1):
        word = b""
        while (byte := handle.read(1)) not in (b" ", b""):
            word += byte
            if len(word) > 10_000:
                raise InputError("a word does not end", file=path, line=number + 1)
        values = handle.read(size)
        if len(values) != size:
            raise InputError(
                f"the file ends within word {number} of {count}",
                file=path,
                line=number + 1,
                remedy="It is cut off: download it again.",
            )
        yield number + 1, _decoded(word.lstrip(b"\n")), np.frombuffer(values, dtype="<f4")


def _decoded(word: bytes) -> str | None:
    try:
        return word.decode("utf-8")
    except UnicodeDecodeError:
        return None
