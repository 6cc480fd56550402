"""Kill runs at random moments: does the same command go on to the same bits, and is nothing left?

    python bench/kills.py --kills 100 --seed 1

Each command runs once undisturbed. Then, as often as asked, it is started in a fresh folder, killed
(kill -9) after a random share of the time it needs, now and then twice, and run again to its end.
Counted are runs that did not go on (an exit other than 0), results that differ from those of the
undisturbed run in any byte, and files that are left: drafts, journals, copies in the folder of
temporary files. All three should be 0.

Limits: the kill hits the main process and its children; a power cut also loses what the disk had
not written yet.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import mtgauge
from mtgauge.cli import COMMANDS
from mtgauge.data import readers

_PACKAGE = Path(mtgauge.__file__).parent
_EXAMPLE = [row for _, row in readers.rows(_PACKAGE / "data" / "example" / "de-en.tsv")]
_LARGE = 12_000  # entities, words: some seconds of work


@dataclass(frozen=True)
class Job:
    """`make(folder)` writes the input and returns the command; `results` are compared."""

    name: str
    make: Callable[[Path], list[str]]
    results: tuple[str, ...]


def _texts(folder: Path, times: int) -> tuple[Path, Path, Path]:
    """Sources, references and translations; each line is different."""
    paths = (folder / "in.de", folder / "ref.en", folder / "a.en")
    for path, column in zip(paths, ("source", "reference", "careful"), strict=True):
        lines = [f"{row[column]} {k}" for k in range(times) for row in _EXAMPLE]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return paths


def _score(folder: Path) -> list[str]:
    source, reference, system = _texts(folder, 4)
    return [
        "score", "-s", str(source), "-t", str(system), "-r", str(reference), "-l", "de-en",
        "-m", "bertr", "chrf", "--cache", "cache", "--json", "out.json", "--quiet",
    ]  # fmt: skip


def _judged(path: Path, times: int, offset: int = 0) -> str:
    lines = ["lp\tsystem\tsid\tsource\treference\thypothesis\thuman"]
    for k in range(times):
        for i, row in enumerate(_EXAMPLE):
            texts = "\t".join(f"{row[c]} {k + offset}" for c in ("source", "reference"))
            for n, system in enumerate(("literal", "careful")):
                human = (7 * i + 3 * n + k) % 11 / 4 - 1.25
                cells = f"de-en\t{system}\t{k}.{i}\t{texts}\t{row[system]} {k + offset}\t{human}"
                lines.append(cells)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


def _meta(folder: Path) -> list[str]:
    judged = _judged(folder / "judged.tsv", 6)
    return ["meta", judged, "-m", "chrf", "ter", "kobe", "--cache", "cache", "--json", "out.json"]


def _kb(folder: Path) -> list[str]:
    with (folder / "dump.json").open("w", encoding="utf-8") as out:
        out.write("[\n")
        for i in range(_LARGE):
            names = {lang: {"value": f"Name {i} {lang}"} for lang in ("en", "de", "cs")}
            item = {"type": "item", "id": f"Q{i}", "labels": names, "sitelinks": {"a": 1}}
            out.write(json.dumps(item) + ",\n")
        out.write("]\n")
    flags = ["--languages", "en,de,cs", "--min-sitelinks", "1"]
    return ["kb", "build", "kb.sqlite", "--wikidata", str(folder / "dump.json"), *flags]


def _vectors(folder: Path) -> list[str]:
    chance = random.Random(1)
    with (folder / "v.vec").open("w", encoding="utf-8") as out:
        for i in range(_LARGE):
            out.write(f"w{i} " + " ".join(f"{chance.random():.4f}" for _ in range(50)) + "\n")
    return ["vectors", "convert", str(folder / "v.vec"), "-o", "store"]


def _train(folder: Path) -> list[str]:
    train, dev = _judged(folder / "train.tsv", 4), _judged(folder / "dev.tsv", 1, offset=100)
    flags = ["--epochs", "3", "--quiet", "--any-language"]
    return ["train", "ruse", "--train", train, "--dev", dev, "--out", "model", *flags]


def _stream(folder: Path) -> list[str]:
    lines = ["source\ttarget"] + [
        f"{row['source']} {k}\t{row['careful']} {k}" for k in range(120) for row in _EXAMPLE
    ]
    (folder / "corpus.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    flags = ["-m", "kobe", "-l", "de-en", "-o", "out", "--shard-size", "100", "--quiet"]
    return ["stream", str(folder / "corpus.tsv"), *flags]


JOBS = (
    Job("score --cache", _score, ("out.json",)),
    Job("meta", _meta, ("out.json",)),
    Job("kb build", _kb, ("kb.sqlite",)),
    Job("vectors convert", _vectors, ("store",)),
    Job("train", _train, ("model/model.onnx",)),
    *([Job("stream", _stream, ("out",))] if "stream" in COMMANDS else []),
)


class Place:
    """A folder in which a job runs, with its own cache and folder of temporary files."""

    def __init__(self, root: Path, job: Job) -> None:
        self.root, self.job = root, job
        for name in ("input", "work", "tmp"):
            (root / name).mkdir(parents=True)
        self.command = job.make(root / "input")

    def start(self) -> subprocess.Popen[bytes]:
        code = "import sys; from mtgauge.entry import main; sys.exit(main())"
        settings = {"MTGAUGE_CACHE": str(self.root / "user"), "TMPDIR": str(self.root / "tmp")}
        return subprocess.Popen(
            [sys.executable, "-c", code, *self.command],
            cwd=self.root / "work",
            env=os.environ | settings,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    def kill_after(self, seconds: float) -> bool:
        """Whether the run was still going on when it was killed."""
        process = self.start()
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return process.returncode == -signal.SIGKILL

    def finish(self) -> str:
        """Run to the end; what went wrong, if anything."""
        process = self.start()
        _, err = process.communicate()
        return "" if process.returncode == 0 else f"exit {process.returncode}: {err.decode()}"

    def result(self) -> dict[str, str]:
        """Digests of the files that the job is for."""
        found: dict[str, str] = {}
        for name in self.job.results:
            path = self.root / "work" / name
            files = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file())
            for file in files:
                data = file.read_bytes().replace(str(self.root).encode(), b"")
                found[str(file.relative_to(self.root))] = hashlib.sha256(data).hexdigest()
        return found

    def files(self) -> set[str]:
        """All files and folders; the logs that SQLite keeps beside an open cache aside."""
        names = {str(path.relative_to(self.root)) for path in self.root.rglob("*")}
        return {name for name in names if not name.endswith(("-wal", "-shm"))}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    chance = random.Random(args.seed)
    stuck, differing, left, killed = [], [], [], dict.fromkeys((job.name for job in JOBS), 0)
    with tempfile.TemporaryDirectory() as scratch:
        sound = {job.name: _undisturbed(Path(scratch) / f"sound-{i}", job)
                 for i, job in enumerate(JOBS)}  # fmt: skip
        attempts = 0
        while sum(killed.values()) < args.kills:
            job = JOBS[attempts % len(JOBS)]
            attempts += 1
            place = Place(Path(scratch) / "killed", job)
            result, files, seconds = sound[job.name]
            for _ in range(chance.choice((1, 1, 2))):
                killed[job.name] += place.kill_after(chance.uniform(0.05, 1.0) * seconds)
            error = place.finish()
            if error:
                stuck.append(f"{job.name}: {error}")
            elif place.result() != result:
                differing.append(f"{job.name}: {place.result()} instead of {result}")
            if more := place.files() - files:
                left.append(f"{job.name}: {sorted(more)}")
            shutil.rmtree(place.root)
    for line in (*stuck, *differing, *left):
        print(line, file=sys.stderr)
    each = ", ".join(f"{name} {n}" for name, n in killed.items())
    print(f"{sum(killed.values())} kills ({each}; seed {args.seed}):")
    print(f"  would not go on    {len(stuck)}")
    print(f"  other bits         {len(differing)}")
    print(f"  something left     {len(left)}")
    return 1 if stuck or differing or left else 0


def _undisturbed(root: Path, job: Job) -> tuple[dict[str, str], set[str], float]:
    place = Place(root, job)
    start = time.monotonic()
    error = place.finish()
    if error:
        raise SystemExit(f"{job.name} does not run at all: {error}")
    found = place.result(), place.files(), time.monotonic() - start
    shutil.rmtree(root)
    return found


if __name__ == "__main__":
    raise SystemExit(main())
