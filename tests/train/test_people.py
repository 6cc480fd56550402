"""Scores that people gave: as a loss of the students, and as what the teacher is tuned on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from mtgauge.train import encoder as e  # noqa: E402
from mtgauge.train.descend import load_weights  # noqa: E402
from mtgauge.train.fluency import FluencySettings, people_loss, train_fluency  # noqa: E402
from mtgauge.train.model import Causal, Ragged, Shape, log_probability  # noqa: E402
from mtgauge.train.people import People  # noqa: E402
from mtgauge.train.sampler import Corpus  # noqa: E402
from mtgauge.train.teacher import Teacher  # noqa: E402
from mtgauge.train.tune import Tuning, run, scores, tune  # noqa: E402
from mtgauge.train.watch import Judged, read  # noqa: E402

SHAPE = Shape(400, 32, 2, 4, 64, embedding=16)


@pytest.fixture
def table(tmp_path: Path, invented: list[tuple[str, str]]) -> Path:
    """Translations of which every second one has lost words; people saw that."""
    lines = ["lp\tsystem\tsid\tsource\treference\thypothesis\thuman"]
    for i, (german, english) in enumerate(invented[:80]):
        words = english.split()
        worse = " ".join(words[:2]) if i % 2 else english
        lines.append(f"de-en\t-\t{i}\t{german}\t{english}\t{worse}\t{1 - 2 * (i % 2) + i / 1000}")
    file = tmp_path / "seen.tsv"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


@pytest.fixture
def judged(table: Path, tiny_corpus: Path) -> Judged:
    from tokenizers import Tokenizer

    return Judged.of(read([table]), Tokenizer.from_file(str(tiny_corpus / "tokenizer.json")))


def test_sequences_are_taken_in_any_order() -> None:
    rows = [[1, 5, 2], [1, 2], [1, 7, 8, 9, 2]]
    taken = Ragged.of(rows).take(torch.tensor([2, 0, 0]))
    assert taken.ids.tolist() == rows[2] + rows[0] + rows[0]
    assert taken.start.tolist() == [0, 5, 8, 11]
    assert taken.longest == 5


def test_only_what_differs_inside_a_pair_counts() -> None:
    human = np.array([1.0, 2.0, 11.0, 12.0])
    texts = [[1, 2]] * 4
    rows = Judged(texts, texts, texts, human, ["f de-en", "f de-en", "f fi-en", "f fi-en"])
    people = People.of(texts, texts, rows, "cpu")
    every = torch.arange(4)
    assert people.follow(every, torch.tensor([5.0, 6.0, 0.0, 1.0])).item() == pytest.approx(0)
    assert people.follow(every, torch.tensor([6.0, 5.0, 1.0, 0.0])).item() == pytest.approx(2)


def test_a_translation_is_scored_behind_its_source() -> None:
    torch.manual_seed(0)
    model = Causal(SHAPE).eval()
    first, second = [[1, 300, 301], [1, 302]], [[5, 310, 2], [5, 311, 312, 2]]
    rows = Judged(first, first, second, np.array([0.0, 1.0]), ["f de-en"] * 2)
    people = People.of(first, second, rows, "cpu")
    wanted = []
    for x, c in zip(first, second, strict=True):
        hidden = model(Ragged.of([x + c]))[len(x) : -1]
        log_p = log_probability(hidden, model.pieces.weight, torch.tensor(c[1:]))
        wanted.append(log_p.mean())
    every = torch.arange(2)
    own = people_loss(model, people, every)
    assert own.item() == pytest.approx(people.follow(every, torch.stack(wanted)).item(), abs=1e-5)


def test_the_teacher_comes_to_follow_people_and_comes_back(
    tiny_corpus: Path, table: Path, judged: Judged, tmp_path: Path
) -> None:
    files = [tiny_corpus / "teacher.npz"]
    teacher, fixed = Teacher.load(files, dtype=torch.float32), Teacher.load(files)
    above = {n: v.clone() for n, v in teacher.w.items() if "layer.1." in n}
    before = judged.pearson(scores(teacher, judged, 1))["seen de-en"]
    tune(teacher, fixed, judged, judged, Tuning(layer=1, epochs=4, batch=16, rate=3e-3))
    after = judged.pearson(scores(teacher, judged, 1))["seen de-en"]
    assert after > before
    assert all(torch.equal(teacher.w[n], v) for n, v in above.items())
    teacher.save(tmp_path / "tuned.npz")
    again = Teacher.load([tmp_path / "tuned.npz"])
    assert scores(again, judged, 1) == pytest.approx(scores(teacher, judged, 1), abs=2e-3)
    out = tmp_path / "held.npz"
    run(tiny_corpus, files, [table], [], out, "cpu", Tuning(layer=1, epochs=1, batch=16))
    assert Teacher.load([out]).layers == teacher.layers


def test_students_learn_from_people(tiny_corpus: Path, judged: Judged, tmp_path: Path) -> None:
    corpus, teacher = Corpus.load(tiny_corpus, "cpu"), Teacher.load([tiny_corpus / "teacher.npz"])
    people = People.of(judged.source, judged.hypothesis, judged, "cpu")
    student = e.Student(Shape(400, 32, 2, 4, 64), 24)
    only = dict.fromkeys(e.WEIGHTS, 0.0) | {"people": 1.0}
    tiny = e.Settings(steps=40, words=150, warm=2, rate=3e-3, source_layer=2, people=32,
                      reference_layers=(2,), teacher_layer=1, weights=only)  # fmt: skip
    losses = e.Losses(corpus, teacher, student, tiny, people=people)
    rows = next(corpus.batches(150, 1))
    before = losses(rows)["people"].item()
    e.train(corpus, teacher, student, tiny, tmp_path, people=people)
    assert losses(rows)["people"].item() < before - 0.2
    model = Causal(SHAPE)
    halves = People.of([r[:-1] for r in judged.source], [[5, *r[1:]] for r in judged.hypothesis],
                       judged, "cpu")  # fmt: skip
    settings = FluencySettings(steps=3, words=200, warm=2, people=16)
    train_fluency(corpus, model, settings, tmp_path, people=halves)
    assert load_weights(tmp_path / "fluency.safetensors")[1] == SHAPE


def test_an_origin_is_left_out(tiny_corpus: Path) -> None:
    whole = Corpus.load(tiny_corpus, "cpu")
    assert whole.shares["tatoeba"] == pytest.approx(1)
    from mtgauge.train.prepare import Pairs, load_pairs
    from mtgauge.train.sampler import _weights

    one = load_pairs(tiny_corpus / "de.npz")
    half = np.arange(len(one)) % 2
    mixed = Pairs(one.source, one.target, half.astype(np.int16), ("tatoeba", "bible"))
    weights = _weights(mixed, 0.5, 1.0, ["tatoeba"])
    assert (weights[half == 0] == 0).all()
    assert weights.sum() == pytest.approx(np.count_nonzero(half) ** 0.5)
