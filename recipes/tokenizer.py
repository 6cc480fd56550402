"""The tokenizer of the embedded models, from the parallel text that they were trained on.

    python recipes/tokenizer.py --parallel DIR --out tokenizer.json [--pieces 48000]
    mtgauge train prepare --parallel DIR --tokenizer tokenizer.json --out CORPUS ...

As many lines of each language; less of menus and manuals, and English throughout, most of it news.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator
from pathlib import Path

from mtgauge.train.embedded.corpus import read_pairs, train_tokenizer

INTERFACE = frozenset({"firefox-l10n", "calibre", "gimp-help", "gnome-user-docs", "python-docs"})
PER_FILE = 30_000


def sample_lines(files: list[Path], seed: int = 1) -> Iterator[str]:
    rng = random.Random(seed)
    for file in files:
        taken = 0
        for foreign, english, origin in read_pairs(file):
            if origin in INTERFACE and rng.random() < 0.6:
                continue
            yield foreign
            taken += 1
            if taken % 3 == 0 or origin.startswith("newstest"):
                yield english
            if taken >= PER_FILE:
                break


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--parallel", type=Path, required=True, help="folder of XX-en.tsv files")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--pieces", type=int, default=48_000)
    args = parser.parse_args()
    files = sorted(args.parallel.glob("??-en.tsv*"))
    train_tokenizer(sample_lines(files), args.pieces).save(str(args.out))


if __name__ == "__main__":
    main()
