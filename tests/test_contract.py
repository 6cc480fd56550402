"""The promises every registered metric keeps; a new metric passes without touching this file."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from mtgauge import registry
from mtgauge.data.segments import Segments
from mtgauge.engine import places
from mtgauge.engine.explain import explain_alone
from mtgauge.engine.local import score
from mtgauge.engine.places import Place, Where, open_place
from mtgauge.engine.ready import make_ready
from mtgauge.metric import Metric, Task
from mtgauge.options import declared
from mtgauge.signature import restore, sign

SOURCES = [
    "Der Bus nach Köln fährt um 9 Uhr ab.",
    "Ich glaube nicht, dass sie heute noch kommt.",
    "Ja.",
    "Die Stadt Leipzig baut 250 neue Wohnungen.",
    "Wo hast du meine Brille hingelegt?",
]
REFERENCES = [
    ("The bus to Cologne leaves at 9 o'clock.",),
    ("I don't think she will come today.",),
    ("Yes.",),
    ("The city of Leipzig is building 250 new flats.",),
    ("Where did you put my glasses?",),
]
GOOD = [
    "The bus to Cologne departs at 9.",
    "I do not believe that she is still coming today.",
    "Yes.",
    "The city of Leipzig builds 250 new apartments.",
    "Where have you put my glasses?",
]
BAD = ["The bus goes.", "I believe she comes today!", "No 😀", "", "Where where where is 12 my"]
BOTH = Segments(GOOD + BAD, SOURCES * 2, REFERENCES * 2, "de-en")
TASK = Task(frozenset({"source", "reference"}), "de-en")


@pytest.fixture(params=registry.names())
def metric(request: pytest.FixtureRequest) -> Metric:
    texts = [text for row in REFERENCES for text in row]
    return make_ready(request.param, TASK, references=lambda: texts).metric


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    connect = socket.socket.connect

    def refuse(self: socket.socket, address: object) -> None:
        here = isinstance(address, tuple) and address[0] in ("127.0.0.1", "::1", "localhost")
        assert self.family == socket.AF_UNIX or here, "a metric tried to reach the network"
        connect(self, address)  # type: ignore[arg-type]

    monkeypatch.setattr(socket.socket, "connect", refuse)


@pytest.fixture(scope="module", params=["here", "processes", "ray"])
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    if request.param == "ray":
        pytest.importorskip("ray", reason="the extra ray is not installed")
    wheres = {"here": Where(), "processes": Where(workers=2), "ray": Where("ray", workers=2)}
    with open_place(wheres[request.param]) as opened:
        yield opened


def segment_scores(metric: Metric, batch: Segments) -> np.ndarray:
    return metric.segment_score(metric.rows(batch))


def same(metric: Metric, a: np.ndarray, b: np.ndarray) -> None:
    assert a.shape == b.shape
    np.testing.assert_allclose(a, b, rtol=0, atol=metric.tolerance)


def test_same_bits_same_signature_same_notes_in_every_place(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "SHARD", 2)  # three shards, the last of one segment
    systems = {"good": GOOD, "bad": BAD}

    def run(where: Place | None) -> dict[str, Any]:
        names = registry.names()
        found = score(systems, SOURCES, list(REFERENCES), names, "de-en", ci=False, place=where)
        return {metric["spec"]: metric for metric in found.to_dict()["metrics"]}

    here, there = run(None), run(place)
    assert list(here) == list(there) == registry.names()
    for name in here:
        assert there[name] == here[name], name


def test_declares_itself(metric: Metric) -> None:
    assert metric.summary
    assert metric.meaning
    assert metric.needs <= {"source", "reference"}
    assert metric.cost in {"surface", "vectors", "encoder"}
    low, high = metric.bounds
    assert low < high
    assert np.isfinite(metric.worst)


def test_one_row_a_segment(metric: Metric) -> None:
    found = metric.rows(BOTH)
    assert found.shape == (len(BOTH), len(metric.columns))
    assert found.dtype == np.float64
    assert metric.segment_score(found).shape == (len(BOTH),)


def test_within_bounds(metric: Metric) -> None:
    found = segment_scores(metric, BOTH)
    found = found[~np.isnan(found)]
    low, high = metric.bounds
    assert (found >= low - 1e-9).all()
    assert (found <= high + 1e-9).all()


def test_alone_and_in_any_batch_and_order(metric: Metric) -> None:
    whole = segment_scores(metric, BOTH)
    alone = np.concatenate([segment_scores(metric, BOTH.take([i])) for i in range(len(BOTH))])
    same(metric, alone, whole)
    order = [7, 0, 3, 9, 1, 5, 2, 8, 6, 4]
    same(metric, segment_scores(metric, BOTH.take(order)), whole[order])


def test_same_input_same_output(metric: Metric) -> None:
    np.testing.assert_array_equal(metric.rows(BOTH), metric.rows(BOTH))


def test_system_score_depends_on_sums_alone(metric: Metric) -> None:
    found = metric.rows(BOTH)
    five = np.array([5.0, 5.0])
    at_once = metric.system_score(np.array([found[:5].sum(0), found[5:].sum(0)]), five)
    one_by_one = [
        metric.system_score(part.sum(0)[None], np.array([5.0]))[0]
        for part in (found[:5], found[5:])
    ]
    np.testing.assert_allclose(at_once, one_by_one, rtol=1e-12, atol=0)


def test_all_systems_at_once_equals_one_by_one(metric: Metric) -> None:
    def run(systems: dict[str, list[str]]) -> dict[str, float]:
        result = score(systems, SOURCES, list(REFERENCES), [metric.name], "de-en", ci=False)
        return {name: s.score for name, s in result[metric.name].items()}

    together = run({"good": GOOD, "bad": BAD})
    same(metric, np.array([run({"good": GOOD})["good"]]), np.array([together["good"]]))
    same(metric, np.array([run({"bad": BAD})["bad"]]), np.array([together["bad"]]))


def test_empty_hypothesis_gets_the_worst(metric: Metric) -> None:
    (found,) = segment_scores(metric, Segments([""], SOURCES[:1], REFERENCES[:1], "de-en"))
    assert found == pytest.approx(metric.worst)


def test_an_explanation_has_the_score_of_the_run(metric: Metric) -> None:
    copied = Segments(SOURCES[:1], SOURCES[:1], REFERENCES[:1], "de-en")
    for batch in (*(BOTH.take([i]) for i in range(len(BOTH))), copied):
        found = explain_alone(metric, batch)
        assert found.score == pytest.approx(
            segment_scores(metric, batch)[0], abs=1e-6 + metric.tolerance, nan_ok=True
        )


def test_odd_texts_do_not_break_it(metric: Metric) -> None:
    odd = [
        "   ",
        "😀",
        "猫坐在垫子上。",
        "مرحبا بالعالم",
        "x" * 300,
        "a " * 400,
        "it's 3\u20284 &amp;",
    ]
    batch = Segments(odd, ["Hallo."] * len(odd), [("Hello.",)] * len(odd), "de-en")
    assert len(segment_scores(metric, batch)) == len(odd)


def test_a_text_longer_than_it_reads_is_cut_and_counted(metric: Metric) -> None:
    """No segment stops a run: 100,000 words end soon, and what was not read is told."""
    if metric.longest is None:
        return
    long, short = "word 12 Köln a@b.de " * 25_000, "word 12 Köln a@b.de " * (metric.longest // 20)
    batch = Segments([long, GOOD[0]], [long, SOURCES[0]], [(long,), REFERENCES[0]], "de-en")
    found = segment_scores(metric, batch)
    assert metric.notes["cut"] == 1
    same_as = Segments([short.strip()], [short.strip()], [(short.strip(),)], "de-en")
    assert found[0] == segment_scores(metric, same_as)[0]
    assert metric.notes["cut"] == 1


def test_signature_round_trip(metric: Metric) -> None:
    signed = sign(metric, {"refs": "1", "lang": "de-en"})
    for text in (signed.short, signed.full):
        again = restore(text)
        assert again.params() == metric.params()
        assert sign(again, {"refs": "1", "lang": "de-en"}) == signed


@pytest.mark.parametrize("name", registry.names())
def test_a_short_signature_fits_a_line(name: str) -> None:
    found = make_ready(name, TASK, references=lambda: [text for row in REFERENCES for text in row])
    assert len(found.signature.short) <= 160
    assert len(found.signature.short) <= len(found.signature.full)


def test_it_is_settled_before_it_scores(metric: Metric) -> None:
    before = sign(metric), repr(metric)
    metric.rows(BOTH)
    assert (sign(metric), repr(metric)) == before
    assert metric.resolve(TASK).params() == metric.params(), "there is nothing left to settle"
    assert metric.resolve(TASK) is not metric
    left = [name for name, value in metric.params().items() if value == "auto"]
    values = metric.params()
    assert not [name for name in left if declared(type(metric))[name].in_force(values)]


def test_unsettled_it_scores_the_same_and_stays_as_it_is(metric: Metric) -> None:
    loaded = registry.load(metric.name)
    before = repr(loaded)
    if loaded.needs_corpus:
        loaded.fit(text for row in REFERENCES for text in row)
    np.testing.assert_array_equal(loaded.rows(BOTH), metric.rows(BOTH))
    assert repr(loaded) == before


def test_spec_round_trip(metric: Metric) -> None:
    assert registry.load(registry.spec_of(metric)).params() == metric.params()


def test_a_settled_copy_counts_for_itself(metric: Metric) -> None:
    metric.notes["seen"] += 1
    copy = metric.settled()
    assert copy.params() == metric.params()
    assert not copy.notes


def test_unknown_option_is_refused(metric: Metric) -> None:
    from mtgauge.errors import UsageError

    with pytest.raises(UsageError, match="has no option 'nonsense'"):
        registry.load(f"{metric.name}:nonsense=1")


def test_better_system_scores_better(metric: Metric) -> None:
    found = metric.rows(BOTH)
    good, bad = metric.system_score(
        np.array([found[:5].sum(0), found[5:].sum(0)]), np.array([5.0, 5.0])
    )
    assert (good > bad) == metric.higher_is_better
