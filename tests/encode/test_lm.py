"""Language models: both roads agree, windows and short texts are defined."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mtgauge
from mtgauge.data.segments import Segments
from mtgauge.encode import EncoderSettings
from mtgauge.encode.lm import FLOOR, HubLanguageModel, OnnxLanguageModel, mean_scores, split_windows
from mtgauge.errors import ResourceError, UsageError
from mtgauge.metrics._language_model import published
from mtgauge.notes import sentence
from mtgauge.registry import load
from tiny_models import LONGEST, language_model_folders

TEXTS = ["the cat sat on the mat.", "cat", "", "a dog, red and big " * 30, "cat"]


def onnx(**changes: int) -> OnnxLanguageModel:
    return OnnxLanguageModel(language_model_folders()[0], EncoderSettings(**changes))  # type: ignore[arg-type]


def hub(**changes: int) -> HubLanguageModel:
    return HubLanguageModel(str(language_model_folders()[1]), EncoderSettings(**changes))  # type: ignore[arg-type]


@pytest.mark.parametrize("bos", [True, False])
def test_both_roads_agree(bos: bool) -> None:
    (left, left_at), (right, right_at) = onnx().logprobs(TEXTS, bos), hub().logprobs(TEXTS, bos)
    np.testing.assert_array_equal(left_at, right_at)
    np.testing.assert_allclose(left, right, atol=1e-4)
    lengths = np.diff(left_at)
    assert lengths[:3].tolist() == ([7, 1, 0] if bos else [6, 0, 0])
    assert lengths[3] == 6 * 30 - (not bos)  # long texts are scored whole, in windows


@pytest.mark.parametrize("make", [onnx, hub])
def test_scores_do_not_depend_on_batch_mates(make: type) -> None:
    whole, _ = make(tokens_per_batch=5000).logprobs(TEXTS)
    alone, _ = make(tokens_per_batch=1).logprobs(TEXTS)
    np.testing.assert_allclose(whole, alone, atol=1e-5)


def test_the_first_window_is_the_text_itself() -> None:
    long, _ = onnx().logprobs([TEXTS[3]])
    model = onnx()
    head = model.token_ids([TEXTS[3]], True)[0][:LONGEST]
    np.testing.assert_allclose(long[: LONGEST - 1], model._run([head])[0], atol=1e-5)


@given(st.integers(0, 300), st.integers(2, 40))
def test_windows_score_each_token_once_with_half_a_window_of_context(n: int, size: int) -> None:
    ids = list(range(n))
    scored = []
    for number, (skip, part) in enumerate(split_windows(ids, size)):
        assert len(part) <= size
        scored += part[1 + skip :]
        if number:
            assert skip + 1 >= size // 2
    assert scored == ids[1:]


def test_given_a_source_the_text_alone_is_scored() -> None:
    model = onnx()
    values, offsets = model.logprobs(["the cat", "cat", ""], given=["die katze", "katze", "rot"])
    assert np.diff(offsets).tolist() == [2, 1, 0]
    prefix, text = model.pair_ids([("die katze", "the cat")])[0]
    assert (len(prefix), len(text)) == (4, 2)
    np.testing.assert_allclose(values[:2], model._run([prefix + text])[0][3:], atol=1e-6)
    other, _ = model.logprobs(["the cat"], given=["der hund"])
    assert np.abs(other - values[:2]).max() > 1e-3


def test_a_long_source_loses_its_end_and_a_long_text_is_windowed() -> None:
    model = onnx()
    long = "katze " * 200
    ids, prefix = model._fit(*model.pair_ids([(long, "the cat")])[0])
    assert (len(ids), prefix) == (LONGEST, LONGEST - 2)
    cut, _ = model.logprobs(["the cat"], given=[long])
    same, _ = model.logprobs(["the cat"], given=["katze " * (LONGEST - 4)])
    np.testing.assert_allclose(cut, same, atol=1e-6)
    _, offsets = model.logprobs(["the cat " * 100], given=[long])
    assert offsets.tolist() == [0, 200]


@given(st.integers(2, 200), st.integers(1, 10), st.integers(12, 40))
def test_windows_with_a_prefix_score_each_token_once(n: int, prefix: int, size: int) -> None:
    ids = list(range(prefix + n))
    scored = []
    for skip, part in split_windows(ids, size, prefix):
        assert len(part) <= size
        assert part[:prefix] == ids[:prefix]
        scored += part[1 + skip :]
    assert scored == ids[prefix:]


def test_scores_are_remembered_for_other_metrics(monkeypatch: pytest.MonkeyPatch) -> None:
    model = onnx()
    first, _ = model.logprobs(["cat", "the dog"])
    monkeypatch.setattr(model, "forward", None)
    again, _ = model.logprobs(["the dog", "cat"])
    np.testing.assert_array_equal(again, [*first[1:], first[0]])
    with pytest.raises(TypeError):
        model.logprobs(["the dog"], given=["der hund"])


def test_mean_is_floored_and_empty_is_the_floor() -> None:
    means = mean_scores(np.array([-1.0, -3.0, -50.0]), np.array([0, 2, 3, 3]))
    np.testing.assert_array_equal(means, [-2.0, FLOOR, FLOOR])


@pytest.mark.shared
def test_published_forms(shared: Path) -> None:
    want = json.loads((shared / "spec/golden/xmover_toy.json").read_text("utf-8"))["lm"]
    mean, n = np.array([-want["mean_nll_per_predicted_token"]]), np.array([want["n_tokens"]])
    assert published(mean, n, "mean")[0] == pytest.approx(want["paper_era_score"])
    assert published(mean, n, "root")[0] == pytest.approx(want["current_repo_score"], abs=1e-6)


def metric(**options: str) -> str:
    values = {"lm": str(language_model_folders()[0]), **options}
    return "fluency:" + ",".join(f"{k}='{v}'" for k, v in values.items())


def test_short_texts_by_preset() -> None:
    batch = Segments(["", "cat", "the cat"])
    found = load(metric()).statistics(batch)[:, 0]
    assert found[0] == FLOOR
    assert FLOOR < found[1] < 0
    for preset in ("paper2020", "repo2021", "repo2022"):
        published_ = load(metric(preset=preset)).statistics(batch)[:, 0]
        assert published_[:2].tolist() == [0.0, 0.0]
        assert published_[2] != 0
    strict = load(metric(preset="paper2020", lm_short="floor")).statistics(batch)[:, 0]
    assert strict[:2].tolist() == [FLOOR, FLOOR]


def test_the_2022_form_counts_every_token() -> None:
    batch = Segments(["the cat sat"])
    mean = load(metric(preset="repo2021")).statistics(batch)[0, 0]
    root = load(metric(preset="repo2022")).statistics(batch)[0, 0]
    assert root == pytest.approx(np.exp(mean / 3))


def test_given_the_source() -> None:
    found = load(metric(lm_given="source", lm_prior="0.5"))
    assert found.needs == {"source"}
    assert found.bounds == (FLOOR, -0.5 * FLOOR)
    batch = Segments(["the cat", ""], ["die katze", "rot"])
    given = load(metric(lm_given="source")).statistics(batch)[:, 0]
    alone = load(metric()).statistics(batch)[:, 0]
    assert found.statistics(batch)[0, 0] == pytest.approx(given[0] - 0.5 * alone[0])
    assert found.statistics(batch)[1, 0] == given[1] == FLOOR
    with pytest.raises(UsageError, match="needs the source"):
        found.statistics(Segments(["cat"]))


def test_bounds_needs_and_explanation() -> None:
    found = load(metric())
    assert found.needs == frozenset()
    assert found.bounds == (FLOOR, 0.0)
    assert found.worst == FLOOR
    explained = found.explain(Segments(["the cat"]))
    assert len(explained.facts["logprobs"]) == 2
    assert np.mean(explained.facts["logprobs"]) == pytest.approx(explained.score, abs=1e-3)
    assert {f.text for f in explained.findings} == {"the", "cat"}
    costs = [f.cost for f in explained.findings]
    assert costs == sorted(costs, reverse=True)
    assert -sum(costs) / 2 == pytest.approx(explained.score, abs=1e-6)


def test_errors_advise_options_that_exist() -> None:
    model = hub()
    model.tokenizer.bos_token = model.tokenizer.eos_token = None
    with pytest.raises(ResourceError, match="lm_bos=off"):
        model.logprobs(["the cat"])
    with pytest.raises(UsageError, match="lm_given=nothing"):
        model.logprobs(["the cat"], given=["die katze"])
    load("fluency:lm_bos=off,lm_given=nothing")


def test_a_model_of_the_wrong_kind_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "lm"
    shutil.copytree(language_model_folders()[0], folder)
    path = folder / "card.json"
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | {"kind": "encoder"}), "utf-8")
    with pytest.raises(ResourceError, match="describes a encoder, not a fluency"):
        OnnxLanguageModel(folder, EncoderSettings())


def test_fluency_says_that_it_read_no_source() -> None:
    texts, sources = ["The dog sleeps.", "It rains."], ["Der Hund schläft.", "Es regnet."]
    alone = mtgauge.score(texts, sources, metrics=["fluency"], lang="de-en", ci=False)["fluency"]
    assert alone.notes["read alone"] == 2
    assert sentence("read alone", 2).startswith("2 translations were read without their sources")
    spec = "fluency:lm_given=source"
    given = mtgauge.score(texts, sources, metrics=[spec], lang="de-en", ci=False)[spec]
    assert "read alone" not in given.notes
