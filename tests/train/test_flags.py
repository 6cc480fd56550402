"""`mtgauge train`: a flag means one thing in all stages, and Python can do what flags can."""

from __future__ import annotations

import argparse
import os
import re
from pathlib import Path

import pytest

import mtgauge
from mtgauge.cli import main
from mtgauge.commands import train as command
from mtgauge.commands.outputs import OutputFolder
from mtgauge.errors import UsageError
from mtgauge.train import HeadTraining, JudgedFiles, RegressorTraining
from mtgauge.train.settings import HEADS
from trained_models import write_encoder, write_judged


def stages() -> dict[str, argparse.ArgumentParser]:
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    (found,) = (a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    return dict(found.choices)


def test_a_flag_takes_the_same_in_every_stage() -> None:
    seen: dict[str, dict[tuple[object, object], list[str]]] = {}
    for name, parser in stages().items():
        for action in parser._actions:
            path = action.type is OutputFolder  # a path as others are, looked at before any work
            kind = (Path if path else action.type, action.nargs)
            seen.setdefault(action.dest, {}).setdefault(kind, []).append(name)
    different = {flag: kinds for flag, kinds in seen.items() if len(kinds) > 1}
    assert not different


def test_what_is_learned_from_is_called_so_everywhere() -> None:
    """A validation file given to the wrong flag would leak into the training."""
    for name, parser in stages().items():
        said = {action.dest: action.help or "" for action in parser._actions}
        assert "learn from" in said.get("train", "to learn from"), name
        assert "learn" not in said.get("dev", ""), name
        assert "only reported" in said.get("test", "only reported"), name


@pytest.mark.parametrize(
    "line",
    [
        "encoder --corpus C --teacher T --out O --judged F",
        "encoder --corpus C --teacher T --out O --people F",
        "fluency --corpus C --out O --warm 50",
        "esim --judged F --out O",
        "regressor --train F --dev F --out O --warm F",
        "regressor --train F --dev F --out O --weights F",
        "judged --train F --out O",
    ],
)
def test_names_of_another_meaning_are_refused(
    line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["train", *line.split()])
    assert ended.value.code == 2
    assert "There is no option" in (said := capsys.readouterr().err) or "There is no stage" in said


def test_flags_become_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[object] = []

    def stand_in(*given: object) -> dict[str, object]:
        called.extend(given)
        return {"seeds": {"3": 0.5}, "seed": "3"}

    monkeypatch.setitem(mtgauge.train.__dict__, "regressor", stand_in)
    monkeypatch.setitem(mtgauge.train.__dict__, "head", stand_in)
    assert main(["train", "regressor", "--train", "a.tsv", "b.tsv", "--dev-share", "0.2", "--out",
                 str(tmp_path), "--views", "hyp+ref=0.5", "hyp+src", "--seeds", "3", "--bf16",
                 "--max-length", "64"]) == 0  # fmt: skip
    files, out, settings = called
    assert files == JudgedFiles(train=[Path("a.tsv"), Path("b.tsv")], dev_share=0.2)
    assert out == tmp_path
    assert settings == RegressorTraining(
        views={"hyp+ref": 0.5, "hyp+src": 1.0}, seeds=[3], bf16=True, max_length=64
    )
    called.clear()
    line = ["train", "ruse", "--packed", "p.npz", "--out", str(tmp_path), "--vectors", "shared"]
    assert main(line) == 0
    settings = HeadTraining(vectors=Path("shared"))
    assert called == ["ruse", JudgedFiles(packed=Path("p.npz")), tmp_path, settings]


def test_two_averages_that_differ_say_what_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With both texts the score is a mean of answers, which is chosen after the training."""
    both = "hyp+src/hyp+ref"
    card = {
        "seeds": {"1": 0.5},
        "seed": "1",
        "views": [both, "hyp+ref"],
        "answers": {both: [both, "hyp+ref", "hyp+ref"]},
        "dev_pearson": {"average": 0.52},
    }
    monkeypatch.setitem(mtgauge.train.__dict__, "regressor", lambda *given: card)
    line = ["train", "regressor", "--train", "a.tsv", "--dev-share", "0.2", "--out", str(tmp_path)]
    assert main(line) == 0
    assert capsys.readouterr().out.splitlines()[:-1] == [
        "regressor: Pearson on the validation data",
        "As it was trained, average over language pairs and views",
        "  seed   1  0.5000  kept",
        "As it is kept",
        f"  {both} is the mean of {both} and 2 times hyp+ref, the best on this data",
        "  dev average                  0.5200",
    ]


def test_flags_that_the_documentation_lists_are_there() -> None:
    page = (Path(__file__).parents[2] / "docs" / "trained.md").read_text("utf-8")
    listed = set(re.findall(r"^- `(--[a-z-]+)", page, re.MULTILINE))
    known = {option for parser in stages().values() for option in parser._option_string_actions}
    assert listed
    assert listed <= known


def test_the_python_door_trains_what_metrics_load(tmp_path: Path) -> None:
    encoder = str(write_encoder(tmp_path))
    write_judged(tmp_path / "judged.tsv", 60, 1)
    files = JudgedFiles(train=[tmp_path / "judged.tsv"], dev_share=0.3)
    head = HeadTraining(encoder=encoder, hidden=8, epochs=1, quiet=True)
    card = mtgauge.train.head("ruse", files, tmp_path / "ruse", head)
    assert set(card["dev_pearson"]) == {"de-en", "average"}
    pairs = RegressorTraining(encoder=encoder, epochs=1, rate=1e-3, max_length=40, quiet=True)
    card = mtgauge.train.regressor(files, str(tmp_path / "regressor"), pairs)
    assert card["views"] == ["hyp+src/hyp+ref", "hyp+ref", "hyp+src"]
    row = mtgauge.Segments(["the cat sees"], ["tac"], [("the dog sees",)], "de-en")
    for name in ("ruse", "regressor"):
        assert mtgauge.load(f"{name}:model={tmp_path / name}").statistics(row).shape == (1, 1)
    with pytest.raises(UsageError, match="either --dev FILE or --dev-share"):
        mtgauge.train.head("ruse", JudgedFiles(train=["a.tsv"]), tmp_path / "none")
    with pytest.raises(UsageError, match="There is no head 'lstm'"):
        mtgauge.train.head("lstm", files, tmp_path / "none")  # type: ignore[arg-type]


def test_a_blend_is_fitted_from_python(tmp_path: Path) -> None:
    write_judged(tmp_path / "judged.tsv", 40, 1)
    fitted = mtgauge.train.blend([tmp_path / "judged.tsv"], ["chrf", "ter"],
                                 test=[tmp_path / "judged.tsv"])  # fmt: skip
    (found,) = fitted.tested
    assert (found.lp, found.segments) == ("de-en", 40)
    assert list(found.pearson) == ["blend", "chrf", "ter"]
    assert mtgauge.load(fitted.spec).params() == fitted.metric.params()


def test_every_door_opens() -> None:
    for name in mtgauge.train.__all__:
        assert callable(getattr(mtgauge.train, name))
    assert set(HEADS) <= set(stages())


@pytest.mark.parametrize(
    ("option", "value"),
    [("rate", "nan"), ("rate", "-1"), ("dropout", "2"), ("average", "2"), ("patience", "0")],
)
def test_numbers_that_cannot_train_are_refused(
    option: str, value: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = f"train ruse --train no.tsv --dev-share 0.1 --out {tmp_path / 'm'} --{option} {value}"
    assert main(line.split()) == 2
    assert f"--{option} {value}: must be" in capsys.readouterr().err


def test_torch_does_not_warn_of_what_users_cannot_change(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("TORCH_CPP_LOG_LEVEL", "INFO")
    monkeypatch.delenv("TORCH_CPP_LOG_LEVEL")  # so that it is put back
    assert main(["train", "esim", "--train", "none.tsv", "--out", str(tmp_path / "m")]) != 0
    assert os.environ["TORCH_CPP_LOG_LEVEL"] == "ERROR"
