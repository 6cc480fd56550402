"""Compile the C library of src/mtgauge/compare/native, once per instruction set.

    python backend/native.py            in place, for work in a checkout (make native)

The compiler is $CC, cc, gcc or clang, whichever works first; where none does it is that of the
package `ziglang`, which the build then asks for (`mtgauge_backend.py`). Microsoft's compiler is not
among them, since the sources use GCC's vector extensions.

Flags are chosen so that every compiler and every instruction set gives the same bits: no fused
products, nothing reordered.
"""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

SOURCES = Path(__file__).resolve().parents[1] / "src" / "mtgauge" / "compare" / "native"
SUFFIX = ".dll" if sys.platform == "win32" else ".so"
ZIG = "ziglang>=0.13"
_FLAGS = (
    "-std=c11 -O3 -ffp-contract=off -fno-math-errno -fvisibility=hidden -shared "
    "-Wall -Wextra -Wno-psabi"
).split()
_X86 = {
    "x86-64": [],
    "x86-64-v3": ["-mavx2"],
    "x86-64-v4": ["-mavx2", "-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl"],
}
_TRIAL = "#include <stdlib.h>\nvoid *trial(void);\nvoid *trial(void) { return malloc(1); }\n"


class NoCompilerError(Exception):
    pass


def requirements() -> list[str]:
    """What a build needs beside setuptools."""
    return [] if system_compiler() else [ZIG]


def system_compiler() -> list[str] | None:
    """The command of a C compiler that makes libraries on this machine, if there is one."""
    named = os.environ.get("CC")
    commands = [shlex.split(named)] if named else [["cc"], ["gcc"], ["clang"]]
    return next((command for command in commands if _works(command)), None)


def _works(command: list[str]) -> bool:
    """A compiler without the C library's headers, or a Mac's placeholder, is there but fails."""
    if not command or not shutil.which(command[0]):
        return False
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "trial.c"
        source.write_text(_TRIAL, encoding="ascii")
        trial = [*command, *_FLAGS, *_position(), source.name, "-o", f"trial{SUFFIX}"]
        return subprocess.run(trial, cwd=folder, capture_output=True, check=False).returncode == 0


def compiler() -> list[str]:
    found = system_compiler()
    if found:
        return found
    if find_spec("ziglang"):
        target = f"{_machine()}-{_system()}"
        return [sys.executable, "-m", "ziglang", "cc", "-target", target, "-fno-sanitize=undefined"]
    raise NoCompilerError(f"no C compiler found (cc, gcc, clang or $CC): pip install '{ZIG}'")


def _machine() -> str:
    name = platform.machine().lower()
    return {"amd64": "x86_64", "arm64": "aarch64"}.get(name, name)


def _system() -> str:
    """Zig's name of the system; with a target it compiles for any processor, not for this one."""
    if platform.system() == "Linux":
        musl = "musl" in str(sysconfig.get_config_var("HOST_GNU_TYPE"))
        return "linux-musl" if musl else "linux-gnu.2.17"
    name = platform.system().lower()
    return {"windows": "windows-gnu", "darwin": "macos"}.get(name, name)


def _position() -> Iterable[str]:
    return [] if sys.platform == "win32" else ["-fPIC"]


def instruction_sets() -> dict[str, list[str]]:
    """The libraries to make on this machine, and the flags that each takes."""
    return _X86 if _machine() == "x86_64" else {"any": []}


def build(folder: Path) -> list[Path]:
    """Compile all libraries into a folder; their paths."""
    command = compiler()
    with ThreadPoolExecutor() as pool:
        made = pool.map(lambda kind: _compile(command, kind, folder), instruction_sets())
        return list(made)


def _compile(command: list[str], instructions: str, folder: Path) -> Path:
    name = f"kernels-{instructions}{SUFFIX}"
    sources = [str(path) for path in sorted(SOURCES.glob("*.c"))]
    flags = [*_FLAGS, *_position(), *instruction_sets()[instructions], "-s"]
    digest = f'-DSOURCES_DIGEST="{digest_of(SOURCES)}"'
    # in a folder of its own, since some compilers leave more files than the one asked for
    with tempfile.TemporaryDirectory() as scratch:
        line = [*command, *flags, digest, *sources, "-o", name]
        subprocess.run(line, cwd=scratch, check=True)
        # a new file in its place: a process that runs the old one keeps it
        part = folder / f"{name}.part"
        shutil.copy(Path(scratch) / name, part)
    return part.replace(folder / name)


def digest_of(folder: Path) -> str:
    """As in mtgauge.compare.kernels, which the build cannot import: a test holds them together."""
    made = sha256()
    for path in sorted(folder.glob("*.[ch]")):
        made.update(path.name.encode() + b"\0" + path.read_bytes().replace(b"\r\n", b"\n"))
    return made.hexdigest()[:16]


if __name__ == "__main__":
    try:
        for library in build(SOURCES):
            print(library)
    except (NoCompilerError, subprocess.CalledProcessError) as fault:
        sys.exit(str(fault))
