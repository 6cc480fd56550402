"""Damage files of every format that mtgauge reads, and see that each fault ends in one sentence.

    python tests/fuzz/fuzz.py --cases 5000 --seed 1

Each case damages one file of one format (`formats.py`) by a few seeded changes and runs the command
that reads it. Three things are counted, all of which should be 0:

    foreign     an exception that is not ours, exit 1, or JSON that is not valid
    accepted    a guarded format was changed, and the command gave another result than before
    hangs       the command took longer than a minute

A case is told by its seed and number: `--only N` runs one again and prints what it did.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from fuzz import documents, formats
from fuzz.formats import Format, run

FORMATS = (*formats.FORMATS, *documents.FORMATS)

_PATIENCE = 60
_DONE = (0, 5)  # 5: the gate of `check` is closed
_SCRAPS = (
    b"\0", b"\r", b"\n", b"\t", b",", b'"', b"\\", b"{", b"]" * 50, b"[" * 3000, b"null", b"NaN",
    b"1e999", b"-1", b"9" * 5000, b"\xff\xfe", b"\xc3", "\u2028\ufeff\u202e".encode(), b"\x1b[31m",
    b"\\ud800", b"../../x", b"true", b"{}", b"[]", b'""', b"0",
)  # fmt: skip


def flip(data: bytearray, chance: random.Random) -> None:
    for _ in range(chance.choice((1, 1, 4, 30))):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def cut(data: bytearray, chance: random.Random) -> None:
    del data[chance.randrange(len(data)) :]


def drop(data: bytearray, chance: random.Random) -> None:
    start = chance.randrange(len(data))
    del data[start : start + chance.choice((1, 3, 40, 1000))]


def insert(data: bytearray, chance: random.Random) -> None:
    at = chance.randrange(len(data))
    data[at:at] = chance.choice(_SCRAPS)


def replace(data: bytearray, chance: random.Random) -> None:
    """Another value in place of a number or a word."""
    at = chance.randrange(len(data))
    end = at
    while end < len(data) and end < at + 40 and chr(data[end]).isalnum():
        end += 1
    data[at:end] = chance.choice(_SCRAPS)


def repeat(data: bytearray, chance: random.Random) -> None:
    start = chance.randrange(len(data))
    piece = data[start : start + chance.choice((1, 10, 500))]
    data[start:start] = piece * chance.choice((1, 2, 20))


def swap(data: bytearray, chance: random.Random) -> None:
    lines = data.split(b"\n")
    i, j = chance.randrange(len(lines)), chance.randrange(len(lines))
    lines[i], lines[j] = lines[j], lines[i]
    data[:] = b"\n".join(lines)


CHANGES: tuple[Callable[[bytearray, random.Random], None], ...] = (
    flip, flip, cut, drop, insert, insert, replace, replace, repeat, swap,
)  # fmt: skip


@dataclass
class Counts:
    cases: int = 0
    refused: int = 0
    unchanged: int = 0  # the result is as before
    other: int = 0  # a format that is not guarded gave another result
    foreign: list[str] = field(default_factory=list)
    accepted: list[str] = field(default_factory=list)
    hangs: list[str] = field(default_factory=list)

    @property
    def faults(self) -> list[str]:
        return [*self.foreign, *self.accepted, *self.hangs]


class Fuzzer:
    """The examples, made once in a folder, and the results of the commands that read them."""

    def __init__(self, folder: Path, formats: tuple[Format, ...] = FORMATS) -> None:
        self.formats = formats
        self.folder = folder
        self._sound: dict[str, tuple[Path, list[str], object]] = {}

    def sound(self, one: Format) -> tuple[Path, list[str], object]:
        """The folder of a sound example, its command and its result."""
        if one.name not in self._sound:
            template = self.folder / f"sound-{len(self._sound)}"
            work = self.folder / "work"
            work.mkdir()
            arguments = one.make(work)
            shutil.copytree(work, template)
            code, out, err = run(arguments)
            assert code == 0, f"{one.name} is not sound: {err}"
            self._sound[one.name] = (template, arguments, _result(out))
            shutil.rmtree(work)
        return self._sound[one.name]

    def case(self, number: int, seed: int, counts: Counts, *, tell: bool = False) -> None:
        chance = random.Random(f"{seed}/{number}")
        one = self.formats[number % len(self.formats)]
        template, arguments, before = self.sound(one)
        work = self.folder / "work"
        shutil.copytree(template, work)
        try:
            files = sorted(p for p in work.rglob(one.damaged) if _may_be_damaged(p, work))
            file = chance.choice(files)
            told = damage(file, chance)
            name = f"case {number}, {one.name}: {file.relative_to(work)}, {told}"
            self._judge(one, name, arguments, before, counts, tell)
        finally:
            shutil.rmtree(work)

    def _judge(
        self, one: Format, name: str, arguments: list[str], before: object, counts: Counts,
        tell: bool,
    ) -> None:  # fmt: skip
        counts.cases += 1
        signal.alarm(_PATIENCE)
        try:
            code, out, err = run(arguments)
            after = _result(out) if code in _DONE else None
        except TimeoutError:
            counts.hangs.append(name)
            return
        except BaseException:  # a panic of a library in Rust is no Exception
            counts.foreign.append(f"{name}\n{traceback.format_exc(limit=-3)}")
            return
        finally:
            signal.alarm(0)
        if tell:
            print(name, code, err, sep="\n")
        if code not in (*_DONE, 2, 3, 4) or "Traceback" in err:
            counts.foreign.append(f"{name}\nexit {code}: {err}")
        elif code not in _DONE:
            counts.refused += 1
        elif after == before:
            counts.unchanged += 1
        elif one.guarded:
            counts.accepted.append(f"{name}\n{before}\n{after}")
        else:
            counts.other += 1


def damage(file: Path, chance: random.Random) -> str:
    """Change a file by one or two changes; says which."""
    data = bytearray(file.read_bytes())
    names = []
    for _ in range(chance.choice((1, 1, 2))):
        if data:
            change = chance.choice(CHANGES)
            change(data, chance)
            names.append(change.__name__)
    file.write_bytes(data)
    return " and ".join(names)


def _may_be_damaged(path: Path, work: Path) -> bool:
    names = path.relative_to(work).parts
    return path.is_file() and not any(name.startswith("keep_") for name in names)


def _result(out: str) -> object:
    """What a command printed, without what differs from run to run; JSON must be valid."""

    def refuse(text: str) -> None:
        raise ValueError(f"JSON with {text}")

    if out.startswith('{"'):  # records, one per line
        return [json.loads(line, parse_constant=refuse) for line in out.split("\n") if line]
    if out.startswith("{"):
        found = json.loads(out, parse_constant=refuse)
        return [(m["name"], m["systems"]) for m in found["metrics"]]
    return out


def fuzz(folder: Path, cases: range, seed: int, *, tell: bool = False) -> Counts:
    """Run the cases in a folder that is empty."""

    def stop(number: int, frame: object) -> None:
        raise TimeoutError

    counts, fuzzer = Counts(), Fuzzer(folder)
    before = signal.signal(signal.SIGALRM, stop)
    kept = os.environ.get("MTGAUGE_CACHE")
    os.environ["MTGAUGE_CACHE"] = str(folder / "user-cache")
    try:
        for number in cases:
            fuzzer.case(number, seed, counts, tell=tell)
    finally:
        signal.signal(signal.SIGALRM, before)
        os.environ.pop("MTGAUGE_CACHE")
        if kept is not None:
            os.environ["MTGAUGE_CACHE"] = kept
    return counts


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cases", type=int, default=5000)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="run this case alone and tell what it did")
    args = parser.parse_args()
    cases = range(args.first, args.first + args.cases)
    if args.only is not None:
        cases = range(args.only, args.only + 1)
    with tempfile.TemporaryDirectory() as folder:
        counts = fuzz(Path(folder), cases, args.seed, tell=args.only is not None)
    for fault in counts.faults:
        print(fault, file=sys.stderr)
    for fault, n in Counter(text.split(", ")[1].split(":")[0] for text in counts.faults).items():
        print(f"{fault}: {n}", file=sys.stderr)
    print(f"{counts.cases:,} damaged files of {len(FORMATS)} formats (seed {args.seed}):")
    print(f"  refused            {counts.refused:,}")
    print(f"  same result        {counts.unchanged:,}")
    print(f"  other text read    {counts.other:,}")
    print(f"  foreign exceptions {len(counts.foreign):,}")
    print(f"  accepted damage    {len(counts.accepted):,}")
    print(f"  hangs              {len(counts.hangs):,}")
    return 1 if counts.faults else 0


if __name__ == "__main__":
    raise SystemExit(main())
