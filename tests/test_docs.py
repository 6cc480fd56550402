"""The documentation is whole: examples run, links lead somewhere, everything has its page."""

from __future__ import annotations

import re
from pathlib import Path

import pages
import pytest

from mtgauge import registry
from mtgauge.cli import COMMANDS

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md"))]
WITH_EXAMPLES = [page for page in PAGES if page.name != "CONTRIBUTING.md"]  # has a file to save


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=name_of)
def test_examples_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MTGAUGE_CACHE", str(tmp_path / "cache"))
    pages.lay_out(tmp_path)
    for code, done in pages.run_examples(page.read_text(encoding="utf-8"), tmp_path):
        assert done.returncode == 0, f"{code}\n{done.stderr}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    for target, anchor in re.findall(
        r"\]\(([^)#:\s]*)(?:#([^)]*))?\)", page.read_text(encoding="utf-8")
    ):
        linked = page.parent / target if target else page
        assert linked.exists(), f"{name_of(page)} links to {target}"
        if anchor:
            assert anchor in anchors(linked), f"{name_of(page)} links to {target}#{anchor}"


def anchors(page: Path) -> set[str]:
    """What the headings of a page are called in links."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.M)
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title).strip().lower().replace(" ", "-") for title in titles}


def test_every_command_and_every_metric_has_a_page() -> None:
    for folder, kind, names in (
        ("commands", "command", COMMANDS),
        ("metrics", "metric", registry.names()),
    ):
        written = {page.stem for page in (DOCS / folder).glob("*.md")} - {"index"}
        assert written == set(names)
        for name in names:
            text = (DOCS / folder / f"{name}.md").read_text(encoding="utf-8")
            assert f"<!-- {kind} {name} -->" in text
            assert pages.BLOCK.search(text), f"{folder}/{name}.md has no example"


def test_every_page_has_a_place_in_the_navigation() -> None:
    listed = set(re.findall(r"([\w./-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE))
    there = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}
    assert listed == there | set(pages.FROM_ROOT.values())


@pytest.mark.parametrize("name", registry.names())
def test_a_metric_says_how_to_read_it(name: str) -> None:
    metric = registry.load(name)
    text = pages.write_metric(name)
    assert metric.summary
    assert metric.meaning in text, "meaning: how is the number read?"
    assert len(metric.meaning) > 40
    assert metric.paper in text
    assert metric.paper, "paper: who came up with it?"
    for option in metric.defaults():
        assert f"| `{option}` |" in text


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_shows_its_options(name: str) -> None:
    text = pages.write_command(name)
    assert f"mtgauge {name}" in text
    if name == "score":
        assert "`-t`, `--translations` `HYP ...`" in text
        assert "| `--format` `{table,tsv," in text


def test_markers_name_what_there_is() -> None:
    for page in DOCS.rglob("*.md"):
        for kind, name in pages.MARKER.findall(page.read_text(encoding="utf-8")):
            assert pages._WRITERS[kind](name).strip(), f"{name_of(page)}: {kind} {name}"


def test_public_functions_are_in_the_reference() -> None:
    named = set(re.findall(r"^::: .*\.(\w+)$", pages.write_names(""), re.MULTILINE))
    assert {"Segments", "explain", "load", "meta", "probe", "score"} <= named
    assert "::: mtgauge.train.metrics.regressor.regressor" in pages.write_names("train")


def test_links_of_the_site() -> None:
    """Links that hold in the repository are led to pages, or back to the repository."""
    text = "[a](../CONTRIBUTING.md) [b](../bench/meta.py) [c](data.md#x) [d](https://x.org/y)"
    assert pages._links(text, "index.md", DOCS) == (
        f"[a](contributing.md) [b]({pages.REPOSITORY}bench/meta.py) [c](data.md#x) "
        "[d](https://x.org/y)"
    )
    assert pages._links("[a](docs/kobe.md)", "contributing.md", ROOT) == "[a](kobe.md)"
    assert pages._links("[a](../kobe.md)", "metrics/kobe.md", DOCS / "metrics") == "[a](../kobe.md)"
