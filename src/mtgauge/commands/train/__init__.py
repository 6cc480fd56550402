"""`mtgauge train STAGE`: the stages of three modules under one command."""

from __future__ import annotations

import argparse

from mtgauge.commands.train import blend as blend_command
from mtgauge.commands.train import embedded as model_command
from mtgauge.commands.train import metrics as trained_command

_HELP = {
    "prepare": "make training data of parallel text: tokenizer, lexicon, packed pairs",
    "teacher": "tune the English teacher of the next three on judged translations",
    "sample": "translate a part of that data with the language model, and rate it",
    "encoder": "train a multilingual encoder",
    "fluency": "train a language model for the target side",
    "export": "write an encoder or language model as int8 ONNX with its card",
    "bilstm": "a BiLSTM metric from judged segments (paper 002)",
    "bilstm-attention": "the same with attention",
    "esim": "an ESIM metric from judged segments (paper 002)",
    "ruse": "a small network on mean vectors: the cheap baseline",
    "regressor": "fine-tune an encoder on judged segments (paper 004)",
    "blend": "centres, scales and weights of a blend of metrics, from judged segments",
    "judged": "read, check, split and tokenise judged segments once for many trainings",
    "distil": "judgements of a large model, for a small one to learn from",
}
_MODULES = {
    **dict.fromkeys(model_command.MODELS, model_command),
    **dict.fromkeys(trained_command.MODELS, trained_command),
    **dict.fromkeys(blend_command.MODELS, blend_command),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    stages = parser.add_subparsers(dest="stage", required=True, metavar="STAGE")
    for name, module in _MODULES.items():
        module.add_stage(
            name,
            stages.add_parser(name, help=_HELP[name], description=module.__doc__,
                              formatter_class=argparse.RawDescriptionHelpFormatter),
        )  # fmt: skip


def run(args: argparse.Namespace) -> int:
    return int(_MODULES[args.stage].run(args))
