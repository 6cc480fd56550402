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
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mtgauge.commands.flags import add, read
from mtgauge.commands.outputs import OutputFolder
from mtgauge.train.onnx.card import read_facts
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


def add_stage(name: str, parser: argparse.ArgumentParser) -> None:
    """The flags of one stage; defaults are the papers'."""
    if name == "distil":
        add(parser, Distillation, "packed", "rater", "rater_encoder", "rater_hidden", "corpus",
            "sample_limit", "slips", "faults", "encoder", "device", "out")  # fmt: skip
        return
    what = "file for the packed data" if name == "pack" else "folder for the model"
    kind = Path if name == "pack" else OutputFolder
    parser.add_argument("--out", type=kind, required=True, metavar="PATH", help=what)
    data = parser.add_argument_group("data")
    add(data, JudgedFiles, "train", "dev", "test", "dev_share", "dev_most", "split_seed", "pairs",
        "drop_overlap", "any_language", "limit", "equal_weights", "cut")  # fmt: skip
    if name == "pack":
        add(parser, MetricTraining, "encoder", "quiet")
        return
    add(data, JudgedFiles, "packed")
    cls = RegressorTraining if name == "regressor" else HeadTraining
    run_, model = parser.add_argument_group("run"), parser.add_argument_group("model")
    add(run_, cls, "start", "seeds", "batch", "epochs", "rate", "patience", "average", "minutes",
        "device", "bf16", "weights_only", "quiet")  # fmt: skip
    add(run_, cls, "facts", type=read_facts, action="store", nargs=None, metavar="JSON")
    add(model, cls, "encoder", "encoder_weights", "hidden", "dropout")
    if name == "regressor":
        add(model, cls, "views", metavar="VIEW=SHARE",
            help=f"of {', '.join(VIEWS)}; a share of the error each")  # fmt: skip
        add(model, cls, "head", "pool", "max_length", "head_rate", "freeze_embeddings")
    else:
        add(model, cls, "view", "vectors")


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
    over = "language pairs and views" if len(card.get("views", ())) > 1 else "language pairs"
    print(f"{args.stage}: Pearson on the validation data\nAs it was trained, average over {over}")
    for seed, value in card["seeds"].items():
        print(f"  seed {seed:>3}  {value:.4f}" + ("  kept" if seed == card["seed"] else ""))
    if len(card["seeds"]) > 1:
        print(f"  mean {card['mean']:.4f}, deviation {card['deviation']:.4f}")
    if tested := card.get("test_by_seed"):
        for seed, value in tested["seeds"].items():
            print(f"  seed {seed:>3}  test {value:.4f}")
        if len(tested["seeds"]) > 1:
            print(f"  test mean {tested['mean']:.4f}, deviation {tested['deviation']:.4f}")
    answers: dict[str, list[str]] = card.get("answers", {})
    print("\n  ".join(["As it is kept", *(_chosen(*item) for item in answers.items())]))
    for part in ("dev_pearson", "test_pearson"):
        for name, value in card.get(part, {}).items():
            print(f"  {part[:4].strip('_')} {name:<24} {value:.4f}")
    if args.weights_only:
        print(f"Go on from it: --start {args.out}")
        return
    option = f"model={args.out}" + (",view=src" if card.get("view") == "src" else "")
    print(f"Use it: mtgauge score ... -m {args.stage}:{option}")


def _chosen(view: str, answers: Sequence[str]) -> str:
    """Why a view's number is another one than it was in training."""
    times = Counter(answers)
    names = [name if n == 1 else f"{n} times {name}" for name, n in times.items()]
    return f"{view} is the mean of {' and '.join(names)}, the best on this data"
