"""The robust probe: what is counted, what is left out, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mtgauge
from mtgauge import Segments, registry
from mtgauge.cli import main
from mtgauge.engine.demo import PAIRS, example
from mtgauge.errors import LanguageError, UsageError
from mtgauge.meta.robust import Robust, robust
from mtgauge.metric import FloatArray, Metric
from mtgauge.signature import Signature

SOURCES = [
    "Am 4. Mai 2011 kam Anna Meier mit 17 Freunden nach Prag, und alle waren müde.",
    "Die Bank am Markt ist heute offen, aber niemand geht hinein.",
    "Der Zug nach Wien fährt um neun Uhr ab, und Peter wartet schon.",
    "Ja.",
]
GOOD = [
    "On May 4, 2011 Anna Meier came to Prague with 17 friends, and all were tired.",
    "The bank at the market is open today, but nobody goes in.",
    "The train to Vienna leaves at nine o'clock, and Peter is waiting already.",
    "Yes.",
]


@pytest.fixture
def metrics(monkeypatch: pytest.MonkeyPatch) -> None:
    class Length(Metric):
        """The longer the better; a text of one word has no score."""

        def __init__(self) -> None:
            pass

        @property
        def needs(self) -> frozenset[str]:
            return frozenset({"source"})

        @property
        def bounds(self) -> tuple[float, float]:
            return (0.0, np.inf)

        def statistics(self, batch: Segments) -> FloatArray:
            each = [float(len(t)) if " " in t else np.nan for t in batch.hypotheses]
            return np.array(each)[:, None]

    class Even(Length):
        """The same score for every text: its worst."""

        def statistics(self, batch: Segments) -> FloatArray:
            return np.zeros((len(batch), 1))

    class German(Length):
        languages = frozenset({"de", "fr"})

    for name, cls in {"length": Length, "even": Even, "german": German}.items():
        cls.name = name
        monkeypatch.setitem(registry._METRICS, name, cls)


def by_fault(rows: list[Robust], metric: str, lp: str = "de-en") -> dict[str, Robust]:
    return {row.fault: row for row in rows if (row.metric, row.lp) == (metric, lp)}


def test_ties_count_and_what_has_no_score_is_left_out(metrics: None) -> None:
    rows = robust([Segments(GOOD, SOURCES, lang="de-en")], ["length", "even"])
    found = by_fault(rows, "length")
    assert found["doubled"].to_dict()["share"] == 1.0
    assert (found["doubled"].cases, found["doubled"].unscored, found["doubled"].n) == (4, 1, 3)
    assert found["truncated"].share == found["empty"].share == 0.0
    assert found["shuffled"].share == 1.0, "as long as before: a tie"
    assert found["number"].cases == 1, "one text has a number"
    even = by_fault(rows, "even")["copy"]
    assert (even.cases, even.at_worst, even.n) == (3, 3, 0)
    assert np.isnan(even.share)
    assert even.to_dict()["share"] is None


def test_pairs_are_summed_and_lend_each_other_texts(metrics: None) -> None:
    french = ["La banque est ouverte aujourd'hui au marché."]
    goods = [
        Segments(GOOD, SOURCES, lang="de-en"),
        Segments(french, ["Die Bank am Markt ist heute geöffnet."], lang="de-fr"),
        Segments(GOOD[:1], SOURCES[:1], lang="de-en"),
    ]
    rows = robust(goods, ["length", "german"])
    assert by_fault(rows, "length")["copy"].cases == 4, "one set of texts per pair"
    assert by_fault(rows, "length", "de-fr")["copy"].cases == 1
    both = by_fault(rows, "length", "all")["copy"]
    assert both.cases == 5
    assert both.signature.facts["lang"] == "all"
    assert by_fault(rows, "german", "all")["copy"].cases == 1, "not served into English"
    with pytest.raises(LanguageError, match="does not know the language en"):
        robust(goods[:1], ["german"])
    with pytest.raises(LanguageError, match="german serves none of de-en, en-de"):
        robust([goods[0], Segments(SOURCES, GOOD, lang="en-de")], ["length", "german"])


def test_versions_of_the_users_own(metrics: None) -> None:
    goods = [Segments(GOOD, SOURCES, lang="de-en")]
    mine = {"mine": ["Short one.", "", GOOD[2] + " And more.", ""]}
    found = by_fault(robust(goods, ["length"], worse=mine), "length")["mine"]
    assert (found.cases, found.wins, found.share) == (2, 1, 0.5)
    with pytest.raises(UsageError, match="mine has 1 lines for 4 segments"):
        robust(goods, ["length"], worse={"mine": ["x"]})
    with pytest.raises(UsageError, match="copy is the name of a fault"):
        robust(goods, ["length"], worse={"copy": GOOD})


SEEN = ["copy", "copy-75", "other-language", "empty", "unrelated"]


def test_on_the_example_no_gross_fault_wins() -> None:
    goods = []
    for lang in PAIRS:
        (chunk,) = example(lang).chunks(1000)
        references = [row[0] for row in chunk.references or ()]
        goods.append(Segments(references, chunk.sources, lang=lang))
    free = "xmoverscore xmoverscore:lm=off cosine yisi-2 regressor:view=hyp+src kobe".split()
    rows = robust(goods, free, chosen=SEEN)
    assert {row.fault for row in rows} == set(SEEN)
    assert all(row.cases for row in rows)
    assert [(row.fault, row.metric, row.lp) for row in rows if row.wins] == []


def test_it_is_repeatable(metrics: None) -> None:
    goods = [Segments(GOOD, SOURCES, lang="de-en")]
    first = [row.to_dict() for row in robust(goods, ["length"], seed=3)]
    assert first == [row.to_dict() for row in robust(goods, ["length"], seed=3)]


def test_no_share_without_cases() -> None:
    row = Robust("copy", "m", Signature("m"), "de-en", 0, 0, 0, 0)
    assert np.isnan(row.share)


def test_from_python(metrics: None) -> None:
    found = mtgauge.probe(
        "robust", metrics=["length"], sources=SOURCES, references=GOOD, lang="de-en", limit=3
    )
    text = str(found)
    assert text.splitlines()[0].split() == ["fault", "lp", "cases", "length"]
    assert "copy-75" in text
    assert "0 is best" in text
    assert set(found.to_dict()["rows"][0]) >= {"fault", "metric", "lp", "cases", "share", "wins"}
    assert next(iter(found.to_pandas()["fault"])) == "copy"
    assert found.render("csv").splitlines()[1].startswith("copy,de-en,3,")
    assert found.render("markdown").startswith("| fault | lp | cases | length |")


def test_a_reference_based_metric_needs_another_good_translation() -> None:
    texts: Any = {"sources": SOURCES, "references": GOOD, "lang": "de-en"}
    with pytest.raises(UsageError, match="Give another good translation with -t FILE"):
        mtgauge.probe("robust", metrics=["chrf"], **texts)
    others = [text.replace("The ", "Our ").replace("tired", "weary") for text in GOOD]
    found = mtgauge.probe("robust", metrics=["chrf"], translations=others, **texts)
    shares = {row.fault: row.share for row in found.rows}
    assert shares["copy"] == shares["empty"] == 0
    with pytest.raises(UsageError, match="are for the probe robust"):
        mtgauge.probe("reorder", metrics=["cosine"], translations=others, **texts)
    with pytest.raises(UsageError, match="are for the probe robust"):
        mtgauge.probe("reorder", metrics=["cosine"], faults=["copy"], **texts)
    with pytest.raises(UsageError, match="-t goes with -s SRC and -r REF"):
        mtgauge.probe("robust", metrics=["chrf"], translations=others)


def test_it_wants_languages(metrics: None) -> None:
    with pytest.raises(UsageError, match="give it with -l de-en"):
        mtgauge.probe("robust", metrics=["length"], sources=SOURCES, references=GOOD)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, lines in {"s": SOURCES, "r": GOOD, "t": GOOD, "w": ["Bad.", "", "", "No."]}.items():
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path


def command(text: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = main(["probe", "robust", *text.split(), "--no-cache", "--quiet"])
    out = capsys.readouterr()
    return code, out.out, out.err


def test_the_command(folder: Path, metrics: None, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = command("-s s -r r -l de-en --worse w -m length even --json j", capsys)
    assert code == 0
    assert "length: of" in out
    rows = json.loads((folder / "j").read_text("utf-8"))["rows"]
    (mine,) = [row for row in rows if row["fault"] == "w" and row["metric"] == "even"]
    assert (mine["cases"], mine["at_worst"]) == (2, 2)
    code, out, _ = command("-s s -r r -t t -l de-en -m chrf --limit 2 --format csv", capsys)
    assert code == 0
    assert out.startswith("fault,lp,cases,chrf\ncopy,de-en,2,")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("-s s -l de-en -m length", "both -s SRC and -r REF"),
        ("-s s -r r -l de-en -m length --histogram", "--histogram is for"),
        ("-s s -r r -l de-en -m length --faults typo", "There is no fault 'typo'"),
        ("-s s -r r -l de-en -m length --worse w w", "twice"),
        ("-s s -r r -l de-en -m length --worse short", "lines"),
        ("-s s -r r -l de-en -m length --dictionary w", "dictionary is for"),
        ("x.tsv -l de-en -m length --worse w", "goes line by line"),
    ],
)
def test_wrong_usage(
    folder: Path,
    metrics: None,
    capsys: pytest.CaptureFixture[str],
    arguments: str,
    message: str,
) -> None:
    (folder / "short").write_text("One line.\n", encoding="utf-8")
    code, _, err = command(arguments, capsys)
    assert code in (2, 3)
    assert message in err
