"""What `mtgauge train encoder | fluency | sample | teacher` does: open, begin, train, save.

    run = StudentRun(corpus=Path("corpus"), out=Path("run"), dev=[Path("da16.tsv.gz")])
    encoder(run, [Path("teacher.npz")], EncoderTraining(seconds=800))
    language_model(run, LanguageModelTraining(seconds=300))

Judged translations of `train` are learned from beside the corpus; those of `dev` are only scored at
every checkpoint, to choose by. A sentence that stands in both is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import torch

from mtgauge.data.codes import bases
from mtgauge.encode.transformer import Causal, Encoder, Shape, fuse
from mtgauge.errors import InputError, UsageError
from mtgauge.train.embedded import both
from mtgauge.train.embedded.corpus import BOS, EOS
from mtgauge.train.embedded.encoder import Losses, Student, train_student
from mtgauge.train.embedded.fluency import Loss, train_language_model
from mtgauge.train.embedded.people import People
from mtgauge.train.embedded.prepare import load_tokenizer
from mtgauge.train.embedded.sampler import ParallelCorpus
from mtgauge.train.embedded.samples import Samples, draw
from mtgauge.train.embedded.teacher import Teacher
from mtgauge.train.embedded.triples import Triples, report
from mtgauge.train.embedded.tune import split, tune
from mtgauge.train.embedded.watch import (
    coded,
    correlations,
    fluency_correlations,
    halves,
    retrieval,
)
from mtgauge.train.judged.codes import Coded
from mtgauge.train.judged.rows import Rows, read_needed, refuse_overlap
from mtgauge.train.loop.fit import pick_device
from mtgauge.train.onnx.restore import load_causal, student_weights
from mtgauge.train.progress import say
from mtgauge.train.settings import (
    EncoderTraining,
    LanguageModelTraining,
    Sampling,
    StudentRun,
    TeacherTuning,
    refuse_below,
)

ENCODER_SIZES = {"layers": 6, "dim": 384, "heads": 12}
LANGUAGE_MODEL_SIZES = {"layers": 5, "dim": 384, "heads": 12, "embedding": 160}


def encoder(run: StudentRun, teacher: Sequence[Path], how: EncoderTraining) -> None:
    """Train the multilingual encoder; weights go to student.safetensors."""
    how.check()
    torch.manual_seed(how.seed)
    corpus = _corpus(run)
    device = corpus.source.device
    taught_by = Teacher.load(teacher, str(device))
    shape = _shape(run, ENCODER_SIZES)
    student = Student(shape, taught_by.w["embeddings.LayerNorm.weight"].shape[0])
    if run.start is not None:
        _begin_with(student, run.start)
    if run.fuse:
        fuse(student)
    layer = max(1, shape.layers - 1)
    how = replace(how, source_layer=layer, reference_layers=(layer,))
    samples = Samples.load(run.corpus, device) if run.samples else None
    if how.directions == "both":
        _both(run, corpus, taught_by, student, how, samples)
    else:
        _into_english(run, corpus, taught_by, student, how, samples)


def _into_english(
    run: StudentRun, corpus: ParallelCorpus, teacher: Teacher, student: Student,
    how: EncoderTraining, samples: Samples | None,
) -> None:  # fmt: skip
    learned, watched = _judged(run, corpus, ["source", "reference"])
    people = None
    if learned is not None:
        first, second = (learned.framed(column, BOS, EOS) for column in ("src", "hyp"))
        people = People.of(first, second, learned, corpus.source.device)

    def watch(model: Encoder) -> str:
        lines = [correlations(model, watched)] if watched is not None else []
        return "\n".join([*lines, retrieval(model, run.corpus)])

    train_student(Losses(corpus, teacher, student, how, samples, people), run.out, watch)


def _both(
    run: StudentRun, corpus: ParallelCorpus, teacher: Teacher, student: Student,
    how: EncoderTraining, samples: Samples | None,
) -> None:  # fmt: skip
    judged = _judged(run, corpus, ["source", "hypothesis"], None)
    device = corpus.source.device
    people, watched = (None if rows is None else Triples.of(rows, device) for rows in judged)
    near = sorted({how.source_layer - 1, how.source_layer, student.encoder.shape.layers})

    def watch(model: Encoder) -> str:
        lines = [report(model, watched, near)] if watched is not None else []
        return "\n".join([*lines, retrieval(model, run.corpus)])

    losses = both.Losses(corpus, teacher, student, how, samples, people, run.fuse)
    train_student(losses, run.out, watch)


def language_model(
    run: StudentRun, how: LanguageModelTraining, also: Mapping[str, Loss] | None = None
) -> None:
    """Train the language model; weights go to fluency.safetensors. `also` are more losses."""
    how.check()
    torch.manual_seed(how.seed)
    corpus = _corpus(run)
    device = corpus.source.device
    model = _causal(run)
    learned, watched = _judged(run, corpus, ["source"], None)
    people = []
    if learned is not None:
        first, second = (learned.framed(column, BOS, EOS) for column in ("src", "hyp"))
        both_ways = (first, second), (second, first)
        people = [People.of(*halves(*texts), learned, device) for texts in both_ways]

    def watch(model: Causal) -> str:
        assert watched is not None
        return fluency_correlations(model, watched)

    if run.fuse:
        fuse(model)
    samples = Samples.load(run.corpus, device) if run.samples else None
    look = watch if watched is not None else None
    train_language_model(corpus, model, how, run.out, look, samples, people, also)


def sample(
    corpus: Path, teacher: Sequence[Path], start: Path, how: Sampling, device: str = "auto"
) -> None:
    """Translate part of a corpus with the language model `start`, and rate it: samples.npz."""
    on = str(pick_device(device))
    loaded, taught_by = ParallelCorpus.load(corpus, on), Teacher.load(teacher, on)
    model = _causal(StudentRun(corpus, corpus, start=start))
    draw(loaded, model, taught_by, how).save(corpus)


def tune_teacher(
    corpus: Path, teacher: Sequence[Path], train: Sequence[Path], out: Path, how: TeacherTuning,
    dev: Sequence[Path] = (), device: str = "auto",
) -> None:  # fmt: skip
    """Tune the English teacher on judged segments with references; weights go to `out` (.npz)."""
    how.check()
    if out.suffix != ".npz":
        raise UsageError(f"--out {out}: name a file that ends in .npz.")
    on = str(pick_device(device))
    tokenizer = load_tokenizer(corpus, "teacher")
    learned, held = (coded(part, tokenizer) for part in split(train, dev, how.seed))
    own = Teacher.load(teacher, on, torch.float32)
    torch.set_float32_matmul_precision("high")
    tune(own, Teacher.load(teacher, on), learned, held, how)
    own.save(out)


def _corpus(run: StudentRun) -> ParallelCorpus:
    corpus = ParallelCorpus.load(run.corpus, str(pick_device(run.device)), without=run.without)
    ordered = sorted(corpus.shares.items(), key=lambda item: -item[1])
    say("sampling shares: " + " ".join(f"{name} {share:.3f}" for name, share in ordered))
    return corpus


def _judged(
    run: StudentRun, corpus: ParallelCorpus, watched_needs: list[str], target: str | None = "en"
) -> tuple[Coded | None, Coded | None]:
    """Judged translations that are learned from; and those that are only watched, into `target`
    (None: any language)."""
    learned = read_needed(run.train, ["source", "hypothesis"], None) if run.train else None
    watched = read_needed(run.dev, watched_needs, target) if run.dev else None
    if learned is not None:
        _refuse_unknown(learned, corpus)
        if watched is not None:
            refuse_overlap(learned, watched)
    tokenizer = load_tokenizer(run.corpus)
    first, second = (None if r is None else coded(r, tokenizer) for r in (learned, watched))
    return first, second


def _refuse_unknown(rows: Rows, corpus: ParallelCorpus) -> None:
    known = {*corpus.langs, "en"}
    if unknown := sorted({lp for lp in rows.lps if not known.issuperset(bases(lp))}):
        raise InputError(
            f"--train: {corpus.folder} has no text in a language of {', '.join(unknown)}",
            file=rows.files[rows.lps.index(unknown[0])],
            remedy=f"Take those pairs out; it has {', '.join(sorted(known))}.",
        )


def _shape(run: StudentRun, usual: dict[str, int]) -> Shape:
    """As the run says, and the package's sizes where it does not."""
    given = {name: getattr(run, name) for name in usual}
    refuse_below(run, **{name: 1 for name, size in given.items() if size is not None})
    sizes = {name: given[name] or size for name, size in usual.items()}
    if sizes["dim"] % sizes["heads"]:
        raise UsageError(f"--dim {sizes['dim']} cannot be split into --heads {sizes['heads']}.")
    vocabulary = load_tokenizer(run.corpus).get_vocab_size()
    return Shape(vocabulary, inner=4 * sizes["dim"], **sizes)


def _begin_with(student: Student, start: Path) -> None:
    """The encoder from stored weights; heads that only training needs may be missing there."""
    weights, own = student_weights(start), student.state_dict()
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


def _causal(run: StudentRun) -> Causal:
    """The language model to go on from, or a fresh one."""
    if run.start is None:
        return Causal(_shape(run, LANGUAGE_MODEL_SIZES))
    model = load_causal(run.start)
    for name in LANGUAGE_MODEL_SIZES:
        own, wanted = getattr(model.shape, name), getattr(run, name)
        if wanted not in (None, own):
            raise UsageError(f"--{name} {wanted}: --start {run.start} has {own}; leave one out.")
    pieces = load_tokenizer(run.corpus).get_vocab_size()
    if model.shape.vocabulary != pieces:
        raise UsageError(
            f"--start {run.start} knows {model.shape.vocabulary} pieces, the tokenizer of "
            f"{run.corpus} {pieces}: prepare the corpus with the tokenizer it was trained with."
        )
    return model
