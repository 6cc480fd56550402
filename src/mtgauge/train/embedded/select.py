"""Free parallel text, sampled by language and origin: what the second generation is trained on.

A pair is drawn without replacement with a chance that grows with the weight of its origin (speeches,
prose and news over menus and scripture) and with its length up to ten words; a language gets as many
pairs as `PAIRS` says, or all it has. Origins that are not in `WEIGHT` are never read.

    python -m mtgauge.train.embedded.select --parallel DIR DIR/more --mlqe mlqe.tsv --out clean

Limits: the pairs of one language are held in memory.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
from collections import Counter
from pathlib import Path

from mtgauge.train.embedded.corpus import open_text, read_pairs
from mtgauge.train.loop.descend import say

WEIGHT = {
    "ud-pud": 100.0, "xquad": 100.0, "tico19": 100.0, "mlqe": 100.0, "opensource-guide": 3.0,
    "monero": 3.0, "europarl": 1.5, "ethereum": 1.2, "cataclysm-dda": 1.0, "mozilla-www": 1.0,
    "kaznu": 1.0, "tatoeba": 0.8, "tatoeba-ccby": 0.8, "k8s": 0.7, "godot-docs": 0.7,
    "ms-d365": 0.6, "ms-misc": 0.6, "python-docs": 0.6, "bible": 0.5, "gnome-user-docs": 0.5,
    "firefox-l10n": 0.4, "lo-help": 0.35, "lo-ui": 0.25,
}  # fmt: skip
PAIRS = {
    "de": 110_000, "ru": 100_000, "zh": 95_000, "cs": 95_000, "fi": 95_000, "tr": 90_000,
    "fr": 75_000, "es": 70_000, "hu": 70_000, "ro": 65_000, "et": 65_000, "lv": 65_000,
}  # fmt: skip
OTHERS = 52_000


def select(lang: str, files: list[Path], seed: int = 1) -> list[tuple[str, str, str]]:
    """Pairs of one language in random order, drawn by weight (the keys of Efraimidis and Spirakis).
    """
    rng = random.Random(f"{lang} {seed}")
    keyed = []
    for file in files:
        for foreign, english, tag in read_pairs(file):
            weight = WEIGHT.get(tag, 0.0)
            if weight:
                weight *= min(1.0, (1 + len(english.split())) / 10)
                keyed.append((rng.random() ** (1 / weight), foreign, english, tag))
    keyed.sort(reverse=True)
    chosen = [pair[1:] for pair in keyed[: PAIRS.get(lang, OTHERS)]]
    rng.shuffle(chosen)
    return chosen


def judged_pairs(mlqe: Path, least: float = 0.0) -> dict[str, list[str]]:
    """Lines `foreign, English, mlqe` by language, of machine translations people liked."""
    lines: dict[str, list[str]] = {}
    with open_text(mlqe) as handle:
        for row in csv.DictReader(handle, delimiter="\t", quoting=csv.QUOTE_NONE):
            if float(row["human"]) > least:
                source, target = row["lp"].split("-")
                texts = [row["source"], row["hypothesis"]]
                if source == "en":
                    source, texts = target, texts[::-1]
                lines.setdefault(source, []).append("\t".join([*texts, "mlqe"]))
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parallel", type=Path, nargs="+", required=True)
    parser.add_argument("--mlqe", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    liked = judged_pairs(args.mlqe) if args.mlqe else {}
    shares: dict[str, Counter[str]] = {}
    for lang in sorted({f.name[:2] for d in args.parallel for f in d.glob("??-en.tsv*")}):
        files = [f for d in args.parallel for f in sorted(d.glob(f"{lang}-en.tsv*"))]
        extra = args.out / f"{lang}.mlqe.tsv"
        if lang in liked:
            extra.write_text("\n".join(liked[lang]) + "\n", encoding="utf-8")
            files.append(extra)
        chosen = select(lang, files)
        extra.unlink(missing_ok=True)
        text = "".join("\t".join(pair) + "\n" for pair in chosen)
        (args.out / f"{lang}-en.tsv").write_text(text, encoding="utf-8")
        shares[lang] = Counter(tag for _, _, tag in chosen)
        say(f"{lang} {len(chosen)} " + " ".join(f"{t} {n}" for t, n in shares[lang].most_common()))
    (args.out / "shares.json").write_text(json.dumps(shares, indent=1))
    say(f"all {sum(sum(c.values()) for c in shares.values())}")


if __name__ == "__main__":
    main()
