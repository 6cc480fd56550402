"""Train the regressors of paper 004 as the paper does, on the package's encoder or on its own.

    python recipes/regressors.py --data DIR --work WORK --corpora small --seeds 1 2 3
    python recipes/regressors.py --data DIR --work WORK --encoder bert-base-multilingual-cased \
        --grid --seeds 1 2 3 4 5 6 7 8 9 10

WMT15 and WMT16 to English, nine to one, one model per view, Adam without the n / (n + 1) weights
and the cut. Corpora: `small`, the pairs that XLM15 knows (Tables 2 and 5); `halved`, half of its
training segments (Table 4); `all` (Table 3). `--grid` first tries the paper's rates and batches
with the first seed, at most 20 epochs, and keeps the best by validation; without it they are
`mtgauge train`'s defaults. Models go to WORK/regressors/embedded/CORPUS/VIEW, or to multi-bert/,
xlm15/, xlm100/ and bert/ in place of embedded/, where recipes/experiments.py finds them: a row
shows the seed that is best by validation, and says the mean and the deviation over seeds on WMT17.
A model that is there and fits the encoder is kept, and a run that was stopped goes on.

One core needs some 23 minutes per seed and view of `small`, 37 for hyp+src/hyp+ref: 8 hours for
three seeds of all views of `small` and `halved` (page 004.2 says how that was measured).
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from mtgauge import train
from mtgauge.data import judged_files
from mtgauge.data.judgements import Judgements
from mtgauge.encode import load_encoder
from mtgauge.metrics.regressor import VIEWS

ENCODERS = {  # folders, as rows of a page name them
    "embedded": "embedded",
    "bert-base-multilingual-cased": "multi-bert",
    "xlm-mlm-tlm-xnli15-1024": "xlm15",
    "xlm-mlm-100-1280": "xlm100",
    "bert-base-uncased": "bert",
}
FILES = ("da15.tsv.gz", "da16.tsv.gz")
TEST = "da17.tsv.gz"
CORPORA = ("small", "halved", "all")
SMALL = ("de-en", "ru-en", "tr-en", "zh-en")
RATES, BATCHES, MOST_EPOCHS = (3e-5, 1e-5, 9e-6, 7e-6), (2, 4, 8, 16), 20


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", required=True, type=Path)
    parser.add_argument("--work", required=True, type=Path)
    parser.add_argument("--encoder", choices=tuple(ENCODERS), default="embedded")
    parser.add_argument("--corpora", nargs="+", choices=CORPORA, default=CORPORA)
    parser.add_argument("--views", nargs="+", choices=tuple(VIEWS), default=tuple(VIEWS))
    parser.add_argument("--seeds", nargs="+", type=int, default=(1, 2, 3))
    parser.add_argument("--epochs", type=int, default=train.RegressorTraining.epochs)
    parser.add_argument("--grid", action="store_true")
    parser.add_argument("--bf16", action="store_true")
    parser.add_argument("--device", default="auto")
    args = parser.parse_args()
    for corpus in args.corpora:
        for view in args.views:
            made = args.work / "regressors" / ENCODERS[args.encoder] / corpus
            fit(args, corpus, view, made / view.replace("/", "_"))


def fit(args: argparse.Namespace, corpus: str, view: str, out: Path) -> None:
    """One corpus and view, unless its model is there already and of this encoder."""
    card, facts = out / "card.json", {"made_for": load_encoder(args.encoder).fingerprint}
    if card.is_file() and json.loads(card.read_text("utf-8")).items() >= facts.items():
        return
    files = judged(args.data, corpus)
    settings = {
        "encoder": args.encoder,
        "views": {view: 1.0},
        "device": args.device,
        "bf16": args.bf16,
        "quiet": True,
    }
    epochs, rate, batch = args.epochs, train.RegressorTraining.rate, train.RegressorTraining.batch
    if args.grid:
        epochs, tried = MOST_EPOCHS, {}
        for rate in RATES:
            for batch in BATCHES:
                how = train.RegressorTraining(
                    epochs=epochs, rate=rate, batch=batch, seeds=args.seeds[:1],
                    weights_only=True, **settings,
                )  # fmt: skip
                place = out / "grid" / f"{rate:g}-{batch}"
                tried[rate, batch] = train.regressor(files, place, how)["mean"]
                print(f"{place}: {tried[rate, batch]:.4f} on validation", flush=True)
        rate, batch = max(tried, key=lambda key: tried[key])
    how = train.RegressorTraining(
        epochs=epochs, rate=rate, batch=batch, seeds=args.seeds, facts=facts, **settings
    )
    train.regressor(files, out, how)
    print(out, flush=True)


def judged(data: Path, corpus: str) -> train.JudgedFiles:
    """What a corpus is trained on, chosen by and tested on."""

    def chosen(name: str) -> list[Judgements]:
        found = [j for j in judged_files.read(data / name) if j.lp.endswith("-en")]
        return [j for j in found if corpus == "all" or j.lp in SMALL]

    known = [j for name in FILES for j in chosen(name)]
    return train.JudgedFiles(
        train=[data / name for name in FILES],
        test=[data / TEST],
        dev_share=0.1,
        pairs=sorted({j.lp for j in [*known, *chosen(TEST)]}),
        drop_overlap=True,
        equal_weights=True,
        cut=0,
        limit=sum(map(len, known)) * 9 // 20 if corpus == "halved" else None,
    )


if __name__ == "__main__":
    main()
