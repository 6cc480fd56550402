"""Make src/mtgauge/engine/trust.tsv: how far metrics agree with people, per pair and direction.

    python recipes/trust.py --data DIR [--segments 500] [--sample 150] [-m METRIC ...]

DIR is a folder with da17.tsv.gz, da18-large.tsv.gz, wmt17/, wmt18/, sys17.tsv and sys18.tsv. Judged
segments: `--segments` of each pair and year, drawn at random with a fixed seed. Systems: `--sample`
segments of each test set, drawn likewise, all systems. Texts are unescaped. Rows of other metrics
and other settings, and of a direction that `--directions` leaves out, stay as they are. Trained
metrics learned from judgements of WMT18, so they are measured on WMT17 and, out of English, on the
segments of WMT18 that were held out from their training (trained_metrics.sh splits them by the
same rule): they know the systems, so nothing is said of systems there. The remap of xmoverscore
and cosine out of English learned from three pairs of WMT18 (judged_remap.py), so they are measured
on the other four. With the defaults about an hour of one core.
"""

from __future__ import annotations

import argparse
import csv
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field, fields, replace
from pathlib import Path

import numpy as np

from mtgauge.data import judged_files
from mtgauge.data.judged_tables import read_system_human
from mtgauge.data.judgements import Judgements
from mtgauge.engine.trust import MODELS, Trust, direction, key, parse
from mtgauge.meta import scoring
from mtgauge.stats import bootstrap
from mtgauge.stats.correlation import FloatArray, pearson
from mtgauge.train.judged import rows

TABLE = Path(__file__).parents[1] / "src" / "mtgauge" / "engine" / "trust.tsv"
METRICS = (
    "bleu chrf ter sentbleu std kobe bertr bertscore moverscore xmoverscore xmoverscore:lm=off "
    "cosine esim regressor regressor:view=hyp+src regressor:view=hyp+ref fluency"
).split()
TRAINED = {"esim", "bilstm", "bilstm-attention", "ruse", "regressor"}
REMAPPED, LEARNED = {"xmoverscore", "cosine"}, {"en-de", "en-et", "en-tr"}
WAYS = ("X-en", "en-X")
CURVE = ("slope", "slope_low", "slope_high", "largest")  # of a direction
HELD_OUT = "WMT18 held out"
SEED = 7
RESAMPLES = 400


@dataclass(frozen=True)
class Differences:
    """All pairs of systems of one language pair: metric and human difference, both signed."""

    metric: FloatArray
    human: FloatArray

    @classmethod
    def of(cls, scores: Mapping[str, float], human: Mapping[str, float]) -> Differences:
        """Pairs that people did not tie, of systems that have both scores."""
        both = sorted(scores.keys() & human.keys())
        x, y = np.array([scores[s] for s in both]), np.array([human[s] for s in both])
        i, j = np.triu_indices(len(both), 1)
        kept = (y[i] != y[j]) & ~np.isnan(x[i] - x[j])
        return cls((x[i] - x[j])[kept], (y[i] - y[j])[kept])

    def accuracy(self) -> float:
        """Share ordered alike; a tie of the metric is half right."""
        if not len(self.metric):
            return math.nan
        alike = np.sign(self.metric) * np.sign(self.human)
        return float(np.mean((alike + 1) / 2))


def slope(differences: Sequence[Differences]) -> float:
    """The maximum of sum log p(d * sign(human)) over all pairs, by Newton's method.

    >>> wins, losses = Differences(np.ones(3), np.ones(3)), Differences(np.ones(1), -np.ones(1))
    >>> round(slope([wins, losses]), 4), round(math.log(3), 4)
    (1.0986, 1.0986)
    """
    d = np.concatenate([x.metric * np.sign(x.human) for x in differences])
    scale = float(np.std(d)) if len(d) else 0.0
    if not scale > 0 and not len(d):
        return math.nan
    scale = scale or float(np.abs(d).max()) or 1.0
    d, b = d / scale, 0.0
    for _ in range(100):
        p = 1 / (1 + np.exp(-np.clip(b * d, -500, 500)))
        curve = float(np.sum(d * d * p * (1 - p)))
        if curve < 1e-9:
            break
        step = float(np.sum(d * (1 - p))) / curve
        b += max(-2.0, min(2.0, step))
        if abs(step) < 1e-10 or abs(b) > 50:  # where all pairs agree the slope has no limit
            break
    return b / scale


def slope_interval(differences: Sequence[Differences]) -> tuple[float, float]:
    """95 % of slopes over resampled language pairs; with one pair, over its resampled pairs."""
    rng = np.random.default_rng(bootstrap.SEED)
    draws = []
    for _ in range(RESAMPLES):
        if len(differences) > 1:
            drawn = [differences[i] for i in rng.integers(0, len(differences), len(differences))]
        else:
            (one,) = differences
            drew = rng.integers(0, len(one.metric), len(one.metric))
            drawn = [Differences(one.metric[drew], one.human[drew])]
        draws.append(slope(drawn))
    low, high = bootstrap.interval(np.array(draws)[:, None])[0]
    return float(low), float(high)


@dataclass
class Found:
    """Measurements of one metric on one language pair, years together."""

    data: list[str] = field(default_factory=list)
    pearsons: list[tuple[int, float]] = field(default_factory=list)
    systems: int = 0
    differences: list[Differences] = field(default_factory=list)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--segments", type=int, default=500)
    parser.add_argument("--sample", type=int, default=150)
    parser.add_argument("-m", "--metrics", nargs="+", default=METRICS)
    parser.add_argument("--directions", nargs="+", choices=WAYS, default=WAYS)
    args = parser.parse_args()
    sets = [
        *segment_sets(args.data, args.segments),
        *held_out_sets(args.data),
        *system_sets(args.data, args.sample),
    ]
    made = measure(args.metrics, [item for item in sets if direction(item.lp) in args.directions])
    new = {(settings(row.metric), _way(row)) for row in made}
    kept = [row for row in read_table() if (settings(row.metric), _way(row)) not in new]
    write_table([*kept, *made])


def _way(row: Trust) -> str:
    return row.lp if row.lp in WAYS else direction(row.lp)


def settings(metric: str) -> str:
    """A key of the table without its models: figures of an older model are replaced."""
    return "|".join(part for part in metric.split("|") if part.split(":")[0] not in MODELS)


def segment_sets(folder: Path, most: int) -> list[Judgements]:
    rng = np.random.default_rng(SEED)
    found = []
    for name in ("da17.tsv.gz", "da18-large.tsv.gz"):
        for item in judged_files.read(folder / name):
            found.append(item.take(rng.permutation(len(item))[:most]))
    return found


def held_out_sets(folder: Path) -> list[Judgements]:
    """What the trained metrics did not learn from, of the pairs that WMT17 does not have."""
    file = folder / "da18-large.tsv.gz"
    judged = rows.refuse_bad(rows.read([file]), (), cut=0.0)
    _, held = rows.hold_out(judged, share=0.1, most=150, seed=1)  # as `train pack` did
    sources = set(zip(held.lps, held.sources, strict=True))
    found = []
    for item in judged_files.read(file):
        if direction(item.lp) != "en-X":
            continue
        assert item.sources is not None
        mine = [i for i, source in enumerate(item.sources) if (item.lp, source) in sources]
        found.append(replace(item.take(np.array(mine)), dataset=HELD_OUT))
    return found


def system_sets(folder: Path, most: int) -> list[Judgements]:
    rng = np.random.default_rng(SEED)
    found = []
    for year in ("17", "18"):
        human = read_system_human(folder / f"sys{year}.tsv")
        for item in judged_files.read(folder / f"wmt{year}", None, human):
            sids = list(dict.fromkeys(item.sids))
            drawn = {sids[i] for i in rng.permutation(len(sids))[:most]}
            found.append(item.take(np.array([i for i, s in enumerate(item.sids) if s in drawn])))
    return found


def measure(specs: Sequence[str], sets: Sequence[Judgements]) -> list[Trust]:
    """Rows of every metric: each language pair, and each direction.

    Sets stand outside, metrics inside: metrics that share an encoder then share its vectors.
    """
    pairs: dict[str, dict[str, Found]] = {spec: {} for spec in specs}
    keys: dict[tuple[str, str], str] = {}
    for number, item in enumerate(sets, 1):
        system = bool(item.system_human)
        for spec in specs:
            held_out, trained = item.dataset == HELD_OUT, spec.split(":")[0] in TRAINED
            learned = spec.split(":")[0] in REMAPPED and item.lp in LEARNED
            if learned or held_out != (trained and "18" in item.data):
                continue
            scores = scoring.score(item, spec, "system" if system else "segment", unescape=True)
            if scores.unserved is not None:
                continue
            mine = pairs[spec].setdefault(item.lp, Found())
            keys[spec, item.lp] = key(scores.signature)
            name = item.dataset or item.data
            mine.data += [name] if name not in mine.data else []
            if system:
                mine.systems += len(scores.systems)
                mine.differences.append(Differences.of(scores.systems, item.system_human))
            else:
                has = ~np.isnan(scores.segments)
                r = float(pearson(scores.segments[has], item.human[has]))
                mine.pearsons.append((int(has.sum()), r))
        print(f"{number} of {len(sets)}: {item.data} {item.lp}", file=sys.stderr, flush=True)
    return [row for spec in specs for row in _rows(pairs[spec], keys, spec)]


def _rows(pairs: dict[str, Found], keys: dict[tuple[str, str], str], spec: str) -> Iterator[Trust]:
    """Each direction, then its pairs with the direction's curve: few systems, which a metric may
    even order without a fault, give no slope of their own."""
    for way in dict.fromkeys(direction(lp) for lp in pairs):
        members = [lp for lp in pairs if direction(lp) == way]
        whole = row_of(keys[spec, members[0]], way, [pairs[lp] for lp in members])
        yield whole
        for lp in members:
            row = row_of(keys[spec, lp], lp, [pairs[lp]])
            yield replace(row, **{name: getattr(whole, name) for name in CURVE})


def row_of(metric: str, lp: str, found: Sequence[Found]) -> Trust:
    """Means of r over sets; all pairs of systems together."""
    differences = [x for one in found for x in one.differences if len(x.metric)]
    r = [value for one in found for _, value in one.pearsons if not math.isnan(value)]
    low, high = slope_interval(differences) if differences else (math.nan, math.nan)
    right = sum(len(x.metric) * x.accuracy() for x in differences)
    pairs = sum(len(x.metric) for x in differences)
    return Trust(
        metric,
        lp,
        "+".join(sorted({name for one in found for name in one.data})),
        sum(n for one in found for n, _ in one.pearsons),
        float(np.mean(r)) if r else math.nan,
        sum(one.systems for one in found),
        pairs,
        right / pairs if pairs else math.nan,
        slope(differences) if differences else math.nan,
        low,
        high,
        max((float(np.abs(x.metric).max()) for x in differences), default=math.nan),
    )


def read_table() -> list[Trust]:
    if not TABLE.is_file():
        return []
    with TABLE.open(encoding="utf-8") as lines:
        return [parse(row) for row in csv.DictReader(lines, delimiter="\t")]


def write_table(rows: Sequence[Trust]) -> None:
    def cell(value: object) -> str:
        if isinstance(value, float):
            return "" if math.isnan(value) else f"{value:.4g}"
        return str(value)

    names = [f.name for f in fields(Trust)]
    body = [
        "\t".join(map(cell, astuple(row))) for row in sorted(rows, key=lambda r: (r.metric, r.lp))
    ]
    TABLE.write_text("\n".join(["\t".join(names), *body]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
