"""The encoder's training for both directions from the command line: `python -m ...both_run`.

    python -m mtgauge.train.embedded.both_run --corpus CORPUS --teacher tuned.npz \\
        --start CORPUS/warm.npz --samples --people mlqe.tsv da18-out.tsv \\
        --judged da15.tsv da16.tsv --seconds 600 --out run

It resumes from weights alone (`--start`), like `mtgauge train encoder`, whose schedule it shares.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch

from mtgauge.train.embedded import fixed as f
from mtgauge.train.embedded.both import WEIGHTS, Both, Losses
from mtgauge.train.embedded.encoder import Student
from mtgauge.train.embedded.sampler import Corpus
from mtgauge.train.embedded.samples import Samples
from mtgauge.train.embedded.teacher import LAYER, Teacher, load_rows
from mtgauge.train.embedded.triples import judged_texts, report
from mtgauge.train.loop.descend import descend, load_weights, say
from mtgauge.train.nets.transformer import Shape, fuse


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--teacher", type=Path, nargs="+", required=True)
    parser.add_argument("--start", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--samples", action="store_true")
    parser.add_argument("--people", type=Path, nargs="+", default=[])
    parser.add_argument("--judged", type=Path, nargs="+", default=[])
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--steps", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=0.0)
    parser.add_argument("--rate", type=float, default=5e-4)
    parser.add_argument("--warm", type=int, default=200)
    parser.add_argument("--behind", type=float, default=0.0)
    parser.add_argument("--until", type=float, default=1.0)
    parser.add_argument("--pieces", type=int, default=240_000)
    parser.add_argument("--made", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--save-every", type=float, default=150.0)
    parser.add_argument("--fuse", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    if args.device == "cuda":
        torch.backends.cuda.enable_cudnn_sdp(False)  # it makes a plan for every shape
    corpus = Corpus.load(args.corpus, args.device)
    teacher = Teacher.load(args.teacher, args.device)
    width = teacher.w["embeddings.LayerNorm.weight"].shape[0]
    if args.start.suffix == ".npz":
        weights = {"encoder." + k: v for k, v in load_rows([args.start]).items()}
        table = weights["encoder.pieces.weight"]
        layers = sum(k.endswith(".qkv.weight") for k in weights)
        heads = table.shape[1] // 32
        places = len(weights["encoder.positions.weight"])
        shape = Shape(len(table), table.shape[1], layers, heads, 4 * table.shape[1], places)
    else:
        weights, shape = load_weights(args.start)
    student = Student(shape, width)
    missing, unknown = student.load_state_dict(weights, strict=False)
    say(f"start {args.start}: fresh {missing}, unknown {unknown}")
    student.to(args.device).train()
    if args.fuse:
        fuse(student)
    samples = Samples.load(args.corpus, args.device) if args.samples else None
    people = judged_texts(args.people, args.corpus, args.device)
    judged = judged_texts(args.judged, args.corpus, args.device)
    layer = max(1, shape.layers - 1)
    settings = Both(
        steps=args.steps, seconds=args.seconds, rate=args.rate, warm=args.warm, seed=args.seed,
        save_every=args.save_every, first_share=args.behind, last_share=args.until,
        pieces=args.pieces, made=args.made, layer=layer,
        teacher_layer=min(LAYER, teacher.layers),
    )  # fmt: skip
    losses = Losses(corpus, teacher, student, settings, samples, people, args.fuse)
    texts = 2 + 2 * settings.made
    drawn = f.batches(corpus, settings.pieces, texts, settings.seed)
    if samples is not None:
        mine = f.batches(corpus.only(samples.row), settings.pieces, texts + samples.each,
                         settings.seed + 1, sampled=True)  # fmt: skip
        drawn = (batch for three in zip(mine, drawn, mine, strict=True) for batch in three)

    def watch() -> str:
        near = sorted({layer - 1, layer, shape.layers})
        return report(student.encoder, judged, near) if judged is not None else ""

    file = args.out / "student.safetensors"
    descend(student, shape, drawn, losses, WEIGHTS, settings, file, watch=watch)  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
