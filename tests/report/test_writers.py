"""Hostile names in every format: no forged row, no escape sequence, no formula, nothing lost."""

from __future__ import annotations

import csv
import html
import io
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import mtgauge
from hostile import HOSTILE as FORTY
from mtgauge.cli import main
from mtgauge.report.table import render
from mtgauge.report.writers import (
    FORMATS,
    TABLES,
    display_width,
    draw,
    escape,
    fixed,
    full,
    json_text,
    visible,
)

HOSTILE = [
    *FORTY,
    "plain",
    "\x1b[31mred\x1b[0m",
    "\x1b]0;title\x07",
    "a\nb",
    "a\r\nb",
    "a\tb",
    "a\0b",
    "a\x08b",
    "a\x7fb",
    "a\x9b31mb",
    "a\u2028b",
    "a\u2029b",
    "a\x85b",
    "a\u202eb",
    "a\u2066b\u2069",
    "a\u200bb",
    "\ufeffa",
    "a\xadb",
    "a|b",
    "| --- |",
    "a\\|b",
    "a\\",
    "a & b",
    "a_b",
    "_a_",
    "50%",
    "$x$",
    "#1",
    "{a}",
    "~a^b",
    "&lt;b&gt;",
    "[a](http://b)",
    "*a*",
    "[a]",
    "`a`",
    "a--b",
    "=cmd()",
    "+1+1",
    "-2+3",
    "@SUM(A1)",
    'a"b',
    "a,b",
    "a;b",
    "'a",
    " a ",
    "中文",
    "e\u0301",
    "🏳️‍🌈",
    "\ud800",
    "",
]
CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


@pytest.mark.parametrize("format", TABLES)
@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_a_name_stays_in_its_cell(name: str, format: str) -> None:
    text = draw([["system", "score"], [name, "1.5"], ["last", "-2.5"]], format)
    lines = text.split("\n")
    assert not CONTROL.search(text.replace("\t", "") if format == "tsv" else text)
    assert not re.search("[\ud800-\udfff]", text)
    if format == "table":
        assert len(lines) == 4
        assert len({display_width(line.rstrip()) for line in lines[1:2]}) == 1
        assert lines[2].startswith(visible(name)) or not name.strip()
        assert lines[2].endswith("1.5")
    elif format == "tsv":
        assert [len(line.split("\t")) for line in lines] == [2, 2, 2]
        assert lines[1].split("\t")[0].removeprefix("'") == visible(name).removeprefix("'")
        assert lines[2] == "last\t-2.5", "a number is no formula"
    elif format == "csv":
        rows = list(csv.reader(io.StringIO(text)))
        assert [len(row) for row in rows] == [2, 2, 2]
        assert rows[1][0].removeprefix("'") == visible(name).removeprefix("'")
        assert rows[2] == ["last", "-2.5"]
    elif format == "markdown":
        assert len(lines) == 4
        assert len(re.findall(r"(?<!\\)\|", lines[2].replace("\\\\", ""))) == 3
        cell = lines[2][2 : -len(" | 1.5 |")]
        assert html.unescape(re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", cell)) == visible(name)
        assert "<" not in lines[2]
    else:
        assert len(lines) == 8
        assert lines[4].count(" & ") == 1 + visible(name).count(r" \& ")
        assert len(re.findall(r"(?<!\\)&", lines[4])) == 1
        assert not re.search(r"(?<!\\)[%#_]|[\^~|<>]", lines[4].replace(r"\textasciicircum", ""))
    if format in ("tsv", "csv") and name[:1] in "=+-@" and name:
        assert escape(name, format).startswith("'")


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_json_keeps_names_and_is_valid(name: str) -> None:
    text = json_text({name: [name, float("nan"), float("inf"), 1.5]})
    text.encode("utf-8")
    assert json.loads(text) == {name: [name, None, None, 1.5]}
    assert "\x1b" not in text


def test_a_whole_result_with_hostile_names() -> None:
    names = [name for name in HOSTILE if name]
    texts = {name: ["The cat sat.", "It rains."] for name in names}
    result = mtgauge.score(texts, references=["The cat sat.", "It is raining."], metrics=["chrf"])
    for format in FORMATS:
        text = render(result, format)
        assert not CONTROL.search(text.replace("\t", "") if format == "tsv" else text)
        if format in ("tsv", "csv"):
            rows = list(csv.reader(io.StringIO(text), delimiter="\t" if format == "tsv" else ","))
            assert len(rows) == 1 + len(names)
        if format == "markdown":
            assert sum(line.startswith("|") for line in text.splitlines()) == 2 + len(names)
        if format == "json":
            assert json.loads(text)["systems"] == names


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs LaTeX")
def test_latex_compiles(tmp_path: Path) -> None:
    names = [name for name in HOSTILE if name.isascii()]
    table = draw([["system", "score"], *([name, "1"] for name in names)], "latex")
    page = "\\documentclass{article}\\begin{document}\n" + table + "\n\\end{document}\n"
    (tmp_path / "a.tex").write_text(page)
    command = ["pdflatex", "-halt-on-error", "-interaction=batchmode", "a.tex"]
    subprocess.run(command, cwd=tmp_path, check=True)


def test_columns_line_up_with_wide_and_combining_characters() -> None:
    grid = [["system", "n"], ["中文", "1"], ["e\u0301", "22"]]
    lines = draw(grid, "table").split("\n")
    assert {display_width(line) for line in lines} == {10}
    assert (display_width("中文"), display_width("e\u0301")) == (4, 1)


def test_numbers() -> None:
    nan = float("nan")
    assert [fixed(x) for x in (0.12345, None, nan, float("inf"))] == ["0.123", "-", "-", "-"]
    assert fixed(0.5, "+.1f") == "+0.5"
    assert [full(x) for x in (0.1234567, nan, 1e-9)] == ["0.123457", "", "1e-09"]
    for number in ("-0.5", "+1", "1e-09", "-1e+20", "-.5", "-", "+0.0123", "-3 %"):
        assert escape(number, "tsv") == number


def test_what_is_told_on_standard_error_is_visible(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", "-t", "no\x1b[31m\nfile", "-r", "x"]) == 3
    err = capsys.readouterr().err
    assert "\x1b" not in err
    assert "no\\x1b[31m\\nfile" in err


def test_explain_prints_valid_json(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A segment without entities has no score."""
    (tmp_path / "s.txt").write_text("aber nicht doch\n")
    (tmp_path / "h.txt").write_text("but not so\n")
    files = ["-s", str(tmp_path / "s.txt"), "-t", str(tmp_path / "h.txt"), "-l", "de-en"]
    assert main(["explain", *files, "-m", "kobe", "--segment", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out, parse_constant=pytest.fail)["score"] is None
