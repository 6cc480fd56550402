"""The command line: parses arguments, hands them on, prints. No logic of its own.

Results go to standard output; progress, warnings and speed to standard error.
Exit codes: 0 done; 1 a fault of ours; 2 wrong usage; 3 bad input; 4 a model or resource is
missing; 5 the gate of `check` is closed; 130 interrupted. A closed pipe ends quietly. Where
standard output is not UTF-8, marks are written in ASCII and other characters that it lacks as
\\uXXXX.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from mtgauge._version import __version__
from mtgauge.commands.outputs import refuse_lost
from mtgauge.commands.parser import Parser, subcommand
from mtgauge.entry import interrupted
from mtgauge.errors import as_error
from mtgauge.report.writers import speak_plainly, visible

# command: (module that has `add_arguments` and `run`, one line of help)
COMMANDS = {
    "score": ("mtgauge.commands.score", "score systems, compare them, test the difference"),
    "check": ("mtgauge.commands.check", "a gate for CI: fail where translations got worse"),
    "report": ("mtgauge.commands.report", "one HTML page: verdict, scores, tests, segments"),
    "demo": ("mtgauge.commands.demo", "the main job on example data in the package"),
    "metrics": ("mtgauge.commands.metrics", "what metrics there are, and how to read them"),
    "explain": ("mtgauge.commands.explain", "what one segment's score was made of"),
    "meta": ("mtgauge.commands.meta", "how far a metric agrees with human judgements"),
    "probe": ("mtgauge.commands.probe", "does a metric prefer translationese?"),
    "stream": ("mtgauge.commands.stream", "score and filter corpora of any size"),
    "rerank": ("mtgauge.commands.rerank", "the best of n candidates per segment"),
    "remap": ("mtgauge.commands.remap", "fit and inspect remapped vector spaces (CLP, UMD)"),
    "vectors": ("mtgauge.commands.vectors", "convert and inspect word-vector files"),
    "train": ("mtgauge.commands.train", "train encoders, language models and metrics"),
    "kb": ("mtgauge.commands.kb", "build, inspect and try a knowledge base"),
    "serve": ("mtgauge.commands.serve", "the web application and its REST interface"),
    "selftest": ("mtgauge.commands.selftest", "is this installation right?"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; the return value is the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if argv is None:
        _settle_streams()
        warnings.formatwarning = _plain(warnings.formatwarning)
    speak_plainly(sys.stdout, sys.stderr)
    try:
        code = _run(arguments)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return interrupted()
    except BrokenPipeError:
        _forget_output()  # the reader has gone
        return 0
    except Exception as fault:
        error = as_error(fault)
        if error is None:
            raise
        print(f"mtgauge: {visible(str(error))}", file=sys.stderr)
        if isinstance(fault, OSError):
            _forget_output()  # what is left to write cannot be written
        return error.exit_code


def _plain(usual: Callable[..., str]) -> Callable[..., str]:
    """Warnings of ours as a line for people, without the place in the program."""
    ours = str(Path(__file__).parent)

    def told(message: Warning | str, category: type[Warning], file: str, *more: Any) -> str:
        if file.startswith(ours) and issubclass(category, UserWarning):
            return f"mtgauge: {visible(str(message))}\n"
        return usual(message, category, file, *more)

    return told


def _settle_streams() -> None:
    """SIGTERM and SIGHUP end a run as Ctrl-C does, so that copies are removed; closed streams are
    nothing."""
    for name in ("SIGTERM", "SIGHUP"):  # Windows has no SIGHUP
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:  # nohup
            signal.signal(number, _interrupt)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115


def _interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def _forget_output() -> None:
    """Keep Python from complaining when it closes standard output."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(arguments: list[str]) -> int:
    name = next((a for a in arguments if not a.startswith("-")), None)
    parser = _parser(name if name in COMMANDS else None)
    args = parser.parse_args(arguments)
    if args.command is None:
        parser.print_help()
        return 2
    refuse_lost(args)
    return int(importlib.import_module(COMMANDS[args.command][0]).run(args))


def _parser(wanted: str | None) -> Parser:
    """The parser; only the command in question is imported, so that help is quick."""
    parser = Parser(
        prog="mtgauge",
        description="Measure machine translation quality.",
        epilog="Try: mtgauge demo. Help on a command: mtgauge score --help.",
    )
    parser.add_argument("--version", action="version", version=f"mtgauge {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name, (module, text) in COMMANDS.items():
        sub = subcommand(commands, name, text)
        if name == wanted:
            importlib.import_module(module).add_arguments(sub)
    return parser
