"""Fit the guard against unrelated texts (metrics/_unrelated.py) for the shipped encoder.

    python recipes/calibrate_unrelated.py --data DIR [--write]      # wmt/da15, da16, mlqe-train

Related: system outputs and references of WMT15 and WMT16, and outputs of MLQE's training data
(Wikipedia, five pairs), `--most` per language pair and set. Unrelated: for every source the
references of three other segments (MLQE: outputs), drawn with a fixed seed. Logistic regression on
the pairs that share nothing visible gives the weights. `from`, where a share begins, is the
evidence that one related text in 1,000 passes, `to`, where it ends, one in 10,000. `most` is the
greatest share, a half: the evidence is never certain, and a false alarm that falls to the worst
score rules the correlation of a set of 500 segments.

Printed: at both points, which part of the unrelated texts, of fair translations (references, and
outputs rated at their set's average or better) and of poor ones has more evidence. `--write` puts
the constants into the encoder's card; run it whenever the encoder changes. WMT17 and WMT18 are not
read.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from mtgauge.data import checks, judged_files
from mtgauge.data.judgements import Judgements
from mtgauge.encode import load_encoder
from mtgauge.encode.card import UNRELATED
from mtgauge.metrics._unrelated import evidence, suspects
from mtgauge.models import shipped

SETS = ("da15.tsv.gz", "da16.tsv.gz", "mlqe-train.tsv.gz")
DRAWN = 3
FROM, TO = 1 / 1000, 1 / 10_000  # related texts that pass
MOST = 0.5
SEED = 7


@dataclass
class Texts:
    """Rows of one kind: how many there are, and the evidence of those that share nothing."""

    number: int = 0
    found: list[np.ndarray] = field(default_factory=list)

    def add(self, rows: list[tuple[str, str]], lp: str) -> None:
        self.number += len(rows)
        at = suspects([x for x, _ in rows], [y for _, y in rows])
        if at:
            source, target = lp.split("-")
            encoder = load_encoder("embedded")
            self.found.append(evidence([rows[i] for i in at], (source, target), encoder))

    @property
    def evidence(self) -> np.ndarray:
        return np.concatenate(self.found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--most", type=int, default=1000)
    parser.add_argument("--write", action="store_true", help="into the encoder's card")
    args = parser.parse_args()
    kinds = {"fair": Texts(), "poor": Texts(), "unrelated": Texts()}
    for item in sets(args.data / "wmt", args.most):
        for kind, rows in pairs(item).items():
            kinds[kind].add(rows, item.lp)
        print(f"{item.data} {item.lp}", flush=True)
    weights = fit(kinds)
    scores = {kind: texts.evidence @ weights for kind, texts in kinds.items()}
    related = np.concatenate([scores["fair"], scores["poor"]])
    begin, end = points(related, kinds["fair"].number + kinds["poor"].number)
    for name, at in (("from", begin), ("to", end)):
        shares = {kind: (scores[kind] > at).sum() / kinds[kind].number for kind in kinds}
        print(name, f"{at:.2f}", *(f"{kind} {share:.3%}" for kind, share in shares.items()))
    values = [*weights, begin, end, MOST]
    card = {n: round(float(v), 3) for n, v in zip(UNRELATED, values, strict=True)}
    print(json.dumps(card))
    if args.write:
        file = shipped("encoder") / "card.json"
        whole = json.loads(file.read_text("utf-8")) | {"unrelated": card}
        file.write_text(json.dumps(whole, indent=1, ensure_ascii=False) + "\n", "utf-8")


def sets(folder: Path, most: int) -> Iterator[Judgements]:
    rng = np.random.default_rng(SEED)
    known = set(load_encoder("embedded").languages)
    for name in SETS:
        for item in judged_files.read(folder / name):
            if set(item.lp.split("-")) <= known:
                yield item.take(np.sort(rng.permutation(len(item))[:most]))


def pairs(item: Judgements) -> dict[str, list[tuple[str, str]]]:
    """{kind: (source, text)}."""
    assert item.sources is not None
    sources = [checks.unescape(text) for text in item.sources]
    outputs = [checks.unescape(text) for text in item.hypotheses or ()]
    references = item.references or []
    right = [checks.unescape(row[0]) for row in references] or outputs
    average = float(np.mean(item.human))
    found: dict[str, list[tuple[str, str]]] = {"fair": [], "poor": [], "unrelated": []}
    for row, human in zip(zip(sources, outputs, strict=True), item.human, strict=True):
        found["fair" if human >= average else "poor"].append(row)
    good = list(dict.fromkeys(zip(sources, right, strict=True)))
    if references:
        found["fair"] += good
    draw = random.Random(f"{SEED}/{item.data}/{item.lp}")
    for source, text in good:
        others = [other for x, other in draw.sample(good, DRAWN + 1) if x != source]
        found["unrelated"] += [(source, other) for other in others[:DRAWN] if other != text]
    return found


def fit(kinds: dict[str, Texts]) -> np.ndarray:
    """Weights by logistic regression; related and unrelated texts count alike in sum."""
    from scipy.optimize import minimize

    related = np.concatenate([kinds["fair"].evidence, kinds["poor"].evidence])
    strange = kinds["unrelated"].evidence
    rows = np.concatenate([related, strange])
    sign = np.repeat([-1.0, 1.0], [len(related), len(strange)])
    mass = np.repeat([1 / len(related), 1 / len(strange)], [len(related), len(strange)])

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        margin = sign * (rows @ weights)
        slope = -mass * sign / (1 + np.exp(margin))
        return float(mass @ np.logaddexp(0, -margin)), rows.T @ slope

    start = np.zeros(rows.shape[1])
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 2000})
    return np.asarray(found.x)


def points(related: np.ndarray, number: int) -> tuple[float, float]:
    """The evidence that the allowed number of related texts pass."""
    ordered = np.sort(related)[::-1]
    return float(ordered[int(FROM * number)]), float(ordered[int(TO * number)])


if __name__ == "__main__":
    main()
