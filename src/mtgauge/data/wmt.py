"""The official WMT metrics-task folders, read as they are.

    FOLDER/DA-seglevel.csv      LP DATA SYSTEM SID HUMAN     segment scores, by space
    FOLDER/DA-syslevel.csv      LP HUMAN SYSTEM              system scores
    FOLDER/RR-seglevel.csv      LP DATA SID BETTER WORSE     relative rankings; the header of WMT18
                                                             names only four of the five columns
    FOLDER/system-outputs/LP/newstest2018.SYSTEM.LP
    FOLDER/references/newstest2018-deen-ref.en
    FOLDER/source/newstest2018-deen-src.de

    read_folder("WMT18", "de-en")[0].system_human

Facts of these files: `a+b` in SYSTEM means that both systems wrote the same sentence, and the first
that has an output file is taken; SID counts lines from 1; outputs that nobody judged are left out
(WMT19 gu-en online-B); human references entered as a system are no system and are left out. Hybrid
systems are kept: a filter on the word "hybrid" once lost 125 of 560 judgements of WMT17 lv-en.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from mtgauge.data.codes import usual
from mtgauge.data.judged_tables import read_system_human
from mtgauge.data.judgements import (
    FloatArray,
    IntArray,
    Judgements,
    SystemScores,
    data_name,
    dataset_name,
)
from mtgauge.data.readers import cells, parse_score, text_lines
from mtgauge.errors import InputError

_SEGMENTS, _SYSTEMS, _RANKS = "DA-seglevel.csv", "DA-syslevel.csv", "RR-seglevel.csv"
_HUMAN = re.compile(r"human(?:[-_.]\w+)?|ref(?:erence)?[-_.]?[a-z0-9]?", re.IGNORECASE)


def is_wmt_folder(folder: Path) -> bool:
    return any((folder / name).is_file() for name in (_SEGMENTS, _SYSTEMS, _RANKS))


def read_folder(folder: Path, lang: str | None = None) -> list[Judgements]:
    """Judgements of every pair that has system outputs here, or of `lang`."""
    systems: SystemScores = {}
    if (folder / _SYSTEMS).is_file():
        systems = read_system_human(folder / _SYSTEMS)
    segments = _read_segments(folder / _SEGMENTS) if (folder / _SEGMENTS).is_file() else {}
    ranks = _read_ranks(folder / _RANKS) if (folder / _RANKS).is_file() else {}
    outputs = folder / "system-outputs"
    if not outputs.is_dir():
        raise InputError(
            "the folder has judgements but no system-outputs/LP/", file=folder, remedy=_REMEDY
        )
    pairs = {name: usual(name) for name in sorted(p.name for p in outputs.iterdir() if p.is_dir())}
    return [
        _read_pair(folder, pair, systems.get(lp, {}), segments.get(pair, {}), ranks.get(pair, []))
        for pair, lp in pairs.items()
        if lang in (None, lp) and (lp in systems or pair in segments or pair in ranks)
    ]


_REMEDY = "Lay it out as the metrics task does: system-outputs/de-en/newstest2018.SYSTEM.de-en."
_Segments = dict[str, dict[tuple[str, int], tuple[float, int]]]
_Ranks = dict[str, list[tuple[int, str, str, int]]]


def _read_pair(
    folder: Path,
    pair: str,
    system_human: Mapping[str, float],
    judged: Mapping[tuple[str, int], tuple[float, int]],
    ranks: list[tuple[int, str, str, int]],
) -> Judgements:
    files, testset = _outputs(folder / "system-outputs" / pair, pair)
    named = set(system_human)
    named |= {one for names, _ in judged for one in names.split("+")}
    named |= {one for _, a, b, _ in ranks for name in (a, b) for one in name.split("+")}
    kept = [name for name in files if name in named and not _HUMAN.fullmatch(name)]
    source_lang, _, target_lang = pair.partition("-")
    joined = source_lang + target_lang
    source = _side(folder, "source", [f"{testset}-{joined}-src.{source_lang}"])
    reference = _side(
        folder,
        "references",
        # WMT19 en-cs has no file of its own: the other direction's source is its reference.
        [
            f"{testset}-{joined}-ref.{target_lang}",
            f"{testset}-{target_lang}{source_lang}-src.{target_lang}",
        ],
    )
    texts = {name: text_lines(files[name]) for name in kept}
    for name, side in [("source", source), ("references", reference), *texts.items()]:
        if side is not None and kept and len(side) != len(texts[kept[0]]):
            raise InputError(
                f"{pair}: {name} has {len(side)} lines, {kept[0]} has {len(texts[kept[0]])}",
                file=folder,
            )
    size = len(texts[kept[0]]) if kept else 0
    row_of = {(name, sid): i * size + sid - 1 for i, name in enumerate(kept) for sid in _ids(size)}
    return Judgements(
        data=data_name(folder),
        lp=pair,
        systems=[name for name in kept for _ in range(size)],
        sids=[str(sid) for _ in kept for sid in _ids(size)],
        human=_place(judged, row_of, folder / _SEGMENTS),
        hypotheses=[text for name in kept for text in texts[name]],
        sources=None if source is None else source * len(kept),
        references=None if reference is None else [(text,) for text in reference] * len(kept),
        pairs=_place_ranks(ranks, row_of, folder / _RANKS) if ranks else None,
        system_human={k: v for k, v in system_human.items() if k in texts},
        dataset=dataset_name(folder),
    )


def _ids(size: int) -> range:
    return range(1, size + 1)


def _read_segments(path: Path) -> _Segments:
    lines = cells(path, str(path), "spaces")
    header = next(lines)[1]
    if header != ["LP", "DATA", "SYSTEM", "SID", "HUMAN"]:
        raise InputError(
            "the header is not LP DATA SYSTEM SID HUMAN", file=path, line=1, remedy=_REMEDY
        )
    found: _Segments = {}
    for number, (pair, _, system, sid, human) in lines:
        key = (system, _line_number(sid, path, number, "SID"))
        rows = found.setdefault(pair, {})
        if key in rows:
            raise InputError(f"{system}, {sid} is judged twice", file=path, line=number)
        rows[key] = (parse_score(human, path, number, "HUMAN"), number)
    return found


def _read_ranks(path: Path) -> _Ranks:
    """Better/worse records, duplicates removed, with the line each came from."""
    found: dict[str, dict[tuple[int, str, str], int]] = {}
    for number, line in enumerate(text_lines(path), start=1):
        fields = line.split()
        if number == 1:  # WMT18 forgot DATA in its header; the lines have all five columns
            if fields[:1] != ["LP"] or fields[-3:] != ["SID", "BETTER", "WORSE"]:
                raise InputError("the header is not LP DATA SID BETTER WORSE", file=path, line=1)
            continue
        if len(fields) != 5:
            raise InputError(f"{len(fields)} columns instead of 5", file=path, line=number)
        pair, _, sid, better, worse = fields
        key = (_line_number(sid, path, number, "SID"), better, worse)
        found.setdefault(pair, {}).setdefault(key, number)
    return {pair: [(*key, number) for key, number in keys.items()] for pair, keys in found.items()}


def _line_number(text: str, path: Path, line: int, column: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise InputError(f"column {column}: {text!r} is not a line number", file=path, line=line)
    return int(text)


def _find(names: str, sid: int, row_of: Mapping[tuple[str, int], int]) -> int | None:
    """The row of the first of `a+b` that has an output; None: only humans are named."""
    if _HUMAN.fullmatch(names):
        return None
    return next((row_of[name, sid] for name in names.split("+") if (name, sid) in row_of), -1)


def _place(
    judged: Mapping[tuple[str, int], tuple[float, int]],
    row_of: Mapping[tuple[str, int], int],
    path: Path,
) -> FloatArray:
    human = np.full(len(row_of), np.nan)
    for (names, sid), (value, number) in judged.items():
        row = _find(names, sid, row_of)
        if row == -1:
            raise InputError(
                f"there is no output of {names} for segment {sid}", file=path, line=number
            )
        if row is not None:
            human[row] = value
    return human


def _place_ranks(
    ranks: list[tuple[int, str, str, int]], row_of: Mapping[tuple[str, int], int], path: Path
) -> IntArray:
    rows = []
    for sid, better, worse, number in ranks:
        pair = (_find(better, sid, row_of), _find(worse, sid, row_of))
        if -1 in pair:
            name = better if pair[0] == -1 else worse
            raise InputError(
                f"there is no output of {name} for segment {sid}", file=path, line=number
            )
        if None not in pair:
            rows.append(pair)
    return np.array(rows, dtype=np.int64).reshape(-1, 2)


def _outputs(folder: Path, pair: str) -> tuple[dict[str, Path], str]:
    """Output files by system, and the name of the test set that leads every file name."""
    files: dict[str, Path] = {}
    testsets = set()
    for path in sorted(folder.iterdir()):
        if not path.name.endswith(f".{pair}"):
            continue
        testset, _, system = path.name.removesuffix(f".{pair}").partition(".")
        files[system] = path
        testsets.add(testset)
    if len(testsets) != 1:
        what = f"outputs of {len(testsets)} test sets" if testsets else "no outputs"
        raise InputError(f"the folder holds {what}; one is needed", file=folder, remedy=_REMEDY)
    return files, testsets.pop()


def _side(folder: Path, name: str, candidates: list[str]) -> list[str] | None:
    for sub in (name, name.removesuffix("s"), name.removesuffix("s") + "s"):
        for candidate in candidates:
            if (folder / sub / candidate).is_file():
                return text_lines(folder / sub / candidate)
    return None
