"""The parser of the command line: argparse whose complaints are one plain sentence.

argparse prints the whole usage before every complaint, and speaks of arguments and invalid choices.
Here a wrong command line is told as every other error is: what is wrong, and what to do.
"""

from __future__ import annotations

import argparse
import difflib
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from mtgauge.errors import UsageError
from mtgauge.report.writers import visible

_CHOICE = re.compile(r"argument (\S+): invalid choice: '(.*?)' \(choose from (.*)\)", re.DOTALL)
_TYPES = {"int": "a whole number", "float": "a number"}
_KINDS: tuple[tuple[str, str], ...] = (
    (r"argument (\S+): expected (?:one|at least one) argument", r"\1: nothing follows it."),
    (r"argument (\S+): expected (\d+) arguments", r"\1 takes \2 values."),
    (r"argument (\S+): not allowed with argument (\S+)", r"\1 and \2 exclude each other."),
    (r"the following arguments are required: (.*)", r"\1: missing."),
    (r"one of the arguments (.*) is required", r"One of these is missing: \1."),
    (r"ambiguous option: (\S+) could match (.*)", r"\1 may be \2: write it in full."),
    (r"argument (\S+): (.*)", r"\1: \2."),
)


class _Gather(argparse._StoreAction):
    """An option of several values adds up where it is given again: argparse keeps the last only."""

    def __call__(
        self, parser: object, namespace: argparse.Namespace, values: Any, option: Any = None
    ) -> None:
        if self.dest == "metrics":
            _refuse_files(values)
        earlier = getattr(namespace, self.dest, self.default)
        if self.nargs == "+" and self.option_strings and earlier is not self.default:
            values = [*earlier, *values]
        setattr(namespace, self.dest, values)


def _refuse_files(specs: Sequence[str]) -> None:
    """`meta -m chrf judged.tsv` has two metrics and no data, which is no help to know."""
    for spec in specs:
        if "." in spec and ":" not in spec and Path(spec).is_file():
            raise UsageError(f"{spec} is a file, but stands where metrics do: put it before -m.")


class Parser(argparse.ArgumentParser):
    """Subcommands get parsers of this class, too."""

    def __init__(self, *args: Any, **how: Any) -> None:
        super().__init__(*args, **how)
        self.register("action", None, _Gather)

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[argparse.Namespace, list[str]]:
        found, left = super().parse_known_args(args, namespace)
        if left:
            self.error(self._unknown(left[0]))
        return found, left

    def error(self, message: str) -> NoReturn:
        said = visible(f"{_plainly(message)} See: {self.prog} --help")
        print(f"mtgauge: {said}", file=sys.stderr)
        sys.exit(2)

    def _unknown(self, word: str) -> str:
        if not word.startswith("-"):
            return f"{word!r} follows no option that takes it."
        options = re.findall(r"(?<![\w-])--[a-z][\w-]*", self.format_help())
        return f"There is no option {word}.{_near(word.partition('=')[0], options)}"


def subcommand(
    actions: argparse._SubParsersAction[Any], name: str, text: str, examples: str = ""
) -> argparse.ArgumentParser:
    """A command below another; `text` stands in the list of commands and above its own help."""
    parser: argparse.ArgumentParser = actions.add_parser(
        name,
        help=text,
        description=text[0].upper() + text[1:] + ("" if text.endswith("?") else "."),
        epilog=f"examples:\n{examples}" if examples else None,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    return parser


def positive(text: str) -> int:
    """A type for argparse: a whole number of 1 or more."""
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not 1 or more")
    return int(text)


def _plainly(message: str) -> str:
    """What argparse says, in the words of the other errors."""
    choice = _CHOICE.fullmatch(message)
    if choice is not None:
        name, given, listing = choice.groups()
        choices = [item.strip().strip("'") for item in listing.split(",")]
        what = f"{name}: {given!r} is not one of them."
        if not name.startswith("-"):
            kind = "action" if "|" in name else name.lower()
            what = f"There is no {kind} {given!r}."
        return f"{what}{_near(given, choices)} There are: {', '.join(choices)}."
    number = re.fullmatch(r"argument (\S+): invalid (\w+) value: '(.*)'", message, re.DOTALL)
    if number is not None and number[2] in _TYPES:
        return f"{number[1]}: {number[3]!r} is not {_TYPES[number[2]]}."
    for pattern, plain in _KINDS:
        if found := re.fullmatch(pattern, message, re.DOTALL):
            return found.expand(plain)
    return message


def _near(word: str, words: Sequence[str]) -> str:
    begin = [one for one in words if len(word) > 4 and one.startswith(word[:5].lower())]
    near = begin or difflib.get_close_matches(word.lower(), words, 1, cutoff=0.7)
    return f" Did you mean {near[0]}?" if near else ""
