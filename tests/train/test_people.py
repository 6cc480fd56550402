"""Scores that people gave: as a loss of the students, and as what the teacher is tuned on."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from mtgauge.encode.transformer import Causal, Encoder, Ragged, Shape, log_probability  # noqa: E402
from mtgauge.errors import UsageError  # noqa: E402
from mtgauge.train.embedded import encoder as e  # noqa: E402
from mtgauge.train.embedded.corpus import BOS, EOS  # noqa: E402
from mtgauge.train.embedded.fluency import people_loss, train_language_model  # noqa: E402
from mtgauge.train.embedded.objective import word_means  # noqa: E402
from mtgauge.train.embedded.people import People  # noqa: E402
from mtgauge.train.embedded.prepare import Pairs, _packed, _write, load_pairs, load_pieces  # noqa: E402
from mtgauge.train.embedded.runs import tune_teacher  # noqa: E402
from mtgauge.train.embedded.sampler import ParallelCorpus, _weights  # noqa: E402
from mtgauge.train.embedded.teacher import FIRST, LAST, Teacher  # noqa: E402
from mtgauge.train.embedded.tune import scores, tune  # noqa: E402
from mtgauge.train.embedded.watch import coded, means_by_file, retrieval  # noqa: E402
from mtgauge.train.embedded.watch import halves as cut_halves  # noqa: E402
from mtgauge.train.judged.codes import Book, Coded  # noqa: E402
from mtgauge.train.judged.rows import read_needed  # noqa: E402
from mtgauge.train.nets.weights import load_weights  # noqa: E402
from mtgauge.train.settings import (  # noqa: E402
    ENCODER_LOSSES,
    EncoderTraining,
    LanguageModelTraining,
    TeacherTuning,
)

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
def judged(table: Path, tiny_corpus: Path) -> Coded:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(tiny_corpus / "tokenizer.json"))
    return coded(read_needed([table], []), tokenizer)


def rows_of(human: list[float], lps: list[str], file: str = "f") -> Coded:
    """Rows without texts."""
    n = len(human)
    nothing, ones = np.full(n, -1), np.ones(n)
    numbers = {"hyp": nothing, "src": nothing, "ref": nothing}
    files, scores = np.array([file] * n), np.array(human)
    return Coded(Book.of([]), numbers, np.array(lps), files, scores, ones, ones)


def framed(rows: Coded) -> tuple[list[list[int]], list[list[int]]]:
    """Sources and translations."""
    return rows.framed("src", BOS, EOS), rows.framed("hyp", BOS, EOS)


def test_sequences_are_taken_in_any_order() -> None:
    rows = [[1, 5, 2], [1, 2], [1, 7, 8, 9, 2]]
    taken = Ragged.of(rows).take(torch.tensor([2, 0, 0]))
    assert taken.ids.tolist() == rows[2] + rows[0] + rows[0]
    assert taken.start.tolist() == [0, 5, 8, 11]
    assert taken.longest == 5


def test_only_what_differs_inside_a_pair_counts() -> None:
    texts = [[1, 2]] * 4
    rows = rows_of([1.0, 2.0, 11.0, 12.0], ["de-en", "de-en", "fi-en", "fi-en"])
    people = People.of(texts, texts, rows, "cpu")
    every = torch.arange(4)
    assert people.follow(every, torch.tensor([5.0, 6.0, 0.0, 1.0])).item() == pytest.approx(0)
    assert people.follow(every, torch.tensor([6.0, 5.0, 1.0, 0.0])).item() == pytest.approx(2)


def test_a_translation_is_scored_behind_its_source() -> None:
    torch.manual_seed(0)
    model = Causal(SHAPE).eval()
    first, second = [[1, 300, 301], [1, 302]], [[5, 310, 2], [5, 311, 312, 2]]
    people = People.of(first, second, rows_of([0.0, 1.0], ["de-en"] * 2), "cpu")
    wanted = []
    for x, c in zip(first, second, strict=True):
        hidden = model(Ragged.of([x + c]))[len(x) : -1]
        log_p = log_probability(hidden, model.pieces.weight, torch.tensor(c[1:]))
        wanted.append(log_p.mean())
    every = torch.arange(2)
    own = people_loss(model, people, every)
    assert own.item() == pytest.approx(people.follow(every, torch.stack(wanted)).item(), abs=1e-5)


def test_the_teacher_comes_to_follow_people_and_comes_back(
    tiny_corpus: Path, table: Path, judged: Coded, tmp_path: Path
) -> None:
    files = [tiny_corpus / "teacher.npz"]
    teacher, fixed = Teacher.load(files, dtype=torch.float32), Teacher.load(files)
    above = {n: v.clone() for n, v in teacher.w.items() if "layer.1." in n}
    before = means_by_file(judged, scores(teacher, judged, 1))["seen"]
    tune(teacher, fixed, judged, judged, TeacherTuning(layer=1, epochs=4, batch=16, rate=3e-3))
    after = means_by_file(judged, scores(teacher, judged, 1))["seen"]
    assert after > before
    assert all(torch.equal(teacher.w[n], v) for n, v in above.items())
    teacher.save(tmp_path / "tuned.npz")
    again = Teacher.load([tmp_path / "tuned.npz"])
    assert scores(again, judged, 1) == pytest.approx(scores(teacher, judged, 1), abs=2e-3)
    out = tmp_path / "held.npz"
    how = TeacherTuning(layer=1, epochs=1, batch=16)
    tune_teacher(tiny_corpus, files, [table], out, how, device="cpu")
    assert Teacher.load([out]).layers == teacher.layers


def test_the_best_epoch_is_kept(
    tiny_corpus: Path, judged: Coded, monkeypatch: pytest.MonkeyPatch
) -> None:
    files, name = [tiny_corpus / "teacher.npz"], "encoder.layer.0.output.dense.weight"
    teacher = Teacher.load(files, dtype=torch.float32)
    said, seen = iter([0.1, 0.2, 0.5, 0.3]), []

    def report(teacher: Teacher, *_: object) -> float:
        seen.append(teacher.w[name].detach().clone())
        return next(said)

    monkeypatch.setattr("mtgauge.train.embedded.tune._report", report)
    tune(teacher, Teacher.load(files), judged, judged, TeacherTuning(layer=1, epochs=3, batch=16))
    assert [torch.equal(teacher.w[name], x) for x in seen] == [False, False, True, False]


def test_an_anchor_holds_sentences_where_they_were(tiny_corpus: Path, judged: Coded) -> None:
    files = [tiny_corpus / "teacher.npz"]
    batch = Ragged.of(judged.framed("ref", FIRST, LAST))

    def last(teacher: Teacher) -> Any:
        return word_means(teacher(batch, teacher.layers), batch.row, len(batch))

    def moved(anchor: float) -> float:
        teacher, fixed = Teacher.load(files, dtype=torch.float32), Teacher.load(files)
        how = TeacherTuning(layer=1, epochs=3, batch=16, rate=3e-3, anchor=anchor)
        tune(teacher, fixed, judged, judged, how)
        return 1 - float(torch.cosine_similarity(last(teacher), last(fixed)).mean())

    assert moved(10.0) < moved(0.0) / 2


def test_correlations_are_told_by_file_and_averaged_over_its_pairs() -> None:
    scores = np.array([0.0, 1.0, 3.0, 1.0, 0.0, 2.0, 5.0, 5.0, 1.0])
    human = [1.0, 2.0, 3.0, 3.0, 1.0, 2.0, 1.0, 0.0, -1.0]
    rows = rows_of(human, ["de-en"] * 3 + ["fi-en"] * 3 + ["de-en"] * 3)
    rows = replace(rows, files=np.array(["my da.15.tsv"] * 6 + ["my da.16.tsv.gz"] * 3))

    def r(a: int, b: int) -> float:
        return float(np.corrcoef(scores[a:b], human[a:b])[0, 1])

    wanted = {"my da.15": (r(0, 3) + r(3, 6)) / 2, "my da.16": r(6, 9)}
    assert means_by_file(rows, scores) == pytest.approx(wanted)


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


def test_students_learn_from_people(tiny_corpus: Path, judged: Coded, tmp_path: Path) -> None:
    corpus, teacher = (
        ParallelCorpus.load(tiny_corpus, "cpu"),
        Teacher.load([tiny_corpus / "teacher.npz"]),
    )
    people = People.of(*framed(judged), judged, "cpu")
    student = e.Student(Shape(400, 32, 2, 4, 64), 24)
    only = dict.fromkeys(ENCODER_LOSSES["into-english"], 0.0) | {"people": 1.0}
    tiny = EncoderTraining(steps=40, words=150, warmup=2, rate=3e-3, source_layer=2, people_rows=32,
                      reference_layers=(2,), teacher_layer=1, weights=only)  # fmt: skip
    losses = e.Losses(corpus, teacher, student, tiny, people=people)
    rows = next(corpus.batches(150, 1))
    before = losses(rows)["people"].item()
    e.train_student(e.Losses(corpus, teacher, student, tiny, people=people), tmp_path)
    assert losses(rows)["people"].item() < before - 0.2
    model = Causal(SHAPE)
    first, second = framed(judged)
    both_ways = [
        People.of(*cut_halves(*texts), judged, "cpu")
        for texts in [(first, second), (second, first)]
    ]
    every, weights = torch.arange(len(both_ways[0])), {"text": 0.0, "people": 1.0}
    at_first = [people_loss(model, each, every).item() for each in both_ways]
    settings = LanguageModelTraining(
        steps=40, words=200, warmup=2, rate=3e-3, people=32, weights=weights
    )
    train_language_model(corpus, model, settings, tmp_path, people=both_ways)
    for each, was in zip(both_ways, at_first, strict=True):
        assert people_loss(model, each, every).item() < was - 0.2
    assert load_weights(tmp_path / "fluency.safetensors")[1] == SHAPE


def test_an_origin_is_left_out(tiny_corpus: Path) -> None:
    whole = ParallelCorpus.load(tiny_corpus, "cpu")
    assert whole.shares["tatoeba"] == pytest.approx(1)
    one = load_pairs(tiny_corpus / "de.npz")
    half = np.arange(len(one)) % 2
    mixed = Pairs(one.source, one.target, half.astype(np.int16), ("tatoeba", "bible"))
    weights = _weights(mixed, 0.5, 1.0, {"tatoeba": 0.0, "bible": 0.5})
    assert (weights[half == 0] == 0).all()
    assert weights.sum() == pytest.approx(np.count_nonzero(half) ** 0.5)
    with pytest.raises(UsageError, match="leaves no pair"):
        whole.only(torch.arange(0))
