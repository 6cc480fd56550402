"""What wheel and source distribution hold, read off setuptools' own lists: nothing is built."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
import zlib
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

import mtgauge

ROOT = Path(__file__).resolve().parents[1]
WHEEL_LIMIT = 95e6
in_checkout = pytest.mark.skipif(
    not (ROOT / "src" / "mtgauge").is_dir(), reason="tests run beside an installed package"
)

# Files of the wheel by build_py, files of the source distribution by egg_info.
_LISTS = """
import json, sys
import setuptools
dist = setuptools.setup(script_args=["--quiet", "egg_info", "--egg-base", sys.argv[1]])
build = dist.get_command_obj("build_py")
build.ensure_finalized()
data = [f"{folder}/{name}" for _, folder, _, names in build.data_files for name in names]
print(json.dumps({
    "wheel": [*build.get_source_files(), *data],
    "sdist": dist.get_command_obj("egg_info").filelist.files,
}))
"""


@pytest.fixture(scope="module")
def lists(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _LISTS, str(tmp_path_factory.mktemp("egg"))],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    return {name: {Path(f).as_posix() for f in files} for name, files in found.items()}


def files_under(folder: str) -> set[str]:
    return {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / folder).rglob("*")
        if path.is_file()
        and "__pycache__" not in path.parts
        and path.suffix not in (".so", ".dll")  # compiled when a wheel is built
        and ".egg-info" not in str(path)
    }


@in_checkout
def test_the_source_distribution_holds_all_tests_and_docs(lists: dict[str, set[str]]) -> None:
    for folder in ("tests", "docs", "bench", "recipes", "backend", "src/mtgauge"):
        missing = files_under(folder) - lists["sdist"]
        assert not missing, f"MANIFEST.in leaves out {sorted(missing)[:5]}"
    for name in "CHANGELOG.md CITATION.cff LICENSE Makefile mkdocs.yml constraints.txt".split():
        assert name in lists["sdist"], f"MANIFEST.in leaves out {name}"


@in_checkout
def test_the_wheel_holds_every_file_of_the_package(lists: dict[str, set[str]]) -> None:
    missing = files_under("src/mtgauge") - lists["wheel"]
    assert not missing, f"package-data in pyproject.toml leaves out {sorted(missing)[:5]}"


@in_checkout
def test_the_wheel_stays_small(lists: dict[str, set[str]]) -> None:
    size = sum(len(zlib.compress((ROOT / f).read_bytes(), 6)) for f in lists["wheel"])
    assert size < WHEEL_LIMIT, f"the wheel would take {size / 1e6:.0f} MB"


def test_models_are_where_the_package_is() -> None:
    models = Path(mtgauge.__file__).parent / "models"
    assert {"encoder", "fluency", "kb", "regressor"} <= {
        p.parent.name for p in models.rglob("card.json")
    }


def project() -> dict[str, Any]:
    table: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return table


@in_checkout
def test_one_version_everywhere() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.findall(r"^version: (.+)$", citation, re.MULTILINE) == [mtgauge.__version__]
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"## [{mtgauge.__version__}]" in changes
    assert f"[{mtgauge.__version__}]: " in changes, "the version has no link at the end"


def test_pythons_are_named_where_they_are_tested() -> None:
    named = {
        line.rpartition(" ")[2]
        for line in project()["project"]["classifiers"]
        if re.search(r"Python :: 3\.\d+$", line)
    }
    assert named == {"3.11", "3.12", "3.13", "3.14"}
    workflow = ROOT / ".github" / "workflows" / "test.yml"
    if workflow.exists():  # not in the source distribution
        (line,) = re.findall(r"^ +python: (\[.*\])$", workflow.read_text(), re.MULTILINE)
        assert set(json.loads(line)) == named


def test_extras_are_told_in_the_documentation() -> None:
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    for extra in project()["project"]["optional-dependencies"]:
        assert f"`{extra}`" in page, f"docs/install.md does not name the extra {extra}"


def test_dependencies_have_lower_bounds_and_no_pins() -> None:
    table = project()["project"]
    groups = [table["dependencies"], *table["optional-dependencies"].values()]
    for need in (need for group in groups for need in group):
        assert need.startswith("mtgauge[") or re.fullmatch(r"[\w.\[\]-]+>=[\d.]+", need), need


@pytest.mark.parametrize(
    "command", [["demo"], ["metrics"], ["meta", "{data}", "-m", "chrf", "--disagree", "2"]]
)
def test_the_core_install_needs_no_extra(command: list[str], tmp_path: Path) -> None:
    data = tmp_path / "judged.tsv"
    rows = [("de-en", f"s{i % 2}", i, "quelle", f"the word {i}", f"the word {i * i % 7}", i / 3)
            for i in range(12)]  # fmt: skip
    head = "lp system sid source reference hypothesis human".split()
    data.write_text("".join("\t".join(map(str, row)) + "\n" for row in [head, *rows]))
    extras = "scipy torch transformers onnx pandas matplotlib sentencepiece zstandard gguf babel"
    code = f"""
import sys
for name in {extras.split()!r}:
    sys.modules[name] = None
from mtgauge.cli import main
sys.exit(main({[part.format(data=data) for part in command]!r}))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr


def test_the_entry_point_is_the_command_line() -> None:
    (entry,) = [e for e in metadata.distribution("mtgauge").entry_points if e.name == "mtgauge"]
    from mtgauge.entry import main

    assert entry.load() is main
