"""KoBE measured: speed of the linker, and agreement with human judgements.

    python bench/kobe.py speed                          # made-up sentences, embedded knowledge base
    python bench/kobe.py speed --aliases 5000000        # and a synthetic one of that size
    python bench/kobe.py wmt DIR --year 18 [-l cs-en]   # DIR holds sysYY.tsv and wmtYY/LP.tsv.gz
    python bench/kobe.py wmt DIR --year 18 --segments 500

`wmt` prints, a language pair a line: system-level Pearson of KoBE and of BLEU with the human
scores, share of sentences with entities, entities a sentence, and the recall of source entities in
the human reference (the ceiling). WMT17's English is lower-cased with HTML escapes: it is
unescaped, as the data card asks.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import html
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from mtgauge import registry
from mtgauge.data.segments import Segments
from mtgauge.knowledge.linker import KnowledgeLinker
from mtgauge.knowledge.store import KnowledgeBase
from mtgauge.knowledge.writer import KnowledgeWriter
from mtgauge.metrics.base import Metric

_WORDS = (
    "the minister said on that day people would travel from their homes to work because prices had "
    "risen again and nobody in parliament wanted to speak about it before elections were held"
).split()
_NAMES = "Prague Berlin Germany Moscow Angela Nikolay Estonia London Reuters Paris Riga".split()


def sentences(n: int) -> list[str]:
    """Made-up English news sentences of 25 words with two names and a number each."""
    draw = random.Random(7)
    made = []
    for i in range(n):
        words = [draw.choice(_WORDS) for _ in range(22)]
        words[3], words[11], words[17] = draw.choice(_NAMES), draw.choice(_NAMES), str(i % 1000)
        made.append(" ".join(words).capitalize() + ".")
    return made


def rate(linker: KnowledgeLinker, texts: list[str], lang: str) -> float:
    """Sentences a second, the best of three."""
    linker.link(texts[:200], lang)
    best = 0.0
    for _ in range(3):
        start = time.perf_counter()
        linker.link(texts, lang)
        best = max(best, len(texts) / (time.perf_counter() - start))
    return best


def speed(aliases: int) -> None:
    code = (
        "import resource,time;t=time.perf_counter();"
        "from mtgauge.knowledge.store import KnowledgeBase;"
        "a=time.perf_counter();kb=KnowledgeBase.open();kb.index('en');"
        "print(time.perf_counter()-a, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss/1024)"
    )
    opened = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    seconds, megabytes = map(float, opened.stdout.split())
    print(
        f"open the embedded knowledge base and index English\t{seconds:.2f} s\t{megabytes:.0f} MB"
    )
    texts = sentences(20_000)
    kb = KnowledgeBase.open()
    matching = rate(KnowledgeLinker(kb, numbers=False), texts, "en")
    print(f"matching, sentences a second\t{matching:,.0f}")
    print(f"ratio to pyahocorasick on the same aliases\t{matching / automaton(kb, texts):.2f}")
    print(f"with numbers\t{rate(KnowledgeLinker(kb), texts, 'en'):,.0f}")
    metric = registry.load("kobe")
    batch = Segments(texts, sources=texts[1:] + texts[:1], lang="de-en")
    metric.statistics(batch.take(range(200)))
    start = time.perf_counter()
    metric.statistics(batch)
    print(f"kobe end to end, pairs a second\t{len(texts) / (time.perf_counter() - start):,.0f}")
    if aliases:
        synthetic(aliases, texts)


def automaton(kb: KnowledgeBase, texts: list[str]) -> float:
    """Sentences a second of a plain Aho-Corasick search over the same keys (no case, no words)."""
    import ahocorasick

    machine = ahocorasick.Automaton()
    for key in kb.index("en").phrases:
        machine.add_word(key, key)
    machine.make_automaton()
    start = time.perf_counter()
    for text in texts:
        list(machine.iter(text.lower()))
    return len(texts) / (time.perf_counter() - start)


def synthetic(aliases: int, texts: list[str]) -> None:
    """A knowledge base of made-up names: does size cost speed?"""
    draw = random.Random(11)
    parts = ["".join(draw.choice("abcdefghijklmnoprstuvz") for _ in range(5)) for _ in range(5000)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "big.sqlite"
        writer = KnowledgeWriter(path)
        writer.source("synthetic", "CC0-1.0", "-")
        for i in range(aliases):
            name = f"{draw.choice(parts)}{draw.choice(parts)}".capitalize()
            if i % 2:
                name += f" {draw.choice(parts)}".title()
            writer.add(f"x:{i}", "person", name, [("en", name, 0.9)])
        writer.close()
        kb = KnowledgeBase(path)
        start = time.perf_counter()
        kb.index("en")
        opened = time.perf_counter() - start
        found = rate(KnowledgeLinker(kb, numbers=False), texts, "en")
        kb.close()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{aliases:,} aliases\tindexed in {opened:.0f} s\t{found:,.0f} a second\t{memory:,.0f} MB"
    )


def wmt(folder: Path, year: str, only: str | None, limit: int | None, spec: str) -> None:
    human: dict[str, dict[str, float]] = {}
    with (folder / f"sys{year}.tsv").open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE):
            human.setdefault(row["lp"], {})[row["system"]] = float(row["human"])
    print(f"# WMT{year}, {spec}, {limit or 'all'} segments a pair")
    print("lp\tsystems\tkobe_r\tbleu_r\twith_entities\tentities\treference_recall")
    files = sorted((folder / f"wmt{year}").glob("*.tsv.gz"))
    for file in files:
        lp = file.name.removesuffix(".tsv.gz")
        if only in (None, lp):
            print(*pair(file, lp, human[lp], limit, spec, year == "17"), sep="\t", flush=True)


def pair(
    file: Path, lp: str, human: dict[str, float], limit: int | None, spec: str, escaped: bool
) -> tuple[str, ...]:
    with gzip.open(file, "rt", encoding="utf-8", newline="\n") as stream:
        head, *rows = [line.rstrip("\n").split("\t") for line in stream]
    if limit:
        rows = rows[:: max(1, len(rows) // limit)][:limit]
    if escaped:
        rows = [[*r[:2], *(html.unescape(html.unescape(x)) for x in r[2:])] for r in rows]
    kobe, bleu = registry.load(spec), registry.load("bleu")
    sources, references = [r[1] for r in rows], [(r[2],) for r in rows]

    def system(metric: Metric, column: int) -> tuple[float, np.ndarray]:
        batch = Segments([r[column] for r in rows], sources, references, lp)
        found = metric.statistics(batch)
        return float(metric.system_score(found.sum(0)[None], np.array([len(rows)]))[0]), found

    columns = [i for i, name in enumerate(head) if name in human]
    judged = [human[head[i]] for i in columns]
    mine = np.corrcoef([system(kobe, i)[0] for i in columns], judged)[0, 1]
    theirs = np.corrcoef([system(bleu, i)[0] for i in columns], judged)[0, 1]
    _, reference = system(kobe, 2)
    share, each = (reference[:, 1] > 0).mean(), reference[:, 1].mean()
    ceiling = reference[:, 0].sum() / reference[:, 1].sum()
    cells = (f"{x:.3f}" for x in (mine, theirs, share, each, ceiling))
    return (lp, str(len(columns)), *cells)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    commands = parser.add_subparsers(dest="command", required=True)
    fast = commands.add_parser("speed")
    fast.add_argument("--aliases", type=int, default=0)
    data = commands.add_parser("wmt")
    data.add_argument("folder", type=Path)
    data.add_argument("--year", choices=("17", "18"), required=True)
    data.add_argument("-l", "--lang")
    data.add_argument("--segments", type=int)
    data.add_argument("-m", "--metric", default="kobe")
    args = parser.parse_args()
    if args.command == "speed":
        speed(args.aliases)
    else:
        wmt(args.folder, args.year, args.lang, args.segments, args.metric)


if __name__ == "__main__":
    main()
