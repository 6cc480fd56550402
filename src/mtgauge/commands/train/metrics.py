"""`mtgauge train bilstm | bilstm-attention | esim | ruse | regressor`: metrics from judgements.

    mtgauge train esim      --train da16.tsv.gz --dev da15.tsv.gz --out my-esim
    mtgauge train regressor --train da15.tsv.gz da16.tsv.gz --dev-share 0.1 --out my-regressor
    mtgauge score -t hyp -r ref -m esim:model=my-esim

Data are judged segments: TSV with columns lp system sid source reference hypothesis human, and
where there are any raw (0 to 100, for the calibration) and n (judgements averaged). `--train` is
learned from, `--dev` only chosen by, `--test` only reported; a source sentence that stands in two
of them is refused. The same command again goes on with a run that was stopped. With several seeds
each is trained, the mean and the deviation are printed, and the seed that is best on the validation
data is kept.

    mtgauge train pack      --train ... --dev-share 0.1 --out judged.npz
    mtgauge train regressor --packed judged.npz --out my-regressor

`pack` reads, checks, splits and tokenises once for many trainings. `--start FILE|DIR` begins with
the weights of another run; with `--epochs 0` they are only measured and exported.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from mtgauge.commands.train.flags import Shares, add, files, read
from mtgauge.train.settings import (
    HEADS,
    VIEWS,
    Distillation,
    HeadTraining,
    JudgedFiles,
    MetricTraining,
    RegressorTraining,
)

STAGES = {
    "bilstm": "a BiLSTM metric from judged segments (paper 002)",
    "bilstm-attention": "the same with attention",
    "esim": "an ESIM metric from judged segments (paper 002)",
    "ruse": "a small network on mean vectors: the cheap baseline",
    "regressor": "fine-tune an encoder on judged segments (paper 004)",
    "pack": "read, check, split and tokenise judged segments once for many trainings",
    "distil": "judgements of a large model, for a small one to learn from",
}
ENCODER = "embedded, a folder or a hub id"
DEVICE = "auto, cpu, cuda, mps"


def add_stage(name: str, parser: argparse.ArgumentParser) -> None:
    """The flags of one stage; defaults are the papers'."""
    if name == "distil":
        _add_distil(parser)
        return
    _add_data(parser.add_argument_group("data"), packed=name != "pack")
    run_ = parser.add_argument_group("run")
    if name == "pack":
        run_.add_argument("--out", type=Path, required=True, help="file for the packed data")
        add(run_, MetricTraining, "encoder", ENCODER)
        add(run_, MetricTraining, "quiet", "no progress")
        return
    cls = RegressorTraining if name == "regressor" else HeadTraining
    run_.add_argument("--out", type=Path, required=True, help="folder for the model")
    _add_run(run_, cls)
    model = parser.add_argument_group("model")
    add(model, cls, "encoder", ENCODER)
    add(model, cls, "encoder_weights", "its torch weights, where its ONNX file will not do",
        type=Path, metavar="FILE")  # fmt: skip
    add(model, cls, "hidden", "width of the hidden layers")
    add(model, cls, "dropout", "share of values that are dropped")
    if name == "regressor":
        add(model, cls, "views", f"of {', '.join(VIEWS)}; a share of the error each",
            nargs="+", action=Shares, metavar="VIEW=SHARE")  # fmt: skip
        add(model, cls, "head", "what scores the vectors", choices=("linear", "mlp"))
        add(model, cls, "pool", "what vector an input has", choices=("first", "compare"))
        add(model, cls, "max_length", "pieces of an input")
        add(model, cls, "head_rate", "the head's rate, times --rate")
        add(model, cls, "freeze_embeddings", "leave the encoder's piece table as it is")
    else:
        add(model, cls, "view", "what a translation is compared with", choices=("ref", "src"))


def _add_data(data: argparse._ArgumentGroup, packed: bool) -> None:
    cls = JudgedFiles
    add(data, cls, "train", **files("judged segments to learn from"))
    add(data, cls, "dev", **files("judged segments that are only chosen by"))
    add(data, cls, "test", **files("judged segments that are only reported"))
    add(data, cls, "dev_share", "hold out this share of --train instead of --dev", type=float)
    add(data, cls, "dev_most", "hold out at most N segments per file and pair", type=int)
    add(data, cls, "split_seed", "which segments are held out, and drawn by --limit")
    add(data, cls, "pairs", "only these language pairs", nargs="+", metavar="LP")
    add(data, cls, "drop_overlap", "leave out of --train what is also in --dev or --test")
    add(data, cls, "any_language", "also languages that the encoder does not know")
    add(data, cls, "limit", "train on N segments drawn at random", type=int, metavar="N")
    if packed:
        add(data, cls, "packed", "all of these, as `mtgauge train pack` wrote them",
            type=Path, metavar="FILE")  # fmt: skip


def _add_run(group: argparse._ArgumentGroup, cls: type) -> None:
    from mtgauge.train.onnx.card import read_facts

    add(group, cls, "start", "go on from the weights of another run: weights.safetensors or "
        "its folder", type=Path, metavar="FILE|DIR")  # fmt: skip
    add(group, cls, "seeds", "train once per seed, keep the best", type=int, nargs="+")
    add(group, cls, "batch", "segments per step")
    add(group, cls, "epochs", "passes over the training data at most")
    add(group, cls, "rate", "learning rate")
    add(group, cls, "patience", "validations without improvement before the run stops")
    add(group, cls, "average", "decay of a moving average of the weights to keep, such as 0.998")
    add(group, cls, "minutes", "end in this time, per seed", type=float)
    add(group, cls, "device", DEVICE)
    add(group, cls, "bf16", "half precision where it is safe")
    add(group, cls, "weights_only", "no ONNX: to go on from with --start")
    add(group, cls, "facts", "JSON with more of the card's keys: licence, parent, ...",
        type=read_facts, metavar="FILE")  # fmt: skip
    add(group, cls, "quiet", "no progress")


def _add_distil(parser: argparse.ArgumentParser) -> None:
    cls = Distillation
    add(parser, cls, "packed", "data that `mtgauge train pack` wrote", type=Path, metavar="FILE")
    add(parser, cls, "rater", "a regressor for hyp+ref with --pool compare and --head mlp",
        type=Path, metavar="DIR")  # fmt: skip
    add(parser, cls, "rater_encoder", "what it was trained from: a folder or a hub id")
    add(parser, cls, "rater_hidden", "its --hidden")
    add(parser, cls, "corpus", "rate its `mtgauge train sample` too", type=Path, metavar="DIR")
    add(parser, cls, "sample_limit", "no more than N of these", type=int, metavar="N")
    add(parser, cls, "encoder", "whose pieces --packed holds")
    add(parser, cls, "device", DEVICE)
    add(parser, cls, "out", "folder for the two files", type=Path)


def run(args: argparse.Namespace) -> int:
    from mtgauge import train

    if args.stage == "distil":
        train.distil(read(Distillation, args))
        return 0
    data = read(JudgedFiles, args)
    if args.stage == "pack":
        train.pack(data, args.encoder, args.out, args.quiet)
    elif args.stage == "regressor":
        _report(args, train.regressor(data, args.out, read(RegressorTraining, args)))
    else:
        assert args.stage in HEADS
        _report(args, train.head(args.stage, data, args.out, read(HeadTraining, args)))
    return 0


def _report(args: argparse.Namespace, card: dict[str, Any]) -> None:
    """The result, on standard output."""
    print(f"{args.stage}: Pearson on the validation data, average of language pairs")
    for seed, value in card["seeds"].items():
        print(f"  seed {seed:>3}  {value:.4f}" + ("  kept" if seed == card["seed"] else ""))
    if len(card["seeds"]) > 1:
        print(f"  mean {card['mean']:.4f}, deviation {card['deviation']:.4f}")
    for part in ("dev_pearson", "test_pearson"):
        for name, value in card.get(part, {}).items():
            print(f"  {part[:4].strip('_')} {name:<24} {value:.4f}")
    if args.weights_only:
        print(f"Go on from it: --start {args.out}")
        return
    option = f"model={args.out}" + (",view=src" if card.get("view") == "src" else "")
    print(f"Use it: mtgauge score ... -m {args.stage}:{option}")
