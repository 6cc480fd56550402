"""Scores that people gave: as a loss of the students, and as what the teacher is tuned on."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from mtgauge.errors import UsageError  # noqa: E402
from mtgauge.train.embedded import encoder as e  # noqa: E402
from mtgauge.train.embedded.fluency import FluencySettings, people_loss, train_fluency  # noqa: E402
from mtgauge.train.embedded.objective import word_means  # noqa: E402
from mtgauge.train.embedded.people import People  # noqa: E402
from mtgauge.train.embedded.prepare import Pairs, _packed, _write, load_pairs, load_pieces  # noqa: E402
from mtgauge.train.embedded.sampler import Corpus, _weights  # noqa: E402
from mtgauge.train.embedded.teacher import Teacher  # noqa: E402
from mtgauge.train.embedded.tune import Tuning, run, scores, tune  # noqa: E402
from mtgauge.train.embedded.watch import Judged, read, retrieval  # noqa: E402
from mtgauge.train.embedded.watch import halves as cut_halves  # noqa: E402
from mtgauge.train.loop.descend import load_weights  # noqa: E402
from mtgauge.train.nets.transformer import Causal, Encoder, Ragged, Shape, log_probability  # noqa: E402

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


def test_the_best_epoch_is_kept(
    tiny_corpus: Path, judged: Judged, monkeypatch: pytest.MonkeyPatch
) -> None:
    files, name = [tiny_corpus / "teacher.npz"], "encoder.layer.0.output.dense.weight"
    teacher = Teacher.load(files, dtype=torch.float32)
    said, seen = iter([0.1, 0.2, 0.5, 0.3]), []

    def report(teacher: Teacher, *_: object) -> float:
        seen.append(teacher.w[name].detach().clone())
        return next(said)

    monkeypatch.setattr("mtgauge.train.embedded.tune._report", report)
    tune(teacher, Teacher.load(files), judged, judged, Tuning(layer=1, epochs=3, batch=16))
    assert [torch.equal(teacher.w[name], x) for x in seen] == [False, False, True, False]


def test_an_anchor_holds_sentences_where_they_were(tiny_corpus: Path, judged: Judged) -> None:
    files = [tiny_corpus / "teacher.npz"]
    batch = Ragged.of(judged.reference)

    def last(teacher: Teacher) -> Any:
        return word_means(teacher(batch, teacher.layers), batch.row, len(batch))

    def moved(anchor: float) -> float:
        teacher, fixed = Teacher.load(files, dtype=torch.float32), Teacher.load(files)
        how = Tuning(layer=1, epochs=3, batch=16, rate=3e-3, anchor=anchor)
        tune(teacher, fixed, judged, judged, how)
        return 1 - float(torch.cosine_similarity(last(teacher), last(fixed)).mean())

    assert moved(10.0) < moved(0.0) / 2


def test_means_are_told_by_file() -> None:
    found = {"my da.15 de-en": 0.2, "my da.15 fi-en": 0.4, "my da.16 de-en": 0.8}
    assert Judged.means(found) == pytest.approx({"my da.15": 0.3, "my da.16": 0.8})


def test_retrieval_is_nearest_by_mean_unit_vector(tiny_corpus: Path, tmp_path: Path) -> None:
    torch.manual_seed(0)
    encoder, pieces = Encoder(Shape(400, 32, 2, 4, 64)), load_pieces(tiny_corpus, "student")
    pairs = load_pairs(tiny_corpus / "heldout.npz", "de.")
    means = []
    for side in (pairs.source, pairs.target):
        rows = [np.concatenate([pieces.row(int(w)) for w in side.row(i)]) for i in range(len(side))]
        with torch.no_grad():
            last = [encoder(Ragged.of([[1, *row, 2]]))[-1][1:-1].numpy() for row in rows]
        mean = np.array([(x / np.linalg.norm(x, axis=1)[:, None]).mean(0) for x in last])
        means.append(mean / np.linalg.norm(mean, axis=1)[:, None])
    near, own = means[0] @ means[1].T, np.arange(len(pairs))
    wanted = ((near.argmax(0) == own).mean() + (near.argmax(1) == own).mean()) / 2
    assert retrieval(encoder, tiny_corpus) == f"retrieval {wanted:.3f}: de {wanted:.3f}"
    bare = Path(shutil.copytree(tiny_corpus, tmp_path / "corpus"))
    _write(bare / "heldout.npz", _packed(pairs, np.arange(0), "de."))
    assert "no language" in retrieval(encoder, bare)


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
    halves = People.of(*cut_halves(judged.source, judged.hypothesis), judged, "cpu")
    every, weights = torch.arange(len(halves)), {"text": 0.0, "people": 1.0}
    before = people_loss(model, halves, every).item()
    settings = FluencySettings(steps=20, words=200, warm=2, rate=3e-3, people=32, weights=weights)
    train_fluency(corpus, model, settings, tmp_path, people=halves)
    assert people_loss(model, halves, every).item() < before - 0.2
    assert load_weights(tmp_path / "fluency.safetensors")[1] == SHAPE


def test_an_origin_is_left_out(tiny_corpus: Path) -> None:
    whole = Corpus.load(tiny_corpus, "cpu")
    assert whole.shares["tatoeba"] == pytest.approx(1)
    one = load_pairs(tiny_corpus / "de.npz")
    half = np.arange(len(one)) % 2
    mixed = Pairs(one.source, one.target, half.astype(np.int16), ("tatoeba", "bible"))
    weights = _weights(mixed, 0.5, 1.0, ["tatoeba"])
    assert (weights[half == 0] == 0).all()
    assert weights.sum() == pytest.approx(np.count_nonzero(half) ** 0.5)
    with pytest.raises(UsageError, match="leaves no pair"):
        whole.only(torch.arange(0))
