"""The language model's training: sequences, word chances, learning."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from recipe_files import recipe

torch = pytest.importorskip("torch")

from mtgauge.encode.transformer import Causal, Ragged, Shape, log_probability  # noqa: E402
from mtgauge.train.embedded.corpus import BOS, EOS, SEP  # noqa: E402
from mtgauge.train.embedded.fluency import (  # noqa: E402
    ranked_loss,
    sequences,
    train_language_model,
)
from mtgauge.train.embedded.sampler import ParallelCorpus  # noqa: E402
from mtgauge.train.embedded.samples import Samples  # noqa: E402
from mtgauge.train.onnx.restore import load_causal  # noqa: E402
from mtgauge.train.settings import LanguageModelTraining  # noqa: E402

SHAPE = Shape(400, 32, 2, 4, 64, embedding=16)


def test_what_comes_later_does_not_matter() -> None:
    torch.manual_seed(0)
    model = Causal(SHAPE)
    long, short = model(Ragged.of([[1, 300, 301, 302, 2]])), model(Ragged.of([[1, 300, 301]]))
    assert torch.allclose(long[:3], short, atol=1e-5)


def test_sources_are_learned_in_part_and_ends_not(tiny_corpus: Path) -> None:
    corpus = ParallelCorpus.load(tiny_corpus, "cpu")
    table = corpus.tables("student", BOS, EOS)
    rng = torch.Generator().manual_seed(0)
    settings = LanguageModelTraining(given=0.5)
    batch, learned = sequences(corpus, torch.arange(200), table, settings, rng)
    paired, of_sources = 0, []
    for begin, end in zip(batch.start[:-1].tolist(), batch.start[1:].tolist(), strict=True):
        ids, mine = batch.ids[begin:end].tolist(), learned[begin:end].tolist()
        assert (ids[0], ids[-1], mine[-1]) == (BOS, EOS, False)
        cut = ids.index(SEP) if SEP in ids else 0
        paired += cut > 0
        of_sources += mine[:cut]
        assert mine[cut:-1] == [True] * (len(ids) - 1 - cut)
    assert 60 < paired < 140
    assert sum(of_sources) / len(of_sources) == pytest.approx(settings.source_share, abs=0.05)


def test_a_words_chance_is_the_sum_of_its_pieces() -> None:
    batch = Ragged.of([[1, 10, 11, 12, 2], [1, 13, 2]])
    word = torch.tensor([0, 1, 1, 2, 3, 4, 5, 6])
    log_p = torch.tensor([-1.0, -2, -3, -4, -99, -5, -6, -99])
    found = recipe("reader").word_chances(log_p, batch, word, 7)
    assert found.tolist() == [0, -3, -3, -4, 0, -5, -6]


def test_training_lowers_the_loss_and_saves(tiny_corpus: Path, tmp_path: Path) -> None:
    corpus = ParallelCorpus.load(tiny_corpus, "cpu")
    torch.manual_seed(0)
    model = Causal(SHAPE)
    table = corpus.tables("student", BOS, EOS)
    settings = LanguageModelTraining(steps=25, words=400, warmup=3, rate=5e-3)
    batch, learned = sequences(
        corpus, torch.arange(60), table, settings, torch.Generator().manual_seed(3)
    )

    def loss(model: Causal) -> float:
        with torch.no_grad():
            log_p = log_probability(model(batch), model.pieces.weight, batch.ids.roll(-1))
        return -log_p[learned].mean().item()

    before = loss(model)
    train_language_model(corpus, model, settings, tmp_path)
    assert loss(load_causal(tmp_path / "fluency.safetensors")) < before - 1


def test_words_come_to_be_as_likely_as_the_reader_finds_them(
    tiny_corpus: Path, tmp_path: Path
) -> None:
    """A reader with the same pieces, which finds some of them likely and the others not."""
    folder = Path(shutil.copytree(tiny_corpus, tmp_path / "corpus"))
    with np.load(folder / "pieces.npz") as stored:
        arrays = {name: stored[name] for name in stored.files}
    theirs = {name.replace("student", "reader"): value for name, value in arrays.items()}
    np.savez(folder / "pieces.npz", **(theirs | arrays))

    def parity(batch: Ragged):
        return torch.where(batch.ids.roll(-1) % 2 == 0, -0.5, -5.0)

    corpus, reading = ParallelCorpus.load(folder, "cpu"), recipe("reader").Reading(parity)
    torch.manual_seed(0)
    model = Causal(SHAPE)

    def loss() -> float:
        rng = torch.Generator().manual_seed(3)
        with torch.no_grad():
            return reading(model, corpus, torch.arange(150), rng).item()

    before = loss()
    settings = LanguageModelTraining(steps=25, words=400, warmup=3, rate=5e-3)
    train_language_model(corpus, model, settings, tmp_path, also={"read": reading})
    assert loss() < before - 0.5


def test_ranking_follows_the_teachers_rating(tiny_corpus: Path, tmp_path: Path) -> None:
    corpus = ParallelCorpus.load(tiny_corpus, "cpu")
    torch.manual_seed(0)
    model = Causal(SHAPE)
    # the second "translation" of every source is that of its neighbour, and rated lower
    rows = torch.arange(100)
    target = [t[t >= 0] for t in corpus.padded(rows, "target")]
    words = [x for i in range(100) for x in (target[i], target[(i + 1) % 100])]
    start = torch.nn.functional.pad(torch.tensor([len(w) for w in words]).cumsum(0), (1, 0))
    score = torch.tensor([0.9, 0.3]).repeat(100) + 0.01 * torch.rand(200)
    samples = Samples(rows, torch.cat(words), start, score, 2)
    table = corpus.tables("student", BOS, EOS)

    def loss(model: Causal) -> float:
        with torch.no_grad():
            return ranked_loss(model, corpus, samples, rows, table).item()

    before = loss(model)
    settings = LanguageModelTraining(steps=40, words=400, warmup=3, rate=5e-3)
    train_language_model(corpus, model, settings, tmp_path, samples=samples)
    assert loss(model.eval()) < before - 0.3
