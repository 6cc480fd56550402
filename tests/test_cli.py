"""The command line as a user meets it: formats, exit codes, messages, wrong input."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import sacrebleu

from mtgauge.cli import COMMANDS, main

REFERENCES = ["The cat sits on the mat.", "It is raining in Berlin today.", "Good night, Anna!"]
SOURCES = ["Die Katze sitzt auf der Matte.", "In Berlin regnet es heute.", "Gute Nacht, Anna!"]
A = ["The cat sat on a mat.", "Today it rains in Berlin.", "Good night, Anna!"]
B = ["Cat on the mat.", "Berlin rains.", "Night Anna."]


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, lines in {"ref": REFERENCES, "src": SOURCES, "a": A, "b": B}.items():
        Path(f"{name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    try:
        code = main(arguments)
    except SystemExit as stop:  # argparse leaves this way
        code = int(stop.code or 0)
    out, err = capsys.readouterr()
    return code, out, err


def test_scores_equal_sacrebleu(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(
        capsys, *"score -t a.txt b.txt -r ref.txt -m bleu chrf ter --format json".split()
    )
    assert code == 0
    found = {m["name"]: m["systems"] for m in json.loads(out)["metrics"]}
    for name, hypotheses in (("a", A), ("b", B)):
        for metric, peer in (
            ("bleu", sacrebleu.corpus_bleu),
            ("chrf", sacrebleu.corpus_chrf),
            ("ter", sacrebleu.corpus_ter),
        ):
            expected = peer(hypotheses, [REFERENCES]).score
            assert found[metric][name]["score"] == pytest.approx(expected, abs=1e-9)
    assert "segments in" in err
    assert "signature  bleu|" in err


def test_json_file_has_the_promised_keys(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(
        capsys,
        *"score -s src.txt -t a.txt b.txt -r ref.txt -l de-en -m bleu --json out.json".split(),
    )
    assert code == 0
    assert "baseline" in out
    data = json.loads(Path("out.json").read_text(encoding="utf-8"))
    assert data["lang"] == "de-en"
    assert data["segments"] == 3
    assert data["systems"] == ["a", "b"]
    (metric,) = data["metrics"]
    assert metric.keys() >= {"name", "spec", "signature", "higher_is_better", "systems", "notes"}
    b = metric["systems"]["b"]
    assert len(b["segments"]) == 3
    assert b["ci"][0] <= b["score"] <= b["ci"][1]
    assert "versus" not in b, "three segments are too few for a test"
    assert data["untested"].startswith("3 segments are too few: below 6")
    assert metric["notes"] == {"empty": 0, "truncated": 0}


@pytest.mark.parametrize("format", ["table", "tsv", "json", "markdown", "latex"])
def test_formats(files: Path, capsys: pytest.CaptureFixture[str], format: str) -> None:
    code, out, _ = run(
        capsys, "score", "-t", "a.txt", "b.txt", "-r", "ref.txt", "--format", format, "--quiet"
    )
    assert code == 0
    assert "bleu" in out
    if format == "table":
        assert max(map(len, out.splitlines())) <= 80


def test_table_of_many_metrics_stays_in_80_columns(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    specs = ["bleu", "chrf", "ter", "chrf:beta=3", "chrf:word_order=2", "bleu:lowercase=on"]
    code, out, _ = run(
        capsys, "score", "-t", "a.txt", "b.txt", "src.txt", "-r", "ref.txt", "-m", *specs
    )
    assert code == 0
    assert all(f"{spec} " in out for spec in specs)
    assert max(map(len, out.splitlines())) <= 80


def test_segments_option(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(
        capsys, *"score -t a.txt -r ref.txt -m chrf --segments --format tsv --quiet".split()
    )
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == "metric\tsystem\tsegment\tscore"
    expected = [sacrebleu.sentence_chrf(h, [r]).score for h, r in zip(A, REFERENCES, strict=True)]
    assert [float(x.split("\t")[3]) for x in lines[1:]] == pytest.approx(expected, abs=1e-9)


def test_quiet_keeps_standard_error_empty(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, *"score -t a.txt -r ref.txt --quiet".split())
    assert (code, err) == (0, "")


def test_side_by_side_table(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = zip(SOURCES, REFERENCES, A, B, strict=True)
    text = "source\treference\tone\ttwo\n" + "".join("\t".join(r) + "\n" for r in rows)
    Path("all.tsv").write_text(text, encoding="utf-8")
    code, out, _ = run(capsys, *"score -t all.tsv -m bleu --format tsv --quiet".split())
    assert code == 0
    assert [line.split("\t")[1] for line in out.splitlines()[1:]] == ["one", "two"]


def test_several_references(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(
        capsys, *"score -t a.txt -r ref.txt b.txt -m bleu --format json --quiet".split()
    )
    assert code == 0
    (metric,) = json.loads(out)["metrics"]
    expected = sacrebleu.corpus_bleu(A, [REFERENCES, B]).score
    assert metric["systems"]["a"]["score"] == pytest.approx(expected, abs=1e-9)
    assert "refs:2" in metric["signature"]


@pytest.mark.parametrize(("policy", "code"), [("worst", 0), ("skip", 0), ("error", 3)])
def test_empty_policies(
    files: Path, capsys: pytest.CaptureFixture[str], policy: str, code: int
) -> None:
    Path("hole.txt").write_text("The cat sits on the mat.\n\nGood night, Anna!\n", encoding="utf-8")
    found, out, err = run(
        capsys,
        *f"score -t hole.txt -r ref.txt -m chrf --empty {policy} --format json".split(),
    )
    assert found == code
    if policy == "error":
        assert "hole.txt, line 2: the hypothesis is empty" in err
        return
    (metric,) = json.loads(out)["metrics"]
    assert metric["notes"]["empty"] == 1
    assert "1 empty line" in err
    expected = (
        100.0
        if policy == "skip"
        else sacrebleu.corpus_chrf([REFERENCES[0], "", REFERENCES[2]], [REFERENCES]).score
    )
    assert metric["systems"]["hole"]["score"] == pytest.approx(expected)


def test_unescape(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("r.txt").write_text("don't\nA & B\n", encoding="utf-8")
    Path("h.txt").write_text("don&amp;apos;t\nA &amp; B\n", encoding="utf-8")
    _, out, err = run(capsys, *"score -t h.txt -r r.txt -m chrf --format tsv --no-ci".split())
    assert "--unescape undoes them" in err
    assert float(out.splitlines()[1].split("\t")[2]) < 100
    _, out, err = run(
        capsys, *"score -t h.txt -r r.txt -m chrf --format tsv --no-ci --unescape".split()
    )
    assert "--unescape" not in err
    assert float(out.splitlines()[1].split("\t")[2]) == 100


def _latin1(path: Path) -> None:
    path.write_bytes(b"ok\ncaf\xe9\nok\n")


WRONG: dict[str, tuple[str, int, str]] = {
    "missing file": ("score -t nothing.txt -r ref.txt", 3, "no such file"),
    "folder": ("score -t . -r ref.txt", 3, "a folder, not a file"),
    "empty file": ("score -t empty.txt -r ref.txt", 3, "empty.txt: the file is empty"),
    "short file": ("score -t short.txt -r ref.txt", 3, "short.txt has 2"),
    "latin-1": ("score -t latin.txt -r ref.txt", 3, "latin.txt, line 2: byte 4 (0xe9)"),
    "utf-16": ("score -t wide.txt -r ref.txt", 3, "UTF-16"),
    "nul byte": ("score -t nul.txt -r ref.txt", 3, "nul.txt, line 1: character 2 is a NUL"),
    "carriage return": ("score -t cr.txt -r ref.txt", 3, "line 2: character 2 is a carriage"),
    "unknown metric": ("score -t a.txt -r ref.txt -m bleau", 2, "Did you mean 'bleu'?"),
    "unknown option": ("score -t a.txt -r ref.txt -m chrf:betta=3", 2, "Did you mean 'beta'?"),
    "wrong value": ("score -t a.txt -r ref.txt -m chrf:beta=x", 2, "is not a number"),
    "no reference": ("score -t a.txt -m bleu", 2, "needs a reference (-r FILE)"),
    "nonsense pair": ("score -t a.txt -r ref.txt -l german", 2, "is not a language pair"),
    "same metric twice": ("score -t a.txt -r ref.txt -m bleu bleu", 2, "asked for twice"),
    "two inputs from -": ("score -t - -r -", 2, "one file only"),
    "unknown command": ("scor", 2, "There is no command 'scor'. Did you mean score?"),
    "no command": ("", 2, ""),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_input(files: Path, capsys: pytest.CaptureFixture[str], case: str) -> None:
    Path("empty.txt").touch()
    Path("short.txt").write_text("one\ntwo\n", encoding="utf-8")
    _latin1(Path("latin.txt"))
    Path("wide.txt").write_text("one\ntwo\nthree\n", encoding="utf-16")
    Path("nul.txt").write_bytes(b"a\0b\nx\ny\n")
    Path("cr.txt").write_bytes(b"a\nb\rc\nd\n")
    arguments, expected, message = WRONG[case]
    code, out, err = run(capsys, *arguments.split())
    assert code == expected
    assert message in err
    assert "Traceback" not in err
    if arguments:
        assert out == ""


def test_line_separator_is_told_and_not_split(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "The cat\u2028sits on the mat.\n" + "\n".join(REFERENCES[1:]) + "\n"
    Path("sep.txt").write_text(text, encoding="utf-8")
    code, out, err = run(capsys, *"score -t sep.txt -r ref.txt -m chrf --format json".split())
    assert code == 0
    assert json.loads(out)["segments"] == 3
    assert "U+2028" in err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_unwritable_output_prints_results_first(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, *"score -t a.txt -r ref.txt --json /dev/full".split())
    assert code == 3
    assert "bleu" in out
    assert "cannot be written" in err


def spawn(*arguments: str, **options: object) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # type: ignore[call-overload]
        [sys.executable, "-m", "mtgauge", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **options,
    )


def test_broken_pipe_ends_quietly(files: Path) -> None:
    Path("long.txt").write_text("word\n" * 30000, encoding="utf-8")
    process = spawn(
        *"score -t long.txt -r long.txt -m bleu --segments --format tsv --quiet --no-ci".split()
    )
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.wait(timeout=60) == 0
    assert process.stderr is not None
    assert process.stderr.read() == b""


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_interrupt(files: Path) -> None:
    read, write = os.pipe()
    # a shell in the background may have told its children to ignore the signal: undo that
    process = spawn(
        *"score -t - -r ref.txt".split(),
        stdin=read,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    os.write(write, b"word\n" * 50_000)  # more than a pipe holds: returns once it is being read
    for _ in range(6):  # an interrupt that falls into a finaliser is lost, here as anywhere
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            _, err = process.communicate(timeout=10)
            break
    os.close(read)
    os.close(write)
    assert process.returncode == 130
    assert err == b"mtgauge: interrupted.\n"


def test_standard_input(files: Path) -> None:
    with Path("a.txt").open("rb") as handle:
        process = spawn(*"score -t - -r ref.txt -m bleu --quiet --format tsv".split(), stdin=handle)
        out, _ = process.communicate(timeout=60)
    expected = sacrebleu.corpus_bleu(A, [REFERENCES]).score
    assert float(out.splitlines()[1].split(b"\t")[2]) == pytest.approx(expected, abs=1e-3)


def test_metrics_and_details(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "metrics")
    assert code == 0
    assert "bleu" in out
    assert max(map(len, out.splitlines())) <= 80
    code, out, _ = run(capsys, "metrics", "chrf")
    assert code == 0
    assert "  beta=NUMBER" in out
    assert "how many times recall counts as much" in out
    assert "(default 2; between 0 and 1000)" in " ".join(out.split())
    assert max(map(len, out.splitlines())) <= 100
    assert "higher is better" in out
    code, _, err = run(capsys, "metrics", "chfr")
    assert code == 2
    assert "chrf" in err


def test_demo_shows_metrics_an_explanation_and_a_report(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    page = tmp_path / "demo.html"
    code, out, _ = run(capsys, "demo", "-o", str(page))
    assert code == 0
    with_it, without = out.split("Without a reference")
    for name in ("bleu", "chrf", "std", "bertscore", "regressor"):
        assert f"{name} " in with_it
    for name in ("xmoverscore", "kobe", "regressor:view=hyp+src"):
        assert f"{name} " in without
    assert "literal (baseline)" in out
    assert "careful is the best system." in out
    assert "What cost most" in out
    assert f"The report, with every segment: {page}" in out
    assert "careful is the best system." in page.read_text(encoding="utf-8")


def test_selftest_passes_and_notices_a_difference(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from mtgauge.engine import demo

    code, out, _ = run(capsys, "selftest", "-m", "bleu", "chrf")
    assert code == 0
    assert "12 of 12" in out
    stored = demo._stored()
    stored["bleu"]["de-en"]["rough"] += 0.01
    monkeypatch.setattr(demo, "_stored", lambda: stored)
    code, out, _ = run(capsys, "selftest", "-m", "bleu")
    assert code == 1
    assert "differs  bleu de-en rough" in out


def test_stored_scores_cover_every_metric() -> None:
    from mtgauge import registry
    from mtgauge.engine import demo

    assert set(demo._stored()) == set(registry.names())


def test_stored_scores_are_those_of_today() -> None:
    """A change of scores must renew them; another onnxruntime moves a score by up to .0003."""
    from mtgauge.engine import demo

    checks, skipped = demo.selftest()
    assert not skipped
    stale = {
        (check.metric, check.lang, check.system): (check.expected, check.found)
        for check in checks
        if check.found != pytest.approx(check.expected, rel=0, abs=1e-3)
    }
    assert not stale, "renew them with `mtgauge selftest --store`"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(capsys: pytest.CaptureFixture[str], command: str) -> None:
    code, out, _ = run(capsys, command, "--help")
    assert code == 0
    assert f"mtgauge {command}" in out


def test_import_is_light() -> None:
    heavy = "onnxruntime torch pandas transformers matplotlib scipy.optimize".split()
    code = f"import sys, mtgauge, mtgauge.cli; print([m for m in {heavy!r} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert out.stdout.strip() == "[]"


def test_public_names() -> None:
    import mtgauge

    assert sorted(mtgauge.__all__) == mtgauge.__all__
    assert all(hasattr(mtgauge, name) for name in mtgauge.__all__)


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "latin-1"])
@pytest.mark.parametrize(
    "line",
    ["demo -m bleu", "metrics", "metrics chrf", "explain --matrix", "explain --json", "--help"],
)
def test_output_that_is_not_utf8(tmp_path: Path, encoding: str, line: str) -> None:
    """Marks are written in ASCII, other characters as JSON would; nothing crashes."""
    arguments = line.split()
    if arguments[0] == "explain":
        (tmp_path / "h.txt").write_text("the cat … 猫 😀\n", encoding="utf-8")
        (tmp_path / "r.txt").write_text("the ± dog 猫 ↑\n", encoding="utf-8")
        arguments += "-t h.txt -r r.txt -l de-en -m std --segment 1".split()
    done = subprocess.run(
        [sys.executable, "-m", "mtgauge", *arguments],
        capture_output=True,
        cwd=tmp_path,
        env=os.environ | {"PYTHONIOENCODING": encoding},
        check=True,
    )
    out = done.stdout.decode(encoding)
    if line.startswith("demo"):
        assert "bleu ^" in out
        assert ("+-" if encoding == "ascii" else "±") in out
    if line == "explain --json":
        assert "😀" in json.loads(out)["sentences"]["hypothesis"]
    if line == "explain --matrix":
        assert "##" in out
        assert "\\u732b" in out
