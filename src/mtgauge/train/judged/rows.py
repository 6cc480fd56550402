"""Judged segments as training material: read, checked, split, weighted.

    rows = refuse_bad(read(["da16.tsv.gz"]), languages=encoder.languages)
    train, dev = hold_out(rows, share=0.1, most=None, seed=1)

What is refused, because a model would learn nonsense from it without a complaint: a missing
score, scores of 0 to 100 where z-scores are meant, one score for all segments of a language pair, a
language that the encoder does not know, and a source sentence that stands in both the training and
the validation data of a pair.

A judgement that averages n people counts n / (n + 1) in the loss (column `n`; where it is not
given, 15, as in WMT's DAseg data): one person's opinion is half noise. Scores are z-scores and are
cut at +-`LIMIT`, since a slip of one annotator (-13 in WMT18) would outweigh hundreds of segments.
The papers do neither: `equal_weights` and `cut=0` of `JudgedFiles` switch them off.

Limits: with several references only the first is used for training.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mtgauge.data import judged_files, judgements
from mtgauge.data.codes import bases
from mtgauge.data.watch import judged_in_other_languages
from mtgauge.errors import InputError, UsageError
from mtgauge.text.untranslated import ask_strangers
from mtgauge.train.progress import warn

LIMIT = 3.0
JUDGES = 15  # behind a score whose file does not say how many
FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Rows:
    """Training rows as columns; a text is None where the file has no such column.

    Compared and hashed by identity, so that what is derived from rows can be kept beside them.
    """

    files: Sequence[str]
    lps: Sequence[str]
    sources: Sequence[str | None]
    references: Sequence[str | None]
    hypotheses: Sequence[str]
    scores: FloatArray
    weights: FloatArray
    raw: FloatArray  # mean judgement on 0-100; NaN where not given

    def __len__(self) -> int:
        return len(self.lps)

    def take(self, rows: Sequence[int] | NDArray[np.int64]) -> Rows:
        at = [int(i) for i in rows]
        taken: list[Any] = [
            c[at] if isinstance(c, np.ndarray) else [c[i] for i in at] for c in self.columns()
        ]
        return Rows(*taken)

    def columns(self) -> list[Any]:
        return [getattr(self, field.name) for field in fields(self)]


def read(paths: Sequence[str | Path], pairs: Sequence[str] = ()) -> Rows:
    """All judged segments of the files, or those of some pairs, HTML escapes undone.

    Sides that are in another language than their pair says are warned of.
    """
    parts: list[Rows] = []
    for path in map(Path, paths):
        for table in judged_files.read(path):
            if pairs and table.lp not in pairs:
                continue
            for warning in judged_in_other_languages(table, ask_strangers):
                warn(warning)
            n = len(table)
            if table.hypotheses is None:
                raise InputError("the file has scores but no texts", file=path)
            counts, texts = _judges(table, path), table.segments(unescape=True)
            nothing: list[str | None] = [None] * n
            first = None if texts.references is None else [row[0] for row in texts.references]
            parts.append(
                Rows(
                    [path.name] * n,
                    [table.lp] * n,
                    nothing if texts.sources is None else texts.sources,
                    nothing if first is None else first,
                    list(texts.hypotheses),
                    table.human,
                    counts / (counts + 1),
                    np.full(n, np.nan) if table.raw is None else table.raw,
                )
            )
    if not parts and pairs and paths:
        names = ", ".join(Path(path).name for path in paths)
        raise UsageError(f"--pairs {' '.join(pairs)}: none of them is in {names}.")
    if not parts:
        raise UsageError("No judged segments: name at least one file.")
    return concatenate(parts)


def concatenate(parts: Sequence[Rows]) -> Rows:
    """The rows of all parts, one after the other."""
    columns = zip(*(part.columns() for part in parts), strict=True)
    joined: list[Any] = [
        np.concatenate(c) if isinstance(c[0], np.ndarray) else [*chain(*c)] for c in columns
    ]
    return Rows(*joined)


def _judges(table: judgements.Judgements, path: Path) -> FloatArray:
    """How many people stand behind each score."""
    if table.judges is None:
        return np.full(len(table), float(JUDGES))
    if not (table.judges >= 1).all():
        raise InputError(f"column n: {table.lp} has a count below 1 or none at all", file=path)
    return table.judges


def read_needed(
    files: Sequence[str | Path], needs: Sequence[str], target: str | None = "en"
) -> Rows:
    """Checked rows into one language (any: None) that have the texts named by `needs`.

    For correlations per file and language pair: two files of one name, and a pair of a file whose
    scores are all the same, are refused.
    """
    named: dict[str, Path] = {}
    for file in map(Path, files):
        if (other := named.setdefault(judgements.data_name(file), file)) != file:
            raise InputError(
                f"{other} has the same name, and correlations are listed by file name",
                file=file,
                remedy="Rename one of them.",
            )
    rows = refuse_bad(read(files))
    mine = [i for i, lp in enumerate(rows.lps) if target is None or bases(lp)[1] == target]
    if not mine:
        found = ", ".join(sorted(set(rows.lps)))
        raise InputError(f"no judged segments into {target}, only of {found}", file=files[0])
    rows = rows.take(mine)
    for need in needs:
        _refuse_without(rows, need)
    refuse_constant(rows, by_file=True)
    return rows


def _refuse_without(rows: Rows, need: str) -> None:
    column = {"source": rows.sources, "reference": rows.references, "hypothesis": rows.hypotheses}
    without = [i for i, text in enumerate(column[need]) if not (text or "").strip()]
    if without:
        raise InputError(
            f"{len(without)} of {len(rows)} segments have no {need}",
            file=rows.files[without[0]],
            remedy=f"Fill column {need}, or take those rows out.",
        )


def equally_weighted(rows: Rows) -> Rows:
    """The rows, each judgement counting the same, however many people gave it."""
    return replace(rows, weights=np.ones(len(rows)))


def refuse_bad(rows: Rows, languages: Sequence[str] = (), cut: float = LIMIT) -> Rows:
    """The rows with cut scores (0: not cut), or the error that says what is wrong with them."""
    missing = np.flatnonzero(np.isnan(rows.scores)).tolist()
    if len(missing):
        where = ", ".join(f"{n} in {f}" for f, n in Counter(rows.files[i] for i in missing).items())
        raise InputError(
            f"{len(missing)} of {len(rows)} segments have no score ({where})",
            remedy="A model would learn from them as if they were judged: take those rows out.",
        )
    refuse_constant(rows)
    _refuse_raw(rows)
    known = set(languages)
    unknown = {lp for lp in set(rows.lps) if known and not known.issuperset(bases(lp))}
    if unknown:
        raise InputError(
            f"the encoder does not know a language of {', '.join(sorted(unknown))}; "
            f"it knows {', '.join(sorted(known))}",
            remedy="Take those pairs out with --pairs, or say --any-language to train anyway.",
        )
    return replace(rows, scores=np.clip(rows.scores, -cut, cut)) if cut else rows


def refuse_constant(rows: Rows, *, by_file: bool = False, part: str = "") -> None:
    """Refuse a language pair (`by_file`: of a file) without two scores that differ.

    There is nothing to learn from it, and no correlation with it. One segment of a pair among
    others to learn from is no fault.
    """
    seen: dict[tuple[str, str], list[float]] = {}
    for file, lp, score in zip(rows.files, rows.lps, rows.scores.tolist(), strict=True):
        seen.setdefault((file if by_file else "", lp), []).append(score)
    for (file, lp), scores in seen.items():
        if len(set(scores)) < 2 and (by_file or len(scores) > 1):
            raise InputError(
                f"{lp} has no two different scores{part}: "
                + (f"all {len(scores)} are" if scores[1:] else "its only one is")
                + f" {scores[0]:g}",
                file=file or None,
                remedy="Is column human the right one? Take the pair out, or give more of it.",
            )


def _refuse_raw(rows: Rows) -> None:
    """Scores of 0 to 100 would all be cut to one value; a few outliers are usual."""
    names = np.array(rows.files)
    for file in sorted(set(rows.files)):
        if np.median(np.abs(rows.scores[names == file])) > LIMIT:
            raise InputError(
                f"more than half of the scores lie beyond +-{LIMIT:g}",
                file=file,
                remedy="Column human must hold z-scores: standardise each judge's first.",
            )


def overlap(train: Rows, dev: Rows) -> NDArray[np.int64]:
    """Training rows whose source (or reference, without one) stands in dev's same pair."""
    seen = {(lp, _key(s, r)) for lp, s, r in zip(dev.lps, dev.sources, dev.references, strict=True)}
    keys = zip(train.lps, train.sources, train.references, strict=True)
    return np.array([i for i, (lp, s, r) in enumerate(keys) if (lp, _key(s, r)) in seen], np.int64)


def refuse_overlap(
    train: Rows, held: Rows, what: str = "validation", remedy: str = "Take them out of one side."
) -> None:
    rows = overlap(train, held)
    if len(rows):
        pairs = ", ".join(f"{lp} {n}" for lp, n in Counter(train.lps[i] for i in rows).items())
        raise InputError(
            f"{len(rows)} of {len(train)} segments translate a source sentence that is also in the "
            f"{what} data ({pairs})",
            remedy=remedy,
        )


def drop(rows: Rows, out: NDArray[np.int64]) -> Rows:
    return rows.take(np.setdiff1d(np.arange(len(rows)), out))


def hold_out(rows: Rows, share: float, most: int | None, seed: int) -> tuple[Rows, Rows]:
    """Training and validation rows; translations of one source sentence stay together.

    Of each file and language pair, about `share` of the source sentences are held out, at most
    `most` segments. A source sentence that is held out anywhere is held out everywhere, since
    test sets share sentences between pairs.
    """
    groups: dict[tuple[str, str], dict[str, list[int]]] = {}
    for i in range(len(rows)):
        key = _key(rows.sources[i], rows.references[i])
        groups.setdefault((rows.files[i], rows.lps[i]), {}).setdefault(key, []).append(i)
    held: set[str] = set()
    chosen: list[int] = []
    for (file, lp), sentences in sorted(groups.items()):
        size = sum(map(len, sentences.values()))
        wanted = min(share * size, most if most is not None else size)
        ranked = sorted(sentences, key=lambda s: _rank(seed, file, lp, s))
        taken = 0
        for sentence in ranked:
            if taken >= wanted:
                break
            held.add(sentence)
            chosen += sentences[sentence]
            taken += len(sentences[sentence])
    keep = [i for i in range(len(rows)) if _key(rows.sources[i], rows.references[i]) not in held]
    if not keep or not chosen:
        raise UsageError(f"{len(rows)} segments cannot be split with a share of {share:g}.")
    return rows.take(keep), rows.take(sorted(chosen))


def _key(source: str | None, reference: str | None) -> str:
    return (source or reference or "").strip()


def _rank(*parts: object) -> bytes:
    return hashlib.sha256("\0".join(map(str, parts)).encode()).digest()


def fingerprint(paths: Sequence[str | Path]) -> list[dict[str, str | int]]:
    """What a model card says of its data: name, size and SHA-256 of each file."""
    found: list[dict[str, str | int]] = []
    for path in map(Path, paths):
        digest = hashlib.sha256()
        size = 0
        files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
        for file in files:
            content = file.read_bytes()
            digest.update(content)
            size += len(content)
        found.append({"file": path.name, "bytes": size, "sha256": digest.hexdigest()})
    return found
