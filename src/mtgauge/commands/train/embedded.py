"""`mtgauge train prepare | teacher | fluency | sample | encoder | export`: the embedded models.

    mtgauge train prepare --parallel DIR --out CORPUS --teacher-tokenizer FILE
    mtgauge train teacher --corpus CORPUS --teacher FILE... --train TSV... --out tuned.npz
    mtgauge train fluency --corpus CORPUS --out DIR --seconds 300
    mtgauge train sample  --corpus CORPUS --teacher FILE... --start DIR/fluency.safetensors
    mtgauge train fluency --corpus CORPUS --out DIR --start DIR/fluency.safetensors --samples ...
    mtgauge train encoder --corpus CORPUS --teacher FILE... --start FILE --out DIR --samples ...
    mtgauge train export  --kind encoder --weights FILE --corpus CORPUS --out DIR

`teacher` tunes the English teacher on judged translations with references. `sample` translates a
part of the corpus with the language model and lets the teacher rate it; with `--samples` the other
two learn from that. `encoder --directions both` learns to judge translations out of English, too.
`encoder` and `fluency` go on from weights alone (`--start`): of an earlier run, or of the exported
model, so that the package's own models can be trained on. `--train` is learned from; `--dev` is
only scored at every checkpoint, to choose by. Keep the test set away from both.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from mtgauge.commands.flags import add, read
from mtgauge.commands.outputs import OutputFolder
from mtgauge.train.onnx.card import read_facts
from mtgauge.train.settings import (
    CorpusPreparation,
    EncoderTraining,
    LanguageModelTraining,
    Sampling,
    StudentRun,
    TeacherTuning,
)

STAGES = {
    "prepare": "make training data of parallel text: tokenizer, lexicon, packed pairs",
    "teacher": "tune the English teacher of the next three on judged translations",
    "fluency": "train a language model for the target side",
    "sample": "translate a part of that data with the language model, and rate it",
    "encoder": "train a multilingual encoder",
    "export": "write an encoder or language model as int8 ONNX with its card",
}
SCHEDULE = (
    "steps", "seconds", "rate", "words", "warmup", "schedule_start", "schedule_end", "save_every",
    "seed",
)  # fmt: skip
STUDENT = (
    "corpus", "out", "train", "dev", "samples", "without", "start", "device", "fuse", "layers",
    "dim", "heads",
)  # fmt: skip


def add_stage(name: str, parser: argparse.ArgumentParser) -> None:
    """The flags of one stage."""
    if name == "prepare":
        add(parser, CorpusPreparation, "parallel", "out", "extra", "tokenizer", "pieces",
            "teacher_tokenizer", "shares", "longest", "workers")  # fmt: skip
        add(parser, CorpusPreparation, "cap", metavar="ORIGIN=N")
    elif name == "export":
        add(parser, StudentRun, "corpus")
        parser.add_argument("--out", type=OutputFolder, required=True, metavar="PATH",
                            help="folder for the model")  # fmt: skip
        _path(parser, "weights", "safetensors to export")
        parser.add_argument(
            "--kind", choices=("encoder", "fluency"), required=True, help="what the weights are of"
        )
        parser.add_argument("--facts", type=read_facts, default={}, metavar="JSON",
                            help="more of the card's keys: licence, parent, ...")  # fmt: skip
    elif name == "fluency":
        add(parser, StudentRun, *STUDENT, "embedding")
        add(parser, LanguageModelTraining, *SCHEDULE, "given", "foreign", "reverse",
            "ranked", "ranked_share")  # fmt: skip
    if name in ("teacher", "sample", "encoder"):
        _path(parser, "teacher", "weights of the English teacher", nargs="+")
    if name == "encoder":
        add(parser, StudentRun, *STUDENT)
        add(
            parser,
            EncoderTraining,
            *SCHEDULE,
            "versions",
            "directions",
            "batch_pieces",
            "people_rows",
        )
    elif name == "sample":
        add(parser, StudentRun, "corpus", "device")
        _path(parser, "start", "the language model: safetensors or .onnx")
        add(parser, Sampling, "rows", "each", "seed")
    elif name == "teacher":
        add(parser, StudentRun, "corpus", "device")
        _path(parser, "out", "file for the weights, .npz")
        _path(parser, "train", "judged segments with references to learn from", nargs="+")
        _path(parser, "dev", "judged segments that the epoch is chosen by; else a tenth of --train",
              nargs="+", default=[])  # fmt: skip
        add(parser, TeacherTuning, "epochs", "batch", "rate", "seed")


def _path(
    parser: argparse.ArgumentParser,
    name: str,
    text: str,
    nargs: str | None = None,
    default: list[Path] | None = None,
) -> None:
    """A flag that takes files or a folder; required where it has no default."""
    parser.add_argument("--" + name, type=Path, nargs=nargs, default=default, help=text,
                        required=default is None, metavar="PATH")  # fmt: skip


def run(args: argparse.Namespace) -> int:
    from mtgauge import train

    match args.stage:
        case "prepare":
            train.prepare_corpus(read(CorpusPreparation, args))
        case "teacher":
            train.tune_teacher(args.corpus, args.teacher, args.train, args.out,
                               read(TeacherTuning, args), args.dev, args.device)  # fmt: skip
        case "fluency":
            train.language_model(read(StudentRun, args), read(LanguageModelTraining, args))
        case "sample":
            train.sample(args.corpus, args.teacher, args.start, read(Sampling, args), args.device)
        case "encoder":
            train.encoder(read(StudentRun, args), args.teacher, read(EncoderTraining, args))
        case "export":
            train.export(args.kind, args.weights, args.corpus, args.out, args.facts)
    return 0
