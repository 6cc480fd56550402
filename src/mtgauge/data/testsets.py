"""Published test sets by name, through sacrebleu's downloader.

    files("wmt22", "en-de")     (source file, [reference files]), fetched on first use
    names("en-de")              the test sets that have this pair

Files are kept where sacrebleu keeps them ($SACREBLEU, or .sacrebleu in the home folder), so a set
that sacrebleu has fetched before needs no network. Nothing is fetched unless a set is named.
"""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any

from mtgauge.data.codes import LanguagePair, bases, is_pair, usual
from mtgauge.errors import ResourceError, UsageError


def names(lang: str) -> list[str]:
    """Test sets that have this language pair, as sacrebleu lists them."""
    return sorted(name for name, data in _datasets().items() if _pair(data, lang) is not None)


def files(name: str, lang: str | None) -> tuple[Path, list[Path]]:
    """Source and references of a test set."""
    datasets = _datasets()
    if name not in datasets:
        near = difflib.get_close_matches(name, datasets, n=3, cutoff=0.5)
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        raise UsageError(f"sacrebleu has no test set {name!r}.{hint}")
    data = datasets[name]
    if lang is None:
        raise UsageError(f"The test set {name} needs a language pair (-l): {_listing(data)}.")
    pair = _pair(data, lang)
    if pair is None:
        raise UsageError(f"The test set {name} has no pair {lang}; it has {_listing(data)}.")
    try:
        source = Path(data.get_source_file(pair))
        references = [Path(path) for path in data.get_reference_files(pair)]
    except (OSError, SystemExit) as error:  # sacrebleu exits on a bad certificate or check sum
        raise ResourceError(
            f"The test set {name} {lang} could not be fetched ({_reason(error)}). It needs a "
            "network once; copy the folder .sacrebleu from a machine that has it, or give the "
            "files with -s and -r."
        ) from None
    return source, references


def _pair(data: Any, lang: str) -> str | None:
    """sacrebleu's name of a pair: the same codes, or else the same languages."""
    wanted = LanguagePair.parse(lang)
    same = [name for name in data.langpairs if usual(name) == str(wanted)]
    near = [name for name in data.langpairs if is_pair(name) and bases(name) == wanted.bases]
    return next(iter((*same, *near)), None)


def _datasets() -> dict[str, Any]:
    from sacrebleu.dataset import DATASETS  # 2,000 lines of test sets: only when one is asked for

    found: dict[str, Any] = DATASETS
    return found


def _listing(data: Any) -> str:
    return ", ".join(sorted(data.langpairs))


def _reason(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        return "sacrebleu refused the download"
    return str(getattr(error, "reason", None) or error)
