"""A result read back from the JSON that `mtgauge score --json` wrote.

    read(Path("scores.json"))      a `Result`, equal to the one that was written

Without `--texts` the JSON has no texts: a report of it has no segments to read. Whatever is missing
or of the wrong kind is refused with the name of the file.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mtgauge.data.corpus import Chunk
from mtgauge.data.readers import must_exist
from mtgauge.engine.result import P_VALUES, MetricResult, Result, SystemScore, Versus
from mtgauge.engine.slices import Slices
from mtgauge.engine.trust import Trust
from mtgauge.errors import InputError
from mtgauge.signature import reread
from mtgauge.stats.paired import Pairwise


def read(path: Path) -> Result:
    """The result in a file."""
    must_exist(path)
    try:
        return from_dict(json.loads(path.read_bytes()))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"this is not the JSON of a run ({type(error).__name__}: {error})",
            file=path,
            remedy="Write it with: mtgauge score ... --json FILE --texts.",
        ) from None


def from_dict(given: Mapping[str, Any]) -> Result:
    """The result that `to_dict` wrote."""
    systems = tuple(str(name) for name in given["systems"])
    metrics = {str(m["spec"]): _metric(m, systems, given) for m in given["metrics"]}
    if not systems or not metrics:
        raise ValueError("no systems or no metrics")
    return Result(
        metrics,
        systems,
        int(given["segments"]),
        given["lang"],
        checks=given["checks"],
        baseline=given["baseline"],
        seed=given["seed"],
        resamples=given["resamples"],
        documents=given.get("documents", 0),
        files=given["files"],
        untested=given.get("untested"),
        texts=_texts(given, systems),
        slices=tuple(Slices.from_dict(each) for each in given.get("slices", ())),
    )


def _metric(
    given: Mapping[str, Any], systems: tuple[str, ...], run: Mapping[str, Any]
) -> MetricResult:
    trust = given["trust"]
    return MetricResult(
        given["name"],
        given["spec"],
        reread(given["signature"], given["signature_full"]),
        bool(given["higher_is_better"]),
        {name: _system(given["systems"][name], int(run["segments"])) for name in systems},
        given["notes"],
        given.get("reason"),
        _tests(given["pairs"], systems) if "pairs" in given else None,
        None if trust is None else Trust("", **{k: _number(v) for k, v in trust.items()}),
    )


def _system(given: Mapping[str, Any], segments: int) -> SystemScore:
    versus = given.get("versus")
    if "segments" not in given:
        raise ValueError("no scores of segments")
    scores = np.array([_number(x) for x in given["segments"]], dtype=np.float64)
    if len(scores) != segments:
        raise ValueError(f"{len(scores)} scores of {segments} segments")
    low_high = tuple(_number(x) for x in given["ci"]) if "ci" in given else None
    return SystemScore(
        _number(given["score"]),
        scores,
        None if low_high is None else (low_high[0], low_high[1]),
        None
        if versus is None
        else Versus(versus["system"], *(_number(versus[p]) for p in P_VALUES)),
        given.get("rank"),
    )


def _tests(given: list[Mapping[str, Any]], systems: tuple[str, ...]) -> Pairwise:
    tables = [np.ones((len(systems), len(systems))) for _ in P_VALUES]
    for pair in given:
        i, j = (systems.index(name) for name in pair["systems"])
        for table, p in zip(tables, P_VALUES, strict=True):
            table[i, j] = table[j, i] = _number(pair[p])
    return Pairwise(*tables)


def _texts(given: Mapping[str, Any], systems: tuple[str, ...]) -> Chunk | None:
    texts = given.get("texts")
    if texts is None:
        return None
    sources, references = texts["sources"], texts["references"]
    found = Chunk(
        {name: [str(t) for t in texts["systems"][name]] for name in systems},
        None if sources is None else [str(t) for t in sources],
        None if references is None else [tuple(str(t) for t in row) for row in references],
        {str(name): [str(v) for v in values] for name, values in texts["columns"].items()},
    )
    columns = [*found.systems.values(), *found.columns.values(), found.sources, found.references]
    if any(column is not None and len(column) != given["segments"] for column in columns):
        raise ValueError("texts and segments differ in number")
    return found


def _number(value: Any) -> Any:
    return math.nan if value is None else value
