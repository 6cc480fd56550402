"""Training for both directions: fixed shapes agree with ragged ones, slips are mirrored, a step
learns and repeats, a source's turned vectors do not match its copy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from mtgauge.train.embedded import fixed as f  # noqa: E402
from mtgauge.train.embedded import objective as o  # noqa: E402
from mtgauge.train.embedded.both import WEIGHTS, Both, Losses  # noqa: E402
from mtgauge.train.embedded.corpus import BOS, EOS  # noqa: E402
from mtgauge.train.embedded.corrupt import flat_rows  # noqa: E402
from mtgauge.train.embedded.encoder import Student  # noqa: E402
from mtgauge.train.embedded.mirror import Back, Facts, align, slip  # noqa: E402
from mtgauge.train.embedded.prepare import load_types  # noqa: E402
from mtgauge.train.embedded.sampler import Corpus  # noqa: E402
from mtgauge.train.embedded.select import WEIGHT, quotas, select  # noqa: E402
from mtgauge.train.embedded.teacher import FIRST, LAST, Teacher  # noqa: E402
from mtgauge.train.embedded.vectors import sentences  # noqa: E402
from mtgauge.train.loop.descend import descend, load_weights  # noqa: E402
from mtgauge.train.nets.transformer import Encoder, Shape  # noqa: E402

SHAPE = Shape(400, 64, 2, 4, 64)
TINY = Both(steps=12, pieces=2000, warm=3, rate=3e-3, layer=1, teacher_layer=1)


@pytest.fixture
def corpus(tiny_corpus: Path) -> Corpus:
    return Corpus.load(tiny_corpus, "cpu")


def texts_of(corpus: Corpus, rows: torch.Tensor, wide: int) -> tuple[torch.Tensor, torch.Tensor]:
    return (
        f.rows_of(corpus.source, corpus.source_start, rows, wide),
        f.rows_of(corpus.target, corpus.target_start, rows, wide),
    )


def test_fixed_shapes_hold_what_ragged_ones_hold(corpus: Corpus) -> None:
    table = corpus.tables("student", BOS, EOS)
    _, target = texts_of(corpus, torch.arange(9), 20)
    ragged, _, _ = flat_rows([target], table)
    laid = f.lay_out(target, table, 40)
    assert torch.equal(laid.ids[laid.real], ragged.ids)
    torch.manual_seed(0)
    encoder = Encoder(SHAPE)
    fixed = f.encode(encoder, laid)[-1][laid.real]
    assert torch.allclose(fixed, encoder(ragged)[-1], atol=1e-5)


def test_the_teacher_says_the_same_in_both_layouts(corpus: Corpus, tiny_corpus: Path) -> None:
    teacher = Teacher.load([tiny_corpus / "teacher.npz"])
    table = corpus.tables("teacher", FIRST, LAST)
    _, target = texts_of(corpus, torch.arange(5), 20)
    ragged, _, _ = flat_rows([target], table)
    laid = f.lay_out(target, table, 40)
    wanted = teacher(ragged, 2)
    assert torch.allclose(f.FixedTeacher(teacher)(laid, 2)[laid.real], wanted, atol=1e-4)


def test_a_text_that_is_too_long_is_cut(corpus: Corpus) -> None:
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


def test_what_happens_to_english_happens_to_the_foreign_side(corpus: Corpus) -> None:
    names = load_types(corpus.folder)
    rows = torch.arange(200)
    source, target = texts_of(corpus, rows, 16)
    exact, _ = align(source, target, corpus.lang[rows], corpus.slips)
    dog = {names.index("▁hund"): names.index("▁dog"), names.index("▁haus"): names.index("▁house")}
    for foreign, english in dog.items():
        at = (source == foreign).nonzero()
        assert len(at)
        found = exact[at[:, 0], at[:, 1]]
        assert (target[at[:, 0], found] == english).float().mean() > 0.9
    back = Back.load(corpus.folder, corpus.langs, "cpu")
    facts = Facts.load(corpus.folder, "cpu")
    rng = torch.Generator().manual_seed(1)
    none = torch.full_like(target, -1)
    made = slip(target, source, corpus.lang[rows], corpus.slips, back, facts, 4, rng, none)

    def kept(slots: torch.Tensor, words: torch.Tensor) -> np.ndarray:
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


def test_a_turned_source_is_not_its_own_translation() -> None:
    vectors = f.unit(torch.randn(2, 5, 3 * f.TURNED))
    inner = torch.ones(2, 5, dtype=torch.bool)
    copy = f.match(vectors[:, None], inner[:, None], f.turned(vectors), inner)
    plain = f.match(vectors[:, None], inner[:, None], vectors, inner)
    assert (plain.f > 0.99).all()
    assert (copy.f < 0.8).all()
    assert torch.equal(f.turned(f.turned(vectors)), vectors)


def test_training_learns_and_repeats(corpus: Corpus, tiny_corpus: Path, tmp_path: Path) -> None:
    teacher = Teacher.load([tiny_corpus / "teacher.npz"])
    texts = 2 + 2 * TINY.made

    def run(name: str) -> dict[str, torch.Tensor]:
        torch.manual_seed(0)
        student = Student(SHAPE, 24)
        losses = Losses(corpus, teacher, student, TINY, None, None, False)
        drawn = f.batches(corpus, TINY.pieces, texts, TINY.seed)
        descend(student, SHAPE, drawn, losses, WEIGHTS, TINY, tmp_path / name)
        return load_weights(tmp_path / name)[0]

    first, second = run("a"), run("b")
    assert all(torch.equal(first[name], second[name]) for name in first)

    def total(weights: dict[str, torch.Tensor]) -> float:
        student = Student(SHAPE, 24)
        student.load_state_dict(weights)
        losses = Losses(corpus, teacher, student, TINY, None, None, False)
        with torch.no_grad():
            found = losses(next(f.batches(corpus, TINY.pieces, texts, 9)))
        return sum(WEIGHTS[name] * value.item() for name, value in found.items())

    torch.manual_seed(0)
    assert total(first) < total(Student(SHAPE, 24).state_dict())


def test_no_origin_drowns_the_others(tmp_path: Path) -> None:
    taken = quotas({"europarl": 100_000, "tatoeba": 10_000, "ud-pud": 100}, 20_000)
    assert taken["ud-pud"] == 100
    assert sum(taken.values()) == pytest.approx(20_000, abs=3)
    assert taken["europarl"] < 3 * taken["tatoeba"]
    file = tmp_path / "de-en.tsv"
    lines = [f"ein satz {i}\ta sentence {i}\ttatoeba\n" for i in range(50)]
    file.write_text("".join([*lines, "nicht frei\tnot free at all\tcalibre\n"]), encoding="utf-8")
    chosen = select("de", [file])
    assert len(chosen) == 50
    assert {tag for _, _, tag in chosen} <= set(WEIGHT)
    assert "nicht frei" in set(sentences([file], "de"))
    assert "nicht frei" not in set(sentences([file], "de", free=True))


def test_rows_for_trained_metrics_in_both_directions(corpus: Corpus) -> None:
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


def test_an_encoder_may_turn_its_sources(tmp_path: Path) -> None:
    import json
    import shutil

    from mtgauge import load
    from mtgauge.data.segments import Segments
    from mtgauge.encode import model_folder

    shipped = model_folder("embedded", "encoder")
    assert shipped is not None
    shutil.copytree(shipped, tmp_path / "mine")
    card = json.loads((tmp_path / "mine" / "card.json").read_text(encoding="utf-8"))
    (tmp_path / "mine" / "card.json").write_text(json.dumps(card | {"turned": 48}))
    batch = Segments(["Das ist ein Haus."], sources=["Das ist ein Haus."], lang="de-en")
    options = "lm=off,copy_penalty=0"
    plain = load(f"xmoverscore:{options}")
    mine = load(f"xmoverscore:{options},encoder={tmp_path / 'mine'}")
    same = Segments(["Das ist ein Haus."], references=[("Das ist ein Haus.",)], lang="en-de")
    with_reference = load(f"bertscore:encoder={tmp_path / 'mine'}")
    assert plain.statistics(batch)[0, 0] == pytest.approx(1, abs=1e-3)
    assert mine.statistics(batch)[0, 0] < 0.95
    assert with_reference.segment_score(with_reference.statistics(same))[0] > 0.99
