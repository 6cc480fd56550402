"""`mtgauge train bilstm | bilstm-attention | esim | ruse | regressor`: metrics from judgements.

    mtgauge train esim      --train da16.tsv.gz --dev da15.tsv.gz --out my-esim
    mtgauge train regressor --train da15.tsv.gz da16.tsv.gz --dev-share 0.1 --out my-regressor
    mtgauge score -t hyp -r ref -m esim:model=my-esim

Data are judged segments: TSV with columns lp system sid source reference hypothesis human, and
where there are any raw (0 to 100, for the calibration) and n (judgements averaged). The same
command again goes on with a run that was stopped. With several seeds each is trained, the mean and
the deviation are printed, and the seed that is best on the validation data is kept.

    mtgauge train judged    --train ... --dev-share 0.1 --out judged.npz
    mtgauge train regressor --judged judged.npz --out my-regressor

`judged` reads, checks, splits and tokenises once for many trainings. `--warm FILE` begins with the
weights of another run (weights.safetensors); with `--epochs 0` they are only measured and exported.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from mtgauge.errors import ResourceError, UsageError

if TYPE_CHECKING:
    from mtgauge.train.judged.codes import Coded
    from mtgauge.train.judged.rows import Rows

METRICS = ("bilstm", "bilstm-attention", "esim", "ruse", "regressor")
MODELS = (*METRICS, "judged", "distil")
VIEWS = ("hyp+src/hyp+ref", "hyp+src+ref", "hyp+src", "hyp+ref")
SHIPPED_VIEWS = ("hyp+src/hyp+ref=0.4", "hyp+ref=0.2", "hyp+src=0.4")


def add_stage(name: str, parser: argparse.ArgumentParser) -> None:
    """The options of one model; defaults are the papers'."""
    parser.set_defaults(stage=name)
    if name == "distil":
        _add_distil(parser)
        return
    data = parser.add_argument_group("data")
    data.add_argument("--train", type=Path, nargs="+", metavar="FILE")
    data.add_argument("--dev", type=Path, nargs="+", metavar="FILE", help="validation data")
    data.add_argument("--dev-share", type=float, metavar="X", help="hold out a share instead")
    data.add_argument(
        "--dev-most", type=int, metavar="N", help="at most N segments a file and pair"
    )
    data.add_argument("--test", type=Path, nargs="+", metavar="FILE",
                      help="correlation of the kept model with these")  # fmt: skip
    data.add_argument("--pairs", nargs="+", metavar="LP", help="only these language pairs")
    data.add_argument("--drop-overlap", action="store_true", help="leave out what is also in --dev")
    data.add_argument("--any-language", action="store_true", help="also what the encoder ignores")
    data.add_argument("--limit", type=int, metavar="N", help="train on N segments drawn at random")
    run_ = parser.add_argument_group("run")
    run_.add_argument("--seeds", type=int, nargs="+", default=[1])
    run_.add_argument("--quiet", action="store_true")
    model = parser.add_argument_group("model")
    model.add_argument("--encoder", default="embedded", help="embedded, a folder or a hub id")
    if name == "judged":
        run_.add_argument("--out", type=Path, required=True, help="file for the prepared data")
        return
    data.add_argument(
        "--judged", type=Path, metavar="FILE", help="data that `mtgauge train judged` prepared"
    )
    run_.add_argument("--out", type=Path, required=True, help="folder for the model")
    run_.add_argument("--device", default="auto", help="auto, cpu, cuda, mps")
    run_.add_argument("--bf16", action="store_true", help="half precision where it is safe")
    run_.add_argument("--minutes", type=float, help="end in this time, a seed")
    run_.add_argument("--weights-only", action="store_true", help="no ONNX: to go on with --warm")
    run_.add_argument("--facts", type=Path, metavar="FILE",
                      help="JSON with more of the card's keys: licence, parent, ...")  # fmt: skip
    model.add_argument(
        "--weights", type=Path, help="torch weights of the encoder, where its ONNX file will not do"
    )
    model.add_argument("--warm", type=Path, metavar="FILE", help="begin with these weights")
    _add_model(name, model)


def _add_distil(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--judged", type=Path, required=True, metavar="FILE",
                        help="data that `mtgauge train judged` prepared")  # fmt: skip
    parser.add_argument("--teacher", type=Path, required=True, metavar="DIR",
                        help="a regressor for hyp+ref with pool compare and head mlp")  # fmt: skip
    parser.add_argument("--teacher-encoder", required=True, metavar="HUB",
                        help="what it was trained from: a folder or a hub id")  # fmt: skip
    parser.add_argument("--teacher-hidden", type=int, default=256)
    parser.add_argument("--corpus", type=Path, help="with samples.npz of `mtgauge train sample`")
    parser.add_argument("--samples", type=int, metavar="N", help="no more than N of them")
    parser.add_argument("--slips", type=int, default=0, metavar="N",
                        help="N pairs with mirrored slips, for both directions")  # fmt: skip
    parser.add_argument("--faults", type=int, default=20_000, metavar="N",
                        help="copies and strangers of N pairs, beside --slips")  # fmt: skip
    parser.add_argument("--encoder", default="embedded", help="whose pieces --judged holds")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda, mps")
    parser.add_argument("--out", type=Path, required=True, help="folder for the two files")


def _add_model(name: str, model: argparse._ArgumentGroup) -> None:
    regressor = name == "regressor"
    model.add_argument("--batch", type=int, default=16 if regressor else 32)
    model.add_argument("--epochs", type=int, default=10 if regressor else 75)
    model.add_argument("--rate", type=float, default=1e-5 if regressor else 4e-4)
    model.add_argument("--patience", type=int, default=4, help="validations without improvement")
    model.add_argument("--average", type=float, default=0.0, metavar="DECAY",
                       help="keep a moving average of the weights, such as 0.998")  # fmt: skip
    model.add_argument("--hidden", type=int, default=256 if regressor else 300)
    if regressor:
        model.add_argument("--views", nargs="+", default=list(SHIPPED_VIEWS), metavar="VIEW=SHARE",
                           help=f"of {', '.join(VIEWS)}; a share of the error each")  # fmt: skip
        model.add_argument("--head", choices=("linear", "mlp"), default="linear")
        model.add_argument("--pool", choices=("first", "compare"), default="first")
        model.add_argument("--max-length", type=int, default=128, help="pieces of an input")
        model.add_argument("--dropout", type=float, default=0.1)
        model.add_argument("--head-rate", type=float, default=5.0, help="times --rate")
        model.add_argument("--freeze-embeddings", action="store_true")
    else:
        model.add_argument("--view", choices=("ref", "src"), default="ref")
        model.add_argument("--dropout", type=float, default=0.5)


def run(args: argparse.Namespace) -> int:
    try:
        import onnx  # noqa: F401
        import torch  # noqa: F401
    except ImportError as missing:
        raise ResourceError(
            f"Training needs {missing.name}, which is not installed: pip install 'mtgauge[train]'."
        ) from None
    from mtgauge.train.metrics import distil, regressor_run
    from mtgauge.train.metrics import heads_run as context_run
    from mtgauge.train.onnx.export import read_facts

    if args.stage == "judged":
        return prepare_data(args)
    if args.stage == "distil":
        return distil.run(args)
    if args.minutes is not None and not args.minutes > 0:
        raise UsageError(f"--minutes {args.minutes:g}: a run takes more than no time.")
    read_facts(args.facts)  # a wrong file is told now rather than after the training
    family: Any = regressor_run if args.stage == "regressor" else context_run
    setting = family.prepare(args)
    data = load_data(args, setting)
    report(args, family.train(args, setting, data))
    return 0


def prepare_data(args: argparse.Namespace) -> int:
    """`mtgauge train judged`: the file that --judged reads."""
    from mtgauge.train.judged import codes as coded
    from mtgauge.train.metrics.regressor_run import read_folder

    setting = read_folder(args.encoder)
    data = load_data(args, setting)
    parts = {"train": data.train, "dev": data.dev, **({"test": data.test} if data.test else {})}
    coded.save(args.out, parts, setting.tokenizer_digest, data.facts)
    return 0


class Reader(Protocol):
    """What reading judged segments asks of an encoder."""

    @property
    def languages(self) -> tuple[str, ...]: ...
    @property
    def tokenizer_digest(self) -> str: ...
    @property
    def columns(self) -> tuple[str, ...]: ...  # the texts that are read: hyp, src, ref
    def tokenize(self, texts: Sequence[str]) -> list[list[int]]: ...


@dataclass(frozen=True)
class Data:
    train: Coded
    dev: Coded
    test: Coded | None
    facts: dict[str, Any]  # for the card


def load_data(args: argparse.Namespace, setting: Reader) -> Data:
    """Training, validation and test rows, or the error that says why not."""
    from mtgauge.train.judged import codes as coded

    prepared = getattr(args, "judged", None)
    if prepared is not None:
        others = ("train", "dev", "test", "pairs", "dev_share", "dev_most", "drop_overlap")
        given = [f"--{name.replace('_', '-')}" for name in others if getattr(args, name)]
        if given:
            raise UsageError(f"--judged holds the data, chosen and split: leave {given[0]} out.")
        parts, facts = coded.load(prepared, setting.tokenizer_digest)
        data = Data(parts["train"], parts["dev"], parts.get("test"), facts)
    else:
        known = [rows for rows in read_rows(args, setting.languages) if rows is not None]
        train, dev, *tests = coded.code(known, setting.tokenize, setting.columns)
        test = tests[0] if tests else None
        data = Data(train, dev, test, data_facts(args, train, dev))
    if args.limit is not None:
        data = limited(data, args.limit, args.seeds[0])
    say(args, f"{len(data.train)} segments to train on, {len(data.dev)} to validate")
    return data


def limited(data: Data, limit: int, seed: int) -> Data:
    """Fewer training segments; validation and test stay whole."""
    import numpy as np

    if not 0 < limit <= len(data.train):
        raise UsageError(f"--limit {limit}: there are {len(data.train)} training segments.")
    train = data.train.take(np.random.default_rng(seed).permutation(len(data.train))[:limit])
    facts = data.facts | {"train_segments": counted(train)}
    return replace(data, train=train, facts=facts)


def read_rows(
    args: argparse.Namespace, languages: tuple[str, ...]
) -> tuple[Rows, Rows, Rows | None]:
    from mtgauge.train.judged import rows as judged

    if not args.train:
        raise UsageError("Say --train FILE for the judged segments, or --judged FILE.")
    if (args.dev is None) == (args.dev_share is None):
        raise UsageError("Say either --dev FILE or --dev-share 0.1 for the validation data.")
    if args.dev_share is not None and not 0 < args.dev_share < 1:
        raise UsageError(f"--dev-share {args.dev_share:g} is not between 0 and 1.")
    known = () if args.any_language else languages

    def read(paths: list[Path]) -> Rows:
        rows = judged.read(paths)
        if args.pairs:
            rows = rows.take([i for i, lp in enumerate(rows.lps) if lp in args.pairs])
            if not len(rows):
                names = ", ".join(path.name for path in paths)
                raise UsageError(f"--pairs {' '.join(args.pairs)}: none of them is in {names}.")
        return judged.refuse_bad(rows, known)

    def apart(rows: Rows, held: Rows, what: str) -> Rows:
        if args.drop_overlap:
            return judged.drop(rows, judged.overlap(rows, held))
        judged.refuse_overlap(rows, held, what)
        return rows

    train = read(args.train)
    if args.dev is None:
        train, dev = judged.hold_out(train, args.dev_share, args.dev_most, args.seeds[0])
    else:
        dev = read(args.dev)
        train = apart(train, dev, "validation")
    test = read(args.test) if args.test else None
    if test is not None:
        train, dev = apart(train, test, "test"), apart(dev, test, "test")
    return train, dev, test


def data_facts(args: argparse.Namespace, train: Coded, dev: Coded) -> dict[str, Any]:
    """What the card says of the data."""
    from mtgauge.train.judged import rows as judged

    return {
        "train": judged.fingerprint(args.train),
        "dev": judged.fingerprint(args.dev) if args.dev else f"held out: {args.dev_share:g}",
        "train_segments": counted(train),
        "dev_segments": counted(dev),
    }


def counted(rows: Coded) -> dict[str, int]:
    """Segments of each language pair."""
    from collections import Counter

    return dict(sorted(Counter(rows.lps.tolist()).items()))


def report(args: argparse.Namespace, card: dict[str, Any]) -> None:
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
        print(f"Go on with it: --warm {args.out / 'weights.safetensors'}")
        return
    option = f"model={args.out}" + (",view=src" if card.get("view") == "src" else "")
    print(f"Use it: mtgauge score ... -m {args.stage}:{option}")


def say(args: argparse.Namespace, text: str) -> None:
    if not args.quiet:
        print(text, file=sys.stderr, flush=True)
