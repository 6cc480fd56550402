"""Judged data from a file or folder, whatever its format.

read("judged.tsv.gz")             judged segments: lp system sid source reference hypothesis
                                  human, optionally raw, n, reference2 ...
read("de-en.tsv", human=table)    a test set: sid source reference SYSTEM SYSTEM ...
read("WMT18/")                    an official WMT folder, an mt-metrics-eval folder, or a
                                  folder of LP.tsv test sets
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from mtgauge.data import checks, judged_tables, mtme, wmt
from mtgauge.data.judgements import Judgements, SystemScores
from mtgauge.data.spool import Spool
from mtgauge.errors import InputError


def read(
    path: str | Path, lang: str | None = None, human: SystemScores | None = None
) -> list[Judgements]:
    """Judgements in a file or folder, one item per language pair; `lang` keeps one pair."""
    path, lang = Path(path), lang and checks.language_pair(lang)
    if path.is_dir():
        if wmt.is_wmt_folder(path):
            found = wmt.read_folder(path, lang)
        elif mtme.is_mtme_folder(path):
            found = mtme.read_folder(path, lang)
        else:
            found = judged_tables.read_folder(path, lang, human)
    else:
        with Spool() as spool:
            found = judged_tables.read_file(spool.reusable(path), lang, human)
    if human is not None:
        found = [replace(x, system_human=human.get(x.lp, x.system_human)) for x in found]
    if not found:
        what = "no judgements" if lang is None else f"no judgements of {lang}"
        raise InputError(f"{what} in here", file=path)
    return found
