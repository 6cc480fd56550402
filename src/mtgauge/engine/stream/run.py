"""`mtgauge stream`: records in, the same records with more columns out, some of them left out.

    found = stream(Plan([Path("web.tsv.gz")], ["xmoverscore:lm=off"], keep="not copy"), Path("out"))
    found.records, found.kept, found.rejected, found.dropped

Blocks of 2,000 records flow through: read, cheap columns, cheap conditions, metrics (in this
process, in worker processes or on Ray: engine/places.py), other conditions, write. Only what is on
its way is in memory. `shard_size` records of the input make one shard of the output.

A folder has a manifest (manifest.py), and the same call goes on where a killed one stopped. What a
run writes depends on input, options, models and code alone, so that the files are the same to the
bit, however often it was interrupted.

With `top` there are two passes: the first writes scored shards and their keys to `.work`, the
second what is above the cut (top.py) to the folder.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

import numpy as np

from mtgauge.data.output import make_folder
from mtgauge.data.record_files import open_records
from mtgauge.data.record_output import writer
from mtgauge.data.records import Block, Form, Records, Reject
from mtgauge.data.seal import text_digest
from mtgauge.data.segments import Segments
from mtgauge.data.spool import Spool, read_once
from mtgauge.engine.places import Here, Place
from mtgauge.engine.stream import duplicates, top
from mtgauge.engine.stream.manifest import WORK, Manifest, locked
from mtgauge.engine.stream.plan import BLOCK, Job, Kept, Plan, Seen
from mtgauge.engine.stream.shards import shard, sweep
from mtgauge.errors import InputError, UsageError

# texts of a corpus hardly come twice, and a shard must not depend on those before it
ENCODERS: dict[str, object] = {"memory_gb": 0.25, "remember": "shard"}
Progress = Callable[[int], object]


@dataclass
class Streamed:
    """What a run did; counts of a folder are those of all its shards."""

    records: int = 0
    rejected: int = 0
    kept: int = 0
    dropped: Counter[str] = field(default_factory=Counter)  # by condition
    resumed: int = 0  # shards that an earlier run had finished
    notes: dict[str, dict[str, int]] = field(default_factory=dict)  # by metric
    signatures: list[str] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)  # of the first rejected records of this run

    def count(self, entry: dict[str, Any]) -> None:
        self.records += entry["records"]
        self.rejected += entry["rejected"]
        self.kept += entry["kept"]
        self.dropped.update(entry["dropped"])


def stream(
    plan: Plan,
    out: Path | None = None,
    *,
    place: Place | None = None,
    rejects: Path | None = None,
    progress: Progress | None = None,
) -> Streamed:
    """Run a plan; `out` is a folder of shards, None is standard output.

    Damaged records go to rejects-NNNNN.jsonl beside their shard, or to the file `rejects`.
    """
    if out is not None and Form.of(out) is not None and not out.is_dir():
        raise InputError(
            "shards go into a folder, and this is the name of a file",
            file=out,
            remedy="Name a folder, or leave -o out and send standard output to a file (> FILE).",
        )
    job = Job(plan)
    with ExitStack() as stack:
        run = _Run(job, place or Here(), progress or (lambda many: None), stack)
        if out is None:
            found = run.to_stream(sys.stdout.buffer, rejects)
        elif rejects is not None:
            raise UsageError("--rejects is for standard output: a folder has rejects of its own.")
        else:
            make_folder(out)
            stack.enter_context(locked(out))
            found = run.to_folder(out)
    found.notes = {spec: dict(ready.metric.notes) for spec, ready in job.metrics.items()}
    found.signatures = [ready.signature.short for ready in job.metrics.values()]
    found.reasons = run.said()
    if found.rejected == found.records > 0:
        shown = "; ".join(found.reasons)
        raise InputError(
            f"none of the {found.records:,} records can be used{f' ({shown})' if shown else ''}",
            remedy="Check the form and the names of the columns.",
        )
    return found


@dataclass
class _Piece:
    """A block with its scores; `last` has the digest of the shard that it ends."""

    shard: int
    seen: Seen
    last: str | None


class _Run:
    def __init__(self, job: Job, place: Place, progress: Progress, stack: ExitStack) -> None:
        self.job, self.place, self.progress, self.stack = job, place, progress, stack
        self.found = Streamed()
        self.rejected = 0  # also of shards that are not finished
        self.reasons: list[Reject] = []  # the first ones
        spool = stack.enter_context(Spool())
        twice = bool(job.duplicates)
        self.paths = [
            spool.reusable(path) if twice and read_once(path) else path for path in job.paths
        ]
        self.records = job.open(self.paths)  # refused before anything is written

    # to standard output

    def to_stream(self, stream: IO[bytes], rejects: Path | None) -> Streamed:
        job = self.job
        if job.top is not None:
            raise UsageError("--top needs two passes: give a folder with -o.")
        self._mark_duplicates(Path(self.stack.enter_context(TemporaryDirectory(prefix="mtgauge-"))))
        records = self.records
        form = Form("jsonl") if job.form.kind == "parquet" else Form(job.form.kind)
        bad = None if rejects is None else self.stack.enter_context(rejects.open("wb"))
        with writer(stream, records, form, job.types) as out:
            for _, kept, _ in self._pieces(records, 0, sys.maxsize):
                if job.form.kind == "parquet":
                    rows = kept.block.table.to_pylist()
                    kept.block.lines = [
                        json.dumps(row, ensure_ascii=False, default=str) for row in rows
                    ]
                out.write(kept.block, kept.added, kept.keep)
                if bad is not None:
                    bad.write(_reject_lines(kept.block))
                self.found.count(_entry(kept))
        return self.found

    # to a folder

    def to_folder(self, folder: Path) -> Streamed:
        job, work = self.job, folder / WORK
        manifest = Manifest(folder, job.head())
        sweep(folder)
        first = "score" if job.top else "write"
        before = manifest.finished(first)
        self.found.resumed = len(before)
        if manifest.done is None:
            make_folder(work)
            sweep(work)
            self._mark_duplicates(work)
            for entry in before:
                self.found.count(entry)
            self.rejected = self.found.rejected
            self._first_pass(folder, work if job.top else folder, manifest, before, first)
            if job.top is not None:
                self._second_pass(folder, manifest, job.top)
            names = ("records", "rejected", "kept")
            totals = {name: getattr(self.found, name) for name in names}
            manifest.finish(totals | {"dropped": dict(sorted(self.found.dropped.items()))})
        else:
            self.found.count(manifest.done)
        shutil.rmtree(work, ignore_errors=True)
        return self.found

    def _first_pass(
        self, folder: Path, place: Path, manifest: Manifest, before: Sequence[dict[str, Any]],
        stage: str,
    ) -> None:  # fmt: skip
        job, records = self.job, self.records
        for entry in before:
            records.skip(entry["records"])
            if records.digest() != entry["digest"]:
                raise InputError(
                    f"the input has changed since shard {entry['shard']} was made",
                    file=self.paths[0],
                    remedy="Choose another folder to begin again.",
                )
            self.progress(entry["records"])
        pieces = self._pieces(records, len(before), job.plan.shard_size)
        following = next(pieces, None)
        while following is not None:
            number = following[0]
            name = f"part-{number:05d}{job.form.ending}"
            total, keys, bad = Streamed(), [], []
            with shard(place, name) as stream, writer(stream, records, job.form, job.types) as out:
                while following is not None and following[0] == number:
                    _, kept, digest = following
                    out.write(kept.block, kept.added, kept.keep)
                    keys += kept.keys
                    bad.append(_reject_lines(kept.block))
                    total.count(_entry(kept))
                    following = None if digest is not None else next(pieces)
            if any(bad):
                with shard(folder, f"rejects-{number:05d}.jsonl") as stream:
                    stream.write(b"".join(bad))
            if job.top is not None:
                with shard(place, f"{name}.keys") as stream:
                    stream.write(np.array(keys, "<f8").tobytes())
            entry = {
                "shard": number, "stage": stage, "file": str((place / name).relative_to(folder)),
                "records": total.records, "rejected": total.rejected, "kept": total.kept,
                "dropped": dict(sorted(total.dropped.items())), "digest": digest,
                "bytes": (place / name).stat().st_size,
            }  # fmt: skip
            manifest.add(entry)
            self.found.count(entry)
            following = next(pieces, None)

    def _second_pass(self, folder: Path, manifest: Manifest, share: top.Top) -> None:
        """Of the scored shards what is above the cut."""
        scored, written = manifest.finished("score"), manifest.finished("write")
        files = [folder / f"{entry['file']}.keys" for entry in scored]
        cut = top.best(files, share)
        total = sum(entry["kept"] for entry in scored)
        kept = 0
        for number, (entry, keys) in enumerate(zip(scored, files, strict=True)):
            stays = cut.mask(np.fromfile(keys, "<f8"))
            kept += int(stays.sum())
            if number < len(written):
                continue
            path = folder / entry["file"]
            with shard(folder, path.name) as stream:
                self._select(path, stays, stream)
            manifest.add(
                {"shard": number, "stage": "write", "file": path.name, "kept": int(stays.sum()),
                 "bytes": (folder / path.name).stat().st_size}
            )  # fmt: skip
        self.found.dropped[f"below the top {self.job.plan.top}"] += total - kept
        self.found.kept = kept

    def _select(self, path: Path, stays: np.ndarray, stream: IO[bytes]) -> None:
        header = self.job.plan.header
        if not len(stays):
            shutil.copyfileobj(path.open("rb"), stream)  # an empty shard
            return
        records = open_records([path], self.job.form, [], header=header, batch=BLOCK)
        with writer(stream, records, self.job.form, {}) as out:
            while block := records.take(BLOCK):
                out.write(block, {}, stays[block.first : block.first + block.size].tolist())

    # the flow

    def _pieces(
        self, records: Records, first: int, size: int
    ) -> Iterator[tuple[int, Kept, str | None]]:
        """(shard, scored block, digest if it ends its shard) for the rest of the input."""
        waiting: deque[_Piece] = deque()

        def batches() -> Iterator[Segments]:
            for piece in self._blocks(records, first, size):
                waiting.append(piece)
                yield piece.seen.batch

        for tables in self.place.run(self.job.metrics, batches()):
            piece = waiting.popleft()
            kept = self.job.judge(piece.seen, tables)
            self._check_rejects(kept.block)
            self.progress(kept.block.size)
            yield piece.shard, kept, piece.last

    def _blocks(self, records: Records, number: int, size: int) -> Iterator[_Piece]:
        """Blocks of all shards; one is looked at ahead, to know which one ends its shard."""
        taken, block = 0, records.take(min(BLOCK, size))
        while block is not None:
            taken += block.size
            full = taken >= size
            digest = records.digest() if full else None
            following = records.take(min(BLOCK, size if full else size - taken))
            if following is None and not full:
                digest = records.digest()
            yield _Piece(number, self.job.look(block), digest)
            if full:
                number, taken = number + 1, 0
            block = following

    def _check_rejects(self, block: Block) -> None:
        most = self.job.plan.max_rejects
        self.reasons += block.rejects[: 5 - len(self.reasons)]
        self.rejected += len(block.rejects)
        if self.rejected > most:
            raise InputError(
                f"{self.rejected:,} records cannot be used, more than --max-rejects {most:,} "
                f"({'; '.join(self.said())})",
                remedy="Mend the input or allow more; what was finished is kept.",
            )

    def said(self) -> list[str]:
        """The first records that cannot be used, each with its place."""
        return [f"{r.file}, line {r.line}: {r.reason.rstrip('.')}" for r in self.reasons]

    def _mark_duplicates(self, work: Path) -> None:
        """One pass over the input per run, unless the marks are there."""
        names = self.job.duplicates
        for name in names:
            marks = work / f"{name}.bits"
            if not marks.exists():
                duplicates.find(self._keys(name), work / name, marks)
            self.job.marks[name] = duplicates.Bits(marks).__getitem__

    def _keys(self, name: str) -> Iterator[tuple[int, bytes]]:
        plan = self.job.plan
        assert plan.source is not None or name == "duplicate_target"
        sides = {
            "duplicate": (plan.source, plan.target),
            "duplicate_source": (plan.source,),
            "duplicate_target": (plan.target,),
        }[name]
        records = self.job.open(self.paths)
        while block := records.take(BLOCK):
            for place, row in zip(block.at, block.rows, strict=True):
                yield place, text_digest(row[side] for side in sides if side)


def _entry(kept: Kept) -> dict[str, Any]:
    block = kept.block
    return {
        "records": block.size,
        "rejected": len(block.rejects),
        "kept": sum(kept.keep),
        "dropped": kept.dropped,
    }


def _reject_lines(block: Block) -> bytes:
    lines = (json.dumps(reject.to_dict(), ensure_ascii=False) for reject in block.rejects)
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "backslashreplace")
