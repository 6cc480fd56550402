"""`mtgauge vectors convert|info`: word-vector files as stores that open at once."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from mtgauge.commands.parser import positive, subcommand
from mtgauge.encode.words.store import WordVectors, embedded_languages
from mtgauge.errors import InputError

_EXAMPLES = """
examples:
  mtgauge vectors convert crawl-300d-2M.vec.gz -o crawl.vectors
  mtgauge vectors info crawl.vectors
  mtgauge score -t sys.en -r ref.en -m std:vectors=crawl.vectors
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EXAMPLES
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    convert = subcommand(
        actions,
        "convert",
        "make a store of a word-vector file",
        "  mtgauge vectors convert crawl-300d-2M.vec.gz -o crawl.vectors --limit 500000",
    )
    convert.add_argument("file", metavar="FILE", help="word2vec, GloVe or fastText; .gz allowed")
    convert.add_argument("-o", "--out", required=True, metavar="DIR", help="a new folder")
    convert.add_argument(
        "--dtype",
        choices=("auto", "float32", "float16", "int8"),
        default="auto",
        help="auto: float16, or float32 for small files",
    )
    convert.add_argument("--lowercase", action="store_true", help="keep words in lower case")
    convert.add_argument("--vocabulary", metavar="FILE", help="keep only words of this text file")
    convert.add_argument("--limit", type=positive, metavar="N", help="keep only the first N words")
    info = subcommand(actions, "info", "what a store holds", "  mtgauge vectors info crawl.vectors")
    info.add_argument("store", metavar="DIR", nargs="?", help="a store; none: the embedded ones")


def run(args: argparse.Namespace) -> int:
    return _convert(args) if args.action == "convert" else _info(args.store)


def _convert(args: argparse.Namespace) -> int:
    from mtgauge.encode.words.files import convert

    words = None if args.vocabulary is None else _read_words(args.vocabulary)
    done = convert(
        args.file,
        args.out,
        dtype=args.dtype,
        lowercase=args.lowercase,
        vocabulary=words,
        limit=args.limit,
        progress=lambda line: print(f"{line:,} lines", file=sys.stderr),
    )
    for what, count in sorted(done.notes.items()):
        print(f"left out: {count:,} words ({what})", file=sys.stderr)
    return _info(args.out)


def _read_words(file: str) -> set[str]:
    try:
        return set(Path(file).read_text(encoding="utf-8").split())
    except OSError:
        raise InputError("there is no such file", file=file) from None
    except UnicodeDecodeError:
        raise InputError("the file is not UTF-8", file=file, remedy="Save it as UTF-8.") from None


def _info(store: str | None) -> int:
    if store is None:
        for lang in embedded_languages():
            header = WordVectors.embedded(lang).header
            print(f"{lang}\t{header['words']}\t{header['dimensions']}\t{header['origin']}")
        return 0
    vectors = WordVectors.open(store)
    for key, value in vectors.header.items():
        print(f"{key}\t{value}")
    some = [vectors.word(i) for i in range(min(8, len(vectors)))]
    print(f"first words\t{' '.join(some)}")
    return 0
