"""From judgements to rows: direction, odd cases by name, averages, slices, JSON."""

from __future__ import annotations

import json

import numpy as np
import pytest

from mtgauge.data.judgements import Judgements
from mtgauge.errors import InputError, UsageError
from mtgauge.meta import scoring, slices
from mtgauge.meta.evaluate import evaluate
from mtgauge.meta.rows import average
from mtgauge.meta.scoring import Scores, external, score
from mtgauge.meta.study import Findings
from mtgauge.report.agreement import render
from mtgauge.report.writers import FORMATS
from mtgauge.signature import Signature

WORDS = "the small grey dog runs over a wide green field and barks at seven old trees".split()


def _judged(n=40, lp="de-en", seed=0, systems=2):
    """Translations that drop words; people mark them by how much is left."""
    rng = np.random.default_rng(seed)
    rows = []
    for sid in range(n):
        reference = " ".join(rng.permutation(WORDS)[:10])
        for k in range(systems):
            kept = int(rng.integers(2, 11))
            text = " ".join(reference.split()[:kept])
            rows.append((f"s{k}", str(sid), reference, text, kept / 10 + rng.normal(0, 0.1)))
    human = np.array([row[4] for row in rows])
    return Judgements(
        "toy",
        lp,
        [row[0] for row in rows],
        [row[1] for row in rows],
        human,
        hypotheses=[row[3] for row in rows],
        sources=[row[2] for row in rows],
        references=[(row[2],) for row in rows],
        raw=100 * human,
    )


def _scores(values, name="m", systems=None):
    return Scores(name, Signature(name), np.asarray(values, dtype=float), systems or {})


def test_a_distance_is_negated_by_its_declared_direction_only():
    data = _judged()
    better, worse = score(data, "chrf"), score(data, "ter")
    rows, _ = evaluate(data, [better, worse])
    assert rows[0].values["pearson"] > 0.7
    assert rows[1].values["pearson"] > 0.5, "ter is lower for better texts and says so"
    (raw,) = external(
        Judgements(
            "d", "de-en", ["s"] * 3, list("123"), np.arange(3.0), scores={"t": -np.arange(3.0)}
        )
    )
    rows, _ = evaluate(_bare([0, 1, 2]), [raw])
    assert rows[0].values["pearson"] == -1.0, "nothing is made absolute"


def _bare(human, **more):
    human = np.asarray(human, dtype=float)
    n = len(human)
    return Judgements("d", "de-en", [f"s{i}" for i in range(n)], ["1"] * n, human, **more)


def test_lower_named_by_the_user():
    data = _bare([0, 1, 2], scores={"t": np.array([3.0, 2.0, 1.0])})
    assert evaluate(data, external(data, lower=["t"]))[0][0].values["pearson"] == 1.0


@pytest.mark.parametrize(
    ("human", "values", "outcome"),
    [
        ([1, 2, 3, 4], [5, 5, 5, 5], "constant scores: no correlation"),
        ([2, 2, 2, 2], [1, 2, 3, 4], "constant human scores: no correlation"),
        ([1, 2], [3, 4], "2 translations: a correlation needs three"),
        ([1, np.nan, np.nan, 4], [1, 2, 3, 4], "2 translations not judged, left out"),
    ],
)
def test_odd_cases_have_names_and_no_number(human, values, outcome):
    (row,), _ = evaluate(_bare(human), [_scores(values)])
    assert any(text.startswith(outcome) for text in row.outcomes)
    for name in ("pearson", "spearman", "kendall"):
        assert np.isnan(row.values[name])
    assert row.to_dict()["pearson"] is None
    assert row.to_dict()["pearson_ci"] is None
    json.dumps(Findings("segment", [row]).to_dict(), allow_nan=False)


def test_few_points_have_no_interval():
    human, values = [1, 2, 3, 4, 5, 6], [1, 3, 2, 4, 6, 5]
    (row,), _ = evaluate(_bare(human), [_scores(values)])
    assert row.intervals.keys() >= {"pearson", "spearman", "kendall"}
    (row,), _ = evaluate(_bare(human[:5]), [_scores(values[:5])])
    assert row.intervals == {}
    assert "5 points are too few for an interval" in row.outcomes
    assert row.draws.keys() >= {"pearson"}, "averages need them"


def test_undefined_scores_are_left_out_and_counted():
    (row,), _ = evaluate(_bare([1, 2, 3, 4, 9]), [_scores([1, 2, 3, 4, np.nan])])
    assert row.n == 4
    assert row.values["pearson"] == pytest.approx(1.0)
    assert "1 judged translation has no score, left out" in row.outcomes


def test_two_systems_and_missing_systems_have_names():
    data = _bare([], system_human={"a": 1.0, "b": 2.0, "c": 3.0})
    (row,), _ = evaluate(data, [_scores([], systems={"a": 1.0, "b": 2.0, "z": 0.0})], "system")
    assert "1 system not judged, left out" in row.outcomes
    assert "1 judged system has no score, left out" in row.outcomes
    assert any(text.startswith("2 systems: a correlation needs three") for text in row.outcomes)
    assert np.isnan(row.values["pearson"])
    assert row.values["pairwise_accuracy"] == 1.0


def test_metrics_with_holes_do_not_disturb_the_others():
    data = _judged()
    whole = score(data, "chrf")
    holes = whole.segments.copy()
    holes[::3] = np.nan
    rows, comparisons = evaluate(data, [whole, _scores(holes, "holes")])
    alone, _ = evaluate(data, [whole])
    assert rows[0].values == pytest.approx(alone[0].values)
    assert rows[1].n < rows[0].n
    known = ~np.isnan(holes)
    expected = np.corrcoef(holes[known], data.human[known])[0, 1]
    assert rows[1].values["pearson"] == pytest.approx(expected)
    assert comparisons[0].metrics == ("chrf", "holes")


def test_system_level_sums_statistics():
    import sacrebleu

    data = _judged(systems=4)
    found = score(data, "bleu", "system")
    rows = data.rows_by_system()["s2"]
    texts = [data.hypotheses[i] for i in rows]
    references = [[data.references[i][0] for i in rows]]
    assert found.systems["s2"] == pytest.approx(sacrebleu.corpus_bleu(texts, references).score)
    (row,), _ = evaluate(data, [found], "system")
    assert row.n == 4
    assert row.values["spa"] > row.chance["spa"]
    assert any("mean of its judged segments" in text for text in row.outcomes)


def test_only_judged_segments_are_scored():
    data = _judged()
    human = data.human.copy()
    human[::2] = np.nan
    partly = Judgements(
        **{
            **{k: getattr(data, k) for k in ("data", "lp", "systems", "sids", "hypotheses")},
            **{k: getattr(data, k) for k in ("sources", "references")},
            "human": human,
        }
    )
    found = score(partly, "chrf")
    assert np.isnan(found.segments[::2]).all()
    assert not np.isnan(found.segments[1::2]).any()


def test_what_cannot_be_scored_is_refused():
    data = _judged()
    with pytest.raises(UsageError, match="needs a reference"):
        score(Judgements("d", "de-en", ["a"], ["1"], np.ones(1), ["x"], ["y"]), "chrf")
    with pytest.raises(UsageError, match="no texts"):
        score(_bare([1, 2, 3]), "chrf")
    unjudged = Judgements(
        "d",
        "de-en",
        data.systems,
        data.sids,
        np.full(len(data), np.nan),
        data.hypotheses,
        data.sources,
        data.references,
    )
    with pytest.raises(InputError, match="nothing here is judged"):
        score(unjudged, "chrf")


def test_metrics_that_learn_from_references_are_fitted_once_a_segment():
    data = _judged(n=3)
    assert scoring._references(data.sids, data.references) == [
        row[0] for row in data.references[::2]
    ]
    assert np.isfinite(score(data, "nist").segments).all()


def test_averages_and_their_intervals():
    pairs = ["de-en", "fi-en", "en-de", "en-fi"]
    rows = []
    for seed, lp in enumerate(pairs):
        data = _judged(lp=lp, seed=seed)
        rows += evaluate(data, [score(data, "chrf")])[0]
    into, out = average(rows)
    assert (into.lp, out.lp) == ("average X-en", "average en-X")
    assert into.values["pearson"] == pytest.approx(np.mean([r.values["pearson"] for r in rows[:2]]))
    assert into.over == ("de-en", "fi-en")
    low, high = into.intervals["pearson"]
    assert low < into.values["pearson"] < high
    widest = max(r.intervals["pearson"][1] - r.intervals["pearson"][0] for r in rows[:2])
    assert high - low < widest
    assert average(rows[:2])[0].lp == "average"
    assert average(rows[:1]) == []


def test_slices_cover_everything_once():
    data = _judged(n=60)
    found = score(data, "chrf")
    for by in ("length", "quality", "system"):
        parts = list(slices.sliced(data, [found], by))
        assert sum(len(part) for part, _ in parts) == len(data)
        for part, (values,) in parts:
            assert part.data.startswith("toy[")
            assert len(values.segments) == len(part)
    good = {p.data: (p, s) for p, s in slices.sliced(data, [found], "system")}["toy[system s1]"]
    assert np.array_equal(good[1][0].segments, found.segments[data.rows_by_system()["s1"]])


def test_pooling_keeps_segments_of_different_pairs_apart():
    one, two = _judged(lp="de-en"), _judged(lp="fi-en", seed=1)
    columns = [[score(one, "chrf")], [score(two, "chrf")]]
    whole, found = slices.pooled([one, two], columns)
    assert (whole.lp, len(whole)) == ("pooled", len(one) + len(two))
    (row,), _ = evaluate(whole, found)
    (a,), _ = evaluate(one, columns[0])
    (b,), _ = evaluate(two, columns[1])
    assert row.pairs["tau_wmt"] == a.pairs["tau_wmt"] + b.pairs["tau_wmt"]


def test_json_rows_have_the_promised_keys_and_no_other():
    data = _judged()
    rows, comparisons = evaluate(data, [score(data, "chrf"), score(data, "bleu")])
    content = json.loads(
        json.dumps(Findings("segment", rows, comparisons).to_dict(), allow_nan=False)
    )
    assert list(content["rows"][0]) == (
        "metric signature signature_full data lp level n "
        "pearson pearson_ci spearman kendall tau_wmt paper".split()
    )
    assert content["rows"][0]["metric"] == "chrf"
    assert content["rows"][0]["signature"].startswith("chrf|")
    low, high = content["rows"][0]["pearson_ci"]
    assert low < content["rows"][0]["pearson"] < high
    assert {m["name"] for m in content["measures"]} >= {"acc_eq", "pearson", "tau_wmt"}
    assert content["comparisons"][0]["test"] == "williams"


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_renders(format):
    data = _judged()
    rows, comparisons = evaluate(data, [score(data, "chrf"), score(data, "bleu")])
    text = render(Findings("segment", rows + average(rows), comparisons), format, matrix=True)
    assert "chrf" in text
    assert "nan" not in text.lower()


def test_permutation_swaps_segments_of_systems_where_scores_are_means():
    data = _judged(n=50, systems=8)
    metrics = [score(data, "sentbleu", "system"), score(data, "ter:normalized=on", "system")]
    from mtgauge.meta.evaluate import _cells

    points = np.array([list(m.systems.values()) for m in metrics])
    assert _cells(data, metrics[:1], points[:1]).shape == (1, 8, 50)
    assert _cells(data, [score(data, "bleu", "system")], points[:1]) is None, "a ratio of sums"
    human = {f"s{k}": float(k % 3) for k in reversed(range(8))}
    ordered = Judgements(
        **{
            **{k: getattr(data, k) for k in ("data", "lp", "systems", "sids", "human")},
            "system_human": human,
        }
    )
    grid = _cells(ordered, metrics[:1], points[:1])
    assert grid[0].mean(axis=1) == pytest.approx([metrics[0].systems[name] for name in human])
    _, (comparison,) = evaluate(data, metrics, "system", test="permutation")
    assert comparison.test == "permutation"


def test_rankings_without_scores_give_tau_alone():
    data = _judged()
    pairs = np.array([[0, 1], [4, 3]])
    ranked = Judgements(
        **{
            **{k: getattr(data, k) for k in ("data", "lp", "systems", "sids", "hypotheses")},
            **{k: getattr(data, k) for k in ("sources", "references")},
            "human": np.full(len(data), np.nan),
            "pairs": pairs,
        }
    )
    (row,), _ = evaluate(ranked, [score(ranked, "chrf")])
    assert row.pairs["tau_wmt"] == 2
    assert np.isfinite(row.values["tau_wmt"])
    assert row.outcomes == ("only better/worse pairs were judged: no correlation with scores",)


def test_segment_scores_from_elsewhere_are_averaged_for_systems():
    data = _judged(systems=4)
    mine = Judgements(
        **{
            **{k: getattr(data, k) for k in ("data", "lp", "systems", "sids", "human")},
            "scores": {"mine": data.human * 2},
        }
    )
    (row,), _ = evaluate(mine, external(mine, "system"), "system")
    assert row.values["pearson"] == pytest.approx(1.0)


def test_clusters_are_ordered_on_the_points_that_all_metrics_have():
    """A metric that scored the easy half alone has the greater r in its row, and is no better."""
    rng = np.random.default_rng(3)
    human = rng.normal(size=200)
    hard = np.arange(200) < 100
    noise = np.where(hard, 3.0, 0.5) * rng.normal(size=200)
    whole = human + noise
    easy = np.where(hard, np.nan, human + 1.6 * noise)
    rows, (compared,) = evaluate(_bare(human), [_scores(whole, "whole"), _scores(easy, "easy")])
    assert rows[0].values["pearson"] < rows[1].values["pearson"]
    assert compared.p[0, 1] < 0.05
    assert compared.clusters == [1, 2]
