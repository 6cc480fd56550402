"""Comparing systems from end to end: star and rank, too few segments, documents, baselines."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import mtgauge
from mtgauge.cli import main
from mtgauge.errors import InputError, UsageError

WORDS = "the small old dog ran over a wide green field and saw seven trees by the river".split()


def sentences(n: int, wrong: float, seed: int) -> list[str]:
    """The same n sentences each time, with a share of wrong words."""
    words = np.random.default_rng(0).choice(WORDS, size=(n, 12))
    spoiled = np.random.default_rng(seed).random((n, 12)) < wrong
    return [" ".join(row) for row in np.where(spoiled, "xyz", words)]


def test_star_and_rank_come_from_one_test() -> None:
    systems = {f"s{i}": sentences(80, 0.05 + 0.015 * i, i + 1) for i in range(12)}
    found = mtgauge.score(systems, references=sentences(80, 0, 0), metrics=["chrf"])["chrf"]
    assert found.tests is not None
    adjusted = found.tests.adjusted
    for i, system in enumerate(found.values()):
        better = [
            j
            for j, other in enumerate(found.values())
            if other.score > system.score and adjusted[i, j] < 0.05
        ]
        assert system.rank == 1 + len(better)
        if system.versus is not None:
            assert system.versus.p_adjusted == adjusted[i, 0]
            assert system.versus.significant == (adjusted[i, 0] < 0.05)
    assert found["s0"].rank == 1
    assert found["s11"].rank != 1, "the ends of a chain of small steps are not of one rank"


def test_below_six_segments_there_is_no_test_and_a_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    systems = {"a": ["xyz"], "b": ["the dog"]}
    result = mtgauge.score(systems, references=["the dog"], metrics=["chrf"])
    assert result["chrf"]["b"].versus is None
    assert result.untested is not None
    assert "1 segment is too few" in result.untested
    for name, texts in {**systems, "ref": ["the dog"]}.items():
        (tmp_path / f"{name}.txt").write_text(texts[0] + "\n")
    where = [str(tmp_path / f"{x}.txt") for x in ("a", "b", "ref")]
    assert main(["score", "-t", *where[:2], "-r", where[2], "-m", "chrf", "--quiet"]) == 0
    out = capsys.readouterr().out
    assert "no test: 1 segment is too few" in out
    assert "*" not in out


def test_documents_widen_the_interval(tmp_path: Path) -> None:
    good, bad = sentences(60, 0, 0), sentences(60, 0.5, 1)
    mixed = [good[i] if (i // 10) % 2 else bad[i] for i in range(60)]  # whole documents are bad
    documents = [f"doc{i // 10}" for i in range(60)]
    plain = mtgauge.score(mixed, references=good, metrics=["chrf"])["chrf"]["system"]
    grouped = mtgauge.score(mixed, references=good, metrics=["chrf"], documents=documents)
    by_document = grouped["chrf"]["system"]
    assert plain.ci is not None
    assert by_document.ci is not None
    assert by_document.score == plain.score
    assert by_document.ci[1] - by_document.ci[0] > 1.5 * (plain.ci[1] - plain.ci[0])
    with pytest.raises(InputError, match="documents"):
        mtgauge.score(mixed, references=good, metrics=["chrf"], documents=documents[:-1])


def test_a_few_documents_have_no_interval() -> None:
    good = sentences(60, 0, 0)
    for number, told in ((5, "5 documents are too few for intervals"), (6, "")):
        documents = [f"doc{i % number}" for i in range(60)]
        found = mtgauge.score(good, references=good, metrics=["chrf"], documents=documents)
        assert (found["chrf"]["system"].ci is None) == (number == 5)
        assert told in " ".join(found.warnings)


def test_doc_takes_a_column_or_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = sentences(12, 0, 0), sentences(12, 0.3, 1)
    rows = [f"{g}\t{b}\td{i // 2}" for i, (g, b) in enumerate(zip(good, bad, strict=True))]
    table = tmp_path / "t.tsv"
    table.write_text("\n".join(["reference\tonline\tdoc", *rows]) + "\n")
    plain = tmp_path / "docs.txt"
    plain.write_text("".join(f"d{i // 2}\n" for i in range(12)))
    found = []
    for argument in ("doc", str(plain)):
        out = tmp_path / "out.json"
        command = ["score", "-t", f"{table}:online", "-r", str(table), "-m", "chrf", "--quiet"]
        assert main([*command, "--doc", argument, "--json", str(out)]) == 0
        run = json.loads(out.read_text())
        assert run["documents"] == 6
        found.append(run["metrics"][0]["systems"])
        assert "(bootstrap over 6 documents)" in capsys.readouterr().out
    assert found[0] == found[1]
    few = mtgauge.score(
        {"a": good, "b": bad}, references=good, metrics=["chrf"], documents=["d"] * 11 + ["e"]
    )
    assert (few.untested or "").startswith("2 documents are too few: below 6")


def test_baseline_pairs_and_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = {"worst": 0.5, "best": 0.02, "middle": 0.2}
    for seed, (name, wrong) in enumerate(names.items()):
        (tmp_path / f"{name}.txt").write_text("\n".join(sentences(40, wrong, seed + 1)) + "\n")
    (tmp_path / "ref.txt").write_text("\n".join(sentences(40, 0, 0)) + "\n")
    files = [str(tmp_path / f"{name}.txt") for name in names]
    command = ["score", "-t", *files, "-r", str(tmp_path / "ref.txt"), "-m", "chrf", "--quiet"]
    assert main([*command, "--baseline", "middle", "--pairs", "--sort"]) == 0
    out = capsys.readouterr().out
    systems, matrix = out.split("↑ higher", 1)
    places = [systems.index(name) for name in ("best", "middle (baseline)", "worst")]
    assert places == sorted(places)
    assert "* differs from middle" in matrix
    assert [line.split()[0] for line in matrix.splitlines()[-3:]] == ["best", "middle", "worst"]
    assert main([*command, "--baseline", "nobody"]) == 2
    assert "no system 'nobody'" in capsys.readouterr().err


def test_markdown_marks_the_baseline(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a", "b", "r"):
        (tmp_path / f"{name}.txt").write_text("\n".join(sentences(8, 0.1, 1)) + "\n")
    files = [str(tmp_path / f"{name}.txt") for name in "abr"]
    for form in ("markdown", "latex"):
        command = ["score", "-t", *files[:2], "-r", files[2], "-m", "chrf", "--quiet"]
        assert main([*command, "--format", form]) == 0
        assert "a (baseline)" in capsys.readouterr().out


def test_json_says_how_it_was_made() -> None:
    content = mtgauge.score(
        {"a": sentences(9, 0.1, 1), "b": sentences(9, 0.2, 2)},
        references=sentences(9, 0, 0),
        metrics=["chrf"],
        seed=7,
    ).to_dict()
    assert (content["seed"], content["resamples"], content["baseline"]) == (7, 1000, "a")
    assert content["files"]["systems"] == {"a": "system 'a'", "b": "system 'b'"}
    (pair,) = content["metrics"][0]["pairs"]
    assert pair["systems"] == ["a", "b"]
    assert content["metrics"][0]["systems"]["b"]["versus"]["p_adjusted"] == pair["p_adjusted"]


@pytest.mark.parametrize("seed", [-1, 1.5, "x", True])
def test_a_seed_is_a_whole_number(seed: object) -> None:
    with pytest.raises(UsageError, match="seed"):
        mtgauge.score(["a"], references=["a"], metrics=["chrf"], seed=seed)  # type: ignore[arg-type]


def test_kobe_uses_the_defined_resamples() -> None:
    sources = ["Angela Merkel besuchte Paris."] * 2 + ["Es regnet."] * 6
    texts = ["Angela Merkel visited Paris."] * 2 + ["It rains."] * 6
    found = mtgauge.score(texts, sources=sources, metrics=["kobe"], lang="de-en")["kobe"]
    ci = found["system"].ci
    assert ci is not None
    assert np.isfinite(ci).all()
    assert found.notes["undefined resamples"] > 0


def test_one_segment_with_a_score_has_no_interval() -> None:
    sources = ["Angela Merkel besuchte Paris."] + ["Es regnet."] * 7
    texts = ["Angela Merkel visited Paris."] + ["It rains."] * 7
    found = mtgauge.score(texts, sources=sources, metrics=["kobe"], lang="de-en")
    ci = found["kobe"]["system"].ci
    assert ci is not None
    assert np.isnan(ci).all()
    assert "±" not in str(found).splitlines()[2]
    none = mtgauge.score(texts[1:], sources=sources[1:], metrics=["kobe"], lang="de-en")
    assert str(none).splitlines()[2].split() == ["system", "undefined"]
    assert "undefined resamples" not in none["kobe"].notes
