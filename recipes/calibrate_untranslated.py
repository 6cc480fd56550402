"""What each margin of text/untranslated.py trades: false alarms against misses.

    python recipes/calibrate_untranslated.py --data DIR     # wmt/da15, wmt/da16 and parallel/

Good translations: the references of WMT15 and WMT16 with their sources, both ways, and sentences
of parallel text (31 languages, both ways). Each margin is varied in turn, the others being as they
are. Of the values with at most one false alarm in 2,000, the largest (the most cautious one) whose
misses (whole copies, copies of three quarters and a half, other languages, added up) are within a
tenth of a percent of the fewest is printed as a proposal. It is one only: every pair here has
English on one side, so translations between near relations, which lower margins would punish, are
not seen. WMT17 and WMT18 are not read.
"""

from __future__ import annotations

import argparse
import dataclasses
import gzip
import random
import sys
from pathlib import Path

import numpy as np

from mtgauge.text.untranslated import MARGINS, Margins

sys.path.insert(0, str(Path(__file__).parents[1] / "bench"))
from untranslated import Rows, by_language, measure, parallel

_VALUES = {
    "copied": (0.3, 0.7, 1.0, 1.5),
    "foreign": (0.5, 1.0, 1.5, 2.5),
    "kin": (0.0, 0.5, 1.0),
    "names": (2.5, 3.5, 4.5),
}
_MOST_ALARMS = 1 / 2000
_AS_GOOD = 1 / 1000


def judged(folder: Path) -> dict[str, Rows]:
    found: dict[str, dict[tuple[str, str], None]] = {}
    for year in (15, 16):
        with gzip.open(folder / "wmt" / f"da{year}.tsv.gz", "rt", encoding="utf-8") as lines:
            header = next(lines).rstrip("\n").split("\t")
            for line in lines:
                row = dict(zip(header, line.rstrip("\n").split("\t"), strict=True))
                source, target = row["lp"].split("-")
                texts = (row["source"], row["reference"])
                found.setdefault(row["lp"], {})[texts] = None
                found.setdefault(f"{target}-{source}", {})[texts[::-1]] = None
    return {pair: list(rows) for pair, rows in found.items()}


def failures(sets: dict[str, Rows], limits: Margins) -> dict[str, float]:
    """Share of texts that fail, over all directions."""
    texts = {code: found[:40] for code, found in by_language(sets).items()}
    total: dict[str, list[np.ndarray]] = {}
    for code, rows in sets.items():
        for name, values in measure(code, rows, texts, limits).items():
            failed = values == 0 if name.isdigit() else values
            total.setdefault(name, []).append(failed)
    return {name: float(np.concatenate(values).mean()) for name, values in total.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sentences", type=int, default=300, help="per direction and set")
    args = parser.parse_args()
    sets = parallel(args.data, most=args.sentences)
    for pair, rows in judged(args.data).items():
        sets.setdefault(pair, []).extend(
            random.Random(0).sample(rows, min(args.sentences, len(rows)))
        )
    print("margin   value  false-%  copy-%   kin-%   far-%    75-%    50-%    25-%")
    for name, values in _VALUES.items():
        found: dict[float, dict[str, float]] = {}
        for value in values:
            found[value] = failures(sets, dataclasses.replace(MARGINS, **{name: value}))
            shares = "".join(f"{100 * share:8.2f}" for share in found[value].values())
            print(f"{name:<8} {value:>5} {shares}", flush=True)
        allowed = {v: f for v, f in found.items() if f["false"] <= _MOST_ALARMS} or found
        missed = {
            value: sum(shares[kind] for kind in ("copy", "kin", "far", "75", "50"))
            for value, shares in allowed.items()
        }
        best = max(v for v, n in missed.items() if n <= min(missed.values()) + _AS_GOOD)
        print(f"{name}: {best} proposed, {getattr(MARGINS, name)} in force")


if __name__ == "__main__":
    main()
