"""Options that declare their range and when they apply; groups; signatures made of them."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, fields
from typing import Annotated, Literal

import pytest

from mtgauge import registry
from mtgauge.cli import main
from mtgauge.errors import UsageError
from mtgauge.metric import Metric
from mtgauge.metrics._language_model import LanguageModelOptions
from mtgauge.metrics.bleu import Bleu
from mtgauge.metrics.kobe import Kobe
from mtgauge.options import Range, Unless, When, declared, format_value, kind_text
from mtgauge.signature import Signature, over, restore, sign


@registry.options
class Shared:
    _: KW_ONLY
    depth: Annotated[int | None, Range(1), Unless("mode", "flat")] = None
    other: Annotated[int | None, When("absent", 1)] = None


@registry.options
class Example(Shared, Metric):
    name = "example"
    mode: Literal["deep", "flat"] = "deep"
    share: Annotated[float, Range(0, 1), When("mode", "deep")] = 0.5
    sizes: Annotated[tuple[float, ...], Range(above=0)] = (1.0,)


Layer = Annotated[int, "which layer", Range(1)]


@registry.options
class Told(Metric):
    name = "told"
    layer: Layer | None = None
    depth: Layer = 1
    own: Annotated[Layer, "its own"] = 1


def test_a_declaration_is_read_once_with_its_groups() -> None:
    options = declared(Example)
    assert list(options) == ["mode", "share", "sizes", "depth", "other"]
    assert options["share"].applies == "mode is deep"
    assert options["depth"].applies == "mode is not flat"
    assert options["other"].conditions == (), "a condition on an option it does not have"
    assert options["depth"].default is None
    assert kind_text(options["mode"].kind) == "deep|flat"
    assert kind_text(options["sizes"].kind) == "NUMBER;NUMBER"
    assert Example(depth=3).params()["depth"] == 3
    with pytest.raises(TypeError, match="dept"):
        Example(dept=3)  # type: ignore[call-arg]


def test_fields_are_options_and_are_inherited() -> None:
    @registry.options
    class Longer(Bleu):
        """A metric of somebody else, with an option more."""

        bonus: Annotated[float, Range(0)] = 1.0

    options = declared(Longer)
    assert list(options) == [*declared(Bleu), "bonus"]
    assert options["smooth_value"].applies == declared(Bleu)["smooth_value"].applies
    assert options["bonus"].ranges == (Range(0),)
    made = Longer(smooth="floor", bonus=2.0)
    assert (made.smooth, made.bonus, made.tokenize) == ("floor", 2.0, "auto")
    assert made != Longer(smooth="floor", bonus=2.0), "metrics are told apart by identity"
    assert "somebody else" in (Longer.__doc__ or "")
    assert "bonus=2.0" in repr(made)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"share": 1.5}, "example: share=1.5 is out of range. It must be between 0 and 1."),
        ({"share": math.nan}, "out of range"),
        ({"sizes": (1.0, 0.0)}, "sizes=1;0 is out of range. Each value must be above 0."),
        ({"depth": 0}, "1 or more"),
        ({"mode": "flat", "share": 0.7}, "share applies only where mode is deep"),
        ({"mode": "flat", "depth": 2}, "depth applies only where mode is not flat"),
    ],
)
def test_what_is_out_of_range_or_does_nothing_is_refused(
    options: dict[str, object], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        Example(**options).check()  # type: ignore[arg-type]


def test_an_option_that_does_not_apply_may_have_its_usual_value() -> None:
    Example("flat", 0.5).check()


@pytest.mark.parametrize(
    ("spec", "option", "when"),
    [
        ("xmoverscore:dropout=0.9", "dropout=0.9", "matching is transport"),
        ("xmoverscore:distance=squared", "distance=squared", "matching is transport"),
        ("xmoverscore:form=inverse", "form=inverse", "matching is transport"),
        ("xmoverscore:lm=off,lm_bos=off", "lm_bos=off", "lm is not off or none"),
        ("xmoverscore:lm_weight=0,lm_bos=off", "lm_bos=off", "lm_weight is not 0"),
        ("cosine:lm=off,lm_weight=0.3", "lm_weight=0.3", "lm is not off"),
        ("cosine:lm_given=nothing,lm_prior=0.3", "lm_prior=0.3", "lm_given is not nothing"),
        ("cosine:remap_side=both", "remap_side=both", "remap is not none or own"),
        ("cosine:multi_ref=mean", "multi_ref=mean", "against is reference"),
        ("fluency:lm_prior=0.3", "lm_prior=0.3", "lm_given is not nothing"),
        ("regressor:view=hyp+src,multi_ref=mean", "multi_ref=mean", "view is not"),
        ("esim:view=src,multi_ref=mean", "multi_ref=mean", "view is ref"),
        ("kobe:annotations=FILE,kb=mine", "kb=mine", "annotations is none"),
        ("bleu:smooth_value=1", "smooth_value=1", "smooth is floor or add-k"),
    ],
)
def test_options_of_our_metrics_that_would_do_nothing(spec: str, option: str, when: str) -> None:
    with pytest.raises(UsageError) as found:
        registry.load(spec)
    assert f"{option} would do nothing here" in str(found.value)
    assert when in str(found.value)


def test_the_example_of_the_issue_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    spec = "xmoverscore:lm=off,distance=squared,dropout=0.9,form=inverse,lm_bos=off"
    assert main(["score", "-t", "x", "-s", "y", "-m", spec]) in (2, 3)
    with pytest.raises(UsageError, match="applies only where matching is transport"):
        registry.load(spec)
    capsys.readouterr()


def test_a_preset_pins_its_switches_and_signs_them() -> None:
    paper = registry.load("kobe:preset=paper")
    assert isinstance(paper, Kobe)
    assert (paper.options.names, paper.options.numbers) == (False, False)
    signed = sign(paper)
    assert signed.short.startswith("kobe|preset:paper|mtgauge:")
    assert "names:on" not in signed.full
    assert "numbers:on" not in signed.full
    assert restore(signed.short).params() == paper.params()
    assert registry.spec_of(paper) == "kobe:preset=paper"
    # a switch of an encoder's preset may be changed, and the signature says so
    changed = registry.load("xmoverscore:preset=paper2020,ngram=1,lm=off")
    assert registry.spec_of(changed) == "xmoverscore:preset=paper2020,ngram=1,lm=off"


@pytest.mark.parametrize("name", ["xmoverscore", "cosine", "fluency"])
def test_the_options_of_the_language_model_are_declared_once(name: str) -> None:
    options = declared(registry.get(name))
    for option in (field.name for field in fields(LanguageModelOptions)):
        assert option in options
    assert registry.load(f"{name}:lm_form=root").params()["lm_form"] == "root"


def test_details_show_range_and_condition(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["metrics", "xmoverscore"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "(default 0; between 0 and 1; only with matching=transport)" in text
    assert "(default auto; not with lm=off or lm=none; not with lm_weight=0)" in text
    assert "device --device chooses it" in text


def test_values_are_written_as_they_are_read() -> None:
    assert [format_value(v) for v in (True, None, (1.0, 2.5), "x")] == ["on", "none", "1;2.5", "x"]


def signed(lang: str, tokenize: str, version: str = "1") -> Signature:
    options = {"tokenize": tokenize, "lowercase": "off"}
    facts = {"refs": "1", "lang": lang}
    return Signature("bleu", {"tokenize": tokenize}, options, facts, {"mtgauge": version}, {})


def test_a_mean_over_pairs_signs_what_was_asked_where_pairs_differ() -> None:
    same = over([signed("de-en", "13a"), signed("ru-en", "13a")], "average")
    assert same.short == "bleu|tokenize:13a|refs:1|lang:average|mtgauge:1"
    mixed = over([signed("en-de", "13a"), signed("en-zh", "zh", "2")], "average")
    assert mixed.short == "bleu|refs:1|lang:average|mtgauge:1+2"
    assert mixed.full == "bleu|lowercase:off|refs:1|lang:average|mtgauge:1+2"
    assert restore(mixed.short).params()["tokenize"] == "auto"


@pytest.mark.parametrize(
    "spec",
    ["bleu:max_order", "nist:max_order", "wordf:max_order", "chrf:word_order", "chrf:char_order",
     "moverscore:ngram", "xmoverscore:ngram"],
)  # fmt: skip
def test_orders_have_an_upper_end(spec: str) -> None:
    """One row has a number per order: a billion of them is no option but an accident."""
    with pytest.raises(UsageError, match="out of range"):
        registry.load(f"{spec}=1000000000").check()


@pytest.mark.parametrize("spec", ["kobe:weights=typo=5", "blend:weights=0;0"])
def test_weights_that_weigh_nothing_are_refused(spec: str) -> None:
    with pytest.raises(UsageError, match="weights"):
        registry.load(spec).check()


@pytest.mark.parametrize("name", registry.names())
def test_every_option_says_what_it_does(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["metrics", name]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    for option in declared(registry.get(name)).values():
        assert 10 < len(option.text) < 140, f"{name}:{option.name}"
        assert not option.text.endswith("."), "a line of a list, no sentence"
        assert f"{option.text} (default " in shown


def test_a_text_is_declared_once_and_said_better_where_it_is_used() -> None:
    options = declared(Told)
    assert options["layer"].text == options["depth"].text == "which layer"
    assert options["layer"].ranges == (Range(1),)
    assert options["layer"].kind == int | None
    assert options["own"].text == "its own"
    assert options["own"].ranges == (Range(1),)
    assert options["own"].kind is int


def test_a_metric_is_named_by_text() -> None:
    with pytest.raises(UsageError, match="named by text"):
        registry.load(registry.load("chrf"))  # type: ignore[arg-type]


def test_none_is_a_word_where_a_preset_fills_in_what_is_not_given() -> None:
    """`lm=none` once was the embedded language model: as if nothing had been said."""
    metric = registry.load("xmoverscore:lm=none,remap=none")
    assert (metric.params()["lm"], metric.params()["remap"]) == ("none", "none")
    assert registry.load("kobe:annotations=none").params()["annotations"] is None
    with pytest.raises(UsageError, match="ngram='none' is not a whole number"):
        registry.load("xmoverscore:ngram=none")
