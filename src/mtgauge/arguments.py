"""What Python callers may give of a wrong type: refused by name, in a sentence.

refuse_no_list(metrics, "metrics", 'specs, for example ["bleu", "chrf:beta=3"]')
refuse_no_choice("level", level, ("system", "segment"))
seed = whole_number("seed", seed, least=0)
refuse_other("result", result, Result)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from numbers import Integral
from os import PathLike

from mtgauge.errors import UsageError

SPECS = 'specs, for example ["bleu", "chrf:beta=3"]'
FILES = 'files, for example ["da16.tsv.gz"]'


def refuse_no_list(values: object, what: str, of: str, *, filled: bool = False) -> None:
    """Refuse one text or path in place of several, and what is no list; `filled`: an empty one.

    An iterator is none: it is empty where it is read again. Nor is an array of NumPy, here as
    where texts are given.
    """
    other = isinstance(values, str | bytes | PathLike | Mapping | Iterator)
    if (
        other
        or hasattr(values, "__array__")
        or not isinstance(values, Iterable)
        or (filled and not values)
    ):
        raise UsageError(f"{what} is a list of {of}.")


def refuse_no_choice(what: str, value: object, options: Iterable[str]) -> None:
    options = tuple(options)
    if value not in options:
        raise UsageError(f"{what}={value!r} is not one of {', '.join(options)}.")


def whole_number(what: str, value: object, least: int) -> int:
    """Any integer, NumPy's too, as an int, which JSON can hold."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise UsageError(f"{what}={value!r} is not a whole number of {least} or more.")
    return int(value)


def refuse_other(what: str, value: object, kind: type) -> None:
    if not isinstance(value, kind):
        raise UsageError(f"{what} is a {kind.__name__}, not a {type(value).__name__}.")
