"""What a fresh install takes: seconds of pip and megabytes on disk, package by package.

    python bench/install_size.py                    # the core install of this checkout
    python bench/install_size.py '.[train]'         # with an extra; or mtgauge==0.1.0, or a wheel

A new virtual environment in a temporary folder gets the requirement. "own" is what a package itself
takes; "goes with it" adds the packages that nothing else needs: what one would save without it. The
environment's own pip and setuptools are not counted. pip's cache is used as it is, so run it twice
for a time without downloads.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

# Runs inside the new environment: every distribution with its size and what it asks for.
_INSPECT = """
import json, re
from importlib import metadata
from pip._vendor.packaging.requirements import Requirement
name = lambda text: re.sub(r"[-_.]+", "-", text).lower()
found = {}
for dist in metadata.distributions():
    wants = []
    for line in dist.requires or ():
        need = Requirement(line)
        extras = ("", "marisa-trie")  # the one extra that a core dependency is asked for with
        if need.marker is None or any(need.marker.evaluate({"extra": extra}) for extra in extras):
            wants.append(name(need.name))
    files = {dist.locate_file(f).resolve() for f in dist.files or ()}
    stats = [f.stat() for f in files if f.is_file()]
    size = sum(getattr(s, "st_blocks", -(-s.st_size // 512)) * 512 for s in stats)
    found[name(dist.metadata["Name"])] = {"size": size, "wants": wants}
print(json.dumps(found))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    root = str(Path(__file__).resolve().parents[1])
    parser.add_argument("requirement", nargs="?", default=root, help="(this checkout)")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        scripts = "Scripts" if sys.platform == "win32" else "bin"
        python = str(Path(folder) / scripts / "python")
        start = time.perf_counter()
        subprocess.run([python, "-m", "pip", "install", "--quiet", args.requirement], check=True)
        seconds = time.perf_counter() - start
        told = subprocess.run([python, "-c", _INSPECT], check=True, capture_output=True, text=True)
    packages = json.loads(told.stdout)
    kept = reached(packages, "mtgauge", without="")
    total = sum(packages[name]["size"] for name in kept)
    print(f"pip install: {seconds:.0f} s; {len(kept)} packages, {total / 1e6:.0f} MB\n")
    print("| package | own MB | goes with it MB |\n| --- | --- | --- |")
    direct = {name for name in packages["mtgauge"]["wants"] if name in packages} | {"mtgauge"}
    for name in sorted(direct, key=lambda name: -packages[name]["size"]):
        saved = kept - reached(packages, "mtgauge", without=name)
        together = sum(packages[other]["size"] for other in saved) if name != "mtgauge" else 0
        more = f"{together / 1e6:.1f}" if together else ""
        print(f"| {name} | {packages[name]['size'] / 1e6:.1f} | {more} |")


def reached(packages: dict[str, dict[str, list[str]]], start: str, without: str) -> set[str]:
    """The packages that `start` needs, directly or not, if `without` were not there."""
    found: set[str] = set()
    todo = [start]
    while todo:
        name = todo.pop()
        if name in packages and name not in found and name != without:
            found.add(name)
            todo += packages[name]["wants"]
    return found


if __name__ == "__main__":
    main()
