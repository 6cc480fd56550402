"""demo, metrics, selftest, vectors, kb and remap."""

from __future__ import annotations

import io
import json
import sys
from importlib import metadata
from pathlib import Path

import pytest

from mtgauge import registry
from mtgauge.engine import demo


def test_demo_compares_three_systems(run) -> None:
    done = run("demo -m chrf")
    assert done.code == 0
    assert "20 sentences from German, translated by 3 systems" in done.out
    assert "careful" in done.out


def test_metrics_lists_all(run) -> None:
    out = run("metrics").out
    assert [line.split()[0] for line in out.splitlines() if line[:1].isalpha()][1:-1] == (
        registry.names()
    )


def test_what_reads_no_source_is_told_apart_from_what_takes_either(run) -> None:
    lines = [line.split() for line in run("metrics").out.splitlines() if line[:1].isalpha()]
    needs = {name: what for name, what, *_ in lines}
    assert (needs["fluency"], needs["regressor"]) == ("none", "src/ref")
    assert (needs["blend"], needs["kobe"], needs["bleu"]) == ("src+ref", "src", "ref")
    told = " ".join(run("metrics fluency").out.split())
    assert "needs neither source nor reference" in told
    assert "this is no metric of translation" in told


@pytest.mark.parametrize("name", registry.names())
def test_metrics_tells_about_one(run, name: str) -> None:
    out = run(f"metrics {name}").out
    assert out.startswith(f"{name}: ")
    assert max(map(len, out.splitlines())) <= 100
    for option in registry.get(name).defaults():
        assert f"\n  {option}=" in out


@pytest.mark.parametrize("name", registry.names())
def test_the_example_of_options_can_be_given(run, name: str) -> None:
    line = next(x for x in run(f"metrics {name}").out.splitlines() if x.startswith("options,"))
    spec = line.split("'")[1]
    if not spec.endswith("key=value"):
        registry.load(spec).check()
        assert spec != name


def test_options_say_when_they_apply(run) -> None:
    out = " ".join(run("metrics bleu").out.split())
    assert "smooth=exp|floor|add-k|none what an order without a match counts" in out
    assert "(default none; 0 or more; only with smooth=floor or smooth=add-k)" in out
    assert "not with view=hyp+src" in " ".join(run("metrics regressor").out.split())


def test_metrics_tells_what_a_metric_needs_and_where_scores_lie(run) -> None:
    regressor = run("metrics regressor").out
    assert "source, reference or both" in regressor
    assert "unbounded; higher is better" in regressor
    assert "0 or more; lower is better" in run("metrics ter").out


def test_an_unknown_metric(run) -> None:
    done = run("metrics blue")
    assert done.code == 2
    assert "'bleu'" in done.err


def test_selftest_agrees(run) -> None:
    done = run("selftest -m bleu chrf")
    assert done.code == 0
    assert "of 2 metrics agree" in done.out


def test_selftest_sees_a_wrong_score(run, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = json.loads(json.dumps(demo._stored()["bleu"]), parse_float=lambda x: float(x) + 1)
    monkeypatch.setattr(demo, "_stored", lambda: {"bleu": wrong})
    done = run("selftest -m bleu")
    assert done.code == 1
    assert "differs  bleu" in done.out


def test_vectors(run, tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_text("House 1 2\nhome 3 4\ntree 5 6\n", encoding="utf-8")
    (tmp_path / "words.txt").write_text("house home\n", encoding="utf-8")
    done = run(
        "vectors convert v.txt -o v.store --dtype float32 --lowercase --vocabulary words.txt"
    )
    assert done.code == 0
    facts = dict(line.split("\t", 1) for line in done.out.splitlines())
    assert facts["words"] == "2"
    assert facts["first words"] == "house home"
    assert run("vectors info v.store").out == done.out
    assert "words\t1\n" in run("vectors convert v.txt -o one --limit 1").out
    again = run("vectors convert v.txt -o v.store")
    assert again.code in (2, 3)
    assert "v.store" in again.err


def test_embedded_vectors_are_listed(run) -> None:
    rows = [line.split("\t") for line in run("vectors info").out.splitlines()]
    assert "en" in {row[0] for row in rows}
    assert all(int(row[1]) > 1000 for row in rows)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("vectors convert nowhere.txt -o x", "nowhere.txt"),
        ("vectors convert a.txt -o x --vocabulary nowhere.txt", "nowhere.txt"),
    ],
)
def test_vectors_refuse(run, line: str, said: str) -> None:
    done = run(line)
    assert done.code == 3
    assert said in done.err


def test_a_knowledge_base_of_ones_own(run, tmp_path: Path) -> None:
    rows = "id,category,lang,name\np:1,product,en,Gaugeomat\np:1,product,cs,Měřomat\n"
    (tmp_path / "own.csv").write_text(rows, encoding="utf-8")
    assert run("kb build own.sqlite --csv own.csv --languages en,cs").code == 0
    assert "entities\t1\t1" in run("kb info own.sqlite").out
    done = run("kb link", "Koupil Měřomat.", "-l", "cs", "--kb", "own.sqlite")
    assert done.out.splitlines()[1].split("\t")[:6] == ["1", "7", "14", "Měřomat", "p:1", "product"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("kb build x.sqlite", "Nothing to build from"),
        ("kb build x.sqlite --csv a --alternate-names b", "--geonames"),
    ],
)
def test_kb_refuses(run, line: str, said: str) -> None:
    done = run(line)
    assert done.code == 2
    assert said in done.err


def test_a_file_is_no_text_to_link(run, monkeypatch: pytest.MonkeyPatch) -> None:
    done = run("kb link src.de -l de")
    assert done.code == 2
    assert "'src.de' is a file, where a text is wanted. Write: kb link - < src.de" in done.err
    lines = "Er fuhr nach\u2028Prag.\nSie blieb in Wien.\n".encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(lines), encoding="utf-8"))
    rows = [line.split("\t")[:4] for line in run("kb link - -l de").out.splitlines()[1:]]
    assert {("1", "Prag"), ("2", "Wien")} <= {(row[0], row[3]) for row in rows}


@pytest.mark.parametrize(
    "line",
    [
        "kb count -s src.de -t ref.txt -l en-de",
        "probe reorder -s src.de -r ref.txt -l en-de -m xmoverscore:lm=off",
        "remap fit -s src.de -t ref.txt -l en-de --method umd --out en-de.remap",
    ],
)
def test_a_pair_the_wrong_way_round_is_told(run, line: str) -> None:
    done = run(line)
    assert done.code == 0, done.err
    assert "write -l de-en, or exchange the files." in done.err
    right = run(line.replace("en-de", "de-en"))
    assert right.code == 0
    assert "lines looked at" not in right.err
    if line.startswith("probe"):
        assert "20 of 20 worse texts score exactly as the human translation" in done.out
        assert "exactly" not in right.out


def test_a_matrix_of_few_pairs_is_warned_of(run) -> None:
    done = run("remap fit -s src.de -t ref.txt -l de-en --method clp clp_umd --pairs 5 --out maps")
    assert done.code == 0
    assert done.err.count(" word pairs are too few for 384 dimensions") == 1


def test_remap_fits_and_is_used(run) -> None:
    done = run("remap fit -s src.de -t ref.txt -l de-en --method umd --pairs 20 --out de-en.remap")
    assert done.code == 0, done.err
    assert "too few" not in done.err, "one direction is fitted, no matrix"
    assert "umd" in run("remap info de-en.remap").out
    plain = "score -s src.de -t a.txt -l de-en --no-ci --quiet -m xmoverscore"
    assert run(f"{plain}:lm=off,remap=de-en.remap").out != run(f"{plain}:lm=off").out


def test_a_package_of_others_that_is_broken_is_named(run, tmp_path, monkeypatch) -> None:
    (tmp_path / "their_metric.py").write_text("import no_such_module")
    entry = metadata.EntryPoint("theirs", "their_metric", "mtgauge.metrics")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(registry, "_discovered", False)
    monkeypatch.setattr(metadata, "entry_points", lambda group: [entry])
    done = run("score -t a.txt -r ref.txt -m theirs")
    assert done.code == 4
    assert "offers metrics in their_metric, and that cannot be imported" in done.err
    assert "no_such_module" in done.err
    assert run("score -t a.txt -r ref.txt -m chrf --quiet").code == 0, "others can be used"
