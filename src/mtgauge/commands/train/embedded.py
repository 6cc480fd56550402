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
two learn from that. `encoder` and `fluency` go on from weights alone (`--start`): of an earlier
run, or of the exported model, so that the package's own models can be trained on. `--train` is
learned from; `--dev` is only scored at every checkpoint, to choose by. Keep the test set away from
both.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from mtgauge.commands.train.flags import Shares, add, files, read
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
FILE: dict[str, Any] = {"type": Path, "metavar": "FILE"}
DIR: dict[str, Any] = {"type": Path, "metavar": "DIR"}
CORPUS = "what `mtgauge train prepare` made"
DEVICE = "auto, cpu, cuda, mps"


def add_stage(name: str, parser: argparse.ArgumentParser) -> None:
    """The flags of one stage."""
    {
        "prepare": _add_prepare, "teacher": _add_teacher, "fluency": _add_fluency,
        "sample": _add_sample, "encoder": _add_encoder, "export": _add_export,
    }[name](parser)  # fmt: skip


def _add_prepare(parser: argparse.ArgumentParser) -> None:
    cls = CorpusPreparation
    add(parser, cls, "parallel", "folder of XX-en.tsv[.gz|.xz|.zst]", **DIR)
    add(parser, cls, "out", "folder for the corpus", **DIR)
    add(parser, cls, "extra", **files("more XX-en.tsv files"))
    add(parser, cls, "tokenizer", "one made before; else it is trained", **FILE)
    add(parser, cls, "pieces", "size of the tokenizer that is trained")
    add(parser, cls, "teacher_tokenizer", "the teacher's tokenizer.json", **FILE)
    add(parser, cls, "reader_gguf", "GGUF file of the language model's teacher", **FILE)
    add(
        parser, cls, "shares", 'how often pairs are drawn: {"languages": {}, "origins": {}}', **FILE
    )
    add(parser, cls, "cap", "pairs of an origin per language at most", nargs="+", action=Shares,
        metavar="ORIGIN=N")  # fmt: skip
    add(parser, cls, "longest", "words of a sentence at most")
    add(parser, cls, "workers", "processes")


def _add_corpus(parser: argparse.ArgumentParser, teacher: bool) -> None:
    parser.add_argument("--corpus", required=True, help=CORPUS, **DIR)
    parser.add_argument("--device", default="auto", help=DEVICE)
    if teacher:
        parser.add_argument("--teacher", nargs="+", required=True,
                            help="weights of the English teacher", **FILE)  # fmt: skip


def _add_teacher(parser: argparse.ArgumentParser) -> None:
    cls = TeacherTuning
    _add_corpus(parser, teacher=True)
    parser.add_argument("--out", required=True, help="file for the weights, .npz", **FILE)
    parser.add_argument("--train", nargs="+", required=True,
                        help="judged segments with references to learn from", **FILE)  # fmt: skip
    parser.add_argument("--dev", nargs="+", default=[],
                        help="judged segments that the epoch is chosen by; else a tenth of --train",
                        **FILE)  # fmt: skip
    add(parser, cls, "epochs", "passes over the training data")
    add(parser, cls, "batch", "segments per step")
    add(parser, cls, "rate", "learning rate")
    add(parser, cls, "seed", "of the order and of what is held out")


def _add_sample(parser: argparse.ArgumentParser) -> None:
    _add_corpus(parser, teacher=True)
    parser.add_argument("--start", required=True, help="language model: safetensors, .onnx", **FILE)
    add(parser, Sampling, "rows", "pairs to translate")
    add(parser, Sampling, "each", "translations of each")
    add(parser, Sampling, "seed", "of what is drawn")


def _add_student(parser: argparse.ArgumentParser, how: type, sizes: str, texts: str) -> None:
    """What both students share."""
    run = StudentRun
    add(parser, run, "out", "folder for the weights", **DIR)
    add(parser, run, "train", **files("judged translations with sources to learn from, too"))
    add(parser, run, "dev", **files(f"judged segments with {texts}, scored at every checkpoint"))
    add(parser, run, "samples", "learn from `mtgauge train sample`, too")
    add(parser, run, "without", "leave pairs of these origins out", nargs="+", metavar="ORIGIN")
    add(parser, run, "start", "go on from these weights: safetensors, .onnx; the encoder's .npz",
        **FILE)  # fmt: skip
    add(parser, run, "fuse", "compile the blocks: begins later, runs faster")
    for size in sizes.split():
        add(parser, run, size, "of a fresh model; the package's by default", type=int)
    add(parser, how, "steps", "train for so many steps")
    add(parser, how, "seconds", "train for so long")
    add(parser, how, "rate", "learning rate")
    add(parser, how, "words", "target words per batch")
    add(parser, how, "warmup", "steps over which the rate rises")
    add(parser, how, "schedule_start", "share of the schedule done before this run")
    add(parser, how, "schedule_end", "share of the schedule done when this run ends")
    add(parser, how, "save_every", "seconds between checkpoints")
    add(parser, how, "seed", "of weights and batches")


def _add_encoder(parser: argparse.ArgumentParser) -> None:
    _add_corpus(parser, teacher=True)
    _add_student(parser, EncoderTraining, "layers dim heads", "sources and references")
    add(parser, EncoderTraining, "versions", "of each reference, from untouched to ruined")


def _add_fluency(parser: argparse.ArgumentParser) -> None:
    cls = LanguageModelTraining
    _add_corpus(parser, teacher=False)
    _add_student(parser, cls, "layers dim heads embedding", "sources")
    add(parser, cls, "given", "share of sequences with the source before them")
    add(parser, cls, "reverse", "share of those translated out of English")
    add(parser, cls, "ranked", "weight of ranking machine translations")
    add(parser, cls, "ranked_share", "of the pairs, whose translations are ranked")
    parser.add_argument("--reader", nargs="+", default=[],
                        help="weights of the language model's teacher", **FILE)  # fmt: skip


def _add_export(parser: argparse.ArgumentParser) -> None:
    from mtgauge.train.onnx.card import read_facts

    parser.add_argument("--kind", choices=("encoder", "fluency"), required=True)
    parser.add_argument("--weights", required=True, help="safetensors to export", **FILE)
    parser.add_argument("--corpus", required=True, help=CORPUS, **DIR)
    parser.add_argument("--out", required=True, help="folder for the model", **DIR)
    parser.add_argument("--facts", type=read_facts, default={}, metavar="FILE",
                        help="JSON with more of the card's keys: licence, parent, ...")  # fmt: skip


def run(args: argparse.Namespace) -> int:
    from mtgauge import train

    match args.stage:
        case "prepare":
            train.prepare_corpus(read(CorpusPreparation, args))
        case "teacher":
            train.tune_teacher(args.corpus, args.teacher, args.train, args.out,
                               read(TeacherTuning, args), args.dev, args.device)  # fmt: skip
        case "fluency":
            how = read(LanguageModelTraining, args)
            train.language_model(read(StudentRun, args), how, args.reader)
        case "sample":
            train.sample(args.corpus, args.teacher, args.start, read(Sampling, args), args.device)
        case "encoder":
            train.encoder(read(StudentRun, args), args.teacher, read(EncoderTraining, args))
        case "export":
            train.export(args.kind, args.weights, args.corpus, args.out, args.facts)
    return 0
