"""`mtgauge train` given what it cannot use: a clear error and a code, no traceback."""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from mtgauge.cli import main  # noqa: E402
from mtgauge.train.descend import save  # noqa: E402
from mtgauge.train.model import Causal, Shape  # noqa: E402

CASES = {
    "an empty corpus": ("fluency --corpus EMPTY --out OUT --steps 1", 4, "train prepare"),
    "a corpus without translations": (
        "encoder --corpus CORPUS --teacher CORPUS/teacher.npz --out OUT --steps 1 --layers 2"
        " --dim 48 --samples",
        4,
        "train sample",
    ),
    "no end": ("fluency --corpus CORPUS --out OUT", 2, "--steps or --seconds"),
    "an end before the beginning": (
        "fluency --corpus CORPUS --out OUT --steps 1 --behind 0.5 --until 0.4",
        2,
        "--until",
    ),
    "no weights": ("export --kind encoder --weights NONE --corpus CORPUS --out OUT", 4, "NONE"),
    "weights that are no model": (
        "sample --corpus CORPUS --teacher CORPUS/teacher.npz --start TEXT.onnx",
        4,
        "no ONNX model",
    ),
    "a teacher that is none": (
        "sample --corpus CORPUS --teacher TEXT.onnx --start LM.safetensors",
        4,
        "TEXT.onnx",
    ),
    "a language model as an encoder": (
        "encoder --corpus CORPUS --teacher CORPUS/teacher.npz --out OUT --steps 1 --layers 2"
        " --dim 48 --start LM.safetensors",
        2,
        "no encoder of this shape",
    ),
    "judged segments without scores": (
        "encoder --corpus CORPUS --teacher CORPUS/teacher.npz --out OUT --steps 1 --layers 2"
        " --dim 48 --judged SCORES.tsv",
        3,
        "SCORES.tsv",
    ),
    "people who judged nothing into English": (
        "teacher --corpus CORPUS --teacher CORPUS/teacher.npz --out OUT --judged FOREIGN.tsv"
        " --device cpu",
        3,
        "no judged segments into en",
    ),
    "a start of another size": (
        "fluency --corpus CORPUS --out OUT --steps 1 --start LM.safetensors --layers 3",
        2,
        "has 2",
    ),
    "an origin that is not there": (
        "fluency --corpus CORPUS --out OUT --steps 1 --without europarl",
        2,
        "tatoeba",
    ),
    "no origin left": (
        "fluency --corpus CORPUS --out OUT --steps 1 --without tatoeba",
        2,
        "leaves no pair",
    ),
    "no parallel text": ("prepare --parallel EMPTY --out OUT", 3, "XX-en.tsv"),
}


@pytest.mark.parametrize("case", CASES)
def test_wrong_input(
    case: str, tiny_corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "EMPTY").mkdir()
    (tmp_path / "TEXT.onnx").write_text("this is no model")
    head, row = "lp\tsystem\tsid\tsource\treference\thypothesis", "en-de\t-\t1\tyes\tja\tja"
    (tmp_path / "SCORES.tsv").write_text(f"{head}\n{row}\n")
    (tmp_path / "FOREIGN.tsv").write_text(f"{head}\thuman\n{row}\t0.5\n")
    shape = Shape(400, 32, 2, 4, 64, embedding=16)
    save(Causal(shape), shape, tmp_path / "LM.safetensors")
    line, code, said = CASES[case]
    words = [
        word.replace("CORPUS", str(tiny_corpus))
        if "CORPUS" in word
        else str(tmp_path / word)
        if word.split(".")[0] in ("EMPTY", "OUT", "NONE", "TEXT", "LM", "SCORES", "FOREIGN")
        else word
        for word in line.split()
    ]
    assert main(["train", *words, *(["--device", "cpu"] if "--steps" in words else [])]) == code
    shown = capsys.readouterr().err
    assert said in shown
    assert "Traceback" not in shown
