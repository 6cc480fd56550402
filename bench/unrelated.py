"""The guard against unrelated texts measured: what it costs translations, and what it sees.

    python bench/unrelated.py da15.tsv.gz da16.tsv.gz [-m SPEC ...]

Per file and language pair, of judged segments:

- *outputs*, *references*: how many of them the guard lowers, with their sources;
- *seen*: of every segment one unrelated text, as `mtgauge probe robust` makes it (of five other
  references the one with the fewest words in common), which the guard lowers;
- per metric *r*: Pearson with people without the guard, and what the guard adds to it;
- per metric *wins*: unrelated texts that score at least as high as the reference, without the guard
  and with it, of all segments.

The guard against untranslated texts is on throughout. HTML escapes are undone.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mtgauge.data import checks, judged_files
from mtgauge.data.codes import LanguagePair
from mtgauge.data.judgements import Judgements
from mtgauge.data.segments import Segments
from mtgauge.engine.ready import make_ready
from mtgauge.meta import faults
from mtgauge.metric import FloatArray, Metric, Task
from mtgauge.metrics._unrelated import unrelated_shares
from mtgauge.stats.bootstrap import SEED
from mtgauge.stats.correlation import pearson

SPECS = ("xmoverscore", "xmoverscore:lm=off", "cosine", "yisi-2", "regressor:view=hyp+src")


@dataclass(frozen=True)
class Texts:
    """Outputs, references and unrelated texts of one pair, and the guard's share of each."""

    outputs: Segments
    references: Segments
    unrelated: Segments
    shares: tuple[FloatArray, FloatArray, FloatArray]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="+", type=Path)
    parser.add_argument("-m", "--metrics", nargs="+", default=list(SPECS), metavar="SPEC")
    args = parser.parse_args()
    moved: dict[str, list[float]] = {spec: [] for spec in args.metrics}
    wins = {spec: np.zeros(2, int) for spec in args.metrics}
    counts = np.zeros((3, 2), int)
    for item in [each for file in args.data for each in judged_files.read(file)]:
        texts = read(item)
        lowered = np.array([[int((share > 0).sum()), len(share)] for share in texts.shares])
        counts += lowered
        print(f"{item.data} {item.lp}: {told(lowered)}", flush=True)
        for spec in args.metrics:
            metric = make_ready(spec, Task(frozenset({"source"}), item.lp)).metric
            outputs, references, unrelated = scores(metric, texts)
            r = [float(pearson(each[None], item.human)[0]) for each in outputs]
            won = [int((a >= b).sum()) for a, b in zip(unrelated, references, strict=True)]
            moved[spec].append(r[1] - r[0])
            wins[spec] += won
            print(f"  {spec}: r {r[0]:.4f} {r[1] - r[0]:+.4f}, wins {won[0]} -> {won[1]}")
    print(f"all: {told(counts)}")
    for spec in args.metrics:
        mean, worst = np.mean(moved[spec]), min(moved[spec])
        without, guarded = wins[spec]
        print(
            f"  {spec}: r {mean:+.5f} on average, {worst:+.4f} at worst, "
            f"wins {without} -> {guarded} of {counts[2, 1]}"
        )


def told(counts: np.ndarray) -> str:
    kinds = ("outputs", "references", "unrelated texts")
    return "lowered " + ", ".join(
        f"{n} of {of} {kind}" for kind, (n, of) in zip(kinds, counts, strict=True)
    )


def read(item: Judgements) -> Texts:
    assert item.sources is not None
    assert item.hypotheses is not None
    assert item.references is not None
    sources = [checks.unescape(text) for text in item.sources]
    outputs = [checks.unescape(text) for text in item.hypotheses]
    right = [checks.unescape(row[0]) for row in item.references]
    pair = LanguagePair.parse(item.lp)
    goods = [faults.Good(x, y, pair) for x, y in dict.fromkeys(zip(sources, right, strict=True))]
    made = faults.make_all(goods, seed=SEED, faults=["unrelated"])["unrelated"]
    alone = [good.source for good in goods]
    batches = (
        Segments(outputs, sources, lang=item.lp),
        Segments([good.translation for good in goods], alone, lang=item.lp),
        Segments([text or "" for text in made], alone, lang=item.lp),
    )
    shares = [unrelated_shares(x.sources or [], x.hypotheses, item.lp) for x in batches]
    return Texts(*batches, (shares[0], shares[1], shares[2]))


def scores(metric: Metric, texts: Texts) -> list[tuple[FloatArray, FloatArray]]:
    """(without the guard, with it) of outputs, references and unrelated texts."""
    found = []
    batches = (texts.outputs, texts.references, texts.unrelated)
    for batch, unrelated in zip(batches, texts.shares, strict=True):
        rows, untranslated = metric.filled_rows(batch), metric.untranslated_shares(batch)
        both = (untranslated, np.maximum(untranslated, unrelated))
        each = [metric.segment_score(metric.lowered(rows, share, batch)) for share in both]
        found.append((each[0], each[1]))
    return found


if __name__ == "__main__":
    main()
