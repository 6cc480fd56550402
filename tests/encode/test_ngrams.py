"""Piece pairs: the formula by brute force, what the shipped ones know, and what is refused."""

from __future__ import annotations

import json
import math
import shutil
from collections import defaultdict
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mtgauge
from mtgauge import Segments
from mtgauge.encode import EncoderSettings, load_language_model
from mtgauge.encode.lm import ODDS
from mtgauge.encode.ngrams import MIDDLE, STEP, PiecePairs
from mtgauge.engine.ready import make_ready
from mtgauge.errors import LanguageError, ResourceError, UsageError
from mtgauge.metric import Task
from mtgauge.metrics.xmoverscore import XMoverScore
from mtgauge.models import shipped
from recipe_files import recipe

# a sentence, and its words in another order
ORDERED = {
    "de": ("Der Zug kommt heute leider eine Stunde später an.",
           "Eine leider kommt später der Stunde heute an Zug."),
    "cs": ("Zítra ráno pojedeme vlakem do Prahy.", "Do pojedeme Prahy vlakem ráno zítra."),
    "fi": ("Minä en ole koskaan käynyt Helsingissä.", "Koskaan Helsingissä en käynyt minä ole."),
    "ru": ("Я никогда не был в этом городе.", "Городе не в никогда этом я был."),
    "tr": ("Yarın sabah erken kalkmak zorundayım.", "Zorundayım erken yarın kalkmak sabah."),
    "et": ("Ma ei ole kunagi selles linnas käinud.", "Linnas kunagi ma käinud ole selles ei."),
    "fr": ("Je ne sais pas où il habite maintenant.", "Maintenant sais ne où pas il je habite."),
    "en": ("I do not know where he lives now.", "Now where not he know lives I do."),
}  # fmt: skip
ROWS = st.lists(
    st.lists(st.integers(2, 6), min_size=1, max_size=8).map(lambda x: [0, *x, 1]),
    min_size=2,
    max_size=12,
)


@pytest.fixture
def ngrams(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "recipes"))
    return recipe("ngrams")


@given(ROWS)
@settings(max_examples=40, deadline=None)
def test_pairs_are_smoothed_as_the_formula_says(rows: list[list[int]]) -> None:
    """The recipe's arrays against a dictionary for each line of its docstring."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path(__file__).parents[2] / "recipes"))
        made = recipe("ngrams").fit(rows, 7, 10_000)
    company: dict[tuple[int, int], set[int]] = defaultdict(set)
    begins: dict[tuple[int, int], int] = defaultdict(int)
    for row in rows:
        begins[row[0], row[1]] += 1
        for u, v, w in zip(row, row[1:], row[2:], strict=False):
            company[v, w].add(u)
    n = {pair: len(seen) for pair, seen in company.items()} | dict(begins)
    alone = [sum(w == after for _, after in n) for w in range(7)]

    def discount(counts: list[int]) -> float:
        once, twice = counts.count(1), counts.count(2)
        return once / (once + 2 * twice) if once else 0.5

    d = discount(alone)
    p = [max(a - d, 0) / sum(alone) + d * sum(map(bool, alone)) / sum(alone) / 7 for a in alone]
    d = discount(list(n.values()))
    at = 0
    for v in range(7):
        after = sorted(w for before, w in n if before == v)
        total = sum(n[v, w] for w in after)
        assert made["counts"][v] == len(after)
        for w in after:
            want = max(n[v, w] - d, 0) / total + d * len(after) / total * p[w]
            gain = (float(made["gains"][at]) - MIDDLE) * STEP
            assert made["followers"][at] == w
            assert gain == pytest.approx(math.log(want / p[w]), abs=STEP / 2 + 1e-9)
            at += 1
        if after and len(after) < 7:
            left = d * len(after) / total  # what the discounts have set free
            assert made["backoff"][v] * STEP == pytest.approx(-math.log(left), abs=STEP / 2 + 1e-6)


def test_fewer_pairs_keep_those_that_tell_most(ngrams: ModuleType) -> None:
    rows = [[0, 2, 3, 1], [0, 4, 3, 1], [0, 5, 2, 3, 1], [0, 6, 1], [0, 2, 6, 1]] * 2
    whole, part = ngrams.fit(rows, 7, 100), ngrams.fit(rows, 7, 2)
    assert part["counts"].sum() == 2 < whole["counts"].sum()
    assert (part["backoff"] <= whole["backoff"]).all(), "more is left for what was not kept"


@pytest.mark.parametrize("lang", sorted(ORDERED))
def test_an_order_of_words_is_told_from_none(lang: str) -> None:
    odds, at = load_language_model("ngrams", lang).odds([text.lower() for text in ORDERED[lang]])
    right, wrong = np.add.reduceat(odds, at[:-1]) / np.diff(at)
    assert right > wrong + 0.3


def test_every_language_of_the_encoder_has_pairs() -> None:
    card = json.loads((shipped("encoder") / "card.json").read_text("utf-8"))
    known = json.loads((shipped("ngrams") / "card.json").read_text("utf-8"))["languages"]
    assert set(known) == set(card["languages"])


def test_odds_are_cut_and_do_not_depend_on_company() -> None:
    model = load_language_model("ngrams", "de")
    texts = ["angela merkel", "ich ich ich ich", "", "☃ xqzt", "der zug kam an. " * 400]
    together, at = model.odds(texts)
    assert together.min() >= ODDS[0]
    assert together.max() == ODDS[1], "Merkel, after Angela"
    model.forget()
    for i, text in enumerate(texts):
        np.testing.assert_array_equal(model.odds([text])[0], together[at[i] : at[i + 1]])
    assert np.diff(at)[2] == 1, "an empty text is its end alone"


def test_into_english_the_transformer_out_of_it_the_pairs() -> None:
    both = frozenset({"source"})
    for lang, model, weight in (
        ("en-fi", "ngrams", 0.125),
        ("en-zh_CN", "ngrams", 0.125),
        ("fr-de", "ngrams", 0.125),
        ("de-en", "fluency", 0.05),
    ):
        ready = make_ready("xmoverscore", Task(both, lang))
        assert ready.signature.versions["language_model"].startswith(f"mtgauge-{model}@")
        assert ready.metric.params()["lm_weight"] == weight
    given_weight = make_ready("xmoverscore:lm_weight=0.2", Task(both, "en-fi")).metric
    assert given_weight.params()["lm_weight"] == 0.2
    paper = make_ready("xmoverscore:preset=paper2020", Task(both, "en-fi")).signature
    assert paper.versions["language_model"].startswith("mtgauge-fluency@"), "a preset is pinned"


def test_a_model_is_opened_once_for_the_metric_and_its_guard() -> None:
    metric = mtgauge.load("xmoverscore")
    assert isinstance(metric, XMoverScore)
    term = metric.lm_term("de-en")
    assert term.model is load_language_model("embedded")


def test_bounds_hold_for_both_models_until_a_language_is_named() -> None:
    low, high = mtgauge.load("cosine").bounds
    settled = [
        make_ready("cosine", Task(frozenset({"source"}), lang)).metric.bounds
        for lang in ("de-en", "en-de")
    ]
    assert (low, high) == (min(x[0] for x in settled), max(x[1] for x in settled))
    assert settled[0] != settled[1]


def test_unsettled_metrics_take_the_language_of_the_segments() -> None:
    segments = Segments(
        [ORDERED["de"][0]] * 2, ["The train will be an hour late today."] * 2, lang="en-de"
    )
    for spec in ("cosine:lm=ngrams", "xmoverscore:lm=ngrams", "fluency:lm=ngrams,lm_given=auto"):
        settled = make_ready(spec, Task.of(segments)).metric
        np.testing.assert_array_equal(mtgauge.load(spec).rows(segments), settled.rows(segments))


def test_a_scrambled_translation_loses_out_of_english() -> None:
    found = mtgauge.score(
        hypotheses={"right": [ORDERED["fi"][0]], "wrong": [ORDERED["fi"][1]]},
        sources=["I have never been to Helsinki."],
        metrics=["xmoverscore", "cosine"],
        lang="en-fi",
        ci=False,
    )
    for spec in ("xmoverscore", "cosine"):
        assert found[spec]["right"].score > found[spec]["wrong"].score + 0.02


def test_explain_shows_words_and_what_the_pairs_add() -> None:
    segment = Segments([ORDERED["de"][1]], ["The train will be an hour late today."], lang="en-de")
    fluency = mtgauge.load("fluency:lm=ngrams").explain(segment)
    assert fluency.unit == "-odds"
    assert "neighbour" in fluency.remarks[0]
    term = mtgauge.load("xmoverscore").explain(segment)
    assert term.facts["fluency_weight"] == 0.125
    assert any("fluency:lm=ngrams" in remark for remark in term.remarks)


@pytest.mark.filterwarnings("ignore:.*was not trained on")
@pytest.mark.parametrize(
    ("spec", "lang", "error", "says"),
    [
        ("xmoverscore:lm=ngrams", "en-sw", LanguageError, "no piece pairs of the language sw"),
        ("fluency:lm=ngrams", None, LanguageError, "nobody named"),
        ("xmoverscore:lm=embedded,lm_form=odds", "en-de", UsageError, "lm=ngrams"),
        ("fluency:lm=ngrams,lm_given=source", "en-de", UsageError, "lm_given=nothing"),
        ("xmoverscore:lm_prior=0.3", "en-de", UsageError, "lm_prior takes off"),
    ],
)
def test_what_they_cannot_serve_is_refused(
    spec: str, lang: str | None, error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        make_ready(spec, Task(frozenset({"source"}), lang))


@pytest.mark.parametrize("fault", ["cut", "gone"])
def test_a_file_that_was_cut_or_lost_is_refused(tmp_path: Path, fault: str) -> None:
    for name in ("card.json", "fi.safetensors"):
        shutil.copy(shipped("ngrams") / name, tmp_path)
    path = tmp_path / "fi.safetensors"
    if fault == "gone":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(ResourceError, match=r"fi\.safetensors is missing, or not what the card"):
        PiecePairs(tmp_path, "fi", EncoderSettings())
