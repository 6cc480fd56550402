"""`mtgauge train prepare | teacher | fluency | sample | encoder | export`: the embedded models.

    mtgauge train prepare --parallel DIR --out CORPUS --parent MINILM --teacher-tokenizer FILE
    mtgauge train teacher --corpus CORPUS --teacher FILE... --judged TSV... --out tuned.npz
    mtgauge train fluency --corpus CORPUS --out DIR --seconds 300
    mtgauge train sample  --corpus CORPUS --teacher FILE... --start DIR/fluency.safetensors
    mtgauge train fluency --corpus CORPUS --out DIR --start DIR/fluency.safetensors --samples ...
    mtgauge train encoder --corpus CORPUS --teacher FILE... --start FILE --out DIR --samples ...
    mtgauge train export  --kind encoder --weights FILE --corpus CORPUS --out DIR

`teacher` tunes the English teacher on judged translations with references. `sample` translates a
part of the corpus with the language model and lets the teacher rate it; with `--samples` the other
two learn from that. `encoder` and `fluency` resume from weights alone (`--start`): of an earlier
run, or of the exported model, so that the package's own models can be trained on. Translations that
people judged without a reference (`--people`) are learned from; judged segments given by `--judged`
are only scored at every checkpoint, to choose by. Keep the test set away from both.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mtgauge.errors import InputError, ResourceError, UsageError

if TYPE_CHECKING:
    from mtgauge.train.embedded.encoder import Student
    from mtgauge.train.embedded.people import People
    from mtgauge.train.embedded.sampler import Corpus
    from mtgauge.train.embedded.samples import Samples
    from mtgauge.train.embedded.watch import Judged
    from mtgauge.train.nets.transformer import Causal, Shape

SIZES = {
    "encoder": {"layers": 6, "dim": 384, "heads": 12},
    "fluency": {"layers": 5, "dim": 384, "heads": 12, "embedding": 160},
}
MODELS = ("prepare", "teacher", "fluency", "sample", "encoder", "export")


def add_stage(name: str, parser: argparse.ArgumentParser) -> None:
    """The options of one stage."""
    path = Path
    parser.set_defaults(stage=name)
    if name != "sample":
        what = "file" if name == "teacher" else "folder"
        parser.add_argument("--out", type=path, required=True, help=f"{what} for what is made")
    if name == "prepare":
        parser.add_argument(
            "--parallel", type=path, required=True, help="folder of XX-en.tsv[.zst]"
        )
        parser.add_argument(
            "--extra", type=path, nargs="+", default=[], help="more XX-en.tsv files"
        )
        parser.add_argument("--tokenizer", type=path, help="one made before; else it is trained")
        parser.add_argument("--pieces", type=int, default=48_000)
        parser.add_argument("--parent", type=path, help="folder of a BERT-like parent (MiniLM)")
        parser.add_argument("--teacher-tokenizer", type=path, help="the teacher's tokenizer.json")
        parser.add_argument("--reader", type=path, help="GGUF file of the fluency teacher")
        parser.add_argument("--longest", type=int, default=60, help="words of a sentence at most")
        parser.add_argument("--most", type=int, default=0, help="pairs of one origin at most")
        parser.add_argument("--workers", type=int, default=2)
        return
    parser.add_argument("--corpus", type=path, required=True, help="what `train prepare` made")
    if name == "export":
        parser.add_argument("--weights", type=path, required=True, help="safetensors to export")
        parser.add_argument("--kind", choices=("encoder", "fluency"), required=True)
        parser.add_argument("--facts", type=path, help="JSON with more of the card's keys")
        return
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", default="auto")
    if name in ("teacher", "sample", "encoder"):
        parser.add_argument("--teacher", type=path, nargs="+", required=True,
                            help="its weights, in one file or several")  # fmt: skip
    if name == "teacher":
        parser.add_argument("--judged", type=path, nargs="+", required=True,
                            help="judged segments with references, to learn from")  # fmt: skip
        parser.add_argument("--dev", type=path, nargs="+", default=[],
                            help="to choose the epoch by; else a tenth of --judged")  # fmt: skip
        parser.add_argument("--epochs", type=int, default=5)
        parser.add_argument("--batch", type=int, default=96)
        parser.add_argument("--rate", type=float, default=1e-4)
        return
    parser.add_argument("--start", type=path, required=name == "sample",
                        help="go on from: safetensors, .onnx; the encoder .npz too")  # fmt: skip
    if name == "sample":
        parser.add_argument("--rows", type=int, default=500_000, help="pairs to translate")
        parser.add_argument("--each", type=int, default=2, help="translations of each")
        return
    parser.add_argument("--steps", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=0.0)
    parser.add_argument("--rate", type=float, default=4e-4 if name == "encoder" else 1.5e-3)
    parser.add_argument("--words", type=int, default=10_000 if name == "encoder" else 40_000,
                        help="target words of one batch")  # fmt: skip
    parser.add_argument(
        "--behind", type=float, default=0.0, help="share of the schedule done before"
    )
    parser.add_argument(
        "--until", type=float, default=1.0, help="share of the schedule done when this run ends"
    )
    parser.add_argument("--warm", type=int, default=200, help="steps over which the rate rises")
    parser.add_argument("--fuse", action="store_true",
                        help="compile the blocks: begins later, runs faster")  # fmt: skip
    parser.add_argument("--samples", action="store_true", help="learn from `train sample` too")
    parser.add_argument("--without", nargs="+", default=[], metavar="ORIGIN",
                        help="leave pairs of these origins out")  # fmt: skip
    parser.add_argument("--people", type=path, nargs="+", default=[],
                        help="judged translations with sources, to learn from")  # fmt: skip
    texts = "sources and references" if name == "encoder" else "sources"
    parser.add_argument("--judged", type=path, nargs="+", default=[],
                        help=f"judged segments with {texts}, to choose by")  # fmt: skip
    parser.add_argument("--save-every", type=float, default=150.0, help="seconds")
    for size, usual in SIZES[name].items():
        parser.add_argument("--" + size, type=int, help=f"of a fresh model; {usual} by default")
    if name == "encoder":
        parser.add_argument("--versions", type=int, default=4)
    else:
        parser.add_argument("--given", type=float, default=0.5,
                            help="share of sequences with the source before them")  # fmt: skip
        parser.add_argument("--reverse", type=float, default=0.15,
                            help="share of those translated out of English")  # fmt: skip
        parser.add_argument("--ranked", type=float, default=1.0,
                            help="weight of ranking machine translations")  # fmt: skip
        parser.add_argument("--ranked-share", type=float, default=0.4,
                            help="of the pairs, whose translations are ranked")  # fmt: skip
        parser.add_argument("--reader", type=path, nargs="+", default=[], help="teacher's weights")


def run(args: argparse.Namespace) -> int:
    try:
        import scipy  # noqa: F401
        import torch  # noqa: F401
    except ImportError as missing:
        raise ResourceError(
            f"Training needs {missing.name}, which is not installed: pip install 'mtgauge[train]'."
        ) from None
    stage: Callable[[argparse.Namespace], int] = {
        "prepare": _prepare, "teacher": _teacher, "fluency": _fluency, "sample": _sample,
        "encoder": _encoder, "export": _export,
    }[args.stage]  # fmt: skip
    return stage(args)


def _device(name: str) -> str:
    from mtgauge.train.loop.loop import pick_device

    return str(pick_device(name))


def _prepare(args: argparse.Namespace) -> int:
    from mtgauge.train.embedded.build import build

    build(
        args.parallel, args.out, extra=args.extra, tokenizer_file=args.tokenizer,
        pieces=args.pieces, parent=args.parent, teacher_tokenizer=args.teacher_tokenizer,
        reader=args.reader,
        longest=args.longest, most=args.most, workers=args.workers,
    )  # fmt: skip
    return 0


def _teacher(args: argparse.Namespace) -> int:
    from mtgauge.train.embedded.tune import Tuning, run

    how = Tuning(epochs=args.epochs, batch=args.batch, rate=args.rate, seed=args.seed)
    run(args.corpus, args.teacher, args.judged, args.dev, args.out, _device(args.device), how)
    return 0


def _judged(args: argparse.Namespace, needs: list[str]) -> Judged | None:
    from mtgauge.train.embedded.sampler import load_tokenizer
    from mtgauge.train.embedded.watch import Judged, read

    if not args.judged:
        return None
    return Judged.of(read(args.judged, "en", needs), load_tokenizer(args.corpus))


def _people(args: argparse.Namespace, corpus: Corpus, cut: bool = False) -> People | None:
    """Judged pairs of source and translation; `cut`: framed as halves of one sequence."""
    from mtgauge.train.embedded.people import People
    from mtgauge.train.embedded.sampler import load_tokenizer
    from mtgauge.train.embedded.watch import Judged, halves, read

    if not args.people:
        return None
    rows = read(args.people, None, ["source", "hypothesis"])
    known = {*corpus.langs, "en"}
    if unknown := sorted({lp for lp in rows.lps if not known.issuperset(lp.split("-"))}):
        raise InputError(
            f"--people: {args.corpus} has no text in a language of {', '.join(unknown)}",
            file=rows.files[rows.lps.index(unknown[0])],
            remedy=f"Take those pairs out; it has {', '.join(sorted(known))}.",
        )
    judged = Judged.of(rows, load_tokenizer(args.corpus))
    first, second = judged.source, judged.hypothesis
    if cut:
        first, second = halves(first, second)
    return People.of(first, second, judged, str(corpus.source.device))


def _encoder(args: argparse.Namespace) -> int:
    import torch

    from mtgauge.train.embedded import encoder as e
    from mtgauge.train.embedded.sampler import Corpus
    from mtgauge.train.embedded.teacher import Teacher
    from mtgauge.train.embedded.watch import correlations, retrieval
    from mtgauge.train.nets.transformer import Encoder, fuse

    torch.manual_seed(args.seed)
    device = _device(args.device)
    corpus = Corpus.load(args.corpus, device, without=args.without)
    _say_shares(corpus.shares)
    teacher = Teacher.load(args.teacher, device)
    width = teacher.w["embeddings.LayerNorm.weight"].shape[0]
    shape = _shape(args)
    student = e.Student(shape, width)
    if args.start:
        weights = _start(args.start)
        _begin_with(student, weights, args.start)
    settings = e.Settings(
        steps=args.steps, seconds=args.seconds, words=args.words, versions=args.versions,
        rate=args.rate, seed=args.seed, save_every=args.save_every, first_share=args.behind,
        last_share=args.until, warm=args.warm,
        source_layer=max(1, shape.layers - 1),
        reference_layers=(max(1, shape.layers - 1),),
    )  # fmt: skip
    judged = _judged(args, ["source", "reference"])

    def watch(encoder: Encoder) -> str:
        lines = [correlations(encoder, judged)] if judged is not None else []
        return "\n".join([*lines, retrieval(encoder, args.corpus)])

    if args.fuse:
        fuse(student)
    e.train(
        corpus, teacher, student, settings, args.out, watch, _samples(args, device),
        _people(args, corpus),
    )  # fmt: skip
    return 0


def _begin_with(student: Student, weights: dict[str, Any], start: Path) -> None:
    """The encoder from `weights`; heads that only training needs may be missing there."""
    from mtgauge.train.loop.descend import say

    own = student.state_dict()
    wrong = [
        name
        for name, value in own.items()
        if name.startswith("encoder.")
        and (name not in weights or weights[name].shape != value.shape)
    ]
    if wrong or not weights.keys() <= own.keys():
        raise UsageError(
            f"--start {start} is no encoder of this shape ({len(wrong)} tensors do not fit): see "
            "--layers, --dim and --heads."
        )
    missing, _ = student.load_state_dict(weights, strict=False)
    say(f"start: {len(own) - len(missing)} tensors, {len(missing)} fresh")


def _samples(args: argparse.Namespace, device: str) -> Samples | None:
    from mtgauge.train.embedded.samples import Samples

    return Samples.load(args.corpus, device) if args.samples else None


def _start(path: Path) -> dict[str, Any]:
    """Weights of a student, from safetensors, int8 rows (.npz) or an exported model (.onnx)."""
    from mtgauge.train.embedded.teacher import load_rows
    from mtgauge.train.loop.descend import load_weights
    from mtgauge.train.onnx.restore import encoder_from_onnx

    if path.suffix == ".npz":
        return {"encoder." + name: value for name, value in load_rows([path]).items()}
    if path.suffix == ".onnx":
        state = encoder_from_onnx(path).state_dict()
        return {"encoder." + name: value for name, value in state.items()}
    return dict(load_weights(path)[0])


def _shape(args: argparse.Namespace) -> Shape:
    """As the options say, and the package's sizes where they do not."""
    from mtgauge.train.embedded.sampler import load_tokenizer
    from mtgauge.train.nets.transformer import Shape

    size = dict(SIZES[args.stage])
    for name in size:
        wanted = getattr(args, name)
        if wanted is not None:
            size[name] = wanted
        if size[name] < 1:
            raise UsageError(f"--{name} {wanted}: one at least.")
    if size["dim"] % size["heads"]:
        raise UsageError(f"--dim {size['dim']} cannot be split into --heads {size['heads']}.")
    vocabulary = load_tokenizer(args.corpus).get_vocab_size()
    return Shape(vocabulary, inner=4 * size["dim"], **size)


def _causal(args: argparse.Namespace) -> Causal:
    """The language model to go on from, or a fresh one."""
    from mtgauge.train.embedded.fluency import load_causal
    from mtgauge.train.embedded.sampler import load_tokenizer
    from mtgauge.train.nets.transformer import Causal
    from mtgauge.train.onnx.causal_restore import causal_from_onnx

    if args.start is None:
        return Causal(_shape(args))
    onnx = args.start.suffix == ".onnx"
    model = causal_from_onnx(args.start) if onnx else load_causal(args.start)
    for name in SIZES["fluency"]:
        own, wanted = getattr(model.shape, name), getattr(args, name, None)
        if wanted not in (None, own):
            raise UsageError(f"--{name} {wanted}: --start {args.start} has {own}; leave one out.")
    pieces = load_tokenizer(args.corpus).get_vocab_size()
    if model.shape.vocabulary != pieces:
        raise UsageError(
            f"--start {args.start} knows {model.shape.vocabulary} pieces, the tokenizer of "
            f"{args.corpus} {pieces}: prepare the corpus with the tokenizer it was trained with."
        )
    return model


def _sample(args: argparse.Namespace) -> int:
    from mtgauge.train.embedded.sampler import Corpus
    from mtgauge.train.embedded.samples import draw
    from mtgauge.train.embedded.teacher import Teacher

    device = _device(args.device)
    corpus, teacher = Corpus.load(args.corpus, device), Teacher.load(args.teacher, device)
    samples = draw(corpus, _causal(args), teacher, rows=args.rows, each=args.each, seed=args.seed)
    samples.save(args.corpus)
    return 0


def _fluency(args: argparse.Namespace) -> int:
    import torch

    from mtgauge.train.embedded.fluency import FluencySettings, train_fluency
    from mtgauge.train.embedded.reader import Reader
    from mtgauge.train.embedded.sampler import Corpus
    from mtgauge.train.embedded.watch import fluency_scores
    from mtgauge.train.nets.transformer import fuse

    for name in ("given", "reverse", "ranked_share"):
        if not 0 <= getattr(args, name) <= 1:
            raise UsageError(f"--{name.replace('_', '-')} {getattr(args, name):g} is no share.")
    torch.manual_seed(args.seed)
    device = _device(args.device)
    corpus = Corpus.load(args.corpus, device, without=args.without)
    _say_shares(corpus.shares)
    model = _causal(args)
    judged = _judged(args, ["source"])
    settings = FluencySettings(
        steps=args.steps, seconds=args.seconds, words=args.words, rate=args.rate, seed=args.seed,
        save_every=args.save_every, first_share=args.behind, last_share=args.until, warm=args.warm,
        given=args.given, reverse=args.reverse, ranked_share=args.ranked_share,
        weights=FluencySettings().weights | {"ranked": args.ranked},
    )  # fmt: skip

    def watch(model: Causal) -> str:
        assert judged is not None
        model.eval()
        lines = []
        for name, scores in fluency_scores(model, judged).items():
            found = judged.means(judged.pearson(scores))
            lines.append(name + " " + " ".join(f"{k} {v:.3f}" for k, v in found.items()))
        model.train()
        return "\n".join(lines)

    if args.fuse:
        fuse(model)
    reader = Reader.load(args.reader, device) if args.reader else None
    train_fluency(
        corpus, model, settings, args.out, watch if judged is not None else None, reader,
        _samples(args, device), _people(args, corpus, cut=True),
    )  # fmt: skip
    return 0


def _export(args: argparse.Namespace) -> int:
    from mtgauge.train.onnx.export import export

    export(args.kind, args.weights, args.corpus, args.out, args.facts)
    return 0


def _say_shares(shares: dict[str, float]) -> None:
    from mtgauge.train.loop.descend import say

    ordered = sorted(shares.items(), key=lambda item: -item[1])
    say("sampling shares: " + " ".join(f"{k} {v:.3f}" for k, v in ordered))
