"""From files of judged segments to training, validation and test rows.

    data = load(JudgedFiles(train=["da16.tsv.gz"], dev=["da15.tsv.gz"]), read_coder("embedded"))
    data.train, data.dev, data.test, data.facts
    pack_files(files, "embedded", Path("judged.npz"))       # `mtgauge train pack`

A source sentence that stands in two of the parts is refused, or left out of the part that is
learned from (`drop_overlap`): nothing of `dev` or `test` reaches the training.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from mtgauge.data.checks import language_pair
from mtgauge.errors import UsageError
from mtgauge.stats.paired import too_few
from mtgauge.train.judged import packed, rows
from mtgauge.train.judged.coder import TextCoder, read_coder
from mtgauge.train.judged.codes import Coded, code
from mtgauge.train.judged.rows import Rows
from mtgauge.train.progress import say, warn
from mtgauge.train.settings import JudgedFiles

ENOUGH = 100  # segments of a pair: r has a standard error of .1 then


@dataclass(frozen=True)
class TrainingData:
    train: Coded
    dev: Coded
    test: Coded | None
    facts: dict[str, Any]  # for the card


def load(files: JudgedFiles, coder: TextCoder, quiet: bool = False) -> TrainingData:
    """Training, validation and test rows, or the error that says why not."""
    files.check()
    if files.packed is not None:
        parts, facts = packed.load(files.packed, coder.digest)
        data = TrainingData(parts["train"], parts["dev"], parts.get("test"), facts)
    else:
        known = [part for part in _read(files, coder.languages) if part is not None]
        train, dev, *tests = code(known, coder.tokenize, coder.columns)
        data = TrainingData(train, dev, tests[0] if tests else None, _facts(files, train, dev))
    if files.limit is not None:
        data = _limited(data, files.limit, files.split_seed)
    _warn_of_few(data)
    if not quiet:
        say(f"{len(data.train)} segments to train on, {len(data.dev)} to validate")
    return data


def _warn_of_few(data: TrainingData) -> None:
    for part, held in (("validation", data.dev), ("test", data.test)):
        for lp, n in () if held is None else _counted(held).items():
            if n < ENOUGH:
                warn(
                    f"{lp}: {too_few(n, f'{part} segment')}: r of fewer than {ENOUGH} may be off "
                    "by .2 by chance alone."
                )


def pack_files(files: JudgedFiles, encoder: str, out: Path, quiet: bool = False) -> None:
    """Write what `JudgedFiles.packed` names, in the pieces of an encoder."""
    coder = read_coder(encoder)
    data = load(files, coder, quiet)
    parts = {"train": data.train, "dev": data.dev, **({"test": data.test} if data.test else {})}
    packed.save(out, parts, coder.digest, data.facts)


def _limited(data: TrainingData, limit: int, seed: int) -> TrainingData:
    """Fewer training segments; validation and test stay whole."""
    if not 0 < limit <= len(data.train):
        raise UsageError(f"--limit {limit}: there are {len(data.train)} training segments.")
    train = data.train.take(np.random.default_rng(seed).permutation(len(data.train))[:limit])
    return replace(data, train=train, facts=data.facts | {"train_segments": _counted(train)})


def _read(files: JudgedFiles, languages: tuple[str, ...]) -> tuple[Rows, Rows, Rows | None]:
    known = () if files.any_language else languages
    wanted = [language_pair(pair) for pair in files.pairs]

    def read(paths: Sequence[str | Path]) -> Rows:
        found = rows.read(paths, wanted)
        checked = rows.refuse_bad(found, known, files.cut)
        return rows.equally_weighted(checked) if files.equal_weights else checked

    def apart(own: Rows, held: Rows, what: str) -> Rows:
        if files.drop_overlap:
            return rows.drop(own, rows.overlap(own, held))
        rows.refuse_overlap(own, held, what, "Say --drop-overlap to leave them out.")
        return own

    train = read(files.train)
    if files.dev_share is not None:
        train, dev = rows.hold_out(train, files.dev_share, files.dev_most, files.split_seed)
    else:
        dev = read(files.dev)
        train = apart(train, dev, "validation")
    test = read(files.test) if files.test else None
    if test is not None:
        train, dev = apart(train, test, "test"), apart(dev, test, "test")
    return train, dev, test


def _facts(files: JudgedFiles, train: Coded, dev: Coded) -> dict[str, Any]:
    """What the card says of the data."""
    held_out = files.dev_share is not None
    return {
        "train": rows.fingerprint(files.train),
        "dev": f"held out: {files.dev_share:g}" if held_out else rows.fingerprint(files.dev),
        "train_segments": _counted(train),
        "dev_segments": _counted(dev),
        "weights": "equal" if files.equal_weights else "n / (n + 1)",
        "cut": files.cut,
    }


def _counted(part: Coded) -> dict[str, int]:
    """Segments of each language pair."""
    return dict(sorted(Counter(part.lps.tolist()).items()))
