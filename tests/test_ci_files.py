"""The GitHub action and the pre-commit hook do what `mtgauge check` does."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pages
import pytest

from mtgauge.cli import main

yaml = pytest.importorskip("yaml")
ROOT = Path(__file__).resolve().parents[1]


def read(name: str) -> Any:
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


@pytest.mark.parametrize(("limit", "code"), [(50, 0), (99, 5)])
def test_the_action_ends_as_the_gate_does(tmp_path: Path, limit: int, code: int) -> None:
    pages.lay_out(tmp_path)
    action = read("action.yml")
    step = action["runs"]["steps"][-1]
    assert step["env"] == {"ARGUMENTS": "${{ inputs.arguments }}"}
    assert "${{" not in step["run"], "an input inside the script would be code"
    (tmp_path / "my file.txt").write_bytes((tmp_path / "b.txt").read_bytes())
    arguments = f"-t 'my file.txt'\n-r ref.txt --fail-below chrf={limit} --junit j.xml"
    summary = tmp_path / "summary.md"
    done = subprocess.run(
        [sys.executable, "-c", step["run"]],
        cwd=tmp_path,
        env=os.environ | {"ARGUMENTS": arguments, "GITHUB_STEP_SUMMARY": str(summary)},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == code, done.stderr
    assert summary.read_text(encoding="utf-8").startswith("### mtgauge check: gate ")
    assert (tmp_path / "j.xml").exists()


@pytest.mark.skipif(os.name == "nt", reason="puts a shell script in the place of python")
@pytest.mark.parametrize(("package", "installed"), [("", "/an action"), ("mtgauge[hub]>=1", None)])
def test_the_action_installs_itself(tmp_path: Path, package: str, installed: str | None) -> None:
    action = read("action.yml")
    (step,) = [s for s in action["runs"]["steps"] if s.get("name") == "Install mtgauge"]
    assert action["inputs"]["package"]["default"] == ""
    (tmp_path / "python").write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n', encoding="utf-8")
    (tmp_path / "python").chmod(0o755)
    there = {"PACKAGE": package, "GITHUB_ACTION_PATH": "/an action"}
    path = os.pathsep.join([str(tmp_path), os.environ["PATH"]])
    said = subprocess.run(
        ["bash", "-e", "-c", step["run"]], env=os.environ | there | {"PATH": path},
        capture_output=True, encoding="utf-8", check=True,
    )  # fmt: skip
    assert said.stdout.splitlines() == ["-m", "pip", "install", "--quiet", installed or package]


def test_the_hook_runs_the_gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pages.lay_out(tmp_path)
    monkeypatch.chdir(tmp_path)
    (hook,) = read(".pre-commit-hooks.yaml")
    assert (hook["id"], hook["pass_filenames"]) == ("mtgauge-check", False)
    program, *words = shlex.split(hook["entry"])
    assert program == "mtgauge"
    (tmp_path / "pyproject.toml").write_text(
        '[tool.mtgauge.check]\nreferences = ["ref.txt"]\nfail-below = { chrf = 70 }\n', "utf-8"
    )
    assert main([*words, "-t", "b.txt"]) == 0
    assert main([*words, "-t", "a.txt"]) == 5


def test_every_key_of_the_documented_table_is_read(tmp_path: Path) -> None:
    import re
    from dataclasses import asdict

    from mtgauge.engine import limits

    page = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
    table = re.search(r"```toml\n(.*?)```", page, re.DOTALL)
    assert table is not None
    (tmp_path / "pyproject.toml").write_text(table[1], encoding="utf-8")
    settings = limits.read(tmp_path / "pyproject.toml")
    assert all(value for value in asdict(settings).values())
