"""What translations must keep to: the limits of `mtgauge check`, from flags and pyproject.toml.

    [tool.mtgauge.check]
    fail-below = { chrf = 50 }                  # worse than 50, whatever the metric's direction
    max-drop = { chrf = 1, "regressor" = 0.1 }  # against the baseline or a stored run
    fail-on = ["copies", "empty", "lost-numbers=2", "wrong-language=1%"]
    significant = true                          # a drop that may be chance is none

`read` takes the table, `merged` lets flags win. Everything that cannot be meant is refused: an
unknown key, a limit that is no number, a drop below 0, a limit given twice.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, NamedTuple

from mtgauge import registry
from mtgauge.engine.flags import Kind
from mtgauge.errors import InputError, UsageError

TABLE = "tool.mtgauge.check"
# a gate names what must not be there, a flag one of it
WARNINGS: dict[str, Kind] = {
    "copies": "copy",
    "wrong-language": "wrong-language",
    "empty": "empty",
    "lost-numbers": "lost-numbers",
    "invented-numbers": "invented-number",
    "lost-entities": "lost-entity",
}
_AMOUNT = re.compile(r"([0-9]+)|([0-9]+(?:\.[0-9]+)?) ?%")
_PATHS = ("source", "references", "against")


class Allowed(NamedTuple):
    """How many segments may have a warning: a number, or a share of all."""

    number: float = 0.0
    is_share: bool = False

    def of(self, segments: int) -> float:
        return self.number * segments if self.is_share else self.number

    def __str__(self) -> str:
        return f"{100 * self.number:g} %" if self.is_share else f"{self.number:g}"


@dataclass(frozen=True)
class GateSettings:
    """The limits of a gate, and what a file may say beside them; None: nothing was said."""

    fail_below: dict[str, float] = field(default_factory=dict)  # spec: the worst score allowed
    max_drop: dict[str, float] = field(default_factory=dict)  # spec: the largest loss allowed
    fail_on: dict[str, Allowed] | None = None  # name of a warning: how many segments
    significant: bool | None = None
    metrics: tuple[str, ...] | None = None
    lang: str | None = None
    source: str | None = None
    references: tuple[str, ...] | None = None
    against: str | None = None

    @property
    def specs(self) -> tuple[str, ...]:
        """The metrics that are asked for, or have a limit."""
        return tuple(dict.fromkeys((*(self.metrics or ()), *self.fail_below, *self.max_drop)))

    @property
    def empty(self) -> bool:
        """Whether there is nothing that could close the gate."""
        return not (self.fail_below or self.max_drop or self.fail_on)

    def merged(self, flags: GateSettings) -> GateSettings:
        """With what was said on the command line, which wins; limits are merged by metric."""
        said = {f.name: getattr(flags, f.name) for f in fields(flags)}
        limits = {name: getattr(self, name) | said[name] for name in ("fail_below", "max_drop")}
        rest = {k: v for k, v in said.items() if v is not None and k not in limits}
        return replace(self, **limits, **rest)


def parse_scores(items: Sequence[str], flag: str) -> dict[str, float]:
    """`METRIC=NUMBER` of a flag; the metric may have options: chrf:beta=3=50.

    >>> parse_scores(["chrf=50", "chrf:beta=3=40"], "--fail-below")
    {'chrf': 50.0, 'chrf:beta=3': 40.0}
    """
    found: dict[str, float] = {}
    for item in items:
        spec, equals, text = item.rpartition("=")
        if not (spec and equals):
            raise UsageError(f"{flag} {item}: write METRIC=NUMBER, for example chrf=50.")
        if spec in found:
            raise UsageError(f"{flag} has two limits for {spec}: give one.")
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        found[spec] = _limit(number, f"{flag} {item}", text, flag)
    return found


def _limit(number: float, where: str, text: object, key: str) -> float:
    if not math.isfinite(number):
        raise UsageError(f"{where}: {text!r} is not a number, so it is no limit.")
    if key.endswith("max-drop") and number < 0:
        raise UsageError(f"{where}: a drop is 0 or more, in points of the metric.")
    return number


def refuse_impossible(settings: GateSettings, specs: Collection[str]) -> None:
    """Refuse limits outside of what a metric can give: such a gate is always open, or never."""
    for spec in settings.fail_below.keys() & set(specs):
        low, high = registry.load(spec).bounds
        if not low <= settings.fail_below[spec] <= high:
            raise UsageError(
                f"fail-below {spec}={settings.fail_below[spec]:g} can never be met, or never be "
                f"missed: scores of {spec} are between {low:g} and {high:g}."
            )


def on_another_scale(settings: GateSettings, specs: Collection[str]) -> list[str]:
    """Limits of 1 or less where scores go to 100: a share was meant, and nothing would fail."""
    return [
        f"fail-below {spec}={limit:g}: {spec} goes from 0 to 100, so {100 * limit:g} may be meant."
        for spec, limit in settings.fail_below.items()
        if 0 < limit <= 1 and spec in specs and registry.load(spec).bounds == (0, 100)
    ]


def parse_warnings(items: Sequence[str], flag: str) -> dict[str, Allowed]:
    """`NAME`, `NAME=NUMBER` or `NAME=SHARE%`, also several with commas between them.

    >>> parse_warnings(["copies,empty=3", "lost-numbers=2%"], "--fail-on")["empty"].of(100)
    3.0
    """
    found: dict[str, Allowed] = {}
    for item in (part.strip() for each in items for part in each.split(",")):
        name, equals, amount = item.partition("=")
        if name not in WARNINGS:
            raise UsageError(f"{flag} {item}: there is {', '.join(WARNINGS)}.")
        if name in found:
            raise UsageError(f"{flag} names {name} twice: give it once.")
        match = _AMOUNT.fullmatch(amount.strip()) if equals else None
        if equals and match is None:
            raise UsageError(
                f"{flag} {item}: write how many segments may be so, as {name}=3 or {name}=2%."
            )
        found[name] = Allowed()
        if match is not None:
            found[name] = Allowed(float(match[1] or float(match[2]) / 100), match[2] is not None)
            if found[name].is_share and found[name].number > 1:
                raise UsageError(f"{flag} {item}: more than 100 % cannot be.")
    return found


def nearest() -> Path | None:
    """The pyproject.toml of this folder, or of the nearest one above it."""
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / "pyproject.toml").is_file():
            return Path("pyproject.toml") if folder == here else folder / "pyproject.toml"
    return None


def read(path: Path) -> GateSettings:
    """What a TOML file says under [tool.mtgauge.check]; paths are those seen from its folder."""
    try:
        table: Any = tomllib.loads(path.read_text(encoding="utf-8"))
    except (
        ValueError,
        RecursionError,
    ) as error:  # not TOML, not UTF-8, a number too long, too deep
        raise InputError(f"this is not TOML ({error})", file=path) from None
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", file=path) from None
    for key in TABLE.split("."):
        table = table.get(key, {}) if isinstance(table, dict) else {}
    try:
        return _settings(table, path.parent)
    except UsageError as error:
        raise UsageError(f"{path}, [{TABLE}]: {error}") from None


def _settings(table: Mapping[str, Any], folder: Path) -> GateSettings:
    known = {f.name.replace("_", "-"): f.name for f in fields(GateSettings)}
    if unknown := [key for key in table if key not in known]:
        raise UsageError(f"there is no key {', '.join(unknown)}; there are {', '.join(known)}.")
    said: dict[str, Any] = {}
    for key, value in table.items():
        if key in ("fail-below", "max-drop"):
            said[known[key]] = _table(key, value)
        elif key in ("fail-on", "metrics", "references"):
            if not (isinstance(value, list) and all(isinstance(item, str) for item in value)):
                raise UsageError(f'{key} is a list of texts, as ["a", "b"].')
            said[known[key]] = parse_warnings(value, key) if key == "fail-on" else tuple(value)
        elif key == "significant":
            if not isinstance(value, bool):
                raise UsageError("significant is true or false.")
            said[key] = value
        elif isinstance(value, str):
            said[key] = value
        else:
            raise UsageError(f"{key} is a text in quotes.")
    for key in _PATHS:
        if isinstance(said.get(key), tuple):
            said[key] = tuple(str(folder / each) for each in said[key])
        elif key in said:
            said[key] = str(folder / said[key])
    return GateSettings(**said)


def _table(key: str, value: Any) -> dict[str, float]:
    if not isinstance(value, dict):
        raise UsageError(f"{key} is a table of limits by metric, as {{ chrf = 50 }}.")
    for spec, number in value.items():
        if isinstance(number, bool) or not isinstance(number, int | float):
            raise UsageError(f"{key} {spec}: {number!r} is not a number, so it is no limit.")
        _limit(number, f"{key} {spec}", number, key)
    return {spec: float(number) for spec, number in value.items()}
