"""`mtgauge kb`: build a knowledge base, look into one, try the linker, count entities."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from mtgauge.commands.outputs import OutputFile, OutputFolder
from mtgauge.commands.parser import subcommand
from mtgauge.commands.shared import warn_of_languages
from mtgauge.data import readers
from mtgauge.data.alignment import SOURCE
from mtgauge.data.codes import Language
from mtgauge.data.corpus import Corpus
from mtgauge.data.output import write
from mtgauge.data.spool import STANDARD_INPUT, Spool
from mtgauge.errors import UsageError
from mtgauge.knowledge.base.store import KnowledgeBase
from mtgauge.knowledge.base.writer import KnowledgeWriter
from mtgauge.report.writers import TABLES, json_text

_EXAMPLES = """
examples:
  mtgauge kb info
  mtgauge kb link "Včera byl v Praze." -l cs
  mtgauge kb link "Včera byl v nemocnici." -l cs --concepts
  mtgauge kb count -s src.de -t a.txt b.txt -r ref.txt -l de-en --plot pictures --segment 3
  mtgauge kb annotate -s src.de -t a.txt b.txt -l de-en -o annotations
  mtgauge kb build my.sqlite --csv products.csv
  mtgauge kb build my.sqlite --wikidata latest-all.json.bz2 --languages en,cs --min-sitelinks 20
"""


_BUILD = """\
  mtgauge kb build my.sqlite --csv products.csv
  mtgauge kb build my.sqlite --wikidata latest-all.json.bz2 --languages en,cs --min-sitelinks 20
  mtgauge score -s src.de -t sys.en -l de-en -m kobe:kb=my.sqlite
"""
_LINK = """\
  mtgauge kb link "Včera byl v Praze." -l cs
  mtgauge kb link - -l cs --kb my.sqlite < src.cs
"""
_COUNT = """\
  mtgauge kb count -s src.de -t a.txt b.txt -r ref.txt -l de-en
  mtgauge kb count -s src.de -t a.txt -l de-en --plot pictures --segment 3
"""
_ANNOTATE = "  mtgauge kb annotate -s src.de -t a.txt b.txt -l de-en -o annotations"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EXAMPLES
    commands = parser.add_subparsers(
        dest="kb_command", required=True, metavar="build|info|link|count|annotate"
    )
    build = subcommand(commands, "build", "build a knowledge base from open data", _BUILD)
    build.add_argument("out", type=Path, metavar="KB", help="file to write, or to go on with")
    build.add_argument("--wikidata", metavar="DUMP", help="JSON dump (.json, .gz, .bz2)")
    build.add_argument("--geonames", metavar="FILE", help="allCountries.txt, cities500.txt, ...")
    build.add_argument("--alternate-names", metavar="FILE", help="GeoNames alternateNamesV2.txt")
    build.add_argument("--omw", nargs="+", default=[], metavar="FILE", help="wordnets, tab format")
    build.add_argument("--wn-lmf", nargs="+", default=[], metavar="FILE", help="wordnets, WN-LMF")
    build.add_argument("--csv", nargs="+", default=[], metavar="FILE", help="id,category,lang,name")
    build.add_argument("--languages", default="en", metavar="en,cs", help="names to keep")
    build.add_argument("--classes", default="", metavar="Q5,Q515", help="only these P31 classes")
    build.add_argument(
        "--min-sitelinks",
        type=int,
        default=5,
        metavar="N",
        help="of Wikidata: items with as many Wikipedia pages (%(default)s)",
    )
    build.add_argument(
        "--min-population",
        type=int,
        default=15_000,
        metavar="N",
        help="of GeoNames: places with as many people (%(default)s)",
    )
    info = subcommand(commands, "info", "count entities and names", "  mtgauge kb info my.sqlite")
    info.add_argument("kb", nargs="?", default="embedded", metavar="KB", help="a file (embedded)")
    link = subcommand(commands, "link", "show the mentions in a text", _LINK)
    link.add_argument("text", metavar="TEXT", help="- reads lines from standard input")
    link.add_argument(
        "-l", "--lang", required=True, metavar="LANG", help="its language, such as cs"
    )
    link.add_argument("--kb", default="embedded", metavar="KB", help="a file (embedded)")
    link.add_argument("--concepts", action="store_true", help="common nouns too")
    link.add_argument(
        "--annotations",
        type=OutputFile,
        metavar="FILE",
        help="write them in the paper's format too",
    )
    counts = subcommand(
        commands, "count", "count what source, references and systems mention", _COUNT
    )
    _add_texts(counts)
    counts.add_argument(
        "--format", choices=TABLES, default="table", help="of what is printed (%(default)s)"
    )
    counts.add_argument(
        "--json", type=OutputFile, metavar="FILE", help="write the counts as JSON too"
    )
    counts.add_argument("--plot", type=Path, metavar="FOLDER", help="draw them (extra `plot`)")
    counts.add_argument(
        "--segment", type=int, metavar="N", help="draw this segment of the first system too"
    )
    annotate = subcommand(
        commands, "annotate", "write all mentions in the paper's format", _ANNOTATE
    )
    _add_texts(annotate)
    annotate.add_argument(
        "-o",
        "--out",
        type=OutputFolder,
        required=True,
        metavar="FOLDER",
        help="a file per side and system",
    )


def _add_texts(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("-s", "--source", required=True, metavar="SRC", help="what was translated")
    add("-t", "--translations", nargs="+", required=True, metavar="HYP", help="translations")
    add("-r", "--references", nargs="+", default=[], metavar="REF", help="human translations")
    add("-l", "--lang", required=True, metavar="PAIR", help="language pair, such as de-en")
    add("-m", "--metric", default="kobe", metavar="KOBE", help="whose entities (%(default)s)")


def run(args: argparse.Namespace) -> int:
    known = {"build": _build, "info": _info, "link": _link, "count": _count, "annotate": _annotate}
    return known[args.kb_command](args)


def _build(args: argparse.Namespace) -> int:
    from mtgauge.knowledge.base import build

    languages = {code.strip() for code in args.languages.split(",") if code.strip()}
    for code in languages:
        Language.parse(code)  # an unknown one is refused
    if args.alternate_names and not args.geonames:
        raise UsageError("--alternate-names needs --geonames: the places that are named.")
    if not (args.wikidata or args.geonames or args.omw or args.wn_lmf or args.csv):
        raise UsageError(
            "Nothing to build from: give --wikidata, --geonames, --omw, --wn-lmf or --csv."
        )
    classes = frozenset(code.strip() for code in args.classes.split(",") if code.strip())
    writer = KnowledgeWriter(args.out)
    try:
        if args.wikidata:
            build.from_wikidata(
                writer, args.wikidata, languages, args.min_sitelinks, classes, _progress
            )
        if args.geonames:
            build.from_geonames(
                writer,
                args.geonames,
                args.alternate_names,
                languages,
                args.min_population,
                _progress,
            )
        for path in args.omw:
            build.from_omw(writer, path)
        for path in args.wn_lmf:
            build.from_wn_lmf(writer, path)
        for path in args.csv:
            build.from_csv(writer, path)
    except BaseException:
        writer.close()  # keeps what is done, so that the same command can go on
        raise
    writer.finish()
    with KnowledgeBase(args.out) as kb:
        entities = sum(kb.counts().get("*", {}).values())
    print(f"{args.out}: {entities} entities in {', '.join(sorted(languages))}", file=sys.stderr)
    return 0


def _progress(lines: int) -> None:
    print(f"\r{lines:,} lines", end="", file=sys.stderr, flush=True)


def _info(args: argparse.Namespace) -> int:
    with KnowledgeBase.open(args.kb) as kb:
        counts = kb.counts()
        entities = counts.pop("*", {})
        categories = sorted(entities)
        print("language\tnames\t" + "\t".join(categories))
        print("entities\t" + "\t".join(str(n) for n in _row(entities, categories)))
        for lang, row in counts.items():
            print(lang + "\t" + "\t".join(str(n) for n in _row(row, categories)))
        print()
        print("source\tlicence\tversion\tnames")
        for source in kb.sources():
            print("\t".join(map(str, source)))
    return 0


def _row(row: dict[str, int], categories: list[str]) -> list[int]:
    return [sum(row.values()), *(row.get(category, 0) for category in categories)]


def _texts(given: str) -> list[str]:
    """The lines of standard input, or the one text that was written; a file is neither."""
    if given == str(STANDARD_INPUT):
        with Spool() as spool:
            return readers.text_lines(spool.reusable(STANDARD_INPUT))
    if os.path.isfile(given):
        raise UsageError(f"{given!r} is a file, where a text is wanted. Write: kb link - < {given}")
    return [given]


def _link(args: argparse.Namespace) -> int:
    from mtgauge.knowledge.link import annotations
    from mtgauge.knowledge.link.linker import KnowledgeLinker

    texts = _texts(args.text)
    lang = Language.parse(args.lang).base
    with KnowledgeBase.open(args.kb) as kb:
        linked = KnowledgeLinker(kb).link(texts, lang)
        names: dict[str, str] = {}
        if args.concepts:
            from mtgauge.metrics._concepts import ConceptFinder

            finder = ConceptFinder.embedded()
            linked, names = finder.added(texts, linked, lang), finder.inventory.names
        print("line\tbegin\tend\ttext\tid\tcategory\tname\tcounted")
        for line, mentions in enumerate(linked, start=1):
            for m in mentions:
                name = names.get(m.ids[0]) or kb.label(m.ids[0]) or m.text
                cells = (line, m.begin, m.end, m.text, m.ids[0], m.category, name)
                print(*cells, "weak" if m.weak else "yes", sep="\t")
    if args.annotations:
        annotations.write(args.annotations, texts, linked)
    return 0


def _count(args: argparse.Namespace) -> int:
    from mtgauge.engine.entities import count
    from mtgauge.engine.explain import explain_corpus
    from mtgauge.report.entities import plot, render

    if args.segment is not None and args.plot is None:
        raise UsageError("--segment is drawn into a folder: give --plot FOLDER.")
    with Corpus.from_arguments(args.translations, args.source, args.references) as corpus:
        first_lines = next(corpus.chunks(1000))
        sides = {SOURCE: first_lines.sources or (), **first_lines.systems}
        warn_of_languages(args.lang, sides)
        counts = count(corpus, args.metric, args.lang)
        example = None
        if args.segment is not None:
            first = dict(list(corpus.systems.items())[:1])
            alone = Corpus(first, corpus.sources, corpus.references)
            example = explain_corpus(alone, args.metric, args.lang, args.segment)
    sys.stdout.write(render(counts, args.format))
    if args.json is not None:
        write(args.json, json_text(counts.to_dict()))
    if args.plot is not None:
        for path in plot(args.plot, counts, example):
            print(f"wrote {path}", file=sys.stderr)
    return 0


def _annotate(args: argparse.Namespace) -> int:
    from mtgauge.engine.entities import annotate

    with Corpus.from_arguments(args.translations, args.source, args.references) as corpus:
        for path in annotate(corpus, args.metric, args.lang, args.out):
            print(path)
    return 0
