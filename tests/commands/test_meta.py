"""meta, probe and train blend: commands that read judgements."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest


def test_agreement_by_pair_and_on_average(run, judged: str) -> None:
    done = run(f"meta {judged} -m chrf ter --no-cache --quiet --format json")
    rows = json.loads(done.out)["rows"]
    found = {(row["metric"], row["lp"]): row for row in rows}
    for metric in ("chrf", "ter"):
        for lp in ("de-en", "ru-en"):
            row = found[metric, lp]
            assert row["n"] == 24
            assert row["pearson"] > 0.85
            low, high = row["pearson_ci"]
            assert low < row["pearson"] < high
    assert found["chrf", "de-en"]["tau_wmt"] is not None, "raw judgements make pairs"


@pytest.mark.parametrize("form", ["table", "tsv", "markdown"])
def test_other_formats(run, judged: str, form: str) -> None:
    done = run(f"meta {judged} -m chrf -l de-en --no-cache --no-ci --quiet --format {form}")
    assert done.code == 0
    assert "chrf" in done.out
    assert "ru-en" not in done.out


def test_system_level_and_tests_between_metrics(run, judged: str) -> None:
    done = run(f"meta {judged} -m chrf bleu --test williams --matrix --no-cache --quiet -l de-en")
    assert done.code == 0
    assert "williams" in done.out.lower()


def test_foreign_scores(run, judged: str, tmp_path: Path) -> None:
    lines = ["lp\tsystem\tsid\tmine"]
    lines += [f"de-en\t{s}\t{i}\t{-i - (s == 'b')}" for i in range(1, 13) for s in "ab"]
    (tmp_path / "mine.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    done = run(f"meta {judged} -l de-en --scores mine.tsv --no-cache --no-ci --quiet --format json")
    (row,) = [r for r in json.loads(done.out)["rows"] if r["lp"] == "de-en"]
    assert row["metric"] == "mine"
    assert row["pearson"] > 0.8


@pytest.mark.parametrize(
    ("line", "code"), [("meta nowhere.tsv -m chrf", 3), ("meta", 2), ("probe w2w -m chrf", 2)]
)
def test_what_is_refused(run, line: str, code: int) -> None:
    done = run(f"{line} --no-cache")
    assert done.code == code
    assert done.err.startswith("mtgauge: ") or "usage:" in done.err


def test_probe_reorder(run) -> None:
    done = run(
        "probe reorder -s src.de -r ref.txt -l de-en -m xmoverscore:lm=off --limit 8 --no-cache "
        "--quiet --format json"
    )
    assert done.code == 0, done.err
    assert "xmoverscore" in done.out


def test_probe_word_by_word(run, tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("der the\ndie the\nund and\n", encoding="utf-8")
    done = run(
        "probe w2w -s src.de -r ref.txt -l de-en -m xmoverscore:lm=off --dictionary words.txt "
        "--limit 8 --no-cache --quiet --histogram"
    )
    assert done.code == 0, done.err
    assert "xmoverscore" in done.out


def test_a_blend_is_fitted_and_can_be_used(run, judged: str) -> None:
    pytest.importorskip("scipy")
    done = run(f"train blend --train {judged} --components chrf wer --test {judged} --pairs de-en")
    assert done.code == 0, done.err
    spec = done.out.strip().splitlines()[-1]
    assert spec.startswith("blend:components=chrf;wer,")
    assert run("score -t a.txt -r ref.txt -l de-en --no-ci --quiet -m", spec).code == 0


def test_weights_need_scipy_and_say_so(run, judged: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    done = run(f"train blend --train {judged} --components chrf wer")
    assert done.code == 4
    assert "mtgauge[train]" in done.err
    assert run(f"train blend --train {judged} --components chrf wer --equal").code == 0


@pytest.mark.parametrize("stage", ["esim", "regressor", "encoder"])
def test_training_needs_torch_and_says_so(judged: str, stage: str) -> None:
    corpus = "--corpus x --teacher z --steps 1"
    data = corpus if stage == "encoder" else f"--train {judged} --dev {judged}"
    code = (  # in a process of its own: here torch is loaded already
        "import sys; sys.modules['torch'] = None; from mtgauge.cli import main; "
        f"sys.exit(main({f'train {stage} {data} --out y'.split()!r}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 4, done.stderr
    assert "mtgauge[train]" in done.stderr


def test_notes_of_all_language_pairs_are_added(run, tmp_path: Path) -> None:
    german = "Der alte Hund schläft heute den ganzen Tag im Garten."
    french = "Le vieux chien dort toute la journée dans le jardin."
    rows = [
        f"{lp}\ts\t{i}\t{text}\t{text}\t{i % 3}\n"  # untranslated, all of them
        for lp, text in (("de-en", german), ("fr-en", french))
        for i in range(4)
    ]
    (tmp_path / "two.tsv").write_text(
        "lp\tsystem\tsid\tsource\thypothesis\thuman\n" + "".join(rows)
    )
    done = run("meta two.tsv -m kobe --no-cache --no-ci")
    assert done.code == 0, done.err
    assert "8 translations are not" in done.err


def test_options_that_did_nothing_are_told(run, judged: str) -> None:
    line = f"meta {judged} -m chrf --no-ci --no-cache --paper --pool"
    told = run(f"{line} -l de-en").err
    assert "--paper: no paper is known" in told
    assert "--pool: there is one language pair only" in told
    assert "--pool" not in run(line).err


def test_judgements_of_another_language_pair_are_told(run, tmp_path: Path) -> None:
    """Such correlations look as good as any."""
    german = ["Der Hund schläft heute im Garten.", "Wir haben gestern zwei Bücher gekauft."] * 4
    english = ["The dog is sleeping in the garden today.", "We bought two books yesterday."] * 4
    rows = [
        f"{lp}\ts\t{i}\t{source}\t{text}\t{text}\t{i % 3}\n"
        for lp in ("de-en", "en-de")
        for i, (source, text) in enumerate(zip(german, english, strict=True))
    ]
    head = "lp\tsystem\tsid\tsource\treference\thypothesis\thuman\n"
    (tmp_path / "both.tsv").write_text(head + "".join(rows), encoding="utf-8")
    done = run("meta both.tsv -m chrf --no-cache --no-ci --quiet --json out.json")
    assert done.code == 0, done.err
    told = [line for line in done.err.splitlines() if line.startswith("warning")]
    assert "both en-de, the source: 100% of the 8 lines looked at are not in en" in " ".join(told)
    assert told[-1] == (
        "warning    both en-de, all of it is the other way round: write -l de-en, or exchange the "
        "files."
    )
    assert not any("both de-en" in line for line in told)
    assert len(json.loads((tmp_path / "out.json").read_text())["warnings"]) == len(told)
