"""Translations drawn from the language model, as words of the corpus, with ratings."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from mtgauge.encode.transformer import Causal, Ragged, Shape  # noqa: E402
from mtgauge.train.embedded import encoder as e  # noqa: E402
from mtgauge.train.embedded.corpus import BOS, EOS, SEP  # noqa: E402
from mtgauge.train.embedded.decode import translate  # noqa: E402
from mtgauge.train.embedded.fluency import train_language_model  # noqa: E402
from mtgauge.train.embedded.new_words import as_words  # noqa: E402
from mtgauge.train.embedded.prepare import load_types  # noqa: E402
from mtgauge.train.embedded.sampler import ParallelCorpus  # noqa: E402
from mtgauge.train.embedded.samples import Samples, _rated, draw, piece_rows  # noqa: E402
from mtgauge.train.embedded.teacher import Teacher  # noqa: E402
from mtgauge.train.nets.weights import load_weights  # noqa: E402
from mtgauge.train.settings import EncoderTraining, LanguageModelTraining, Sampling  # noqa: E402

SHAPE = Shape(400, 32, 2, 4, 64, embedding=16)


@pytest.fixture
def own(tiny_corpus: Path, tmp_path: Path) -> Path:
    """A copy that may grow."""
    return Path(shutil.copytree(tiny_corpus, tmp_path / "corpus"))


def test_the_coldest_draw_is_the_likeliest_piece_each_time() -> None:
    torch.manual_seed(0)
    model = Causal(SHAPE).eval()
    model.pieces.weight.data *= 20
    prefixes = [[BOS, 300, 310, 320, SEP], [BOS, 350, SEP]]
    heat = torch.full((2,), 1e-6)
    drawn = translate(model, Ragged.of(prefixes), heat, 6, torch.Generator().manual_seed(1))
    for prefix, row in zip(prefixes, drawn.tolist(), strict=True):
        text = list(prefix)
        for i, piece in enumerate(row):
            logits = model(Ragged.of([text]))[-1] @ model.pieces.weight.T
            logits[: EOS + (i == 0)] = -torch.inf  # nothing but the end of what is special
            logits[EOS + 1 : 262] = -torch.inf
            wanted = int(logits.argmax())
            assert piece == (-1 if wanted == EOS else wanted)
            if wanted == EOS:
                break
            text.append(wanted)


def test_known_words_are_found_and_new_ones_join_the_corpus(own: Path) -> None:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(own / "tokenizer.json"))
    before = load_types(own)
    texts = ["the dog sees a book .", "the zebu loves may ."]
    rows = [tokenizer.encode(text, add_special_tokens=False).ids for text in texts]
    flat = torch.tensor([x for row in rows for x in row])
    start = torch.tensor([0, len(rows[0]), len(flat)])
    types, words = as_words(own, flat, start)
    names = load_types(own)
    found = [" ".join(names[t][1:] for t in types[a:b]) for a, b in ((0, words[1]), (words[1], -1))]
    assert words.tolist() == [0, 6, 11]
    assert found == ["the dog sees a book .", "the zebu loves may"]
    assert names == [*before, "▁zebu"]
    corpus = ParallelCorpus.load(own, "cpu")
    table = corpus.tables("student", BOS, EOS)
    at = len(before)
    zebu = tokenizer.encode("zebu", add_special_tokens=False).ids
    assert table.flat[table.start[at] : table.start[at + 1]].tolist() == zebu


def test_samples_are_drawn_rated_stored_and_learned_from(own: Path, tmp_path: Path) -> None:
    corpus, teacher = ParallelCorpus.load(own, "cpu"), Teacher.load([own / "teacher.npz"])
    torch.manual_seed(0)
    model = Causal(SHAPE)
    settings = LanguageModelTraining(
        steps=60, words=500, warmup=3, rate=5e-3, given=1.0, reverse=0.0
    )
    train_language_model(corpus, model, settings, tmp_path)
    made = draw(corpus, model, teacher, Sampling(rows=80, each=2, layer=1, batch=50))
    made.save(own)
    corpus, samples = ParallelCorpus.load(own, "cpu"), Samples.load(own, "cpu")
    assert len(samples.row) == 80
    assert (samples.row.diff() > 0).all()
    assert torch.equal(samples.words, made.words)
    # a translation that is the reference itself has the highest rating there is
    target, slots = corpus.padded(samples.row, "target"), samples.padded(samples.row)
    same = [
        slot[slot >= 0].tolist() == row[row >= 0].tolist()
        for versions, row in zip(slots, target, strict=True)
        for slot in versions
    ]
    assert samples.score.max() <= 1 + 1e-5
    assert samples.score[~torch.tensor(same)].max() < 0.9999
    start = torch.nn.functional.pad((target >= 0).sum(1).cumsum(0), (1, 0))
    copies = Samples(samples.row, target[target >= 0], start, torch.zeros(80), 1)
    assert _rated(copies, corpus, teacher, 1).score.tolist() == pytest.approx([1] * 80, abs=1e-4)
    pieces = piece_rows(samples, corpus)
    assert len(pieces["score"]) == len(pieces["sample_start"]) - 1 == 160
    assert pieces["reference"].min() > EOS

    student = e.Student(Shape(400, 32, 2, 4, 64), 24)
    tiny = EncoderTraining(
        steps=4, words=200, warmup=2, source_layer=2, reference_layers=(1, 2), teacher_layer=1
    )
    start = {k: v.clone() for k, v in student.state_dict().items()}
    e.train_student(e.Losses(corpus, teacher, student, tiny, samples), tmp_path / "run")
    stored, _ = load_weights(tmp_path / "run" / "student.safetensors")
    assert any(not torch.equal(stored[k], start[k].half().float()) for k in stored)
