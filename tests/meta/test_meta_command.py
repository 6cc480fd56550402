"""`mtgauge meta` and `mtgauge probe` from the command line, and the numbers of the papers."""

from __future__ import annotations

import csv
import doctest
import json
from typing import Any

import numpy as np
import pytest

from mtgauge.cli import main
from mtgauge.data import judged_files, scores
from mtgauge.data.judged_tables import read_system_human
from mtgauge.meta import tables
from mtgauge.meta.evaluate import evaluate
from mtgauge.meta.scoring import external, score
from mtgauge.report import disagree
from mtgauge.stats import correlation

WORDS = "one two three four five six seven eight nine ten eleven twelve".split()


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("MTGAUGE_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def judged(tmp_path):
    rng = np.random.default_rng(0)
    lines = ["lp\tsystem\tsid\tsource\treference\thypothesis\thuman\traw"]
    for lp in ("de-en", "fi-en"):
        for sid in range(1, 31):
            reference = " ".join(rng.permutation(WORDS)[:8])
            for system in "ab":
                kept = int(rng.integers(2, 9))
                human = kept / 8 + rng.normal(0, 0.1)
                text = " ".join(reference.split()[:kept])
                fields = [lp, system, str(sid), reference.upper(), reference, text]
                lines.append("\t".join([*fields, f"{human:.4f}", f"{50 * human:.2f}"]))
    path = tmp_path / "judged.tsv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_table_json_and_cache(judged, tmp_path, capsys):
    target = tmp_path / "out.json"
    arguments = ["meta", str(judged), "-m", "chrf", "ter", "--json", str(target)]
    assert main(arguments) == 0
    out, err = capsys.readouterr()
    assert "judged, segment level: Pearson r" in out
    assert "WMT Kendall-like tau" in out
    assert "Clusters by pearson" in out
    assert " texts scored, 0 read" in err
    rows = json.loads(target.read_text())["rows"]
    assert [(r["metric"], r["lp"], r["n"]) for r in rows[:2]] == [
        ("chrf", "de-en", 60),
        ("ter", "de-en", 60),
    ]
    assert rows[-1]["lp"] == "average"
    assert all(r["pearson"] > 0.5 for r in rows)
    assert main(arguments) == 0
    assert "\n0 texts scored" in "\n" + capsys.readouterr().err
    assert json.loads(target.read_text())["rows"] == rows, "the cache changes no number"


@pytest.mark.parametrize("level", ["segment", "system"])
def test_limit_takes_whole_segments_evenly_and_only_for_metrics_with_a_model(
    judged, tmp_path, capsys, level
):
    target = tmp_path / "out.json"
    people = tmp_path / "people.tsv"
    people.write_text("lp human system\nde-en 1 a\nde-en 0 b\n".replace(" ", "\t"))
    human = ["--human", str(people)] if level == "system" else []
    arguments = ["meta", str(judged), "-l", "de-en", "-m", "chrf", "std", "--limit", "10"]
    assert main([*arguments, *human, "--no-ci", "--quiet", "--json", str(target)]) == 0
    rows = {row["metric"]: row for row in json.loads(target.read_text())["rows"]}
    if level == "segment":
        assert (rows["chrf"]["n"], rows["std"]["n"]) == (60, 20), "10 segments of two systems"
    (item,) = judged_files.read(judged, "de-en")
    part, whole = (score(item, "std", level, limit=n) for n in (10, None))
    kept = ~np.isnan(part.segments)
    assert set(np.array(item.sids)[kept]) >= {"1", "30"}, "from the first to the last"
    np.testing.assert_array_equal(part.segments[kept], whole.segments[kept])
    if level == "system":
        alone = score(item.take(np.flatnonzero(kept)), "std", level)
        assert part.systems == alone.systems


def test_each_number_of_points_stands_under_the_metrics_that_have_it(judged, capsys):
    line = ["meta", str(judged), "-m", "chrf", "sentbleu", "fluency", "--limit", "4", "--no-ci"]
    assert main(line) == 0
    shown = [row.split() for row in capsys.readouterr().out.split("\n\n")[1].splitlines()]
    assert shown[-2:] == [
        "n of chrf, sentbleu 60 60 120".split(), "n of fluency 8 8 16".split()
    ]  # fmt: skip
    assert main([*line[:-3], "--no-ci"]) == 0
    assert "n 60 60 120" in " ".join(capsys.readouterr().out.split())


def test_selection_slices_pool_and_tests(judged, capsys):
    assert main(["meta", str(judged), "-m", "chrf", "bleu", "-l", "fi-en", "--format", "tsv"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert {line.split("\t")[2] for line in lines[1:]} == {"fi-en"}
    assert main(["meta", "-l", "fi-en", str(judged), "-m", "chrf", "bleu", "--format", "tsv"]) == 0
    assert capsys.readouterr().out.splitlines() == lines, "the order of arguments is free"
    more = ["--by", "quality", "--pool", "--test", "permutation", "--matrix", "--no-ci"]
    assert main(["meta", str(judged), "-m", "chrf", "bleu", *more]) == 0
    out = capsys.readouterr().out
    assert "Pearson r by slice" in out
    assert "human >= 0" in out
    assert "pooled" in out
    assert "permutation test" in out


def test_system_level_from_judged_segments(judged, capsys):
    assert main(["meta", str(judged), "-m", "chrf", "--level", "system"]) == 0
    assert "2 systems: a correlation needs three" in capsys.readouterr().out


def test_scores_from_elsewhere_and_export(judged, tmp_path, capsys):
    data = judged_files.read(judged)
    lines = ["lp\tsystem\tsid\tmine"]
    for item in data:
        for system, sid, human in zip(item.systems, item.sids, item.human, strict=True):
            lines.append(f"{item.lp}\t{system}\t{sid}\t{-human}")
    (tmp_path / "mine.tsv").write_text("\n".join(lines) + "\n")
    folder = tmp_path / "export"
    arguments = ["meta", str(judged), "--scores", str(tmp_path / "mine.tsv"), "--format", "json"]
    assert main([*arguments, "--export", str(folder)]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert rows[0]["pearson"] == pytest.approx(-1.0)
    assert main([*arguments, "--lower", "mine"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"][0]["pearson"] == pytest.approx(1.0)
    assert main(["meta", str(folder), "-m", "chrf", "--format", "json"]) == 0
    back = {
        r["metric"]: r for r in json.loads(capsys.readouterr().out)["rows"] if r["lp"] == "de-en"
    }
    assert back["mine-refA"]["pearson"] == pytest.approx(-1.0)
    assert back["chrf"]["n"] == 60


def test_wrong_use_is_told(judged, tmp_path, capsys):
    people = tmp_path / "people.tsv"
    people.write_text("lp\thuman\tsystem\nde-en\t0.1\ta\nde-en\t0.2\tb\n")
    assert main(["meta", str(judged)]) == 2
    assert "Which metric?" in capsys.readouterr().err
    assert main(["meta", "-m", "chrf"]) == 2
    assert main(["meta", "nowhere.tsv", "-m", "chrf"]) == 3
    assert main(["meta", str(judged), "-m", "chrf", "-l", "german"]) == 2
    assert main(["meta", str(judged), "-m", "nonsense"]) == 2
    for unused in (
        ["--level", "system", "--by", "length"],
        ["--level", "system", "--pool"],
        ["--level", "segment", "--human", str(people)],
        ["--surface"],
        ["--limit", "0"],
        ["--lower", "chrf"],
    ):
        assert main(["meta", str(judged), "-m", "chrf", *unused]) == 2, unused
    capsys.readouterr()
    assert main(["meta", str(judged), "--experiment", "5.5"]) == 2
    assert "There are: 000.1" in capsys.readouterr().err


def test_plots(judged, tmp_path):
    pytest.importorskip("matplotlib")
    folder = tmp_path / "plots"
    assert main(["meta", str(judged), "-m", "chrf", "-l", "de-en", "--plot", str(folder)]) == 0
    (picture,) = folder.iterdir()
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_probe_needs_a_dictionary_and_a_metric_without_references(judged, tmp_path, capsys):
    assert main(["probe", "w2w", str(judged), "-m", "chrf"]) == 2
    words = tmp_path / "words.txt"
    words.write_text("ONE one\n")
    assert main(["probe", "w2w", str(judged), "-m", "chrf", "--dictionary", str(words)]) == 2
    assert "choose it with -l" in capsys.readouterr().err
    more = ["-l", "de-en", "--dictionary", str(words)]
    assert main(["probe", "w2w", str(judged), "-m", "chrf", *more]) == 2
    assert "without references" in capsys.readouterr().err


# The papers' numbers, from the data pack


def _agreement(data, spec, statistic="pearson", level="segment"):
    found = {}
    for item in data:
        rows, _ = evaluate(item, [score(item, spec, level)], level, resamples=0)
        found[item.lp] = rows[0].values[statistic]
    return found


@pytest.mark.shared
def test_sentbleu_of_wmt17(shared):
    printed = dict(
        zip("cs de fi lv ru tr zh".split(), (435, 432, 571, 393, 484, 538, 512), strict=True)
    )
    ours = _agreement(judged_files.read(shared / "wmt" / "da17.tsv.gz"), "sentbleu")
    for lang, value in printed.items():
        assert ours[f"{lang}-en"] == pytest.approx(value / 1000, abs=0.002)


@pytest.mark.shared
def test_system_level_bleu_of_wmt18_and_its_hidden_sign(shared):
    """The table prints .657 for tr-en; the correlation is negative."""
    human = read_system_human(shared / "wmt" / "sys18.tsv")
    data = judged_files.read(shared / "wmt" / "wmt18" / "tr-en.tsv.gz", human=human)
    ours = _agreement(data, "bleu:tokenize=intl,lowercase=on", level="system")
    assert ours["tr-en"] == pytest.approx(-0.657, abs=0.01)


@pytest.mark.shared
def test_wmt18_better_worse_pairs(shared):
    golden = json.loads((shared / "spec" / "golden" / "meta.json").read_text())["wmt18_darr_pairs"]
    data = {j.lp: j for j in judged_files.read(shared / "wmt" / "da18-large.tsv.gz")}
    assert len(golden) == 7
    for lp, count in golden.items():
        assert len(correlation.darr_pairs(data[lp].sids, data[lp].raw)) == count


@pytest.mark.shared
def test_wmt19_system_level(shared):
    """Every metric and pair to six decimals; the 68 cells of paper 003 to three, signed."""
    found: dict[tuple[str, str], Any] = {}
    for item in scores.read_scores(shared / "wmt" / "sys19-metrics.csv"):
        rows, _ = evaluate(item, external(item, "system"), "system", resamples=0)
        found |= {(row.lp, row.metric): tables.beside(row) for row in rows}
    golden = shared / "spec" / "golden" / "wmt19_sys_pearson.csv"
    with golden.open() as stream:
        lines = list(csv.DictReader(stream))
    assert len(lines) > 400
    for line in lines:
        row = found[line["lp"], line["metric"]]
        assert row.values["pearson"] == pytest.approx(float(line["signed_pearson"]), abs=1e-6)
        assert row.n == int(line["n_systems"])
    cells = [
        entry
        for row in found.values()
        for entry in row.paper
        if entry["paper"] == "003" and entry["table"] in "123" and entry["value"] is not None
    ]
    assert len(cells) == 68
    assert all(abs(cell["difference"]) <= 0.0005 + 1e-9 for cell in cells)


def test_disagreements_are_listed_by_percentile(tmp_path, capsys):
    """Five segments; the metric (chrF) likes the one that people like least."""
    assert doctest.testmod(disagree).failed == 0
    lines = ["lp\tsystem\tsid\tsource\treference\thypothesis\thuman"]
    texts = ["abcde", "abcdx", "abxxx", "axxxx", "xxxxx"]
    for i, (text, human) in enumerate(zip(texts, (-1, 0.5, 0.2, 0.1, 0.9), strict=True)):
        lines.append(f"de-en\ts\t{i + 1}\tq\tabcde\t{text}\t{human}")
    path = tmp_path / "judged.tsv"
    path.write_text("\n".join(lines) + "\n")
    assert main(["meta", str(path), "-m", "chrf", "--disagree", "1", "--quiet"]) == 0
    listed = capsys.readouterr().out.partition("rated too high")[2].splitlines()
    rows = [line.split() for line in listed if line.split()[1:2] == ["s"]]
    assert rows == [
        ["1", "s", "0", "100", "abcde", "abcde"],
        ["5", "s", "100", "0", "abcde", "xxxxx"],
    ]
    with pytest.raises(SystemExit, match="2"):
        main(["meta", str(path), "-m", "chrf", "--disagree", "0"])


@pytest.mark.shared
def test_the_picture_of_an_experiment(shared, tmp_path):
    pytest.importorskip("matplotlib")
    data = ["--scores", str(shared / "wmt" / "sys19-metrics.csv")]
    folder = tmp_path / "figures"
    arguments = ["meta", *data, "--experiment", "003.3", "--plot", str(folder), "--quiet"]
    assert main(arguments) == 0
    (picture,) = folder.iterdir()
    assert picture.name == "003.3.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
