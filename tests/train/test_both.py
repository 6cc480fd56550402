"""Training for both directions: fixed shapes agree with ragged ones, slips are mirrored, a run
learns and repeats, a source's turned vectors do not match its copy, the command reads its flags."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from torch import Tensor  # noqa: E402

from mtgauge.cli import main  # noqa: E402
from mtgauge.encode.transformer import Encoder, Shape  # noqa: E402
from mtgauge.errors import UsageError  # noqa: E402
from mtgauge.train.embedded import fixed as f  # noqa: E402
from mtgauge.train.embedded import objective as o  # noqa: E402
from mtgauge.train.embedded.both import Losses  # noqa: E402
from mtgauge.train.embedded.corpus import BOS, EOS  # noqa: E402
from mtgauge.train.embedded.corrupt import flat_rows, laid_out  # noqa: E402
from mtgauge.train.embedded.encoder import Student, train_student  # noqa: E402
from mtgauge.train.embedded.mirror import Facts, align, into_foreign, slip  # noqa: E402
from mtgauge.train.embedded.prepare import load_types  # noqa: E402
from mtgauge.train.embedded.sampler import ParallelCorpus  # noqa: E402
from mtgauge.train.embedded.samples import Samples  # noqa: E402
from mtgauge.train.embedded.teacher import FIRST, LAST, Teacher  # noqa: E402
from mtgauge.train.judged.codes import Coded  # noqa: E402
from mtgauge.train.nets.weights import load_weights  # noqa: E402
from mtgauge.train.settings import Distillation, EncoderTraining  # noqa: E402

SHAPE = Shape(400, 64, 2, 4, 64)
TINY = EncoderTraining(
    directions="both", steps=12, batch_pieces=2000, versions=2, warmup=3, rate=3e-3, source_layer=1,
    teacher_layer=1,
)  # fmt: skip


@pytest.fixture
def corpus(tiny_corpus: Path) -> ParallelCorpus:
    return ParallelCorpus.load(tiny_corpus, "cpu")


def texts_of(corpus: ParallelCorpus, rows: Tensor, wide: int) -> tuple[Tensor, Tensor]:
    return (
        laid_out(corpus.source, corpus.source_start, rows, wide),
        laid_out(corpus.target, corpus.target_start, rows, wide),
    )


def test_fixed_shapes_hold_what_ragged_ones_hold(corpus: ParallelCorpus) -> None:
    table = corpus.tables("student", BOS, EOS)
    _, target = texts_of(corpus, torch.arange(9), 20)
    ragged, _, _ = flat_rows([target], table)
    laid = f.lay_out(target, table, 40)
    assert torch.equal(laid.ids[laid.real], ragged.ids)
    torch.manual_seed(0)
    encoder = Encoder(SHAPE)
    fixed = f.encode(encoder, laid)[-1][laid.real]
    assert torch.allclose(fixed, encoder(ragged)[-1], atol=1e-5)


def test_the_teacher_says_the_same_in_both_layouts(
    corpus: ParallelCorpus, tiny_corpus: Path
) -> None:
    teacher = Teacher.load([tiny_corpus / "teacher.npz"])
    table = corpus.tables("teacher", FIRST, LAST)
    _, target = texts_of(corpus, torch.arange(5), 20)
    ragged, _, _ = flat_rows([target], table)
    laid = f.lay_out(target, table, 40)
    wanted = teacher(ragged, 2)
    assert torch.allclose(f.FixedTeacher(teacher)(laid, 2)[laid.real], wanted, atol=1e-4)


def test_a_text_that_is_too_long_is_cut(corpus: ParallelCorpus) -> None:
    table = corpus.tables("student", BOS, EOS)
    _, target = texts_of(corpus, torch.arange(4), 20)
    laid = f.lay_out(target, table, 8)
    assert laid.ids.shape == (4, 8)
    assert (laid.ids[:, 0] == BOS).all()
    assert (laid.ids[:, -1] == EOS).all()


def test_best_matches_are_those_of_the_objective() -> None:
    torch.manual_seed(0)
    a, b = f.unit(torch.randn(3, 2, 5, 8)), f.unit(torch.randn(3, 4, 8))
    inner_a, inner_b = torch.rand(3, 2, 5) < 0.8, torch.rand(3, 4) < 0.8
    inner_a[..., 0], inner_b[:, 0] = True, True
    found = f.match(a, inner_a, b, inner_b)
    for k in range(2):
        wanted = o.match(torch.bmm(a[:, k], b.transpose(1, 2)), inner_a[:, k], inner_b)
        assert torch.allclose(found.precision[:, k], wanted.precision)
        assert torch.allclose(found.recall[:, k], wanted.recall)
        assert torch.allclose(found.f[:, k], wanted.f)


def test_what_happens_to_english_happens_to_the_foreign_side(corpus: ParallelCorpus) -> None:
    names = load_types(corpus.folder)
    rows = torch.arange(200)
    source, target = texts_of(corpus, rows, 16)
    exact, _ = align(source, target, corpus.lang[rows], corpus.slips)
    dog = {names.index("▁hund"): names.index("▁dog"), names.index("▁haus"): names.index("▁house")}
    for german, word in dog.items():
        at = (source == german).nonzero()
        assert len(at)
        found = exact[at[:, 0], at[:, 1]]
        assert (target[at[:, 0], found] == word).float().mean() > 0.9
    back = into_foreign(corpus.folder, corpus.langs, "cpu")
    facts = Facts.load(corpus.folder, "cpu")
    rng = torch.Generator().manual_seed(1)
    none = torch.full_like(target, -1)
    made = slip(target, source, corpus.lang[rows], corpus.slips, back, facts, 4, rng, none)

    def kept(slots: Tensor, words: Tensor) -> np.ndarray:
        same = (slots[..., None] == words[:, None, None, :]) & (words >= 0)[:, None, None, :]
        return (same.any(2).sum(-1) / (words >= 0).sum(1)[:, None]).numpy().ravel()

    english, foreign = kept(made.english, target), kept(made.foreign, source)
    assert ((made.english >= 0).sum(-1) > 0).all()
    assert ((made.foreign >= 0).sum(-1) > 0).all()
    assert english.max() == 1
    assert english.min() < 0.5
    assert np.corrcoef(english, foreign)[0, 1] > 0.6
    untouched = english == 1
    assert foreign[untouched].mean() > 0.9


def test_guesses_are_other_words_and_some_versions_hold_most_of_them(
    corpus: ParallelCorpus, tiny_corpus: Path
) -> None:
    teacher = Teacher.load([tiny_corpus / "teacher.npz"])
    torch.manual_seed(0)
    losses = Losses(corpus, teacher, Student(SHAPE, 24), TINY)
    rows = torch.arange(200)
    source, target = texts_of(corpus, rows, 22)
    guessed = losses._guessed(source, target, 24)
    there = guessed >= 0
    assert there.any()
    assert (target[there] >= 0).all()
    assert (guessed[there] != target[there]).all()
    made = slip(target, source, corpus.lang[rows], corpus.slips, losses.back, losses.facts, 8,
                losses.rng, guessed)  # fmt: skip
    many = there.sum(1) >= 2
    same = (made.english[many][:, :, :, None] == guessed[many][:, None, None, :]).any(2)
    held = (same & there[many][:, None]).sum(-1) / there[many].sum(1)[:, None]
    assert (held >= 0.5).float().mean() > 0.15
    assert (held == 0).float().mean() > 0.15


def test_a_turned_source_is_not_its_own_translation() -> None:
    vectors = f.unit(torch.randn(2, 5, 3 * f.TURNED))
    inner = torch.ones(2, 5, dtype=torch.bool)
    copy = f.match(vectors[:, None], inner[:, None], f.turned(vectors), inner)
    plain = f.match(vectors[:, None], inner[:, None], vectors, inner)
    assert (plain.f > 0.99).all()
    assert (copy.f < 0.8).all()
    assert torch.equal(f.turned(f.turned(vectors)), vectors)


def test_training_learns_and_repeats(
    corpus: ParallelCorpus, tiny_corpus: Path, tmp_path: Path
) -> None:
    teacher = Teacher.load([tiny_corpus / "teacher.npz"])

    def run(name: str) -> dict[str, Tensor]:
        torch.manual_seed(0)
        train_student(Losses(corpus, teacher, Student(SHAPE, 24), TINY), tmp_path / name)
        return load_weights(tmp_path / name / "student.safetensors")[0]

    first, second = run("a"), run("b")
    assert all(torch.equal(first[name], second[name]) for name in first)

    def total(weights: dict[str, Tensor]) -> float:
        student = Student(SHAPE, 24)
        student.load_state_dict(weights)
        losses = Losses(corpus, teacher, student, TINY)
        with torch.no_grad():
            found = losses(next(f.batches(corpus, TINY.batch_pieces, 6, 9)))
        return sum(TINY.loss_weights[name] * value.item() for name, value in found.items())

    torch.manual_seed(0)
    assert total(first) < total(Student(SHAPE, 24).state_dict())


def test_rows_for_trained_metrics_in_both_directions(corpus: ParallelCorpus) -> None:
    from mtgauge.train.metrics.mirrored import WORST, build

    rows = build(corpus, slips=40, faults=6)
    slips, mirrored = rows["slips"], rows["mirrored"]
    assert set(slips.lps) == {"de-en"}
    assert set(mirrored.lps) == {"en-de"}
    # source and reference change places, and the hypothesis is the foreign side's slip
    assert np.array_equal(slips.numbers["src"], mirrored.numbers["ref"])
    assert np.array_equal(slips.numbers["ref"], mirrored.numbers["src"])
    copies = rows["copies"]
    assert np.array_equal(copies.numbers["hyp"], copies.numbers["src"])
    assert (copies.scores == WORST).all()
    assert len(copies) == len(rows["strangers"]) == 12
    table = corpus.tables("student", BOS, EOS)
    known = set(table.flat.tolist())
    assert {p for i in range(10) for p in slips.book.pieces(i)} <= known


def test_two_batches_of_three_have_machine_translations(
    corpus: ParallelCorpus, tiny_corpus: Path
) -> None:
    rows = torch.arange(0, len(corpus.lang), 2)
    words, size = [], []
    for row in rows.tolist():
        own = corpus.target[corpus.target_start[row] : corpus.target_start[row + 1]]
        words += [own, own[:2]]
        size += [len(own), 2]
    start = torch.tensor([0, *size]).cumsum(0)
    samples = Samples(rows, torch.cat(words), start, torch.zeros(len(size)), each=2)
    how = replace(TINY, versions=3)
    teacher = Teacher.load([tiny_corpus / "teacher.npz"])
    losses = Losses(corpus, teacher, Student(SHAPE, 24), how, samples)
    drawn = list(itertools.islice(losses.batches(), 6))
    assert [batch.sampled for batch in drawn] == [True, False, True] * 2
    assert all((batch.rows % 2 == 0).all() for batch in drawn if batch.sampled)
    for batch in drawn[:2]:
        assert all(torch.isfinite(value) for value in losses(batch).values())
    with pytest.raises(UsageError, match="--versions 2: 2 of them are machine translations"):
        Losses(corpus, teacher, Student(SHAPE, 24), TINY, samples)


def test_a_vector_needs_more_than_what_is_turned(corpus: ParallelCorpus, tiny_corpus: Path) -> None:
    teacher = Teacher.load([tiny_corpus / "teacher.npz"])
    with pytest.raises(UsageError, match="--dim 32: 48 numbers of a vector"):
        Losses(corpus, teacher, Student(Shape(400, 32, 2, 4, 64), 24), TINY)


def test_the_command_trains_and_watches_both_directions(
    tiny_corpus: Path, deep_teacher: Path, invented: list[tuple[str, str]], tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    def judged(name: str, pairs: list[tuple[str, str]], reference: bool) -> Path:
        columns = ["lp", "system", "sid", "source", *(["reference"] if reference else [])]
        lines = ["\t".join([*columns, "hypothesis", "human"])]
        for i, (german, english) in enumerate(pairs):
            for lp, x, y in (("de-en", german, english), ("en-de", english, german)):
                worse = " ".join(y.split()[:2]) if i % 2 else y
                texts = [x, *([y] if reference else []), worse]
                lines.append("\t".join([lp, "-", str(i), *texts, str(1 - 2 * (i % 2) + i / 1000)]))
        file = tmp_path / f"{name}.tsv"
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return file

    learned = judged("learned", invented[:30], reference=False)
    watched = judged("watched", invented[30:50], reference=True)
    line = ["encoder", "--directions", "both", "--corpus", tiny_corpus, "--teacher", deep_teacher,
            "--train", learned, "--dev", watched, "--dim", 64, "--layers", 2, "--heads", 4,
            "--batch-pieces", 2000, "--versions", 2, "--steps", 3, "--device", "cpu",
            "--out", tmp_path / "run"]  # fmt: skip
    assert main(["train", *map(str, line)]) == 0
    shown = capsys.readouterr().err
    assert "people" in shown
    assert "copies win" in shown
    assert "watched into" in shown
    assert "watched out" in shown
    assert load_weights(tmp_path / "run" / "student.safetensors")[1].dim == 64


def test_distilled_rows_out_of_english_have_the_ratings_into_it(tiny_corpus: Path) -> None:
    from mtgauge.train.metrics import distil

    settings = Distillation(Path("p"), Path("r"), "hub", Path("o"), corpus=tiny_corpus, slips=40,
                            faults=6)  # fmt: skip

    def rater(rows: Coded) -> np.ndarray:
        return np.arange(len(rows)) / 10

    kinds = distil._mirrored(settings, rater, torch.device("cpu"))  # type: ignore[arg-type]
    assert np.array_equal(kinds["slips"].scores, np.arange(40) / 10)
    assert np.array_equal(kinds["mirrored"].scores, kinds["slips"].scores)
    assert (kinds["copies"].scores == -2).all()
    turned = distil._turned(kinds["slips"], 10)
    assert set(turned.lps) == {"en-de"}
    assert (turned.numbers["ref"] == -1).all()
    assert np.array_equal(turned.numbers["hyp"], kinds["slips"].numbers["src"][:10])
    whole = distil._with({"train": kinds["slips"], "dev": kinds["copies"]}, [turned])
    assert (len(whole["train"]), len(whole["dev"])) == (50, 12)
    assert len(whole["train"].book.start) == len(whole["dev"].book.start)
    with pytest.raises(UsageError, match="--slips 40: say --corpus"):
        replace(settings, corpus=None).check()
