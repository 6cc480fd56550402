"""The encoder's training: shapes, corruptions, losses, resuming, determinism."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from mtgauge.encode.transformer import Encoder, Ragged, Shape  # noqa: E402
from mtgauge.train.embedded import encoder as e  # noqa: E402
from mtgauge.train.embedded import objective as o  # noqa: E402
from mtgauge.train.embedded.corpus import BOS, EOS  # noqa: E402
from mtgauge.train.embedded.corrupt import corrupt, expand, framed  # noqa: E402
from mtgauge.train.embedded.sampler import ParallelCorpus  # noqa: E402
from mtgauge.train.embedded.teacher import Teacher  # noqa: E402
from mtgauge.train.nets.weights import load_weights  # noqa: E402
from mtgauge.train.settings import EncoderTraining  # noqa: E402

TINY = EncoderTraining(
    steps=12, words=300, warmup=3, rate=3e-3, source_layer=2, reference_layers=(1, 2),
    teacher_layer=1, versions=3,
)  # fmt: skip


@pytest.fixture
def parts(tiny_corpus: Path) -> tuple[ParallelCorpus, Teacher, Shape]:
    corpus = ParallelCorpus.load(tiny_corpus, "cpu")
    return corpus, Teacher.load([tiny_corpus / "teacher.npz"]), Shape(400, 32, 2, 4, 64)


def test_a_sentence_is_encoded_alike_alone_and_in_company() -> None:
    torch.manual_seed(0)
    encoder = Encoder(Shape(50, 16, 2, 4, 32))
    rows = [[1, 7, 9, 2], [1, 8, 2], [1, 5, 6, 7, 8, 9, 10, 11, 12, 2]]
    together = encoder(Ragged.of(rows))[-1]
    alone = torch.cat([encoder(Ragged.of([row]))[-1] for row in rows])
    assert torch.allclose(together, alone, atol=1e-5)


def test_versions_run_from_untouched_to_ruined(tiny_corpus: Path) -> None:
    corpus = ParallelCorpus.load(tiny_corpus, "cpu")
    rows = torch.arange(200)
    target, source = corpus.padded(rows, "target"), corpus.padded(rows, "source")
    rng = torch.Generator().manual_seed(1)
    slots = corrupt(target, source, corpus.lang[rows], corpus.slips, 4, rng)
    kept = [
        len(set(slot[slot >= 0].tolist()) & set(row[row >= 0].tolist())) / len(set(row.tolist()))
        for versions, row in zip(slots, target, strict=True)
        for slot in versions
    ]
    assert max(kept) == pytest.approx(1, abs=0.15)
    assert min(kept) < 0.4
    assert ((slots >= 0).sum(-1) > 0).all()  # never empty


def test_pieces_follow_their_words(tiny_corpus: Path) -> None:
    corpus = ParallelCorpus.load(tiny_corpus, "cpu")
    table = corpus.tables("student", BOS, EOS)
    target = corpus.padded(torch.arange(5), "target")
    words, starts = framed(target, table.frame)
    batch, word = expand(words, starts, table)
    assert (batch.ids[batch.start[:-1]] == BOS).all()
    assert (batch.ids[batch.start[1:] - 1] == EOS).all()
    assert word.tolist() == sorted(word.tolist())
    assert len(set(word.tolist())) == len(words)


def test_following_is_blind_to_scale_and_shift() -> None:
    x = torch.tensor([0.1, 0.5, 0.9, 0.2])
    assert o.follow(3 * x + 1, x).item() == pytest.approx(0, abs=1e-6)
    assert o.follow(-x, x).item() == pytest.approx(2, abs=1e-6)


def test_best_matches_by_hand() -> None:
    similarity = torch.tensor([[[0.9, 0.1, 0.8], [0.3, 0.4, 0.7]]])
    found = o.match(similarity, torch.tensor([[True, True]]), torch.tensor([[True, True, False]]))
    assert found.precision.item() == pytest.approx(0.65)  # .9 and .4; the third is padding
    assert found.recall.item() == pytest.approx(0.65)  # .9 and .4


def test_training_learns_repeats_and_resumes(
    parts: tuple[ParallelCorpus, Teacher, Shape], tmp_path: Path
) -> None:
    corpus, teacher, shape = parts

    def run(name: str, start: Path | None = None) -> dict[str, np.ndarray]:
        torch.manual_seed(0)
        student = e.Student(shape, 24)
        if start is not None:
            student.load_state_dict(load_weights(start)[0])
        e.train_student(e.Losses(corpus, teacher, student, TINY), tmp_path / name)
        stored, found = load_weights(tmp_path / name / "student.safetensors")
        assert found == shape
        return {k: v.numpy() for k, v in stored.items()}

    first, second = run("a"), run("b")
    assert all(np.array_equal(first[k], second[k]) for k in first)
    losses = e.Losses(corpus, teacher, e.Student(shape, 24), TINY)
    rows = next(corpus.batches(600, seed=9))

    def total(weights: dict[str, np.ndarray]) -> float:
        student = e.Student(shape, 24)
        student.load_state_dict({k: torch.from_numpy(v) for k, v in weights.items()})
        losses.student = student
        losses.rng.manual_seed(5)
        with torch.no_grad():
            found = losses(rows)
        return sum(TINY.loss_weights[k] * v.item() for k, v in found.items())

    torch.manual_seed(0)
    fresh = {k: v.numpy() for k, v in e.Student(shape, 24).state_dict().items()}
    resumed = run("c", tmp_path / "a" / "student.safetensors")
    assert total(resumed) < total(first) < total(fresh)


def test_fused_blocks_give_the_same_states() -> None:
    torch.manual_seed(0)
    encoder = Encoder(Shape(50, 16, 2, 4, 32))
    batch = Ragged.of([[1, 7, 9, 2], [1, 8, 2]])
    plain = encoder(batch)[-1]
    for block in encoder.blocks:
        block.split = torch.compile(block.split, dynamic=True, backend="aot_eager")
        block.join = torch.compile(block.join, dynamic=True, backend="aot_eager")
    assert torch.allclose(encoder(batch)[-1], plain, atol=1e-6)
