"""Judged segments as training material: read, checked, split, weighted.

    rows = read([Path("da16.tsv.gz")])
    refuse_bad(rows, languages=encoder.languages)
    train, dev = hold_out(rows, share=0.1, seed=1)

What is refused, because a model would learn nonsense from it without a complaint: a missing
score, scores of 0 to 100 where z-scores are meant, one score for all segments of a language pair, a
language that the encoder does not know, and a source sentence that stands in both the training and
the validation data of a pair.

A judgement that averages n people counts n / (n + 1) in the loss (column `n`; where it is not
given, 15, as in WMT's DAseg data): one person's opinion is half noise. Scores are z-scores and are
cut at +-`LIMIT`, since a slip of one annotator (-13 in WMT18) would outweigh hundreds of segments.

Limits: with several references only the first is used for training.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mtgauge.data import judgements
from mtgauge.data.checks import unescape
from mtgauge.errors import InputError, UsageError

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
        return Rows(
            [self.files[i] for i in at],
            [self.lps[i] for i in at],
            [self.sources[i] for i in at],
            [self.references[i] for i in at],
            [self.hypotheses[i] for i in at],
            self.scores[at],
            self.weights[at],
            self.raw[at],
        )

    def digest(self) -> str:
        """Changes whenever a text or a score does."""
        parts = zip(
            self.lps, self.sources, self.references, self.hypotheses, self.scores, strict=True
        )
        whole = "\n".join("\t".join(map(str, row)) for row in parts)
        return hashlib.sha256(whole.encode()).hexdigest()

    def pairs(self) -> dict[str, NDArray[np.int64]]:
        """Row numbers of each language pair."""
        found: dict[str, list[int]] = {}
        for i, lp in enumerate(self.lps):
            found.setdefault(lp, []).append(i)
        return {lp: np.array(rows) for lp, rows in sorted(found.items())}


def read(paths: Sequence[Path]) -> Rows:
    """All judged segments of the files, HTML escapes undone."""
    parts: list[Rows] = []
    for path in paths:
        tables = judgements.read(path)
        for table in tables:
            n = len(table)
            if table.hypotheses is None:
                raise InputError("the file has scores but no texts", file=path)
            counts = _judges(table, path)
            parts.append(
                Rows(
                    [path.name] * n,
                    [table.lp] * n,
                    [None] * n if table.sources is None else [unescape(t) for t in table.sources],
                    [None] * n
                    if table.references is None
                    else [unescape(row[0]) for row in table.references],
                    [unescape(t) for t in table.hypotheses],
                    table.human,
                    counts / (counts + 1),
                    np.full(n, np.nan) if table.raw is None else table.raw,
                )
            )
    if not parts:
        raise UsageError("No training data: name at least one file of judged segments.")
    return concatenate(parts)


def concatenate(parts: Sequence[Rows]) -> Rows:
    return Rows(
        [x for part in parts for x in part.files],
        [x for part in parts for x in part.lps],
        [x for part in parts for x in part.sources],
        [x for part in parts for x in part.references],
        [x for part in parts for x in part.hypotheses],
        np.concatenate([part.scores for part in parts]),
        np.concatenate([part.weights for part in parts]),
        np.concatenate([part.raw for part in parts]),
    )


def _judges(table: judgements.Judgements, path: Path) -> FloatArray:
    """How many people stand behind each score."""
    if table.judges is None:
        return np.full(len(table), float(JUDGES))
    if not (table.judges >= 1).all():
        raise InputError(f"column n: {table.lp} has a count below 1 or none at all", file=path)
    return table.judges


def refuse_bad(rows: Rows, languages: Sequence[str] = ()) -> Rows:
    """The rows with cut scores, or the error that says what is wrong with them."""
    missing = np.flatnonzero(np.isnan(rows.scores)).tolist()
    if len(missing):
        where = ", ".join(f"{n} in {f}" for f, n in Counter(rows.files[i] for i in missing).items())
        raise InputError(
            f"{len(missing)} of {len(rows)} segments have no score ({where})",
            remedy="A model would learn from them as if they were judged: take those rows out.",
        )
    for lp, at in rows.pairs().items():
        if len(at) > 1 and np.ptp(rows.scores[at]) == 0:
            raise InputError(
                f"all {len(at)} segments of {lp} have the same score, {rows.scores[at[0]]:g}",
                remedy="There is nothing to learn from them; is column human the right one?",
            )
    _refuse_raw(rows)
    if languages:
        known = set(languages)
        unknown = {lp for lp in set(rows.lps) if not known.issuperset(lp.split("-"))}
        if unknown:
            raise InputError(
                f"the encoder does not know a language of {', '.join(sorted(unknown))}; "
                f"it knows {', '.join(sorted(known))}",
                remedy="Take those pairs out with --pairs, or say --any-language to train anyway.",
            )
    return replace(rows, scores=np.clip(rows.scores, -LIMIT, LIMIT))


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


def refuse_overlap(train: Rows, held: Rows, what: str = "validation") -> None:
    rows = overlap(train, held)
    if len(rows):
        pairs = ", ".join(f"{lp} {n}" for lp, n in Counter(train.lps[i] for i in rows).items())
        raise InputError(
            f"{len(rows)} of {len(train)} segments translate a source sentence that is also in the "
            f"{what} data ({pairs})",
            remedy="Say --drop-overlap to leave them out.",
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


def fingerprint(paths: Sequence[Path]) -> list[dict[str, str | int]]:
    """What a model card says of its data: name, size and SHA-256 of each file."""
    found: list[dict[str, str | int]] = []
    for path in paths:
        digest = hashlib.sha256()
        size = 0
        files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
        for file in files:
            content = file.read_bytes()
            digest.update(content)
            size += len(content)
        found.append({"file": path.name, "bytes": size, "sha256": digest.hexdigest()})
    return found
