"""`mtgauge report`, `score --html`, `score --json --texts`, `--by`."""

from __future__ import annotations

import json
from pathlib import Path

FILES = "-s src.de -t a.txt b.txt -r ref.txt -l de-en -m chrf ter --quiet"


def test_a_page_is_written(run) -> None:
    done = run(f"report {FILES}")
    assert (done.code, done.out, done.err) == (0, "report.html\n", "")
    page = Path("report.html").read_text(encoding="utf-8")
    assert "b is the better system." in page
    assert "<title>a v b, de-en</title>" in page


def test_the_same_page_in_three_ways(run) -> None:
    assert run(f"report {FILES} -o one.html").code == 0
    assert run(f"score {FILES} --html two.html --json r.json --texts").code == 0
    assert run("report r.json -o three.html").code == 0
    one, two, three = (Path(f"{n}.html").read_text() for n in ("one", "two", "three"))
    assert one == two == three


def test_a_result_without_texts_makes_a_smaller_page(run) -> None:
    assert run(f"score {FILES} --json r.json").code == 0
    assert "texts" not in json.loads(Path("r.json").read_text())
    done = run("report r.json")
    assert done.code == 0
    assert "r.json has no texts" in done.err
    assert "--texts" in done.err
    assert "The texts are not in this result" in Path("report.html").read_text()


def test_groups_come_from_a_file_or_a_column(run) -> None:
    Path("topic.txt").write_text("news\nchat\n" * 10)
    assert run(f"report {FILES} --by topic.txt").code == 0
    assert "By topic.txt" in Path("report.html").read_text()
    rows = ["source\treference\ta\ttopic"] + ["Hund\tthe dog\tthe dog\tpets"] * 3
    Path("t.tsv").write_text("\n".join(rows) + "\n")
    wrong = run("report -t t.tsv -m chrf --by topics --quiet")
    assert wrong.code == 3
    assert "t.tsv, line 1: there is no column 'topics', and no file of that name" in wrong.err
    Path("more.tsv").write_text("kind\n" + "x\n" * 3)
    assert run("report -t t.tsv:a -m chrf --by more.tsv:kind --quiet -r t.tsv:reference").code == 0
    assert run("report -t t.tsv -m chrf --by topic --quiet").code == 0
    page = Path("report.html").read_text()
    assert "By topic" in page
    assert "3 segments, 1 system, 1 metric" in page  # topic is no system


def test_title_and_number_of_explanations(run) -> None:
    assert run(f"report {FILES} --explain 0 --title", "Spring & co").code == 0
    page = Path("report.html").read_text()
    assert "<title>Spring &amp; co</title>" in page
    assert "0 of 20 segments have an explanation" in page


def test_wrong_usage(run) -> None:
    for line, told in (
        (f"report r.json {FILES}", "not both"),
        ("report", "Which translations?"),
        (f"report {FILES} --explain -1", "0 or more"),
    ):
        done = run(line)
        assert done.code == 2
        assert told in done.err
    assert run("report missing.json").code == 3
    Path("bad.json").write_text("{}")
    assert run("report bad.json").code == 3
