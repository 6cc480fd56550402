"""STD against the paper's own steps, spelt out slowly, and against PyEMD."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import mtgauge
from mtgauge.compare.semantic import TravelSettings, problems, travel
from mtgauge.data.segments import Segments
from mtgauge.encode import load_encoder
from mtgauge.encode.words.store import write_store
from mtgauge.errors import ResourceError, UsageError
from mtgauge.metrics.std import AS_WORST, BY_SPELLING, STD
from tiny_models import encoder_folders

rng = np.random.default_rng(12)
NAMES = ["one", "two", "three", "four", "five", "six", "seven"]
TABLE = rng.normal(size=(len(NAMES), 6)).astype(np.float32)


def cosine(x: np.ndarray, y: np.ndarray) -> float:
    return float(x @ y / (np.linalg.norm(x) * np.linalg.norm(y)))


def slow_problem(
    ref: list[int], hyp: list[int], n: int, by_set: bool = False
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ground distances and both masses of one order, step by step as the paper has them."""

    def grams(text: list[int]) -> list[tuple[int, ...]]:
        if len(text) < n:
            return [tuple(text + text[-1:] * (n - len(text)))]
        return [tuple(text[k : k + n]) for k in range(len(text) - n + 1)]

    lists = {"ref": grams(ref), "hyp": grams(hyp)}
    union = list(dict.fromkeys(lists["ref"] + lists["hyp"]))
    x = {g: np.concatenate([TABLE[w].astype(np.float64) for w in g]) for g in union}
    masses = []
    for name in ("ref", "hyp"):
        members = list(dict.fromkeys(lists[name])) if by_set else lists[name]
        centroid = np.mean([x[g] for g in members], axis=0)
        sim = np.array([1.0 if g in members else cosine(x[g], centroid) for g in union])
        masses.append(np.exp(sim) / np.exp(sim).sum())
    place = {}
    for name, found in lists.items():
        place[name] = {g: (k + 1) / len(found) for k, g in enumerate(found)}
    distance = np.zeros((len(union), len(union)))
    for i, a in enumerate(union):
        for j, b in enumerate(union):
            moved = 0.0
            if a in place["ref"] and b in place["hyp"]:
                moved = abs(place["ref"][a] - place["hyp"][b])
            if a in place["hyp"] and b in place["ref"] and moved == 0:
                moved = abs(place["hyp"][a] - place["ref"][b])
            apart = 0.0 if i == j else 1 - max(cosine(x[a], x[b]), 0)
            distance[i, j] = 0.6 * apart + 0.4 * moved
    return distance, masses[0], masses[1]


def linear_program(c: np.ndarray, a: np.ndarray, b: np.ndarray) -> float:
    n, m = c.shape
    rows, columns = np.kron(np.eye(n), np.ones(m)), np.kron(np.ones(n), np.eye(m))
    found = linprog(
        c.ravel(), A_eq=np.vstack([rows, columns])[:-1], b_eq=np.concatenate([a, b])[:-1]
    )
    return float(found.fun)


def ours(ref: list[int], hyp: list[int], settings: TravelSettings) -> np.ndarray:
    words, at = np.array(ref + hyp), np.array([0, len(ref), len(ref) + len(hyp)])
    return travel(TABLE, words, at, np.array([0]), np.array([1]), settings)[0]


TEXT = st.lists(st.integers(0, len(NAMES) - 1), min_size=1, max_size=8)


@settings(max_examples=60, deadline=None)
@given(TEXT, TEXT, st.booleans())
def test_equals_the_paper_step_by_step(ref: list[int], hyp: list[int], by_set: bool) -> None:
    from pyemd import emd

    exact = ours(ref, hyp, TravelSettings(centroid_of_set=by_set))
    cancelled = ours(ref, hyp, TravelSettings(centroid_of_set=by_set, cancel=True))
    for column, n in enumerate((1, 2)):
        c, a, b = slow_problem(ref, hyp, n, by_set)
        assert exact[column] == pytest.approx(linear_program(c, a, b), abs=2e-6)
        assert cancelled[column] == pytest.approx(emd(a, b, c, backend="cpp"), abs=1e-5)


@settings(max_examples=60, deadline=None)
@given(TEXT, TEXT)
def test_laws(ref: list[int], hyp: list[int]) -> None:
    for cancel in (False, True):
        setting = TravelSettings(cancel=cancel)
        there, back = ours(ref, hyp, setting), ours(hyp, ref, setting)
        np.testing.assert_allclose(there, back, rtol=0, atol=1e-6)
        assert (there >= 0).all()
        assert (there <= 1).all()
        assert (ours(ref, ref, setting) == 0).all()


def test_three_grams_and_longer_equal_the_slow_way() -> None:
    ref, hyp = [0, 1, 2, 3, 1], [1, 2, 4, 5]
    found = ours(ref, hyp, TravelSettings(orders=(3, 4)))
    for value, n in zip(found, (3, 4), strict=True):
        assert value == pytest.approx(linear_program(*slow_problem(ref, hyp, n)), abs=2e-6)


def test_a_word_moved_from_end_to_start_pays_its_way() -> None:
    """Figures 1 and 2: only the order term differs, 0.4 |9/9 - 1/9|, whatever the vectors."""
    many = rng.normal(size=(10, 5)).astype(np.float32)
    ref = np.arange(9)
    last, first = np.array([*range(8), 9]), np.array([9, *range(7, -1, -1)])
    near, far = (problems(many, ref, hyp, TravelSettings(orders=(1,)))[0] for hyp in (last, first))
    assert far.distance[8, 9] - near.distance[8, 9] == pytest.approx(0.355556, abs=1e-6)


def test_masses_of_table_one() -> None:
    """Nine of thirteen words in the text: in-document weight 0.09, as the paper prints it."""
    similar = np.array([1.0] * 9 + [0.307, 0.412, 0.392, 0.329])
    want = np.exp(similar) / np.exp(similar).sum()
    assert want[0] == pytest.approx(0.09, abs=5e-4)
    many = rng.normal(size=(13, 8)).astype(np.float32)
    problem = problems(many, np.arange(9), np.arange(4, 13), TravelSettings(orders=(1,)))[0]
    assert problem.left.sum() == pytest.approx(1, abs=1e-12)
    assert np.ptp(problem.left[:9]) < 1e-12
    assert (problem.left[9:] < problem.left[0]).all()


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("vectors") / "toy"
    write_store(folder, NAMES, TABLE)
    return str(folder)


def score(metric: STD, hyp: str, *refs: str, lang: str | None = "de-en") -> float:
    rows = metric.statistics(Segments([hyp], references=[refs], lang=lang))
    return float(metric.segment_score(rows)[0])


def test_weights_of_segment_and_system() -> None:
    row = np.array([[0.2, 0.4]])
    assert STD().segment_score(row)[0] == pytest.approx(0.30)
    assert STD().system_score(2 * row, np.array([2.0]))[0] == pytest.approx(0.34)


def test_the_nearest_reference_counts(store: str) -> None:
    metric = STD(vectors=store)
    near, far = score(metric, "one two", "one two three"), score(metric, "one two", "six seven")
    assert near < far
    assert score(metric, "one two", "six seven", "one two three") == near


def test_permutations_are_free_for_pyemd_and_not_for_lp(store: str) -> None:
    one = Segments(["three two one"], references=[("one two three",)], lang="de-en")
    assert STD(vectors=store, preset="pyemd").statistics(one)[0, 0] == 0.0
    assert STD(vectors=store, preset="lp").statistics(one)[0, 0] == pytest.approx(
        0.4 * 4 / 9, abs=1e-9
    )


def test_text_without_any_known_word_is_worst_and_counted(store: str) -> None:
    for oov in ("spelling", "paper", "drop"):
        metric = STD(vectors=store, oov=oov)
        assert score(metric, "neverseen", "one two") == 1.0
        assert score(metric, "", "one two") == 1.0
        assert score(metric, "one", "neverseen") == 1.0
        assert metric.notes[AS_WORST] == 3


def test_a_full_stop_is_no_known_word() -> None:
    metric = STD()
    assert score(metric, "Zxqv wrtlk.", "The house.") == 1.0
    assert score(metric, ".", "The house.") == 1.0
    assert metric.notes[AS_WORST] == 2
    assert score(metric, "?", "?") == 0.0
    assert 0.0 < score(metric, "Zxqv wrtlk.", "Zxqv.") < 1.0
    assert metric.notes[BY_SPELLING] == 2


def test_unknown_names_still_match_by_spelling(store: str) -> None:
    spelt, dropped = STD(vectors=store), STD(vectors=store, oov="drop")
    assert score(spelt, "neverseen", "neverseen") == 0.0
    assert score(spelt, "one neverseen", "one other") > 0
    assert score(dropped, "one neverseen", "one other") == 0.0
    assert dropped.notes["no_vector"] == 2


def test_punctuation_may_be_left_out(store: str) -> None:
    assert score(STD(vectors=store, punctuation="drop"), "One, two!", "one two.") == 0.0
    assert score(STD(vectors=store), "One, two!", "one two.") > 0


def test_languages_without_vectors_say_what_to_do(store: str) -> None:
    with pytest.raises(ResourceError, match=r"'sw'.*mtgauge vectors convert"):
        score(STD(), "a", "b", lang="en-sw")
    assert score(STD(vectors=store), "one", "one", lang="en-sw") == 0.0


def test_an_unknown_language_is_told() -> None:
    metric = STD()
    score(metric, "A house.", "The house.", lang=None)
    assert metric.notes["language_assumed"] == 1


def test_words_of_unspaced_scripts_are_those_of_the_vectors(tmp_path: Path) -> None:
    write_store(tmp_path / "zh", ["世界", "你好", "天"], TABLE[:3])
    metric = STD(vectors=str(tmp_path / "zh"), oov="drop")
    assert score(metric, "你好世界", "世界你好", lang="en-zh") > 0
    assert metric.notes["no_vector"] == 0


def test_wrong_options_are_refused(store: str) -> None:
    for wrong, message in (
        ({"ngrams": (1,)}, "one each"),
        ({"ngrams": (0, 2)}, "between 1 and 6"),
        ({"semantic": -1.0}, "0 or more"),
    ):
        with pytest.raises(UsageError, match=message):
            STD(vectors=store, **wrong).check()


def test_other_orders_have_their_own_columns(store: str) -> None:
    spec = f"std:vectors={store},ngrams=1;2;3,segment_weights=0.2;0.3;0.5,system_weights=1;0;0"
    metric = mtgauge.load(spec)
    assert metric.columns == ("unigram", "bigram", "trigram")
    assert metric.statistics(Segments(["one"], references=[("two",)])).shape == (1, 3)


def test_explain_adds_up_to_the_score(store: str) -> None:
    for preset in ("lp", "pyemd"):
        metric = STD(vectors=store, preset=preset)
        segment = Segments(["two one five"], references=[("six", "one two three")], lang="de-en")
        found = metric.explain(segment)
        assert found.left == ("one", "two", "three", "five")
        assert found.matrix is not None
        assert found.matrix.shape == (4, 4)
        cost = sum(link.weight * link.cost for link in found.links)
        assert cost == pytest.approx(found.facts["unigram"], abs=1e-9)
        assert found.score == pytest.approx(score(metric, "two one five", "one two three"))
    with pytest.raises(UsageError, match="no word with a vector"):
        STD(vectors=store, oov="drop").explain(Segments(["xx"], references=[("one",)]))


def test_explain_of_a_copy_has_nothing_to_move(store: str) -> None:
    found = STD(vectors=store).explain(Segments(["one two"], references=[("one two",)]))
    assert found.score == 0
    assert found.links == ()


@pytest.mark.shared
@pytest.mark.parametrize(("preset", "key"), [("lp", "lp"), ("pyemd", "preflow")])
def test_golden_cases(shared: Path, tmp_path: Path, preset: str, key: str) -> None:
    golden = json.loads((shared / "spec" / "golden" / "std_toy.json").read_text())
    values = np.array(list(golden["emb"].values()), dtype=np.float32)
    write_store(tmp_path / "v", list(golden["emb"]), values)
    metric = STD(vectors=str(tmp_path / "v"), preset=preset)  # type: ignore[arg-type]
    for case in golden["cases"]:
        rows = metric.statistics(Segments([case["hyp"]], references=[(case["ref"],)], lang="de-en"))
        want = case[key]
        assert rows[0] == pytest.approx([want["uni"], want["bi"]], abs=1e-5)
        assert metric.segment_score(rows)[0] == pytest.approx(want["seg"], abs=1e-5)
        assert metric.system_score(rows, np.ones(1))[0] == pytest.approx(want["sys"], abs=1e-5)


def test_preset_paper_is_the_authors_metric(store: str) -> None:
    """pyemd, unknown words left out, 0.5/0.5 and 0.3/0.7; a word given to oov wins over it."""
    paper = STD(preset="paper", vectors=store)
    spelt_out = STD(
        preset="pyemd",
        vectors=store,
        oov="paper",
        segment_weights=(0.5, 0.5),
        system_weights=(0.3, 0.7),
    )
    batch = Segments(["one neverseen three"], references=[("three one two",)], lang="de-en")
    np.testing.assert_array_equal(paper.statistics(batch), spelt_out.statistics(batch))
    assert (paper.statistics(batch) != STD(vectors=store).statistics(batch)).any()
    assert STD(preset="paper", oov="drop").options.oov == "drop"
    assert STD().options.oov == "spelling"


def test_nbow_and_tfidf_of_table_one() -> None:
    """Nine words a side, five shared: nBOW's cosine is 5/9, and one absent word weighs nothing."""
    many = rng.normal(size=(13, 8)).astype(np.float32)
    ref, hyp = np.arange(9), np.arange(4, 13)
    problem = problems(many, ref, hyp, TravelSettings(orders=(1,)), np.ones(13))[0]
    np.testing.assert_allclose(problem.left[:9], 1 / 9, atol=1e-15)
    assert (problem.left[9:] == 0).all()
    left, right = problem.left, problem.right
    cosine = left @ right / np.linalg.norm(left) / np.linalg.norm(right)
    assert cosine == pytest.approx(5 / 9, abs=1e-12)
    assert round(float(cosine), 3) == 0.556
    idf = np.arange(13.0)
    weighted = problems(many, np.array([0, 1, 1, 2]), hyp, TravelSettings(orders=(1, 2)), idf)
    np.testing.assert_allclose(weighted[0].left[:3], np.array([0, 2, 2]) / 4, atol=1e-15)
    np.testing.assert_allclose(weighted[1].left[:3], np.array([0.5, 1, 1.5]) / 3, atol=1e-15)


def test_tfidf_learns_from_the_references(store: str) -> None:
    metric = STD(vectors=store, weights="tfidf", order=0.0, ngrams=(1,),
                 segment_weights=(1.0,), system_weights=(1.0,))  # fmt: skip
    batch = Segments(["one two"], references=[("one three",)], lang="de-en")
    with pytest.raises(UsageError, match="call fit"):
        metric.statistics(batch)
    metric.fit(["one three", "one four", "one two"])
    # "one" is in all three: idf log(4/4) = 0, so all mass goes from three to two
    x, z = (TABLE[NAMES.index(w)].astype(float) for w in ("three", "two"))
    apart = 1 - max(x @ z / np.linalg.norm(x) / np.linalg.norm(z), 0)
    assert metric.statistics(batch)[0, 0] == pytest.approx(0.6 * apart, abs=1e-6)
    metric.fit(["nothing of it"])
    assert metric.needs_corpus
    plain = STD(vectors=store, weights="nbow")
    assert not plain.needs_corpus


def test_vectors_in_context_are_means_over_the_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    """By hand: pieces to occurrences, occurrences to words of the pair, then the slow problem."""
    model = load_encoder(str(encoder_folders()[0]))
    monkeypatch.setattr("mtgauge.metrics.std.load_encoder", lambda spec: model)
    ref, hyp = "the cat sat on the mat".split(), "the mat sat unhappily".split()
    batch = Segments([" ".join(hyp)], references=[(" ".join(ref),)], lang="de-en")
    metric = STD(vectors="encoder", preset="lp", ngrams=(1,), segment_weights=(1.0,),
                 system_weights=(1.0,))  # fmt: skip
    layer = model.resolve(model.default_layer["reference"])[0]
    found: dict[str, list[np.ndarray]] = {}
    for words in (ref, hyp):
        tokens = model.encode([" ".join(words)], layer, "en")
        columns = zip(tokens.spans, tokens.vectors, tokens.special, strict=True)
        pieces = [(span, vector) for span, vector, special in columns if not special]
        for k, word in enumerate(words):
            start = len(" ".join(words[:k])) + (k > 0)
            own = [v for s, v in pieces if start <= s[0] < start + len(word)]
            found.setdefault(word, []).append(np.mean(own, axis=0))
    names = list(found)
    table = np.array([np.mean(found[name], axis=0) for name in names], np.float32)
    left, right = (np.array([names.index(w) for w in words]) for words in (ref, hyp))
    problem = problems(table, left, right, TravelSettings(orders=(1,)))[0]
    want = linear_program(problem.distance, problem.left, problem.right)
    assert metric.statistics(batch)[0, 0] == pytest.approx(want, abs=2e-6)
    assert metric.explain(batch).score == pytest.approx(want, abs=2e-6)
    assert "model" in metric.versions()
    twice = Segments([" ".join(hyp), "red"], references=[(" ".join(ref),), ("the",)], lang="de-en")
    assert metric.statistics(twice)[0, 0] == pytest.approx(want, abs=2e-6), "no batch mates"
