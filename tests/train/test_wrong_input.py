"""`mtgauge train` given what it cannot use: a clear error and a code, no traceback."""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from mtgauge.cli import main  # noqa: E402
from mtgauge.encode.transformer import Causal, Shape  # noqa: E402
from mtgauge.train.nets.weights import save  # noqa: E402

TEACH = "teacher --corpus CORPUS --teacher CORPUS/teacher.npz --out OUT.npz"
ENCODER = (
    "encoder --corpus CORPUS --teacher CORPUS/teacher.npz --out OUT --steps 1 --layers 2 --dim 48"
)
FLUENCY = "fluency --corpus CORPUS --out OUT --steps 1 --layers 2 --dim 48"
SAMPLE = "sample --corpus CORPUS --teacher CORPUS/teacher.npz --start LM.safetensors"
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
        "fluency --corpus CORPUS --out OUT --steps 1 --schedule-start 0.5 --schedule-end 0.4",
        2,
        "--schedule-end",
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
        " --dim 48 --dev SCORES.tsv",
        3,
        "SCORES.tsv",
    ),
    "the encoder watched by what it learned": (
        ENCODER + " --train GOOD.tsv --dev GOOD.tsv",
        3,
        "also in the validation data",
    ),
    "weights of another model": (
        "export --kind encoder --weights LM.safetensors --corpus CORPUS --out OUT",
        4,
        "holds no Encoder",
    ),
    "people who judged nothing into English": (
        TEACH + " --train FOREIGN.tsv",
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
    "judged segments of the teacher without references": (
        TEACH + " --train NOREF.tsv",
        3,
        "40 of 40 segments have no reference",
    ),
    "raw judgements": (TEACH + " --train RAW.tsv", 3, "z-scores"),
    "one judged segment": (TEACH + " --train ONE.tsv", 3, "no two different scores"),
    "a corpus without the teacher's tokenizer": (
        "teacher --corpus EMPTY --teacher CORPUS/teacher.npz --out OUT.npz --train GOOD.tsv",
        4,
        "--teacher-tokenizer",
    ),
    "a teacher with too few layers to tune": (TEACH + " --train GOOD.tsv", 2, "it has 2"),
    "no epoch": (TEACH + " --train GOOD.tsv --epochs 0", 2, "--epochs 0"),
    "a rate of nothing": (TEACH + " --train GOOD.tsv --rate 0", 2, "--rate 0"),
    "the epoch chosen by what was learned": (
        TEACH + " --train GOOD.tsv --dev GOOD.tsv",
        3,
        "also in the validation data",
    ),
    "a teacher of other weights": (
        "teacher --corpus CORPUS --teacher CORPUS/pieces.npz --out OUT.npz --train GOOD.tsv",
        4,
        "no whole MPNet model",
    ),
    "a teacher that would go to another file": (
        "teacher --corpus CORPUS --teacher CORPUS/teacher.npz --out OUT --train GOOD.tsv",
        2,
        ".npz",
    ),
    "two judged files of one name": (TEACH + " --train GOOD.tsv EMPTY/GOOD.tsv", 3, "same name"),
    "people without sources": (ENCODER + " --train NOSRC.tsv", 3, "no source"),
    "people who judged no translation": (ENCODER + " --train NOHYP.tsv", 3, "no hypothesis"),
    "people of a language that nobody taught": (ENCODER + " --train SWAHILI.tsv", 3, "sw-en"),
    "people who said one thing": (ENCODER + " --train ONE.tsv", 3, "no two different scores"),
    "judged segments without sources": (ENCODER + " --dev NOSRC.tsv", 3, "no source"),
    "judged segments without references": (ENCODER + " --dev NOREF.tsv", 3, "no reference"),
    "a teacher with too few layers": (ENCODER, 2, "Layer 7 of the teacher"),
    "heads that do not fit": (ENCODER + " --heads 5", 2, "--heads 5"),
    "no layers": (ENCODER + " --layers 0", 2, "--layers 0"),
    "no versions": (ENCODER + " --versions 0", 2, "--versions 0"),
    "batches of nothing": (FLUENCY + " --words 0", 2, "--words 0"),
    "batches of too few words": (FLUENCY + " --words 20", 2, "--words 20"),
    "more than everything": (FLUENCY + " --given 3", 2, "--given 3"),
    "a start with other pieces": (
        "fluency --corpus CORPUS --out OUT --steps 1 --start OTHER.safetensors",
        2,
        "knows 500 pieces",
    ),
    "nothing to translate": (SAMPLE + " --rows 0", 2, "--rows 0"),
    "a rating by a layer that is not there": (SAMPLE + " --rows 5", 2, "Layer 7 of the teacher"),
    "no parallel text": ("prepare --parallel EMPTY --out OUT", 3, "XX-en.tsv"),
}


def write_tables(folder: Path, pairs: list[tuple[str, str]]) -> None:
    """Judged segments that lack something, and GOOD.tsv, which does not."""

    def write(
        name: str,
        rows: int = 40,
        lp: str = "de-en",
        scale: float = 1,
        less: str = "",
        blank: bool = False,
    ) -> None:
        lines: list[str] = []
        for i, (german, english) in enumerate(pairs[:rows]):
            row = {"lp": lp, "system": "-", "sid": str(i), "source": german, "reference": english,
                   "hypothesis": english, "human": str((i / 20 - 1) * scale)}  # fmt: skip
            row.pop(less, None)
            row |= {"hypothesis": ""} if blank and i == 3 else {}
            lines += ["\t".join(row)] * (not lines) + ["\t".join(row.values())]
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")

    write("GOOD.tsv")
    write("EMPTY/GOOD.tsv")
    write("ONE.tsv", rows=1)
    write("RAW.tsv", scale=50)
    write("SWAHILI.tsv", lp="sw-en")
    write("NOREF.tsv", less="reference")
    write("NOSRC.tsv", less="source")
    write("NOHYP.tsv", blank=True)


@pytest.mark.parametrize("case", CASES)
def test_wrong_input(
    case: str, tiny_corpus: Path, invented: list[tuple[str, str]], tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    (tmp_path / "EMPTY").mkdir()
    write_tables(tmp_path, invented)
    (tmp_path / "TEXT.onnx").write_text("this is no model")
    head, row = "lp\tsystem\tsid\tsource\treference\thypothesis", "en-de\t-\t1\tyes\tja\tja"
    (tmp_path / "SCORES.tsv").write_text(f"{head}\n{row}\n")
    (tmp_path / "FOREIGN.tsv").write_text(f"{head}\thuman\n{row}\t0.5\n")
    shape = Shape(400, 32, 2, 4, 64, embedding=16)
    save(Causal(shape), shape, tmp_path / "LM.safetensors")
    other = Shape(500, 32, 2, 4, 64, embedding=16)
    save(Causal(other), other, tmp_path / "OTHER.safetensors")
    line, code, said = CASES[case]
    words = [
        word.replace("CORPUS", str(tiny_corpus))
        if "CORPUS" in word
        else str(tmp_path / word)
        if word.split(".")[0].split("/")[0].isupper()
        else word
        for word in line.split()
    ]
    runs = words[0] not in ("prepare", "export")
    assert main(["train", *words, *(["--device", "cpu"] if runs else [])]) == code
    shown = capsys.readouterr().err
    assert said in shown
    assert "Traceback" not in shown
