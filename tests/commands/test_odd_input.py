"""Input that no test had before: names, specs, lengths."""

from __future__ import annotations

from pathlib import Path

import pytest

SCORE = "score -r ref.txt -m chrf"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("score -t a.txt -r ref.txt -m BLEU", "Did you mean 'bleu'?"),
        ("score -t a.txt -r ref.txt -m chrf,bleu", "several metrics: write -m chrf bleu."),
        ("score -t a.txt -r ref.txt -m chrf:", "ends with a colon"),
        ("score -t a.txt -r ref.txt -m chrf:beta=1e300", "must be between 0 and 1000"),
        ("score -t a.txt -r ref.txt -m wordf:beta=1e300", "must be between 0 and 1000"),
        ("score -t a.txt -r ref.txt -l German-English", "two or three letters. Near codes: ger."),
        ("score -t a.txt -r ref.txt -l -", "'-' is not a language pair. Write"),
        (f"{SCORE} -t dangling.txt", "a link to nothing, and that is not there"),
        (f"{SCORE} -t a.txt:new", "a.txt is plain text, which has no columns"),
        ("check -t a.txt -r ref.txt --fail-below chrf=500", "between 0 and 100"),
        ("check -t a.txt -r ref.txt --fail-on empty=200%", "more than 100 % cannot be"),
        ("kb count -s src.de -t a.txt -l de-en -m chrf", "-m takes kobe, not chrf"),
        ("kb build my.sqlite --csv own.csv --languages en,xx", "There is no language 'xx'"),
        ("selftest -m nope", "There are no stored scores of 'nope', but of bertr, "),
        ("explain -t a.txt -r ref.txt -m chrf --segment 1 --matrix", "chrf has no matrix to draw"),
        ("stream c.tsv --source-column target --add copy", "is named for two sides"),
    ],
)
def test_it_is_told_plainly(run, tmp_path: Path, line: str, said: str) -> None:
    (tmp_path / "dangling.txt").symlink_to("nothing")
    (tmp_path / "c.tsv").write_text("source\ttarget\nJa.\tYes.\n", encoding="utf-8")
    (tmp_path / "own.csv").write_text("id,category,lang,name\n", encoding="utf-8")
    done = run(line)
    assert done.code in (2, 3)
    assert said in done.err
    assert done.out == ""


@pytest.mark.parametrize("side", ["-t", "-r"])
def test_an_empty_name_may_be_a_variable(run, side: str) -> None:
    files = {"-t": "a.txt", "-r": "ref.txt"} | {side: ""}
    done = run("score -m chrf", *(word for pair in files.items() for word in pair))
    assert done.code == 2
    assert "A file name is empty: is a variable of the shell not set?" in done.err


@pytest.mark.parametrize("metric", ["ter", "wer", "character"])
def test_a_long_text_is_explained_by_its_beginning(run, tmp_path: Path, metric: str) -> None:
    words = "the old dog saw a small red house near the river today".split()
    text = [f"{word}{k}" for k in range(400) for word in words]
    (tmp_path / "long.txt").write_text(" ".join(text) + "\n", encoding="utf-8")
    (tmp_path / "longer.txt").write_text(" ".join(text[::-1]) + "\n", encoding="utf-8")
    done = run(f"explain -t longer.txt -r long.txt -m {metric} --segment 1")
    assert done.code == 0
    assert "The first 1,500 characters are explained; the score is of the whole." in " ".join(
        done.out.split()
    )


def test_an_empty_translation_is_explained(run, tmp_path: Path) -> None:
    (tmp_path / "none.txt").write_text("\n" * 20, encoding="utf-8")
    done = run("explain -s src.de -t none.txt -l de-en -m xmoverscore:lm=off --segment 1")
    assert done.code == 0
    assert "There is no translation: that has the worst score." in done.out


def test_metrics_takes_a_spec(run) -> None:
    assert run("metrics chrf:beta=3").out == run("metrics chrf").out


def test_one_segment_has_no_interval(run, tmp_path: Path) -> None:
    for name in ("a", "ref"):
        lines = (tmp_path / f"{name}.txt").read_text(encoding="utf-8").splitlines()
        (tmp_path / f"one.{name}").write_text(lines[0] + "\n", encoding="utf-8")
    done = run("score -t one.a -r one.ref -m chrf bleu")
    assert done.code == 0
    assert "±" not in done.out
    assert run("report -t one.a -r one.ref -m chrf --quiet").code == 0


@pytest.mark.parametrize("name", ["a.json", "news.de.sgm", "app.po", "film.srt", "page.html.gz"])
def test_what_holds_more_than_texts_is_no_plain_text(run, tmp_path: Path, name: str) -> None:
    """Tags and keys are alike on both sides: their lines would be scored as good translations."""
    (tmp_path / name).write_text('<seg id="1">Text</seg>\n')
    done = run(f"score -t {name} -r {name} -m chrf")
    assert (done.code, done.out) == (3, "")
    assert f"{name}: a " in done.err
    assert "file holds more than texts, which would be scored too" in done.err
