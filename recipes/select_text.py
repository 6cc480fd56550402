"""Free parallel text, sampled by language and origin: what the second generation is trained on.

A language gets as many pairs as `PAIRS` says (`--times` as many), or all it has. Among its origins
they are shared by weight times the square root of what each has (no origin gives more than it has),
so that a large one, such as Europarl in German, does not drown the rest. Of an origin, pairs are
drawn without replacement, sentences of ten words and more before shorter ones. Other origins are
never read.

    python recipes/select_text.py --parallel DIR DIR/more MLQE --out clean

A folder holds XX-en.tsv (foreign, English, origin), as `mtgauge train prepare` reads them. What was
taken of each origin is written to taken.json.

Limits: the pairs of one language are held in memory.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter
from pathlib import Path

from mtgauge.train.embedded.corpus import read_pairs
from mtgauge.train.progress import say

WEIGHT = {
    "ud-pud": 9.0, "xquad": 9.0, "tico19": 9.0, "mlqe": 9.0, "opensource-guide": 3.0,
    "monero": 3.0, "ethereum": 1.2, "tatoeba": 1.2, "cataclysm-dda": 1.0, "mozilla-www": 1.0,
    "kaznu": 1.0, "tatoeba-ccby": 0.8, "europarl": 0.6, "k8s": 0.7, "godot-docs": 0.7,
    "ms-d365": 0.6, "ms-misc": 0.6, "python-docs": 0.6, "bible": 0.5, "gnome-user-docs": 0.5,
    "firefox-l10n": 0.4, "lo-help": 0.35, "lo-ui": 0.25,
}  # fmt: skip
PAIRS = {
    "de": 110_000, "ru": 100_000, "zh": 95_000, "cs": 95_000, "fi": 95_000, "tr": 90_000,
    "fr": 75_000, "es": 70_000, "hu": 70_000, "ro": 65_000, "et": 65_000, "lv": 65_000,
}  # fmt: skip
OTHERS = 52_000
Pair = tuple[str, str, str]


def quotas(sizes: dict[str, int], wanted: int) -> dict[str, int]:
    """Pairs to take from each origin, by weight and the square root of its size."""
    left, open_, taken = wanted, dict(sizes), dict[str, int]()
    while open_:
        total = sum(WEIGHT[tag] * size**0.5 for tag, size in open_.items())
        share = {tag: left * WEIGHT[tag] * size**0.5 / total for tag, size in open_.items()}
        full = [tag for tag, size in open_.items() if share[tag] >= size]
        if not full:
            return taken | {tag: int(share[tag]) for tag in open_}
        for tag in full:
            taken[tag] = open_.pop(tag)
            left -= taken[tag]
    return taken


def select(lang: str, files: list[Path], times: float = 1.0, seed: int = 1) -> list[Pair]:
    """Pairs of one language in random order, drawn by length with the keys of Efraimidis and
    Spirakis."""
    rng = random.Random(f"{lang} {seed}")
    keyed: dict[str, list[tuple[float, Pair]]] = {}
    for file in files:
        for foreign, english, tag in read_pairs(file):
            if tag in WEIGHT:
                key = rng.random() ** (1 / min(1.0, (1 + len(english.split())) / 10))
                keyed.setdefault(tag, []).append((key, (foreign, english, tag)))
    wanted = int(times * PAIRS.get(lang, OTHERS))
    take = quotas({tag: len(rows) for tag, rows in keyed.items()}, wanted)
    chosen = [
        pair for tag, rows in sorted(keyed.items())
        for _, pair in sorted(rows, reverse=True)[: take[tag]]
    ]  # fmt: skip
    rng.shuffle(chosen)
    return chosen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parallel", type=Path, nargs="+", required=True)
    parser.add_argument("--times", type=float, default=1.0, help="of the usual number of pairs")
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    taken: dict[str, Counter[str]] = {}
    for lang in sorted({f.name[:2] for d in args.parallel for f in d.glob("??-en.tsv*")}):
        files = [f for d in args.parallel for f in sorted(d.glob(f"{lang}-en.tsv*"))]
        chosen = select(lang, files, args.times)
        text = "".join("\t".join(pair) + "\n" for pair in chosen)
        (args.out / f"{lang}-en.tsv").write_text(text, encoding="utf-8")
        taken[lang] = Counter(tag for _, _, tag in chosen)
        say(f"{lang} {len(chosen)} " + " ".join(f"{t} {n}" for t, n in taken[lang].most_common()))
    (args.out / "taken.json").write_text(json.dumps(taken, indent=1) + "\n", encoding="utf-8")
    say(f"all {sum(c.total() for c in taken.values())}")


if __name__ == "__main__":
    main()
