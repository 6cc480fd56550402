"""The folder layout of mt-metrics-eval, both ways.

    FOLDER/sources/de-en.txt                        one segment per line
    FOLDER/references/de-en.refA.txt                the same lines; several references may stand
    FOLDER/system-outputs/de-en/SYSTEM.txt
    FOLDER/human-scores/de-en.NAME.{seg,sys}.score  SYSTEM SCORE, `None` where nobody judged
    FOLDER/metric-scores/de-en/NAME-REF.{seg,sys}.score
    FOLDER/documents/de-en.docs                     DOMAIN DOCUMENT per line

    read_folder("wmt22", "de-en")[0].scores         metric scores come along by name
    write_folder("out", judgements)

A file name of human scores says how people scored (`mqm`, `wmt-z`). Where a pair has several, the
first of `GOLD` is taken unless `gold` names one. References that are also outputs are humans, not
systems, and are left out. Limits: document and domain levels are not read; what `write_folder`
writes has one document, because our data names none.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from mtgauge.data.codes import usual
from mtgauge.data.judgements import FloatArray, Judgements, data_name, dataset_name
from mtgauge.data.output import file_name, make_folder, write
from mtgauge.data.readers import parse_score, text_lines
from mtgauge.errors import InputError, UsageError

GOLD = ("mqm", "mqm-merged", "wmt-z", "wmt", "wmt-appraise-z", "wmt-appraise", "wmt-raw", "da-z")


def is_mtme_folder(folder: Path) -> bool:
    return (folder / "human-scores").is_dir() and (folder / "system-outputs").is_dir()


def read_folder(
    folder: str | Path, lang: str | None = None, gold: str | None = None
) -> list[Judgements]:
    """Judgements of each pair with human scores; metric scores found there come along."""
    folder = Path(folder)
    pairs = sorted(p.name for p in (folder / "system-outputs").iterdir() if p.is_dir())
    found = []
    for pair in pairs:
        if (lang is None or usual(pair) == lang) and (
            name := _gold(folder, pair, gold)
        ) is not None:
            found.append(_read_pair(folder, pair, name))
    return found


def _read_pair(folder: Path, pair: str, gold: str) -> Judgements:
    source = text_lines(folder / "sources" / f"{pair}.txt")
    references = {
        path.name.removeprefix(f"{pair}.").removesuffix(".txt"): text_lines(path)
        for path in sorted((folder / "references").glob(f"{pair}.*.txt"))
    }
    outputs = {
        path.name.removesuffix(".txt"): text_lines(path)
        for path in sorted((folder / "system-outputs" / pair).glob("*.txt"))
    }
    for name, texts in [*references.items(), *outputs.items()]:
        if len(texts) != len(source):
            raise InputError(
                f"{pair}: {name} has {len(texts)} lines, the source {len(source)}", file=folder
            )
    systems = [name for name in outputs if name not in references]
    size = len(source)
    segment_file = folder / "human-scores" / f"{pair}.{gold}.seg.score"
    human = _stack(_scores(segment_file, size), systems, size)
    system_file = folder / "human-scores" / f"{pair}.{gold}.sys.score"
    system_human = {k: v[0] for k, v in _scores(system_file, 1).items() if k in systems}
    scores, system_scores = {}, {}
    for path in sorted((folder / "metric-scores" / pair).glob("*.score")):
        name, level = path.name.removesuffix(".score").rsplit(".", 1)
        if level == "seg":
            scores[name] = _stack(_scores(path, size), systems, size)
        elif level == "sys":
            table = _scores(path, 1)
            system_scores[name] = {k: v[0] for k, v in table.items() if k in systems}
    return Judgements(
        data=data_name(folder),
        lp=pair,
        systems=[name for name in systems for _ in range(size)],
        sids=[str(i) for _ in systems for i in range(1, size + 1)],
        human=human,
        hypotheses=[text for name in systems for text in outputs[name]],
        sources=source * len(systems),
        references=list(zip(*references.values(), strict=True)) * len(systems)
        if references
        else None,
        system_human={k: v for k, v in system_human.items() if not math.isnan(v)},
        scores=scores,
        system_scores=system_scores,
        dataset=dataset_name(folder),
    )


def _gold(folder: Path, pair: str, wanted: str | None) -> str | None:
    names = {
        path.name.removeprefix(f"{pair}.").removesuffix(".score").rsplit(".", 1)[0]
        for level in ("seg", "sys")
        for path in (folder / "human-scores").glob(f"{pair}.*.{level}.score")
    }
    if wanted is not None and names and wanted not in names:
        raise UsageError(f"{folder}: {pair} has no human scores {wanted!r}, but {sorted(names)}.")
    if wanted is not None or not names:
        return wanted if names else None
    return next((name for name in GOLD if name in names), sorted(names)[0])


def _scores(path: Path, size: int) -> dict[str, list[float]]:
    """Scores by system; each must have `size` of them. A missing file holds none."""
    found: dict[str, list[float]] = {}
    if not path.is_file():
        return found
    for number, line in enumerate(text_lines(path), start=1):
        fields = line.split()
        if len(fields) != 2:
            raise InputError("the line is not SYSTEM SCORE", file=path, line=number)
        found.setdefault(fields[0], []).append(parse_score(fields[1], path, number, "SCORE"))
    for system, values in found.items():
        if len(values) != size:
            raise InputError(f"{system} has {len(values)} scores, not {size}", file=path)
    return found


def _stack(table: Mapping[str, list[float]], systems: list[str], size: int) -> FloatArray:
    rows = [table.get(system, [math.nan] * size) for system in systems]
    return np.array(rows, dtype=np.float64).reshape(-1)


# Writing


def write_folder(folder: str | Path, judgements: Judgements) -> None:
    """Write one language pair; segments a system did not translate become empty lines.

    Segments are the distinct `sid`s in order of appearance. Rows whose sid has two sources are
    refused: the layout has one source line per segment. Names become parts of file names, so that
    nothing is written outside the folder: a slash in one is written %2F.
    """
    if judgements.sources is None or judgements.hypotheses is None:
        raise UsageError("The mt-metrics-eval layout needs sources and system outputs.")
    folder, pair = Path(folder), file_name(judgements.lp)
    line_of: dict[str, int] = {}
    rows: list[int] = []  # the first row of each segment
    for row, sid in enumerate(judgements.sids):
        if line_of.setdefault(sid, len(line_of)) == len(rows):
            rows.append(row)
        elif judgements.sources[rows[line_of[sid]]] != judgements.sources[row]:
            raise InputError(f"{pair}: segment {sid} has two different sources")
    _write(folder / "sources" / f"{pair}.txt", (judgements.sources[row] for row in rows))
    _write(folder / "documents" / f"{pair}.docs", ("all\tdocument" for _ in rows))
    if judgements.references is not None:
        for i in range(len(judgements.references[0])):
            name = "refA" if i == 0 else f"refA{i + 1}"
            texts = (judgements.references[row][i] for row in rows)
            _write(folder / "references" / f"{pair}.{name}.txt", texts)
    blocks = judgements.rows_by_system()
    at = {
        file_name(system): {line_of[judgements.sids[row]]: int(row) for row in block}
        for system, block in blocks.items()
    }
    for system, found in at.items():
        outputs = (judgements.hypotheses[found[i]] if i in found else "" for i in range(len(rows)))
        _write(folder / "system-outputs" / pair / f"{system}.txt", outputs)
    stem = folder / "human-scores" / f"{pair}.human"
    _write_scores(stem.with_name(stem.name + ".seg.score"), at, judgements.human, len(rows))
    if judgements.system_human:
        _write(
            stem.with_name(stem.name + ".sys.score"),
            (f"{file_name(k)}\t{v:.17g}" for k, v in judgements.system_human.items()),
        )
    for name, scores in judgements.scores.items():
        path = folder / "metric-scores" / pair / f"{file_name(name)}.seg.score"
        _write_scores(path, at, scores, len(rows))
    for name, table in judgements.system_scores.items():
        path = folder / "metric-scores" / pair / f"{file_name(name)}.sys.score"
        _write(path, (f"{file_name(k)}\t{v:.17g}" for k, v in table.items()))


def _write_scores(
    path: Path, at: Mapping[str, Mapping[int, int]], values: FloatArray, size: int
) -> None:
    def text(value: float) -> str:
        return "None" if math.isnan(value) else f"{value:.17g}"

    _write(
        path,
        (
            f"{system}\t{text(values[found[i]]) if i in found else 'None'}"
            for system, found in at.items()
            for i in range(size)
        ),
    )


def _write(path: Path, lines: Iterable[str]) -> None:
    make_folder(path.parent)
    write(path, "".join(f"{line}\n" for line in lines))
