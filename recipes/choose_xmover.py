"""How XMoverScore's defaults are chosen: matching, language-model weight and prior, copy penalty.

    python recipes/choose_xmover.py ../shared/wmt/da15.tsv.gz ../shared/wmt/da16.tsv.gz
    python recipes/choose_xmover.py ... --encoder DIR --lm DIR          # models not yet embedded

Every part of the score is computed once for all judged segments into English; then combinations are
tried, and the mean Pearson correlation over language pairs of each year is printed, best first.
Give it years that are for choosing, never the test set.
"""

from __future__ import annotations

import argparse
import itertools
from pathlib import Path

import numpy as np

import mtgauge
from mtgauge.data.codes import Language
from mtgauge.data.judged_files import read
from mtgauge.data.segments import Segments
from mtgauge.metric import FloatArray
from mtgauge.metrics._copied import copied_share

MATCHINGS = ("precision", "recall", "f")
WEIGHTS = (0.0, 0.03, 0.05, 0.075, 0.1, 0.125, 0.15, 0.2)
PRIORS = (0.0, 0.2, 0.3, 0.4, 0.5, 0.6)
PENALTIES = (0.0, 0.25, 0.5, 0.75, 1.0)


def parts_of(rows: Segments, encoder: str, lm: str) -> dict[str, FloatArray]:
    """The terms of the score, one number per segment each."""

    def score(spec: str) -> FloatArray:
        return mtgauge.load(spec).statistics(rows)[:, 0]

    assert rows.sources is not None
    found = {
        m: score(f"xmoverscore:lm=off,copy_penalty=0,matching={m},encoder={encoder}")
        for m in MATCHINGS
    }
    found["given"] = score(f"fluency:lm_given=source,lm={lm}")
    found["alone"] = score(f"fluency:lm={lm}")
    return found | {"copied": copied_share(rows.sources, rows.hypotheses, Language("en"))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("judged", type=Path, nargs="+")
    parser.add_argument("--encoder", default="embedded")
    parser.add_argument("--lm", default="embedded")
    parser.add_argument("--shown", type=int, default=12, help="combinations to print")
    args = parser.parse_args()
    groups = [
        (judged.data, judged.human, parts_of(judged.segments(), args.encoder, args.lm))
        for file in args.judged
        for judged in read(file)
        if judged.lp.endswith("-en")
    ]
    years = sorted({data for data, _, _ in groups})

    def means(name: str, weight: float, prior: float, penalty: float) -> list[float]:
        """The mean correlation of each year."""
        found: dict[str, list[float]] = {year: [] for year in years}
        for data, human, part in groups:
            scores = part[name] + weight * (part["given"] - prior * part["alone"])
            scores = scores - penalty * part["copied"]
            found[data].append(float(np.corrcoef(scores, human)[0, 1]))
        return [float(np.mean(found[year])) for year in years]

    print("alone:")
    for data, human, part in groups:
        shown = {k: np.corrcoef(v, human)[0, 1] for k, v in part.items() if v.std() > 0}
        print(" ", data, "  ".join(f"{k} {v:.3f}" for k, v in shown.items()))
    tried = [
        (means(*choice), choice)
        for choice in itertools.product(MATCHINGS, WEIGHTS, PRIORS, PENALTIES)
        if choice[1] or not choice[2]
    ]
    tried.sort(key=lambda row: -sum(row[0]))
    for title, rows in (
        ("with the language model:", tried),
        ("without it:", [row for row in tried if not row[1][1]]),
    ):
        print(title)
        for found, (name, weight, prior, penalty) in rows[: args.shown]:
            by_year = "  ".join(f"{y} {v:.4f}" for y, v in zip(years, found, strict=True))
            rest = f"weight {weight:.3f} prior {prior:.1f} copies {penalty:.2f}"
            print(f"  {name:9} {rest}  {by_year}")


if __name__ == "__main__":
    main()
