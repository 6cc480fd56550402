"""XMoverScore on the golden toy vectors, and its promises on a tiny encoder."""

from __future__ import annotations

import doctest
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mtgauge.data.codes import Language
from mtgauge.data.segments import Segments
from mtgauge.encode import load_encoder, load_language_model
from mtgauge.encode.lm import mean_scores
from mtgauge.encode.remap.maps import Remap, RemapFacts
from mtgauge.encode.tokens import units as make
from mtgauge.encode.tokens.encoder import TokenVectors
from mtgauge.errors import ResourceError, UsageError
from mtgauge.metric import FloatArray, Task
from mtgauge.metrics import _copied
from mtgauge.metrics._copied import copied_share
from mtgauge.metrics._matching import drop_smallest, greedy, score_form, travel
from mtgauge.metrics.xmoverscore import XMoverScore
from mtgauge.registry import load
from mtgauge.signature import restore, sign
from mtgauge.text import vocabulary
from tiny_models import encoder_folders, language_model_folders

ONNX, HUB = 0, 1
SOURCES = ["die katze saß auf der matte.", "das haus ist groß.", "rot"]
GOOD = ["the cat sat on the mat.", "the house is big.", "red"]
BAD = ["a dog", "the the the house, big and red", "xyz"]
BATCH = Segments(GOOD + BAD, SOURCES * 2, None, "de-en")
TASK = Task.of(BATCH)


def spec(road: int = ONNX, **options: str) -> str:
    values = {
        "encoder": str(encoder_folders()[road]),
        "lm": str(language_model_folders()[road]),
        **({} if options.get("lm") == "off" else {"lm_given": "nothing"}),
        **options,
    }
    return "xmoverscore:" + ",".join(f"{k}='{v}'" for k, v in values.items())


def packed(*texts: list[list[float]]) -> TokenVectors:
    """Token vectors of texts of which only the vectors matter."""
    lengths = [len(t) for t in texts]
    n = sum(lengths)
    return TokenVectors(
        np.concatenate([[0], np.cumsum(lengths)]),
        np.zeros(n, np.int64),
        np.zeros((n, 2), np.int64),
        np.ones(n, bool),
        np.zeros(n, bool),
        np.zeros(len(texts), bool),
        np.array([row for t in texts for row in t], np.float32),
    )


def units(rows: list[list[float]], ngram: int) -> make.Units:
    tokens = packed(rows)
    ones = np.ones(len(rows))
    return make.build(tokens, ones > 0, ones, ngram)


@pytest.fixture(scope="module")
def golden(shared: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((shared / "spec/golden/xmover_toy.json").read_text("utf-8"))
    return found


ONE = np.array([0])


@pytest.mark.shared
@pytest.mark.parametrize("n", [1, 2])
def test_the_three_published_versions_on_toy_vectors(golden: dict[str, Any], n: int) -> None:
    left = units(golden["src_rows_incl_CLS_SEP"], n)
    right = units(golden["hyp_rows_incl_CLS_SEP"], n)
    want = golden[f"n={n}"]
    squared = travel(left, ONE, right, ONE, "squared")
    dropped = travel(left, ONE, right, ONE, "euclidean", dropout=0.3)
    assert squared[0] == pytest.approx(want["squared_euclid_emd"], abs=1e-5)
    assert score_form(squared, "one_minus")[0] == pytest.approx(
        want["v2020_score_1_minus"], abs=1e-5
    )
    plain = travel(left, ONE, right, ONE, "euclidean")
    assert plain[0] == pytest.approx(want["euclid_emd"], abs=1e-5)
    assert dropped[0] == pytest.approx(want["euclid_cost_after_drop"], abs=1e-5)
    v2021, v2022 = score_form(dropped, "one_minus"), score_form(dropped, "inverse")
    assert v2021[0] == pytest.approx(want["v2021_score_1_minus"], abs=1e-5)
    assert v2022[0] == pytest.approx(want["v2022_score_1_over_1_plus"], abs=1e-5)


@pytest.mark.shared
def test_dropout_on_toy_vectors(golden: dict[str, Any]) -> None:
    case = golden["dropout_example"]
    flow = drop_smallest(np.array(case["flow"]), 0.3)
    assert flow.sum() == pytest.approx(case["mass_kept"])
    assert (np.array(case["flow"]) > 0).sum() - (flow > 0).sum() == case["dropped"]
    left, right = units(case["src"], 1), units(case["hyp"], 1)
    cost = travel(left, ONE, right, ONE, "euclidean", dropout=0.3)
    assert cost[0] == pytest.approx(case["cost_after_drop"], abs=1e-5)
    assert travel(left, ONE, right, ONE, "euclidean")[0] == pytest.approx(
        case["emd_full"], abs=1e-5
    )


def test_dropout_drops_what_is_strictly_below_the_threshold() -> None:
    flow = np.array([[0.1, 0.2, 0.0], [0.0, 0.3, 0.4]])
    np.testing.assert_array_equal(drop_smallest(flow, 0.5), np.where(flow < 0.2, 0, flow))
    np.testing.assert_array_equal(drop_smallest(flow, 0.0), flow)


def test_greedy_by_hand() -> None:
    left, right = units([[1, 0], [0, 1]], 1), units([[1, 0]], 1)
    assert greedy(left, ONE, right, ONE)[0] == pytest.approx([1.0, 0.5, 2 / 3])


def test_presets_pin_every_switch() -> None:
    paper, old, new = (XMoverScore(preset=p).options for p in ("paper2020", "repo2021", "repo2022"))
    assert (paper.layer, old.layer, new.layer) == (-1, 8, 8)
    assert (paper.distance, old.distance) == ("squared", "euclidean")
    assert (paper.dropout, old.dropout, new.dropout) == (0.0, 0.3, 0.3)
    assert (paper.form, old.form, new.form) == ("one_minus", "one_minus", "inverse")
    assert (paper.pieces, old.pieces) == ("first", "all")
    assert (paper.punctuation, old.punctuation) == (False, True)
    assert (old.lm_form, new.lm_form) == ("mean", "root")
    for options in (paper, old, new):
        assert options.ngram == 2
        assert options.special
        assert options.lm_weight == 0.1
        assert not options.lm_bos
        assert options.copy_penalty == 0
        assert options.lm_given == "nothing"
    for preset, pinned in XMoverScore.presets.items():
        unpinned = {k for k, v in XMoverScore(preset=preset).params().items() if v is None}  # type: ignore[arg-type]
        assert unpinned <= {"layer"}, preset
        assert not set(pinned) - set(XMoverScore.defaults()), preset


@pytest.mark.parametrize("preset", ["default", "paper2020", "repo2021", "repo2022"])
@pytest.mark.parametrize("matching", ["transport", "precision", "recall", "f"])
def test_both_roads_agree(preset: str, matching: str) -> None:
    left, right = (
        load(spec(road, preset=preset, matching=matching, layer="2")).statistics(BATCH)
        for road in (ONNX, HUB)
    )
    assert left.shape == (6, 1)
    np.testing.assert_allclose(left, right, atol=1e-4)


@pytest.mark.parametrize("preset", ["default", "paper2020", "repo2021", "repo2022"])
def test_batches_order_and_systems_do_not_matter(preset: str) -> None:
    metric = load(spec(preset=preset, layer="2"))
    whole = metric.statistics(BATCH)
    alone = np.concatenate([metric.statistics(BATCH.take([i])) for i in range(len(BATCH))])
    np.testing.assert_allclose(whole, alone, atol=1e-5)
    order = [4, 2, 0, 5, 1, 3]
    np.testing.assert_allclose(metric.statistics(BATCH.take(order)), whole[order], atol=1e-5)


@pytest.mark.parametrize("matching", ["transport", "precision", "recall", "f"])
def test_scores_stay_in_bounds_and_empty_texts_do_not_crash(matching: str) -> None:
    metric = load(spec(matching=matching, copy_penalty="0.2"))
    odd = Segments(["", "cat", ".", "red 😀"], ["katze", "", ".", "rot"], None, "de-en")
    found = metric.segment_score(metric.statistics(odd))
    low, high = metric.bounds
    assert (found >= low - 1e-9).all()
    assert (found <= high + 1e-9).all()
    assert found[0] <= found[3]


def test_identical_texts_cost_nothing() -> None:
    metric = load(spec(lm="off", matching="transport"))
    same = Segments(["the cat sat."], ["the cat sat."], None, "de-en")
    assert metric.statistics(same)[0, 0] == pytest.approx(1.0, abs=1e-3)


def test_the_language_model_is_added_with_its_weight() -> None:
    plain = load(spec(lm="off")).statistics(BATCH)
    fluency = load(f"fluency:lm={language_model_folders()[ONNX]}").statistics(BATCH)
    both = load(spec(lm_weight="0.3")).statistics(BATCH)
    np.testing.assert_allclose(both, plain + 0.3 * fluency, atol=1e-6)


def test_the_language_model_may_be_given_the_source() -> None:
    model = load_language_model(str(language_model_folders()[ONNX]))
    logprobs, offsets = model.logprobs(BATCH.hypotheses, given=BATCH.sources)
    plain = load(spec(lm="off")).statistics(BATCH)[:, 0]
    alone = mean_scores(*model.logprobs(BATCH.hypotheses))
    want = plain + 0.2 * (mean_scores(logprobs, offsets) - 0.3 * alone)
    for given in ("source", "auto"):
        found = load(spec(lm_given=given, lm_weight="0.2", lm_prior="0.3")).resolve(TASK)
        np.testing.assert_allclose(found.statistics(BATCH)[:, 0], want, atol=1e-6)
        assert found.params()["lm_given"] == "source"
    assert load(spec(HUB, lm_given="auto")).resolve(TASK).params()["lm_given"] == "nothing"
    with pytest.raises(UsageError, match="cannot score a text given its source"):
        load(spec(HUB, lm_given="source")).resolve(TASK)


def test_copies_of_the_source_are_punished() -> None:
    batch = Segments(["die katze schläft", "the cat sleeps"], ["die katze schläft"] * 2)
    with_, without = (
        load(spec(lm="off", copy_penalty=weight)).statistics(batch)[:, 0] for weight in ("0.5", "0")
    )
    np.testing.assert_allclose(with_ - without, [-0.5 * 2 / 3, 0.0], atol=1e-6)


def test_usual_words_of_the_target_language_are_no_copies() -> None:
    """ "will" is German and English; "office" is in the Russian list, but no Russian word."""
    assert doctest.testmod(_copied).failed == doctest.testmod(vocabulary).failed == 0
    texts = ["Er will, er kommt heute."] * 2, ["He will come.", "He kommt heute."]
    assert copied_share(*texts, Language("en")).tolist() == [0, 2 / 3]
    assert copied_share(*texts).tolist() == [1 / 3, 2 / 3]
    assert copied_share(["The office opens."], ["Здесь office opens."], Language("ru"))[0] > 0.6
    weights = [load(spec(lm="off", copy_penalty=weight)) for weight in ("0.5", "0")]
    with_, without = (
        m.statistics(Segments(texts[1], texts[0], lang="de-en"))[:, 0] for m in weights
    )
    np.testing.assert_allclose(with_ - without, [0, -1 / 3], atol=1e-6)


def test_of_a_copy_one_share_is_told() -> None:
    source = "Der Hund bellt den ganzen Abend den Mond an."
    half = "The dog bellt in the evening."
    metric = load(spec(lm="off"))
    for text, said in ((source, "Words copied from the source take off"), (half, "17% of the")):
        found = metric.explain(Segments([text], [source], lang="de-en"))
        assert found.remarks[-1].startswith(said)


def turned(to: Path, numbers: int) -> str:
    """The tiny encoder, as if it had been trained with so many numbers of a source turned."""
    shutil.copytree(encoder_folders()[ONNX], to)
    card = json.loads((to / "card.json").read_text("utf-8")) | {"turned": numbers}
    (to / "card.json").write_text(json.dumps(card), "utf-8")
    return str(to)


@pytest.mark.parametrize("matching", ["precision", "recall", "f", "transport"])
def test_a_turned_source_does_not_match_its_copy(tmp_path: Path, matching: str) -> None:
    folder = turned(tmp_path / "mine", 4)
    copies = Segments(SOURCES, SOURCES, None, "de-en")
    options = {"lm": "off", "copy_penalty": "0", "matching": matching}
    plain, mine = load(spec(ONNX, **options)), load(spec(ONNX, **options, encoder=folder))
    assert (mine.statistics(copies)[:, 0] < plain.statistics(copies)[:, 0] - 0.02).all()
    # an explanation is of what was scored
    found = mine.explain(copies.take([0]))
    assert found.score == mine.segment_score(mine.statistics(copies))[0]
    if matching in ("precision", "recall"):
        shown = sum(link.weight * (1 - link.cost) for link in found.links)
        assert shown == pytest.approx(found.score, abs=1e-6)
    assert "turned:4" in sign(mine).full
    assert "turned" not in sign(plain).full
    # a reference is in the translation's own language
    with_reference = Segments(SOURCES, None, [(text,) for text in SOURCES], "en-de")
    first, second = (
        load(f"bertscore:encoder='{x}'").statistics(with_reference)
        for x in (encoder_folders()[ONNX], folder)
    )
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("matching", ["precision", "transport"])
def test_nothing_turned_changes_nothing(tmp_path: Path, matching: str) -> None:
    none = turned(tmp_path / "none", 0)
    options = {"lm": "off", "matching": matching}
    plain, same = load(spec(ONNX, **options)), load(spec(ONNX, **options, encoder=none))
    np.testing.assert_array_equal(same.statistics(BATCH), plain.statistics(BATCH))
    assert sign(same).full.replace(none, "") == sign(plain).full.replace(
        str(encoder_folders()[ONNX]), ""
    )


def test_escapes_and_case() -> None:
    batch = Segments(["the cat &amp;amp; the dog"], ["die katze & der hund"], None, "de-en")
    clean = Segments(["the cat & the dog"], ["die katze & der hund"], None, "de-en")
    assert load(spec()).statistics(batch) == pytest.approx(load(spec()).statistics(clean))
    raw = load(spec(unescape="off"))
    assert raw.statistics(batch) != pytest.approx(raw.statistics(clean))
    shout = Segments(["THE CAT"], ["KATZE"], None, "de-en")
    quiet = Segments(["the cat"], ["katze"], None, "de-en")
    lower = load(spec(lowercase="on"))
    assert lower.statistics(shout) == pytest.approx(lower.statistics(quiet))


def test_signature_names_model_and_every_switch() -> None:
    metric = load(spec(preset="repo2022", layer="2"))
    signed = sign(metric)
    assert "dropout:0.3" in signed.full
    assert "dropout" not in signed.short
    for text in (signed.short, signed.full):
        assert "preset:repo2022" in text
        assert "layer:2" in text
        assert "model:tiny@" in text
        assert "language_model:tiny-lm@" in text
        assert restore(text).params() == metric.params()


def test_unknown_language_is_warned_of_when_the_metric_is_settled() -> None:
    metric = load(spec())
    with pytest.warns(UserWarning, match="not trained on fi; it knows de, en"):
        settled = metric.resolve(Task(frozenset({"source"}), "fi-en"))
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        settled.statistics(Segments(["dog"], ["koira"], None, "fi-en"))
        metric.resolve(TASK)


def with_own_remap(folder: Path, unit: str) -> str:
    """A copy of the tiny encoder that brings a remap for every pair from English, of layer 2."""
    shutil.copytree(encoder_folders()[ONNX], folder)
    fingerprint = load_encoder(str(folder)).fingerprint
    w = np.random.default_rng(1).normal(size=(32, 32)).astype(np.float32)
    place = folder / "remaps" / unit / "en-mul.remap"
    place.parent.mkdir(parents=True)
    Remap(RemapFacts("judged", "en-mul", "tiny", fingerprint, 2, unit), w).save(place)
    return str(folder)


@pytest.mark.parametrize(("name", "unit"), [("xmoverscore", "word"), ("cosine", "sentence")])
def test_the_encoders_own_remap_is_taken_where_it_fits(
    tmp_path: Path, name: str, unit: str
) -> None:
    own = with_own_remap(tmp_path / "encoder", unit)
    out_of_english = Segments(SOURCES * 2, GOOD + BAD, None, "en-de")

    def score(batch: Segments, **options: str) -> tuple[FloatArray, str]:
        values = {"encoder": own, "lm": "off", "layer": "2", **options}
        given = ",".join(f"{k}='{v}'" for k, v in values.items())
        metric = load(f"{name}:{given}").resolve(Task.of(batch))
        return metric.statistics(batch), metric.versions().get("remap_sha256", "")

    rows, digest = score(out_of_english)
    as_it_is, nothing = score(out_of_english, remap="none")
    assert np.abs(rows - as_it_is).max() > 0.01
    assert digest
    assert not nothing, "the signature says which remap was used"
    file = f"{own}/remaps/{unit}/en-mul.remap"
    np.testing.assert_array_equal(rows, score(out_of_english, remap=file)[0])
    for batch, options in ((BATCH, {}), (out_of_english, {"layer": "1"})):
        found, digest = score(batch, **options)
        np.testing.assert_array_equal(found, score(batch, remap="none", **options)[0])
        assert not digest
    paper = score(out_of_english, preset="paper2020")
    np.testing.assert_array_equal(
        paper[0], score(out_of_english, preset="paper2020", remap="none")[0]
    )
    assert not paper[1], "a paper's method is the paper's"
    with pytest.raises(UsageError, match="remap_side applies only where remap is not none or own"):
        load(f"{name}:remap_side=both").check()


def test_an_own_remap_of_another_encoder_is_refused(tmp_path: Path) -> None:
    own = Path(with_own_remap(tmp_path / "encoder", "word"))
    other = Remap(RemapFacts("judged", "en-mul", "else", "abc", 2), np.eye(32, dtype=np.float32))
    other.save(own / "remaps/word/en-mul.remap")
    with pytest.raises(ResourceError, match="fitted for encoder else"):
        load(f"xmoverscore:encoder='{own}',lm=off,layer=2").resolve(
            Task(frozenset({"source"}), "en-de")
        )


def test_truncation_is_counted() -> None:
    metric = load(spec(lm="off"))
    metric.statistics(Segments(["cat " * 10_000], ["katze"], None, "de-en"))
    assert metric.notes["truncated"] == 1


def test_wrong_use_is_refused() -> None:
    with pytest.raises(UsageError, match="needs the source"):
        load(spec()).statistics(Segments(["cat"]))
    with pytest.raises(UsageError, match="There are: default, paper2020"):
        XMoverScore(preset="paper1999").statistics(BATCH)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="preset"):
        load("xmoverscore:preset=paper1999")
    with pytest.raises(ResourceError, match="no remap file"):
        load(spec(remap="nowhere.remap")).resolve(TASK)


def explained(matching: str) -> tuple[FloatArray, Any]:
    metric = load(spec(matching=matching, lm="off"))
    segment = BATCH.take([0])
    return metric.statistics(segment)[0], metric.explain(segment)


def test_explain_shows_the_whole_flow() -> None:
    score, found = explained("transport")
    assert found.left == ("die", "katze", "saß", "auf", "der", "matte", ".")
    assert found.right[:3] == ("the", "cat", "sat")
    assert sum(link.weight for link in found.links) == pytest.approx(1.0)
    cost = sum(link.weight * link.cost for link in found.links)
    assert score[0] == pytest.approx(1 - cost, abs=1e-6)
    assert found.to_dict()["source"][1] == {"word": "katze", "pieces": ["katze"]}


@pytest.mark.parametrize("matching", ["precision", "recall"])
def test_explain_shows_the_best_matches(matching: str) -> None:
    score, found = explained(matching)
    assert sum(x.weight * (1 - x.cost) for x in found.links) == pytest.approx(score[0], abs=1e-6)
