"""What a run of `stream` is asked for, and what it is once files and metrics have been looked at.

plan = Plan(inputs=[Path("web.jsonl.zst")], metrics=["xmoverscore:lm=off"], keep="xmoverscore>0.4")
job = Job(plan)
seen = job.look(block)          cheap columns, and which records go on to the metrics
kept = job.judge(seen, tables)  scores, and which records stay
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mtgauge import registry
from mtgauge._version import __version__
from mtgauge.data import checks
from mtgauge.data.record_files import input_files, open_records
from mtgauge.data.record_output import Type
from mtgauge.data.records import Block, Form, Records
from mtgauge.data.segments import Segments
from mtgauge.data.spool import STANDARD_INPUT
from mtgauge.engine.cache import code_fingerprint
from mtgauge.engine.places import Tables
from mtgauge.engine.ready import Ready, serve_all
from mtgauge.engine.stream.expression import Expression
from mtgauge.engine.stream.rules import DUPLICATES, RULES, Pairs, check_rules
from mtgauge.engine.stream.top import Top
from mtgauge.errors import UsageError
from mtgauge.metric import Task

BLOCK = 2000  # records that are scored together


@dataclass(frozen=True)
class Plan:
    inputs: Sequence[Path]
    metrics: Sequence[str] = ()
    source: str | None = "source"  # names of columns
    target: str = "target"
    references: Sequence[str] = ()
    lang: str | None = None
    add: Sequence[str] = ()  # columns of rules.py
    keep: str | None = None
    top: str | None = None
    by: str | None = None  # what --top goes by; None: the first metric
    prefix: str = ""  # of new columns
    form: Form | None = None  # None: by the files' names
    header: bool = True
    shard_size: int = 50_000
    max_rejects: int = 1000


@dataclass
class Seen:
    """A block on its way: `alive` are the rows that no cheap condition has dropped."""

    block: Block
    added: dict[str, Sequence[Any]]
    alive: list[int]
    batch: Segments
    dropped: Counter[str] = field(default_factory=Counter)


@dataclass
class Kept:
    """A block to be written: columns and marks, one per row of the block."""

    block: Block
    added: dict[str, Sequence[Any]]
    keep: list[bool]
    keys: list[float]  # of the rows that stay: what --top goes by
    dropped: Counter[str]


class Job:
    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        if plan.shard_size < 1 or plan.max_rejects < 0:
            raise UsageError("--shard-size is 1 or more, --max-rejects 0 or more.")
        if any(sign in plan.prefix for sign in "\t\r\n"):
            raise UsageError("--prefix: a name of a column has no tab and no line break.")
        named = [*filter(None, [plan.source]), plan.target, *plan.references]
        twice = next((name for name in named if named.count(name) > 1), None)
        if twice is not None:
            raise UsageError(f"The column {twice!r} is named for two sides: name each once.")
        self.lang = None if plan.lang is None else checks.language_pair(plan.lang)
        self.paths, self.form = input_files(plan.inputs, plan.form)
        self.keep = None if plan.keep is None else Expression(plan.keep)
        self.top = None if plan.top is None else Top.parse(plan.top)
        self.names = self._metric_columns()
        used = set(self.keep.columns if self.keep else ())
        self.by = self._by()
        used |= self.by.columns if self.by else set()
        cheap = [*RULES, *DUPLICATES]
        wanted = [name for name in cheap if name in plan.add or plan.prefix + name in used]
        check_rules([*plan.add, *wanted], self.lang)
        self.rules = [name for name in wanted if name in RULES]
        self.duplicates = [name for name in wanted if name in DUPLICATES]
        self._refuse_without_source()
        self.texts = [*filter(None, [plan.source]), plan.target, *plan.references]
        self.used = used
        self.types = self._types()
        self.metrics = self._ready()
        self._early, self._late = self._parts()
        self.marks: dict[str, Callable[[int], bool]] = {}  # of duplicates, by place

    # input

    def open(self, paths: Sequence[Path]) -> Records:
        """The input from its beginning; names that are not there are refused."""
        records = open_records(
            paths, self.form, self.texts,
            needed=sorted(self.used), header=self.plan.header, batch=BLOCK,
        )  # fmt: skip
        known = records.first_columns
        clash = next((name for name in self.types if name in known), None)
        if clash is not None:
            raise UsageError(
                f"The input has a column {clash!r} already. Give new columns other names: "
                "--prefix new_."
            )
        missing = sorted(self.used - set(known) - set(self.types)) if known else []
        if missing:
            raise UsageError(
                f"There is no column {', '.join(map(repr, missing))} to filter by. The input has "
                f"{', '.join(known)}; new are {', '.join(self.types) or 'none'}; "
                f"these can be added: {', '.join([*RULES, *DUPLICATES])}."
            )
        return records

    # a block

    def look(self, block: Block) -> Seen:
        """Cheap columns, and the rows that the cheap conditions leave."""
        plan, rows = self.plan, block.rows
        targets = [row[plan.target] for row in rows]
        sources = None if plan.source is None else [row[plan.source] for row in rows]
        added: dict[str, Sequence[Any]] = {
            plan.prefix + name: [self.marks[name](place) for place in block.at]
            for name in self.duplicates
        }
        dropped: Counter[str] = Counter()
        alive = list(range(len(rows)))
        for costly, parts in enumerate(self._early):
            some = [targets[i] for i in alive]
            pairs = Pairs([sources[i] for i in alive] if sources else some, some, self.lang)
            for name in self.rules:
                if RULES[name].is_costly == bool(costly):
                    values = RULES[name].values(pairs)
                    added[plan.prefix + name] = _placed(values, alive, len(rows))
            alive = self._pass(parts, block, added, alive, dropped)
        batch = Segments(
            [targets[i] for i in alive],
            None if sources is None else [sources[i] for i in alive],
            [tuple(rows[i][name] for name in plan.references) for i in alive]
            if plan.references
            else None,
            self.lang,
        )
        return Seen(block, added, alive, batch, dropped)

    def judge(self, seen: Seen, tables: Tables) -> Kept:
        """Scores, and the rows that stay."""
        added = dict(seen.added)
        for spec, ready in self.metrics.items():
            scores = ready.metric.segment_score(tables[spec]).tolist()
            added[self.names[spec]] = _placed(scores, seen.alive, len(seen.block.rows))
        ordered = {name: added[name] for name in self.types}
        stays = self._pass(self._late, seen.block, ordered, seen.alive, seen.dropped)
        keys: list[float] = []
        if self.by is not None:
            stays = self._ranked(seen, ordered, stays, keys)
        keep = [False] * len(seen.block.rows)
        for i in stays:
            keep[i] = True
        return Kept(seen.block, ordered, keep, keys, seen.dropped)

    def _pass(
        self,
        parts: Sequence[Expression],
        block: Block,
        added: Mapping[str, Sequence[Any]],
        rows: Sequence[int],
        dropped: Counter[str],
    ) -> list[int]:
        """The rows for which all parts are true; others are counted under the first that is not."""
        if not parts:
            return list(rows)
        found = []
        for i in rows:
            row = block.rows[i] | {name: values[i] for name, values in added.items()}
            failed = next((part.text for part in parts if not part(row)), None)
            if failed is None:
                found.append(i)
            else:
                dropped[failed] += 1
        return found

    def _ranked(
        self, seen: Seen, added: Mapping[str, Sequence[Any]], rows: Sequence[int], keys: list[float]
    ) -> list[int]:
        """The rows that can be ranked, with their keys; higher is better."""
        assert self.by is not None
        found = []
        for i in rows:
            row = seen.block.rows[i] | {name: values[i] for name, values in added.items()}
            value = self.by.value(row)
            if isinstance(value, int | float):
                found.append(i)
                keys.append(-float(value) if self._falls else float(value))
            else:
                seen.dropped[f"{self.by.text} is undefined"] += 1
        return found

    # what is settled at the beginning

    def _metric_columns(self) -> dict[str, str]:
        """The column of every spec: the metric's name, or the spec where two share one."""
        specs = list(self.plan.metrics)
        short = {spec: registry.load(spec).name for spec in specs}
        names = list(short.values())
        return {
            spec: self.plan.prefix + (name if names.count(name) == 1 else spec)
            for spec, name in short.items()
        }

    def _by(self) -> Expression | None:
        if self.top is None:
            if self.plan.by is not None:
                raise UsageError("--by says what --top goes by: give --top too.")
            return None
        if self.plan.by is None and not self.names:
            raise UsageError("--top goes by a metric (-m) or by what --by names.")
        if self.plan.by is None:
            first = next(iter(self.names.values()))
            return Expression(first if first.isidentifier() else f"column({first!r})")
        return Expression(self.plan.by)

    @property
    def _falls(self) -> bool:
        """Whether --top goes by a metric of which lower is better."""
        assert self.by is not None
        return any(
            self.by.columns == {name} and self.by.text in (name, f"column({name!r})")
            and not self.metrics[spec].metric.higher_is_better
            for spec, name in self.names.items()
        )  # fmt: skip

    def _refuse_without_source(self) -> None:
        if self.plan.source is None:
            for name in (*self.rules, *self.duplicates):
                if not name.startswith(("target_", "duplicate_target")):
                    raise UsageError(f"The column {name} needs a source: leave --no-source out.")

    def _types(self) -> dict[str, Type]:
        prefix = self.plan.prefix
        types: dict[str, Type] = {prefix + name: RULES[name].type for name in self.rules}
        types |= {prefix + name: "truth" for name in self.duplicates}
        return types | dict.fromkeys(self.names.values(), "number")

    def _ready(self) -> dict[str, Ready]:
        sides = {"source": self.plan.source, "reference": self.plan.references}
        task = Task(frozenset(side for side, there in sides.items() if there), self.lang)
        for spec in self.plan.metrics:
            missing = registry.load(spec).needs - task.sides
            if missing:
                flags = " and ".join(f"--{side}-column" for side in sorted(missing))
                raise UsageError(f"{spec} needs {' and '.join(sorted(missing))}: give {flags}.")
        return serve_all(self.plan.metrics, task, number=max(1, len(self.plan.references)))

    def _parts(self) -> tuple[tuple[list[Expression], list[Expression]], list[Expression]]:
        """Conditions in the order in which they are asked: cheap, costly, and those on metrics."""
        scores = set(self.names.values())
        costly = {self.plan.prefix + name for name in self.rules if RULES[name].is_costly}
        parts = self.keep.parts if self.keep else []
        late = [part for part in parts if part.columns & scores]
        early = [part for part in parts if not part.columns & scores]
        return (
            [part for part in early if not part.columns & costly],
            [part for part in early if part.columns & costly],
        ), late

    # the manifest

    def head(self) -> dict[str, Any]:
        """What the output depends on."""
        plan = self.plan
        return {
            "mtgauge": __version__,
            "code": code_fingerprint(),
            "form": self.form.ending,
            "inputs": [_described(path, self.form) for path in self.paths],
            "options": {
                "--source-column": plan.source,
                "--target-column": plan.target,
                "--reference-column": list(plan.references),
                "--lang": self.lang,
                "--add": [*self.rules, *self.duplicates],
                "--keep": plan.keep,
                "--top": plan.top,
                "--by": plan.by,
                "--prefix": plan.prefix,
                "--no-header": not plan.header,
                "--shard-size": plan.shard_size,
            },
            "metrics": [
                {"column": self.names[spec], "spec": spec, "signature": ready.signature.full}
                for spec, ready in self.metrics.items()
            ],
        }


def _placed(values: Sequence[Any], rows: Sequence[int], many: int) -> list[Any]:
    """A column of a block in which only some rows have a value."""
    column: list[Any] = [None] * many
    for i, value in zip(rows, values, strict=True):
        column[i] = value
    return column


def _described(path: Path, form: Form) -> dict[str, Any]:
    """A file by name and size, of Parquet its description too; of text each shard has a digest."""
    if path == STANDARD_INPUT:
        return {"name": "-"}
    found: dict[str, Any] = {"name": str(path), "bytes": path.stat().st_size}
    if form.kind == "parquet":
        with path.open("rb") as stream:
            stream.seek(-8, 2)
            length = int.from_bytes(stream.read(4), "little")
            stream.seek(-8 - min(length, found["bytes"] - 8), 2)
            found["digest"] = hashlib.blake2b(stream.read(), digest_size=16).hexdigest()
    return found
