"""Warnings of segments on translations by people: how many are raised, and how fast.

    python bench/flags.py                              # the shipped example
    python bench/flags.py --data DIR --year 18         # DIR holds wmt/wmtYY/LP.tsv.gz

One row per direction: warnings per 1,000 references, given with their sources. Most are false
alarms, some are slips of the translator. `speed` is in segments per second of one processor.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from pathlib import Path

from mtgauge.engine.demo import PAIRS, example
from mtgauge.engine.flags import KINDS, Finder
from untranslated import wmt


def shipped() -> dict[str, list[tuple[str, str]]]:
    """{direction: (source, reference)} of the example in the package."""
    found = {}
    for pair in PAIRS:
        (chunk,) = example(pair).chunks(1000)
        references = [row[0] for row in chunk.references or ()]
        found[pair] = list(zip(chunk.sources or (), references, strict=True))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--year", type=int, default=18)
    args = parser.parse_args()
    sets = shipped() if args.data is None else wmt(args.data, args.year)
    print(f"{'':8}{'n':>7}" + "".join(f"{kind:>17}" for kind in KINDS) + f"{'speed':>8}")
    for pair, rows in sets.items():
        sources, references = ([row[side] for row in rows] for side in (0, 1))
        finder = Finder(pair, KINDS)
        finder.look(sources[:1], references[:1])  # opens what it needs
        started = time.process_time()
        counts = Counter(f.kind for each in finder.look(sources, references) for f in each)
        speed = len(rows) / (time.process_time() - started)
        share = "".join(f"{1000 * counts[kind] / len(rows):17.1f}" for kind in KINDS)
        print(f"{pair:8}{len(rows):7,}{share}{speed:8,.0f}")


if __name__ == "__main__":
    main()
