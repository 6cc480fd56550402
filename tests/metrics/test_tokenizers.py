"""Tokenisers of the lexical metrics: sacrebleu's, by its names, and what `auto` chooses."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sacrebleu.metrics import BLEU, TER

import mtgauge
from mtgauge.data.segments import Segments
from mtgauge.errors import LanguageError, ResourceError, UsageError
from mtgauge.metric import Metric, Task
from mtgauge.registry import load
from mtgauge.signature import restore, sign
from mtgauge.text import words

LEXICAL = ("bleu", "sentbleu", "wer", "per", "nist", "wordf", "character")
TEXTS = {
    "en": (["A dog, in the garden; it barked 3,000 times!", "Prices rose 5% – again."],
           ["In the garden a dog barked 3,000 times.", "Prices again rose by 5 %."]),
    "zh": (["我喜欢这只黑色的猫。", "他昨天去了Berlin工作"],
           ["我喜欢那只黑猫。", "他昨天到Berlin工作了"]),
    "ja": (["私は猫がとても好きです。", "彼は昨日東京に行った"],
           ["私は犬がとても好きです。", "彼女は昨日、東京へ行った"]),
    "th": (["ฉันชอบแมวสีดำตัวนี้", "เขาไปทำงานเมื่อวาน"], ["ฉันชอบแมวดำตัวนั้น", "เขาไปทำงานวันนี้"]),
    "lo": (["ຂ້ອຍມັກແມວສີດຳ", "ລາວໄປເຮັດວຽກ"], ["ຂ້ອຍມັກໝາສີດຳ", "ລາວໄປໂຮງຮຽນ"]),
    "km": (["ខ្ញុំចូលចិត្តឆ្មាខ្មៅ", "គាត់ទៅធ្វើការ"], ["ខ្ញុំចូលចិត្តឆ្កែខ្មៅ", "គាត់ទៅសាលា"]),
    "my": (["ကျွန်တော်ကြောင်ကိုကြိုက်တယ်", "သူအလုပ်သွားတယ်"], ["ကျွန်တော်ခွေးကိုကြိုက်တယ်", "သူကျောင်းသွားတယ်"]),
}  # fmt: skip


def batch(lang: str, worse: bool = False) -> Segments:
    hypotheses, references = TEXTS[lang]
    if worse:
        hypotheses = [text[len(text) // 2 :][::-1] for text in hypotheses]
    return Segments(hypotheses, references=[(text,) for text in references], lang=f"de-{lang}")


def settled(spec: str, given: Segments) -> Metric:
    metric = load(spec).resolve(Task.of(given))
    metric.fit([text for row in given.references or () for text in row])
    return metric


def system(metric: Metric, given: Segments) -> float:
    rows = metric.statistics(given)
    return float(metric.system_score(rows.sum(axis=0, keepdims=True), np.array([len(given)]))[0])


def as_sacrebleu(theirs: Any, given: Segments) -> float:
    streams = [[row[0] for row in given.references or ()]]
    return float(theirs.corpus_score(list(given.hypotheses), streams).score)


@pytest.mark.parametrize("lang", TEXTS)
@pytest.mark.parametrize("name", ["13a", "none", "zh", "intl", "char", "ja-mecab", "ko-mecab"])
def test_every_tokeniser_gives_sacrebleus_number(name: str, lang: str) -> None:
    try:
        words.tokenizer(name)
    except ResourceError:
        pytest.skip(f"{name} is not installed")
    given = batch(lang)
    ours = settled(f"bleu:tokenize={name}", given)
    assert system(ours, given) == pytest.approx(as_sacrebleu(BLEU(tokenize=name), given), abs=1e-9)
    assert f"tokenize:{name}" in sign(ours).short


@pytest.mark.parametrize("metric", LEXICAL)
@pytest.mark.parametrize("name", ["foo", "spn", "de", "treebank", "13A"])
def test_only_sacrebleus_names_are_known(metric: str, name: str) -> None:
    with pytest.raises(UsageError, match="is not one of auto, 13a, none, zh, intl, char, ja-mecab"):
        load(f"{metric}:tokenize={name}")


@pytest.mark.parametrize("metric", LEXICAL)
@pytest.mark.parametrize("lang", ["zh", "ja", "th", "lo", "km", "my"])
def test_text_without_spaces_is_cut_and_signed(metric: str, lang: str) -> None:
    good, bad = batch(lang), batch(lang, worse=True)
    ours = settled(metric, good)
    chosen = ours.params()["tokenize"]
    assert chosen in {"zh": ("zh",), "ja": ("ja-mecab", "char")}.get(lang, ("char",))
    assert f"tokenize:{chosen}" in sign(ours).short
    better, worse = system(ours, good), system(ours, bad)
    assert better != worse
    assert (better > worse) == ours.higher_is_better
    assert better != pytest.approx(ours.worst)


@pytest.mark.parametrize("pair", ["en-zh_CN", "eng-zho", "en-zho_Hans", "en-zh-TW", "en-zh"])
def test_chinese_is_chinese_however_it_is_written(pair: str) -> None:
    hypotheses, references = TEXTS["zh"]
    result = mtgauge.score(
        {"a": hypotheses}, references=references, metrics=["bleu", "ter"], lang=pair, ci=False
    )
    given = batch("zh")
    assert result["bleu"]["a"].score == pytest.approx(as_sacrebleu(BLEU(tokenize="zh"), given))
    theirs = TER(normalized=True, asian_support=True)
    assert result["ter"]["a"].score == pytest.approx(as_sacrebleu(theirs, given))
    assert result.lang == result.to_dict()["lang"] == mtgauge.data.checks.language_pair(pair)
    assert f"|lang:{result.lang}|" in result["bleu"].signature.short


@pytest.mark.parametrize("lang", ["zh", "ja"])
def test_ter_counts_characters_of_chinese_and_japanese(lang: str) -> None:
    given = batch(lang)
    ours = settled("ter", given)
    assert system(ours, given) == pytest.approx(
        as_sacrebleu(TER(normalized=True, asian_support=True), given), abs=1e-9
    )
    assert system(ours, given) < 90
    assert "normalized:on|asian_support:on" in sign(ours).short
    assert system(restore(sign(ours).short), given) == system(ours, given)
    plain = settled("ter:asian_support=off", given)
    assert system(plain, given) == pytest.approx(as_sacrebleu(TER(), given), abs=1e-9)


@pytest.mark.parametrize("lang", ["th", "lo", "km", "my"])
def test_ter_refuses_languages_that_tercom_cannot_cut(lang: str) -> None:
    given = batch(lang)
    with pytest.raises(LanguageError, match="Use chrf, or wer"):
        settled("ter", given)
    assert system(settled("ter:asian_support=off", given), given) > 0


def test_ter_of_other_languages_is_as_before() -> None:
    given = batch("en")
    assert system(settled("ter", given), given) == pytest.approx(as_sacrebleu(TER(), given))


def test_character_of_nothing_in_common_is_the_worst() -> None:
    given = Segments(["甲乙丙丁"], references=[("子丑寅卯",)], lang="en-zh")
    assert system(settled("character", given), given) == 1.0
    near = Segments(["甲乙丙丁"], references=[("甲乙丙卯",)], lang="en-zh")
    assert system(settled("character", near), near) == pytest.approx(1 / 4)


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """sacrebleu's folder of models, empty, and no network."""
    from sacrebleu.tokenizers import tokenizer_spm

    def offline(*_: object, **__: object) -> None:
        raise OSError("no network")

    monkeypatch.setattr(tokenizer_spm, "SACREBLEU_DIR", str(tmp_path))
    monkeypatch.setattr(tokenizer_spm, "download_file", offline)
    words.tokenizer.cache_clear()
    (tmp_path / "models").mkdir()
    yield tmp_path / "models"
    words.tokenizer.cache_clear()


@pytest.mark.parametrize("name", ["flores101", "flores200", "spBLEU-1K", "spm"])
def test_a_model_that_cannot_be_had_is_said(name: str, models: Path) -> None:
    pytest.importorskip("sentencepiece")
    with pytest.raises(ResourceError, match=r"no network.*copy \.sacrebleu/models/"):
        settled(f"bleu:tokenize={name}", batch("th"))


@pytest.mark.parametrize("name", ["flores101", "flores200", "spm"])
def test_sentencepiece_tokenisers_are_sacrebleus(name: str, models: Path) -> None:
    spm = pytest.importorskip("sentencepiece")
    from sacrebleu.tokenizers.tokenizer_spm import SPM_MODELS

    lines = [text for pair in TEXTS.values() for side in pair for text in side]
    spm.SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        model_prefix=str(models / "made"),
        vocab_size=260,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    model = (models / "made.model").read_bytes()
    (models / SPM_MODELS[name]["url"].rsplit("/", 1)[-1]).write_bytes(model)
    given = batch("th")
    ours = settled(f"bleu:tokenize={name}", given)
    theirs = BLEU(tokenize=name)
    assert system(ours, given) == pytest.approx(as_sacrebleu(theirs, given), abs=1e-9)
    assert f"tokenize:{theirs.tokenizer_signature}" in sign(ours).short  # spm is flores101 there
