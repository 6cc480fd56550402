"""An untranslated text never wins: the guard in `Metric.rows`, for metrics that read the source.

Six sentences of our own in seven languages, in nine directions; the wrong texts are the source
itself and the same sentence in each of the other languages.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mtgauge import registry
from mtgauge.data.segments import Segments
from mtgauge.engine.explain import explain
from mtgauge.engine.local import score
from mtgauge.engine.ready import make_ready
from mtgauge.errors import UsageError
from mtgauge.metric import FloatArray, Metric, Task
from mtgauge.options import declared
from mtgauge.text import guard

SENTENCES = {
    "en": [
        "The museum in Berlin was closed on Monday because of a strike.",
        "My brother has not answered my letters for three weeks.",
        "The government wants to build 250 new flats near the station.",
        "She bought two kilos of apples and forgot her purse.",
        "Nobody knows why the bridge collapsed so quickly.",
        "If it rains tomorrow, we will stay at home and read.",
    ],
    "de": [
        "Das Museum in Berlin war am Montag wegen eines Streiks geschlossen.",
        "Mein Bruder hat seit drei Wochen nicht auf meine Briefe geantwortet.",
        "Die Regierung will in der Nähe des Bahnhofs 250 neue Wohnungen bauen.",
        "Sie kaufte zwei Kilo Äpfel und vergaß ihren Geldbeutel.",
        "Niemand weiß, warum die Brücke so schnell eingestürzt ist.",
        "Wenn es morgen regnet, bleiben wir zu Hause und lesen.",
    ],
    "zh": [
        "柏林的博物馆星期一因罢工而关闭。",
        "我弟弟三个星期没有回复我的信了。",
        "政府想在车站附近建造250套新公寓。",
        "她买了两公斤苹果，却忘了拿钱包。",
        "没有人知道那座桥为什么倒塌得这么快。",
        "如果明天下雨，我们就待在家里看书。",
    ],
    "ja": [
        "ベルリンの博物館はストライキのため月曜日に休館しました。",
        "兄は三週間、私の手紙に返事をくれていません。",
        "政府は駅の近くに250戸の新しい住宅を建てたいと考えています。",
        "彼女はりんごを二キロ買って、財布を忘れました。",
        "なぜその橋がそんなに早く崩れたのか誰も知りません。",
        "明日雨が降ったら、家にいて本を読みます。",
    ],
    "ru": [
        "Музей в Берлине был закрыт в понедельник из-за забастовки.",
        "Мой брат уже три недели не отвечает на мои письма.",
        "Правительство хочет построить 250 новых квартир рядом с вокзалом.",
        "Она купила два килограмма яблок и забыла свой кошелёк.",
        "Никто не знает, почему мост обрушился так быстро.",
        "Если завтра пойдёт дождь, мы останемся дома и будем читать.",
    ],
    "cs": [
        "Muzeum v Berlíně bylo v pondělí kvůli stávce zavřené.",
        "Můj bratr už tři týdny neodpověděl na mé dopisy.",
        "Vláda chce poblíž nádraží postavit 250 nových bytů.",
        "Koupila dvě kila jablek a zapomněla si peněženku.",
        "Nikdo neví, proč se most zřítil tak rychle.",
        "Jestli bude zítra pršet, zůstaneme doma a budeme číst.",
    ],
    "tr": [
        "Berlin'deki müze pazartesi günü grev nedeniyle kapalıydı.",
        "Kardeşim üç haftadır mektuplarıma cevap vermedi.",
        "Hükümet istasyonun yakınına 250 yeni daire yapmak istiyor.",
        "İki kilo elma aldı ve cüzdanını unuttu.",
        "Köprünün neden bu kadar hızlı çöktüğünü kimse bilmiyor.",
        "Yarın yağmur yağarsa evde kalıp kitap okuyacağız.",
    ],
}
DIRECTIONS = "en-de de-en en-zh zh-en en-ja en-ru en-cs cs-en en-tr".split()
BOTH = Task(frozenset({"source", "reference"}), "de-en")


def segment_scores(metric: Metric, batch: Segments) -> FloatArray:
    return metric.segment_score(metric.rows(batch))


@pytest.mark.parametrize("lang", DIRECTIONS)
@pytest.mark.parametrize("spec", ["xmoverscore", "cosine", "regressor:view=hyp+src", "kobe"])
def test_copies_and_foreign_texts_never_reach_a_fair_translation(spec: str, lang: str) -> None:
    source, target = lang.split("-")
    metric = make_ready(spec, Task(frozenset({"source"}), lang)).metric
    wrong = [code for code in SENTENCES if code != target]
    texts = [text for code in (target, *wrong) for text in SENTENCES[code]]
    batch = Segments(texts, SENTENCES[source] * (1 + len(wrong)), lang=lang)
    fair, *others = segment_scores(metric, batch).reshape(-1, 6)
    assert metric.notes["untranslated"] == 6 * len(wrong), "of the fair ones none is touched"
    for code, found in zip(wrong, others, strict=True):
        known = ~np.isnan(fair)
        assert (found[known] == metric.worst).all(), code
        assert (fair[known] > metric.worst).all()


def test_a_regressor_with_a_reference_does_not_prefer_a_copy() -> None:
    sources, good = SENTENCES["en"], SENTENCES["de"]
    references = [(text.replace("Das", "Unser").replace("Sie", "Anna"),) for text in good]
    metric = make_ready("regressor", Task(frozenset({"source", "reference"}), "en-de")).metric
    batch = Segments([*good, *sources], sources * 2, references * 2, "en-de")
    fair, copies = segment_scores(metric, batch).reshape(2, 6)
    assert (copies == metric.worst).all()
    assert (fair > copies).all()
    without = make_ready("regressor:view=hyp+ref", Task(frozenset({"reference"}), "en-de")).metric
    assert not without.untranslated_shares(batch).any(), "it does not read the source"


@pytest.mark.parametrize("name", registry.names())
def test_metrics_that_read_the_source_have_the_option(name: str) -> None:
    metric = registry.load(name)
    reads = metric.reads_source(frozenset({"source", "reference"}))
    option = declared(type(metric)).get("untranslated")
    assert option is not None if reads else not metric.untranslated_shares(COPIES).any()
    if reads:
        assert metric.params()["untranslated"] == "worst"


COPIES = Segments(
    [SENTENCES["de"][0], "The museum in Berlin war am Montag wegen eines Streiks closed.", ""],
    [SENTENCES["de"][0]] * 3,
    [(SENTENCES["en"][0],)] * 3,
    "de-en",
)


@pytest.mark.parametrize("name", ["xmoverscore", "cosine", "regressor", "kobe", "blend"])
def test_the_share_lowers_the_score_by_as_much(name: str) -> None:
    asked, kept = (make_ready(f"{name}{x}", BOTH).metric for x in ("", ":untranslated=keep"))
    whole, part, empty = asked.untranslated_shares(COPIES).tolist()
    assert (whole, empty) == (1.0, 0.0)
    assert 0.3 < part < 0.9
    before, after = segment_scores(kept, COPIES), segment_scores(asked, COPIES)
    assert after[[0, 2]] == pytest.approx(asked.worst)
    assert asked.worst < after[1] < before[1]
    if name != "blend":  # the counts of chrF are mixed, and F is no linear function of them
        expected = (1 - part) * before[1] + part * asked.worst
        assert after[1] == pytest.approx(expected, abs=2 * asked.tolerance)
    assert (asked.notes["untranslated"], kept.notes["untranslated"]) == (2, 0)


@pytest.mark.parametrize("name", ["xmoverscore", "cosine", "kobe", "blend"])
def test_translated_text_keeps_its_score_to_the_bit(name: str) -> None:
    batch = Segments(
        SENTENCES["en"], SENTENCES["de"], [(text,) for text in SENTENCES["en"]], "de-en"
    )
    asked, kept = (make_ready(f"{name}{x}", BOTH).metric for x in ("", ":untranslated=keep"))
    np.testing.assert_array_equal(asked.rows(batch), kept.rows(batch))


def test_without_languages_only_a_whole_copy_counts() -> None:
    source = SENTENCES["de"][0]
    texts = [source, source.upper(), f"{source[:-1]} heute.", SENTENCES["en"][0], "A B", "1 2 3 4"]
    sources = [source] * 4 + texts[4:]
    assert guard.shares(sources, texts, None).tolist() == [1, 1, 0, 0, 0, 0]
    assert guard.shares(sources, texts, "left-right").tolist() == [1, 1, 0, 0, 0, 0]
    metric = make_ready("cosine:lm=off", Task(frozenset({"source"}))).metric
    found = segment_scores(metric, Segments(texts[:1], sources[:1]))
    assert found[0] == metric.worst


def test_a_score_below_the_declared_worst_is_not_raised() -> None:
    metric = registry.load("regressor")
    rows = np.array([[-5.0], [1.0]])
    found = metric.lowered(rows, np.array([0.5, 0.5]), COPIES.take([0, 1]))
    assert found.ravel().tolist() == [-5.0, -1.0]


@pytest.mark.parametrize(
    "spec",
    ["xmoverscore:preset=paper2020", "cosine:preset=paper2020", "kobe:preset=paper"],
)
def test_presets_of_papers_keep_what_the_papers_have(spec: str) -> None:
    assert registry.load(spec).params()["untranslated"] == "keep"


def test_a_score_says_how_many_were_lowered() -> None:
    systems = {"copy": [SENTENCES["de"][0]], "good": [SENTENCES["en"][0]]}
    result = score(systems, [SENTENCES["de"][0]], None, ["kobe"], "de-en", ci=False)
    assert result["kobe"].notes["untranslated"] == 1
    assert result["kobe"]["copy"].score < result["kobe"]["good"].score


@pytest.mark.parametrize("name", ["cosine", "kobe"])
def test_an_explanation_has_the_score_of_the_run(name: str) -> None:
    texts = list(COPIES.hypotheses[:2])
    sources = list(COPIES.sources or ())[:2]
    run = score({"a": texts}, sources, None, [name], "de-en", ci=False)[name]["a"].segments
    for number in (1, 2):
        found = explain(texts, sources, metric=name, lang="de-en", segment=number)
        assert found.score == pytest.approx(run[number - 1], abs=1e-4)
        assert found.facts["untranslated"] > 0.3
        assert "is not in the target language" in found.remarks[0]
        assert found.facts["score without it"] > found.score


def test_a_blend_decides_for_its_components() -> None:
    spec = "blend:components='chrf;kobe:untranslated=keep'"
    with pytest.raises(UsageError, match="blend:untranslated"):
        registry.load(spec)
    without_source = replace(COPIES, sources=None)
    only = registry.load("blend:components=chrf,centres=50,scales=10,weights=1")
    assert not only.untranslated_shares(without_source).any()
    assert not only.untranslated_shares(COPIES).any(), "chrF does not read the source"
