"""Fit the guard against unrelated texts (metrics/_unrelated.py) for the shipped encoder.

    python recipes/calibrate_unrelated.py --data DIR [--write]      # wmt/da15, da16, mlqe-train

Related: system outputs and references of WMT15 and WMT16, and outputs of MLQE's training data
(Wikipedia, five pairs), `--most` per language pair and set. MLQE's systems now and then wrote about
something else, so its outputs that people rated a deviation below the average and worse are counted
apart (`wrong`). Unrelated: for every tenth source the reference of another segment (MLQE: an
output), drawn with a fixed seed. Logistic regression on the pairs that are looked at gives the
weights. `from`, where a share begins, is the evidence that no reference passes, and at most one
related text in 1,000; half a unit further it has its greatest, `most`, three quarters: the evidence
is never certain, and a false alarm that falls to the worst score rules the correlation of a set of
500 segments.

Printed: how many references, fair outputs (rated at their set's average or better), poor and wrong
ones and unrelated texts pass both points; first for each set with the constants of the others, then
with those of all, which `--write` puts into the encoder's card; run it whenever the encoder or the
language model changes. WMT17 and WMT18 are not read.
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
from mtgauge.encode.card import EVIDENCE, UNRELATED
from mtgauge.metrics._unrelated import entities, evidence, least_match, suspects
from mtgauge.models import shipped

SETS = ("da15.tsv.gz", "da16.tsv.gz", "mlqe-train.tsv.gz")
RELATED = ("reference", "fair", "poor")
KINDS = (*RELATED, "wrong", "unrelated")
LOOK = 0.45  # best matches that are looked at: of unrelated texts nearly all
EVERY = 10  # how many segments there are per unrelated text
FROM = 1 / 1000  # related texts that may pass; of references none
WIDTH = 0.5  # of the evidence, from where a share begins to where it ends
MOST = 0.75
SEED = 7


@dataclass
class Texts:
    """Rows of one kind: where each is from, and the evidence of those that are looked at."""

    sets: list[str] = field(default_factory=list)
    looked: list[str] = field(default_factory=list)
    found: list[np.ndarray] = field(default_factory=list)

    def add(self, rows: list[tuple[str, str]], item: Judgements) -> None:
        self.sets += [item.data] * len(rows)
        at = suspects([x for x, _ in rows], [y for _, y in rows])
        if not at:
            return
        pairs = [rows[i] for i in at]
        least = least_match(pairs, load_encoder("embedded"))
        far = np.flatnonzero(least < LOOK)
        if len(far):
            source, target = item.lp.split("-")
            pairs = [pairs[i] for i in far]
            named = entities(pairs, (source, target))
            table = evidence(pairs, least[far], (source, target))
            doubted = np.isfinite(named)
            self.found.append(np.column_stack([table, named])[doubted])
            self.looked += [item.data] * int(doubted.sum())

    def take(self, data: str, *, but: bool) -> Texts:
        """The rows of one set, or those of the others."""
        keep = [(each == data) != but for each in self.looked]
        of = [each for each in self.sets if (each == data) != but]
        looked = [each for each, kept in zip(self.looked, keep, strict=True) if kept]
        return Texts(of, looked, [self.evidence[np.array(keep, dtype=bool)]])

    @property
    def evidence(self) -> np.ndarray:
        return np.concatenate([np.empty((0, len(EVIDENCE) + 1)), *self.found])


Kinds = dict[str, Texts]  # by KINDS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--most", type=int, default=1000)
    parser.add_argument("--write", action="store_true", help="into the encoder's card")
    args = parser.parse_args()
    kinds = {kind: Texts() for kind in KINDS}
    for item in sets(args.data / "wmt", args.most):
        for kind, rows in pairs(item).items():
            kinds[kind].add(rows, item)
        print(f"{item.data} {item.lp}", flush=True)
    for data in dict.fromkeys(kinds["unrelated"].sets):
        others = {kind: texts.take(data, but=True) for kind, texts in kinds.items()}
        mine = {kind: texts.take(data, but=False) for kind, texts in kinds.items()}
        tell(f"{data}, fitted on the others:", *settled(others), mine)
    weights, begin = settled(kinds)
    tell("all:", weights, begin, kinds)
    values = [*weights, LOOK, begin, begin + WIDTH, MOST]
    card = {n: round(float(v), 3) for n, v in zip(UNRELATED, values, strict=True)}
    print(json.dumps(card))
    if args.write:
        file = shipped("encoder") / "card.json"
        whole = json.loads(file.read_text("utf-8")) | {"unrelated": card}
        file.write_text(json.dumps(whole, indent=1, ensure_ascii=False) + "\n", "utf-8")


def settled(kinds: Kinds) -> tuple[np.ndarray, float]:
    """Weights, and where a share begins."""
    weights = fit(kinds)
    related = np.concatenate([kinds[kind].evidence for kind in RELATED]) @ weights
    allowed = int(FROM * sum(len(kinds[kind].sets) for kind in RELATED))
    references = kinds["reference"].evidence @ weights
    return weights, max(float(np.sort(related)[-1 - allowed]), *references.tolist())


def tell(title: str, weights: np.ndarray, begin: float, kinds: Kinds) -> None:
    """How many texts of each kind are lowered, and how many of them as far as can be."""
    print(title)
    for name, at in (("lowered", begin), ("as far as can be", begin + WIDTH)):
        counts = {kind: int((x.evidence @ weights > at).sum()) for kind, x in kinds.items()}
        told = (f"{kind} {n} of {len(kinds[kind].sets)}" for kind, n in counts.items())
        print(f"  {name}: {', '.join(told)}")


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
    average, deviation = float(np.mean(item.human)), float(np.std(item.human))
    found: dict[str, list[tuple[str, str]]] = {kind: [] for kind in KINDS}
    for row, human in zip(zip(sources, outputs, strict=True), item.human, strict=True):
        wrong = not references and human < average - deviation
        found["wrong" if wrong else "fair" if human >= average else "poor"].append(row)
    good = list(dict.fromkeys(zip(sources, right, strict=True)))
    if references:
        found["reference"] = good
    draw = random.Random(f"{SEED}/{item.data}/{item.lp}")
    for source, text in good[::EVERY]:
        x, other = draw.choice(good)
        if x != source and other != text:
            found["unrelated"].append((source, other))
    return found


def fit(kinds: Kinds) -> np.ndarray:
    """Weights by logistic regression; related and unrelated texts count alike in sum."""
    from scipy.optimize import minimize

    related = np.concatenate([kinds[kind].evidence for kind in RELATED])
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


if __name__ == "__main__":
    main()
