"""Warnings and phrases that a second process looks for are those that this one finds."""

from __future__ import annotations

import pytest

from hostile import HOSTILE
from mtgauge.data.corpus import Corpus
from mtgauge.engine import aside, flags
from mtgauge.engine.aside import Aside
from mtgauge.engine.contrast import Counted
from mtgauge.engine.flags import USUAL
from mtgauge.engine.inside import looked_into
from mtgauge.engine.local import score_corpus
from mtgauge.engine.places import SHARD
from mtgauge.engine.pool import Died
from mtgauge.engine.processes import ProcessWorker
from mtgauge.report.page import render

N = SHARD + 20  # two chunks


@pytest.fixture
def corpus() -> Corpus:
    sources = [f"Das rote Haus hat {1000 + k} Zimmer und einen Garten." for k in range(N)]
    good = [f"The red house has {1000 + k} rooms and a garden." for k in range(N)]
    bad = [*good[:5], "", sources[6], *(g.replace("1", "7") for g in good[7:])]
    return Corpus.from_lists({"good": good, "bad": bad}, sources, good)


def score(corpus: Corpus, beside):
    return score_corpus(corpus, ["chrf"], "de-en", keep=True, beside=beside)


def test_the_same_flags(corpus, monkeypatch) -> None:
    monkeypatch.setattr(aside, "cores", lambda: 2)
    with Aside("de-en", USUAL) as watching:
        result = watching.tell(score(corpus, watching))
    assert result.flags == flags.find(corpus, "de-en")
    kinds = {flag.kind for row in result.flags["bad"] for flag in row}
    assert kinds == {"empty", "copy", "lost-numbers", "invented-number"}
    assert result.contrast == Counted(result.texts).contrast("good")
    kept = looked_into(result, 0)
    assert kept.flags is result.flags
    assert kept.contrast is result.contrast


def test_without_a_second_core_nothing_is_told(corpus, monkeypatch) -> None:
    monkeypatch.setattr(aside, "cores", lambda: 1)
    with Aside("de-en", USUAL) as watching:
        result = watching.tell(score(corpus, watching))
    assert result.flags == {}
    assert result.contrast is None
    assert looked_into(result, 0).flags == flags.find(corpus, "de-en")
    assert looked_into(result, 0).contrast == Counted(result.texts).contrast("good")


def test_a_process_that_dies_is_stood_in_for(corpus, monkeypatch) -> None:
    def die(self, question):
        raise Died("it was ended by SIGKILL")

    monkeypatch.setattr(aside, "cores", lambda: 2)
    monkeypatch.setattr(ProcessWorker, "ask", die)
    with Aside("de-en", USUAL) as watching:
        result = watching.tell(score(corpus, watching))
    assert result.flags == {}


def test_the_page_is_the_same(monkeypatch) -> None:
    """Whoever looked: hostile texts, several scripts, empty lines, numbers, copies."""
    pairs = [
        ("Am 3. Mai 2016 waren es 1.234,5 Tonnen.", "There were 1,234.5 tonnes on 3 May 2016."),
        ("Drei von 17 Gästen blieben.", "Three of 71 guests stayed."),
        ("Das Wetter bleibt auch morgen schön.", "Das Wetter bleibt auch morgen schön."),
        ("Die Sitzung dauerte lange.", "Заседание продолжалось очень долго."),
        ("Niemand kam.", ""),
        *zip(HOSTILE, reversed(HOSTILE), strict=True),
    ]
    rows = [(f"{s} {k}", f"{t} {k}" if t else t) for k, (s, t) in enumerate(pairs * 12)]
    assert len(rows) > SHARD
    sources, first = [s for s, _ in rows], [t for _, t in rows]
    systems = {"<b>": first, "new": [t.replace("7", "9") for t in first]}
    references = [t or "Nobody came." for t in first]
    corpus = Corpus.from_lists(systems, sources, references)
    monkeypatch.setattr(aside, "cores", lambda: 2)
    with Aside("de-en", USUAL, 3) as watching:
        beside = watching.tell(score(corpus, watching))
    assert beside.flags
    assert beside.contrast is not None
    assert beside.explained
    alone = looked_into(score(corpus, None), 3)
    assert render(looked_into(beside, 3)) == render(alone)
    assert {flag.kind for row in alone.flags["new"] for flag in row} == set(USUAL)
