"""KoBE measured: speed of the linker, and agreement with human judgements.

    python bench/kobe.py speed                          # made-up sentences, embedded knowledge base
    python bench/kobe.py speed --aliases 5000000        # and a synthetic one of that size
    python bench/kobe.py dictionaries fi de cs          # forms of the lemma dictionaries
    python bench/kobe.py wmt DIR --year 18 [-l cs-en]   # DIR holds sysYY.tsv and wmtYY/LP.tsv.gz
    python bench/kobe.py wmt DIR --year 18 -m kobe kobe:names=off       # several variants

`wmt` prints, a language pair a line: system-level Pearson of each metric (KoBE and BLEU) with the
human scores; and of the first, share of sentences with entities, entities a sentence, and the
recall of source entities in the human reference (the ceiling). WMT17's English is lower-cased with
HTML escapes: it is unescaped, as the data card asks. `speed` counts seconds of the processor, not
of the clock: other work on the machine disturbs it less.
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
from mtgauge.knowledge.base.store import KnowledgeBase
from mtgauge.knowledge.base.writer import KnowledgeWriter
from mtgauge.knowledge.link.linker import KnowledgeLinker
from mtgauge.metric import Metric

_VOCABULARY = 60_000
_NAMES = "Prague Berlin Germany Moscow Angela Nikolay Estonia London Reuters Paris Riga".split()


def sentences(n: int, lang: str, seed: int) -> list[str]:
    """Made-up sentences of 25 words; two names and a number, the same in sentence i of every list.

    The words are drawn from a dictionary of the language as frequent as Zipf's law says, so that
    new ones turn up in every sentence, as they do in real text.
    """
    from simplemma.strategies.dictionaries.stream_dictionary_factory import StreamDictionaryFactory

    listed = sorted(w for w in StreamDictionaryFactory().get_dictionary(lang) if w.isalpha())
    draw = np.random.default_rng(seed)
    vocabulary = draw.permutation(np.array(listed, dtype=object))[:_VOCABULARY]
    share = 1 / np.arange(1, len(vocabulary) + 1)
    words = draw.choice(vocabulary, size=(n, 25), p=share / share.sum())
    names = np.random.default_rng(7).choice(np.array(_NAMES, dtype=object), size=(n, 2))
    words[:, 3], words[:, 11] = names[:, 0], names[:, 1]
    words[:, 17] = [str(i % 1000) for i in range(n)]
    return [" ".join(row)[:1].upper() + " ".join(row)[1:] + "." for row in words]


def rate(linker: KnowledgeLinker, texts: list[str], lang: str) -> tuple[float, float]:
    """Sentences a second: the first time, with every word new; and again, the best of three."""
    rates = []
    for _ in range(4):
        start = time.process_time()
        linker.link(texts, lang)
        rates.append(len(texts) / (time.process_time() - start))
    return rates[0], max(rates[1:])


def speed(aliases: int) -> None:
    code = (
        "import resource,time;"
        "from mtgauge.knowledge.base.store import KnowledgeBase;"
        "from mtgauge.knowledge.link.linker import KnowledgeLinker;"
        "a=time.process_time();"
        "KnowledgeLinker(KnowledgeBase.open(), inflected=False).link(['In Prague.'],'en');"
        "print(time.process_time()-a, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss/1024)"
    )
    opened = [
        tuple(map(float, subprocess.check_output([sys.executable, "-c", code]).split()))
        for _ in range(5)
    ]
    seconds, megabytes = min(opened)
    print(f"open it and link the first English sentence\t{seconds:.3f} s\t{megabytes:.0f} MB")
    texts, sources = sentences(20_000, "en", 1), sentences(20_000, "de", 2)
    kb = KnowledgeBase.open()
    plain = KnowledgeLinker(kb, numbers=False, inflected=False)
    report("matching, without lemmas and numbers", rate(plain, texts, "en"))
    print(f"the same by pyahocorasick (no case, no words)\t{automaton(kb, texts):,.0f}")
    report("linking with lemmas and numbers, English", rate(KnowledgeLinker(kb), texts, "en"))
    report("linking with lemmas and numbers, German", rate(KnowledgeLinker(kb), sources, "de"))
    metric = registry.load("kobe")
    batch = Segments(texts, sources=sources, lang="de-en")
    for name in ("every word new", "another system of the same sources"):
        start = time.process_time()
        metric.statistics(batch)
        pairs = len(texts) / (time.process_time() - start)
        print(f"kobe end to end, {name}\t{pairs:,.0f} pairs = {2 * pairs:,.0f} sentences a second")
        batch = Segments(sentences(20_000, "en", 3), sources=sources, lang="de-en")
    if aliases:
        synthetic(aliases, texts)


def report(name: str, rates: tuple[float, float]) -> None:
    print(f"{name}\t{rates[0]:,.0f} sentences a second, every word new; {rates[1]:,.0f} again")


def automaton(kb: KnowledgeBase, texts: list[str]) -> float:
    """Sentences a second of a plain Aho-Corasick search over the same keys (no case, no words)."""
    import ahocorasick

    machine = ahocorasick.Automaton()
    for key in kb.keys("en"):
        machine.add_word(key, key)
    machine.make_automaton()
    start = time.process_time()
    for text in texts:
        list(machine.iter(text.lower()))
    return len(texts) / (time.process_time() - start)


def synthetic(aliases: int, texts: list[str]) -> None:
    """A knowledge base of made-up names: does size cost speed?"""
    draw = random.Random(11)
    known = [word for text in texts[:2000] for word in text.split() if len(word) > 3]
    letters = "abcdefghijklmnoprstuvz"
    parts = ["".join(draw.choices(letters, k=8)) for _ in range(aliases)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "big.sqlite"
        writer = KnowledgeWriter(path)
        writer.source("synthetic", "CC0-1.0", "-")
        for i in range(aliases // 10):
            names = [" ".join(draw.choices(parts, k=1 + j % 2)).title() for j in range(9)]
            names.append(draw.choice(known).title() + f" {draw.choice(parts)}".title())
            writer.add(f"x:{i}", "person", names[0], [("en", name, 0.9) for name in names])
        writer.close()
        print(f"{aliases:,} aliases\t{path.stat().st_size / 1e6:,.0f} MB on disk")
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        with KnowledgeBase(path) as kb:
            linker = KnowledgeLinker(kb, numbers=False, inflected=False)
            report("matching against them", rate(linker, texts, "en"))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"memory of the process\t{before:,.0f} MB before, {memory:,.0f} MB after")


def wmt(folder: Path, year: str, only: str | None, limit: int | None, specs: list[str]) -> None:
    human: dict[str, dict[str, float]] = {}
    with (folder / f"sys{year}.tsv").open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE):
            human.setdefault(row["lp"], {})[row["system"]] = float(row["human"])
    print(f"# WMT{year}, {limit or 'all'} segments a pair")
    print("lp", "systems", *specs, "with_entities", "entities", "in_reference", sep="\t")
    found = []
    for file in sorted((folder / f"wmt{year}").glob("*.tsv.gz")):
        lp = file.name.removesuffix(".tsv.gz")
        if only in (None, lp):
            systems, cells = pair(file, lp, human[lp], limit, specs, year == "17")
            found.append(cells)
            print(lp, systems, *(f"{x:.3f}" for x in cells), sep="\t", flush=True)
    print("mean", "", *(f"{x:.3f}" for x in np.mean(found, axis=0)), sep="\t")


def pair(
    file: Path, lp: str, human: dict[str, float], limit: int | None, specs: list[str], escaped: bool
) -> tuple[int, list[float]]:
    """Number of systems; r of each metric, and of the first, which is KoBE, the statistics."""
    with gzip.open(file, "rt", encoding="utf-8", newline="\n") as stream:
        head, *rows = [line.rstrip("\n").split("\t") for line in stream]
    if limit:
        rows = rows[:: max(1, len(rows) // limit)][:limit]
    if escaped:
        rows = [[*r[:2], *(html.unescape(html.unescape(x)) for x in r[2:])] for r in rows]
    sources, references = [r[1] for r in rows], [(r[2],) for r in rows]

    def system(metric: Metric, column: int) -> tuple[float, np.ndarray]:
        batch = Segments([r[column] for r in rows], sources, references, lp)
        found = metric.statistics(batch)
        return float(metric.system_score(found.sum(0)[None], np.array([len(rows)]))[0]), found

    columns = [i for i, name in enumerate(head) if name in human]
    judged = [human[head[i]] for i in columns]
    metrics = [registry.load(spec) for spec in specs]
    agreement = [
        float(np.corrcoef([system(metric, i)[0] for i in columns], judged)[0, 1])
        for metric in metrics
    ]
    _, reference = system(metrics[0], 2)
    share, each = (reference[:, 1] > 0).mean(), reference[:, 1].mean()
    ceiling = reference[:, 0].sum() / reference[:, 1].sum()
    return len(columns), [*agreement, float(share), float(each), float(ceiling)]


_DICTIONARY = """
import resource, sys, time
from simplemma.strategies.dictionaries import dictionary_factory as plain
from simplemma.strategies.dictionaries import stream_dictionary_factory as stream
from simplemma.strategies.dictionaries import trie_dictionary_factory as trie
form, lang, folder = sys.argv[1:]
factory = {
    "plain": plain.DefaultDictionaryFactory, "stream": stream.StreamDictionaryFactory,
}.get(form, lambda: trie.TrieDictionaryFactory(disk_cache_dir=folder))()
start = time.process_time()
words = factory.get_dictionary(lang)
loaded = time.process_time() - start
asked = [word for word, _ in zip(words, range(20_000))]
start = time.process_time()
for word in asked:
    words.get(word)
each = time.process_time() - start
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
rate = len(asked) / each
print(f"{form}\\t{lang}\\t{loaded:.2f} s\\t{memory:.0f} MB\\t{rate:,.0f} lookups a second")
"""


def dictionaries(languages: list[str]) -> None:
    """The forms in which simplemma offers its dictionaries; the trie at first use and after."""
    with tempfile.TemporaryDirectory() as folder:
        for lang in languages:
            for form in ("plain", "stream", "trie, first use", "trie, later"):
                subprocess.run([sys.executable, "-c", _DICTIONARY, form, lang, folder], check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    commands = parser.add_subparsers(dest="command", required=True)
    fast = commands.add_parser("speed")
    fast.add_argument("--aliases", type=int, default=0)
    words = commands.add_parser("dictionaries")
    words.add_argument("languages", nargs="+")
    data = commands.add_parser("wmt")
    data.add_argument("folder", type=Path)
    data.add_argument("--year", choices=("17", "18"), required=True)
    data.add_argument("-l", "--lang")
    data.add_argument("--segments", type=int)
    data.add_argument("-m", "--metrics", nargs="+", default=["kobe", "bleu"])
    args = parser.parse_args()
    if args.command == "speed":
        speed(args.aliases)
    elif args.command == "dictionaries":
        dictionaries(args.languages)
    else:
        wmt(args.folder, args.year, args.lang, args.segments, args.metrics)


if __name__ == "__main__":
    main()
