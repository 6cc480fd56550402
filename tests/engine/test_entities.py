"""Counts of entities, and the mentions written out and read back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import mtgauge
from mtgauge.cli import main
from mtgauge.data.corpus import Corpus
from mtgauge.engine.entities import annotate, count
from mtgauge.errors import UsageError

SOURCES = ["Er flog von Prag nach Berlin.", "Es regnet.", "Sie blieb in Prag bis 2019."]
REFERENCES = [
    "He flew from Prague to Berlin.", "It is raining.", "She stayed in Prague until 2019."
]  # fmt: skip
SYSTEMS = {
    "good": REFERENCES,
    "poor-ref": ["He flew to Berlin.", "Rain in Oslo.", "She stayed until 2019."],
}


def corpus() -> Corpus:
    return Corpus.from_lists(SYSTEMS, SOURCES, REFERENCES)


def test_counts_of_the_papers_tables() -> None:
    found = count(corpus(), "kobe", "de-en")
    source, poor = found.sides["source"], found.sides["poor-ref"]
    assert (source.sentences, source.with_entities, source.entities) == (3, 2, 4)
    assert source.distinct == 3, "Prague stands twice"
    assert source.lengths == {2: 2, 0: 1}
    assert found.sides["reference"].common == 3
    assert (poor.entities, poor.distinct, poor.common) == (3, 3, 2)
    assert found.kept["good"] == {"place": (3, 3), "number": (1, 1)}
    assert found.kept["poor-ref"] == {"place": (1, 3), "number": (1, 1)}
    assert count(corpus(), "kobe:preset=paper", "de-en").sides["source"].entities == 3


def test_annotations_give_the_same_score(tmp_path: Path) -> None:
    files = annotate(corpus(), "kobe", "de-en", tmp_path)
    assert [file.name for file in files] == [
        "src.json",
        "ref.json",
        "good.json",
        "poor-%72ef.json",
    ], "a system's name does not make its file one of the reference"
    specs = ["kobe", f"kobe:annotations={tmp_path}"]
    result = mtgauge.score(SYSTEMS, SOURCES, None, specs, "de-en", ci=False)
    for name in SYSTEMS:
        ours, theirs = (result[spec][name].score for spec in specs)
        assert ours == theirs
    assert result["kobe"]["good"].score == 1.0
    assert result["kobe"]["poor-ref"].score == 0.5


def test_an_output_that_copies_its_source_keeps_the_source_as_it_is(tmp_path: Path) -> None:
    copies = Corpus.from_lists({"copy": SOURCES}, SOURCES)
    annotate(copies, "kobe", "de-en", tmp_path)
    system = tmp_path / "copy.json"
    stored = json.loads(system.read_text(encoding="utf-8"))
    for row in stored["annotated_sentence"]:
        row["entities"] = []
    system.write_text(json.dumps(stored), encoding="utf-8")
    spec = f"kobe:annotations={tmp_path},untranslated=keep"
    result = mtgauge.score({"copy": SOURCES}, SOURCES, None, [spec], "de-en", ci=False)
    assert result[spec]["copy"].score == 0.0, "the source still has its entities"


def test_wrong_use() -> None:
    with pytest.raises(UsageError, match="give -s FILE"):
        count(Corpus.from_lists(SYSTEMS), "kobe", "de-en")
    with pytest.raises(UsageError, match="takes kobe, not chrf"):
        count(corpus(), "chrf", "de-en")
    with pytest.raises(UsageError, match="cannot be called 'source'"):
        count(Corpus.from_lists({"source": SOURCES}, SOURCES), "kobe", "de-en")


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    columns = {"src.de": SOURCES, "ref.en": REFERENCES, "good$1.en": SYSTEMS["good"]}
    for name, lines in columns.items():
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    texts = ["-s", f"{tmp_path}/src.de", "-t", f"{tmp_path}/good$1.en", "-l", "de-en"]
    more = ["-r", f"{tmp_path}/ref.en", "--format", "tsv", "--json", f"{tmp_path}/counts.json"]
    pictures = ["--plot", f"{tmp_path}/pictures", "--segment", "1"]
    assert main(["kb", "count", *texts, *more, *pictures]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "\tsource\treference\tgood$1"
    assert "distinct entities\t3\t3\t3" in lines
    assert "place\t3\t1.000" in lines
    stored = json.loads((tmp_path / "counts.json").read_text(encoding="utf-8"))
    assert stored["sides"]["source"]["per_sentence"] == {"0": 1, "2": 2}
    for name in ("per_sentence", "categories", "example"):
        assert (tmp_path / "pictures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    assert main(["kb", "count", *texts, "--segment", "1"]) == 2
    assert main(["kb", "annotate", *texts, "-o", f"{tmp_path}/notes"]) == 0
    assert capsys.readouterr().out.splitlines()[0].endswith("notes/src.json")
