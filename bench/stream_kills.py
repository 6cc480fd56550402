"""`mtgauge stream` killed (kill -9) at random moments: nothing lost, nothing twice.

    python bench/stream_kills.py                       # 50 kills, one pass and with --top
    python bench/stream_kills.py --kills 200 --workers 2

A corpus with repeats and damaged lines goes through `stream` once undisturbed; then the same
command is started and killed again and again, each time after a random part of the undisturbed
run's time, and at last left to end. Every file of the two folders is compared, hidden ones too. So
that every kind of moment is met, a run that has finished is begun anew in an empty folder.
"""

from __future__ import annotations

import argparse
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from scale import pairs


def command(folder: Path, out: str, options: list[str]) -> list[str]:
    return [sys.executable, "-m", "mtgauge", "stream", str(folder / "in.jsonl"), "-m", "chrf",
            "--reference-column", "reference", "--shard-size", "40", "-o", str(folder / out),
            "--keep", "chrf > 15 and not duplicate", "--quiet", *options]  # fmt: skip


def lay(folder: Path, many: int) -> None:
    import json

    lines = [json.dumps(row) for row in pairs(many)]
    lines[7::50] = ["{broken"] * len(lines[7::50])
    lines[9::30] = [lines[8]] * len(lines[9::30])
    (folder / "in.jsonl").write_text("\n".join(lines) + "\n")


def content(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def killed(folder: Path, options: list[str], kills: int, seed: int) -> tuple[int, int]:
    """How many runs were killed before their end, and how many shards stood then, on average."""
    started = time.monotonic()
    subprocess.run(command(folder, "whole", options), check=True)
    length = time.monotonic() - started
    wanted = content(folder / "whole")
    rng = random.Random(seed)
    hit = shards = 0
    while hit < kills:
        process = subprocess.Popen(command(folder, "out", options), stderr=subprocess.DEVNULL)
        time.sleep(length * rng.uniform(0.3, 1.0))
        process.send_signal(signal.SIGKILL)
        if process.wait() == 0:  # it was done before: compare, and begin anew
            assert content(folder / "out") == wanted, "the output differs"
            shutil.rmtree(folder / "out")
            continue
        hit += 1
        shards += len(list((folder / "out").glob("part-*")))
    subprocess.run(command(folder, "out", options), check=True)
    assert content(folder / "out") == wanted, "the output differs"
    shutil.rmtree(folder / "out")
    shutil.rmtree(folder / "whole")
    return hit, round(shards / hit)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kills", type=int, default=50, help="half of them with --top")
    parser.add_argument("--pairs", type=int, default=4000)
    parser.add_argument("--workers", type=int)
    parser.add_argument("--seed", type=int, default=17)
    args = parser.parse_args()
    more = [] if args.workers is None else ["--workers", str(args.workers)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lay(folder, args.pairs)
        for options in ([], ["--top", "25%"]):
            hit, shards = killed(folder, [*options, *more], args.kills // 2, args.seed)
            print(
                f"{' '.join(options) or 'one pass':12s} {hit} kills, {shards} shards stood on "
                "average: every file the same to the bit"
            )


if __name__ == "__main__":
    main()
