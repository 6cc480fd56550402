"""Train the heads of paper 002 as the paper does, on vectors of the package's encoder or of BERT.

    python recipes/heads.py --data DIR --work WORK [--encoder bert-base-uncased] [--minutes N]
    python recipes/heads.py --data DIR --work WORK --train TrainL --limit 10080 --epochs 1 --bf16
    python recipes/heads.py --data DIR --work WORK --curve

TrainS is the paper's: WMT16 DAseg, 3,360 segments to English, validated on WMT15's 2,000. TrainL
(125,000 single judgements of WMT16) is not to be had: WMT18's 138,199 to English stand in for it.
Settings are the paper's (docs/trained.md): judgements count alike, and scores are not cut. Heads go
to WORK/heads/embedded/TrainS/NAME and so on, where recipes/experiments.py finds them; a head that
is there and fits the encoder is kept, and a run that was stopped goes on. `--limit N` takes a part
of the corpus, drawn at random, and `--epochs` and `--minutes` end a run before the paper's stopping
rule does: rows of a page say on how many segments a head was trained, and how often it saw them.

`--curve` trains ESIM on 420, 840, ... segments of TrainS and of TrainL's stand-in and prints the
mean correlation on WMT17 (the paper's Figure 1) to WORK/heads/curve.tsv, with a picture beside it;
recipes/experiments.py makes a page of it. TrainS takes 10 to 40 minutes of a core per head, the
curve up to it 50 (`--bf16`); all of TrainL needs a GPU.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from mtgauge import train
from mtgauge.encode import load_encoder
from mtgauge.report.api import meta
from mtgauge.report.plots import plot_curve
from mtgauge.train.settings import HeadName

HEADS: tuple[HeadName, ...] = ("bilstm", "bilstm-attention", "esim")
TO_ENGLISH = "cs-en de-en et-en fi-en lv-en ro-en ru-en tr-en zh-en".split()
FILES = {"TrainS": "da16.tsv.gz", "TrainL": "da18-large.tsv.gz"}
SIZES = (420, 840, 1680, 3360, 13_440, 53_760, 138_199)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", required=True, type=Path)
    parser.add_argument("--work", required=True, type=Path)
    parser.add_argument("--encoder", default="embedded")
    parser.add_argument("--heads", nargs="+", choices=HEADS, default=HEADS)
    parser.add_argument("--train", nargs="+", choices=tuple(FILES), default=tuple(FILES))
    parser.add_argument("--limit", type=int, metavar="N", help="train on N segments")
    parser.add_argument("--epochs", type=int, default=train.HeadTraining.epochs)
    parser.add_argument("--minutes", type=float, help="end each run in this time")
    parser.add_argument("--bf16", action="store_true")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--curve", action="store_true")
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES)
    args = parser.parse_args()
    if args.curve:
        curve(args)
        return
    name = "embedded" if args.encoder == "embedded" else "bert"
    for corpus in args.train:
        for head in args.heads:
            out = args.work / "heads" / name / corpus / head
            fit(args, head, corpus, out, args.limit)


def fit(
    args: argparse.Namespace, head: HeadName, corpus: str, out: Path, limit: int | None = None
) -> None:
    """One head, unless it is there already and of this encoder."""
    card = out / "card.json"
    if card.is_file():
        made_for = json.loads(card.read_text("utf-8"))["encoder_fingerprint"]
        if made_for == load_encoder(args.encoder).fingerprint:
            return
    files = train.JudgedFiles(
        train=[args.data / FILES[corpus]],
        dev=[args.data / "da15.tsv.gz"],
        pairs=_pairs(args.data, corpus),
        drop_overlap=True,
        any_language=True,
        equal_weights=True,
        cut=0,
        limit=limit,
    )
    settings = train.HeadTraining(
        encoder=args.encoder,
        epochs=args.epochs,
        minutes=args.minutes,
        device=args.device,
        bf16=args.bf16,
        vectors=out.parent / "vectors",
        quiet=True,
    )
    train.head(head, files, out, settings)
    print(out, flush=True)


def _pairs(data: Path, corpus: str) -> Sequence[str]:
    """The pairs to English that both the training and the validation file have, and the rest."""
    from mtgauge.data import judged_files

    return [j.lp for j in judged_files.read(data / FILES[corpus]) if j.lp in TO_ENGLISH]


def curve(args: argparse.Namespace) -> None:
    """ESIM by number of segments: TrainS as far as it goes, then its large stand-in."""
    found: dict[int, float] = {}
    lines = ["segments\tcorpus\tepochs\tminutes\tpearson"]
    for size in args.sizes:
        corpus = "TrainS" if size <= 3360 else "TrainL"
        out = args.work / "heads" / "curve" / str(size)
        fit(args, "esim", corpus, out, None if size in (3360, 138_199) else size)
        rows = meta([args.data / "da17.tsv.gz"], [f"esim:model={out}"], ci=False).rows
        found[size] = next(row.values["pearson"] for row in rows if row.over)
        card = json.loads((out / "card.json").read_text("utf-8"))
        how_long = f"{card['epochs']}\t{card['seconds'] / 60:.0f}"
        lines.append(f"{size}\t{corpus}\t{how_long}\t{found[size]:.4f}")
        print(lines[-1], flush=True)
    folder = args.work / "heads"
    (folder / "curve.tsv").write_text("\n".join(lines) + "\n", "utf-8")
    plot_curve(folder / "curve.png", {"mean r on WMT17": found}, "ESIM", "training segments")


if __name__ == "__main__":
    main()
