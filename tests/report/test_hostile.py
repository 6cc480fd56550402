"""Forty hostile strings come out as text: as names of systems and as translations.

HTML has a test of its own beside the page. `tests/report/test_writers.py` asks the same of single
cells; here whole outputs are made and read back with a reader of the format.
"""

from __future__ import annotations

import csv
import html
import io
import json
import re
from collections.abc import Callable
from xml.etree import ElementTree

import pytest

import mtgauge
from hostile import HOSTILE
from mtgauge.cli import main
from mtgauge.engine import flags, gate
from mtgauge.engine.limits import Allowed, GateSettings
from mtgauge.engine.result import Result
from mtgauge.report.gate import junit, markdown, terminal
from mtgauge.report.table import render
from mtgauge.report.writers import visible

CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]")
SOURCE = "Das Haus am See ist heute leer."


@pytest.fixture(scope="module")
def result() -> Result:
    """Every string is the name of a system, and what that system said."""
    return mtgauge.score(
        {text: [text, "The house"] for text in HOSTILE},
        [SOURCE, SOURCE],
        ["The house by the lake is empty today."] * 2,
        ["chrf"],
        "de-en",
        ci=False,
    )


@pytest.fixture(scope="module")
def decision(result: Result) -> gate.Decision:
    """All of them fail."""
    settings = GateSettings(
        fail_below={"chrf": 99}, fail_on={"empty": Allowed(), "copies": Allowed()}
    )
    found = {text: [(flags.Flag("empty", text),), ()] for text in HOSTILE}
    decided = gate.decide(result, settings, found)
    texts = {(name, row): (name, "The house")[row] for name in HOSTILE for row in range(2)}
    return gate.Decision(decided.checks, texts)


def test_there_are_forty() -> None:
    assert len(set(HOSTILE)) == 40
    assert not any(set(text) & set("\n\r\0") or not text.strip() for text in HOSTILE)


@pytest.mark.parametrize("format", ["csv", "tsv"])
def test_tables_for_spreadsheets(result: Result, format: str) -> None:
    text = render(result, format)
    rows = list(csv.reader(io.StringIO(text), dialect="excel" if format == "csv" else "excel-tab"))
    if format == "tsv":  # the same for readers that know no quotes
        assert rows == [line.split("\t") for line in text.splitlines()]
    assert len(rows) == 41
    for row, name in zip(rows[1:], HOSTILE, strict=True):
        assert row[1] in (visible(name), "'" + visible(name))
        assert row[1][0] not in "=+-@", "a formula"


def cells(line: str) -> list[str]:
    """The cells of a row in Markdown, as a reader sees them; refuses what is still markup."""
    parts = re.split(r"(?<!\\)\|", line.replace("\\\\", "\x00"))[1:-1]
    for part in parts:
        assert not re.search(r"(?<!\\)[`*\[\]~$<>]", part), part
        assert not re.search("https?://|www[.]", part), part
    plain = (re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", part.strip()) for part in parts)
    return [html.unescape(part).replace("\x00", "\\") for part in plain]


def test_markdown_of_scores(result: Result) -> None:
    table = [line for line in render(result, "markdown").splitlines() if line.startswith("|")]
    names = [cells(line)[0].removesuffix(" (baseline)") for line in table[2:]]
    assert names == [visible(text).strip() for text in HOSTILE]


def test_markdown_of_the_gate(result: Result, decision: gate.Decision) -> None:
    text = markdown(decision, result)
    assert not CONTROL.search(text)
    rows = [cells(line) for line in text.splitlines() if line.startswith("|")]
    judged = {row[1] for row in rows if row[0] in ("failed", "passed")}
    assert judged == {visible(name).strip() for name in HOSTILE[1:]}
    assert sum(row[0] == "failed" for row in rows) == 2 * 39


def test_latex(result: Result) -> None:
    lines = render(result, "latex").splitlines()
    rows = [line for line in lines if line.endswith(r" \\")][1:]
    assert len(rows) == 40
    for row, name in zip(rows, HOSTILE, strict=True):
        assert len(re.findall(r"(?<!\\)&", row)) == 1
        bare = re.sub(r"\\text\w+\{\}|\\[&%$#_{}]|\$\\\w+\$|\{\}", "", row.removesuffix(r"\\"))
        assert not re.search(r"[\\%$#_{}^~<>|]", bare), name
        for word in re.findall(r"[^\W_]{3,}", visible(name)):
            assert word in row


def test_json(result: Result) -> None:
    text = render(result, "json", segments=True)
    assert not CONTROL.search(text)
    read = json.loads(text)
    assert read["systems"] == list(HOSTILE)
    assert list(read["metrics"][0]["systems"]) == list(HOSTILE)


def test_junit(result: Result, decision: gate.Decision) -> None:
    text = junit(decision, result)
    assert not CONTROL.search(text)
    suite = ElementTree.fromstring(text)[0]
    assert {case.tag for case in suite} == {"testcase"}
    assert {child.tag for case in suite for child in case} == {"failure", "system-out"}
    assert {case.get("classname") for case in suite} == {
        f"mtgauge.{visible(t)}" for t in HOSTILE[1:]
    }
    told = "\n".join(case[0].text for case in suite if case[0].tag == "failure")
    assert all(visible(name) in told for name in HOSTILE[1:])


def test_the_terminal(result: Result, decision: gate.Decision) -> None:
    said = terminal(decision, result)
    assert len(said.splitlines()) == 10
    table = render(result, "table")
    assert not CONTROL.search(said + table)
    for line, name in zip(table.splitlines()[2:], HOSTILE, strict=False):
        assert line.startswith(visible(name))


def test_a_single_failure_is_shown_as_it_is(result: Result) -> None:
    for name in HOSTILE:
        failed = gate.Below("chrf", name, 99.0, 1.0, True, (gate.Worst(0, 1.0),))
        said = terminal(gate.Decision((failed,), {(name, 0): name}), result)
        assert not CONTROL.search(said)
        assert said.count("\n") == 4
        assert said.splitlines()[1] == f"  {visible(name)}: chrf 1.00 is below 99"


@pytest.mark.parametrize("metric", ["chrf", "bleu", "ter", "kobe"])
def test_explanations_in_the_terminal(
    metric: str, capsys: pytest.CaptureFixture[str], tmp_path
) -> None:
    lines: Callable[[list[str]], str] = lambda texts: "\n".join(texts) + "\n"  # noqa: E731
    (tmp_path / "h.txt").write_text(lines(list(HOSTILE)), encoding="utf-8")
    (tmp_path / "s.txt").write_text(lines(["In Berlin am 3. Mai 2019."] * 40), encoding="utf-8")
    files = [f"-s={tmp_path}/s.txt", f"-t={tmp_path}/h.txt", f"-r={tmp_path}/s.txt"]
    for number in (1, 35, 36, 37, 38, 40):
        assert main(["explain", *files, "-l", "de-en", "-m", metric, f"--segment={number}"]) == 0
        assert not CONTROL.search(capsys.readouterr().out)
