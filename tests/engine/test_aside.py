"""Warnings that a second process looks for are those that this one finds."""

from __future__ import annotations

import pytest

from mtgauge.data.corpus import Corpus
from mtgauge.engine import aside, flags
from mtgauge.engine.aside import Aside
from mtgauge.engine.flags import USUAL
from mtgauge.engine.inside import looked_into
from mtgauge.engine.local import score_corpus
from mtgauge.engine.places import SHARD
from mtgauge.engine.pool import Died
from mtgauge.engine.processes import ProcessWorker

N = SHARD + 20  # two chunks


@pytest.fixture
def corpus() -> Corpus:
    sources = [f"Das rote Haus hat {1000 + k} Zimmer und einen Garten." for k in range(N)]
    good = [f"The red house has {1000 + k} rooms and a garden." for k in range(N)]
    bad = [*good[:5], "", sources[6], *(g.replace("1", "7") for g in good[7:])]
    return Corpus.from_lists({"good": good, "bad": bad}, sources, good)


def score(corpus: Corpus, look):
    return score_corpus(corpus, ["chrf"], "de-en", keep=True, look=look)


def test_the_same_flags(corpus, monkeypatch) -> None:
    monkeypatch.setattr(aside, "cores", lambda: 2)
    with Aside("de-en", USUAL) as watching:
        result = watching.tell(score(corpus, watching.look))
    assert result.flags == flags.find(corpus, "de-en")
    kinds = {flag.kind for row in result.flags["bad"] for flag in row}
    assert kinds == {"empty", "copy", "lost-numbers", "invented-number"}
    assert looked_into(result, 0).flags is result.flags


def test_without_a_second_core_nothing_is_told(corpus, monkeypatch) -> None:
    monkeypatch.setattr(aside, "cores", lambda: 1)
    with Aside("de-en", USUAL) as watching:
        result = watching.tell(score(corpus, watching.look))
    assert result.flags == {}
    assert looked_into(result, 0).flags == flags.find(corpus, "de-en")


def test_a_process_that_dies_is_stood_in_for(corpus, monkeypatch) -> None:
    def die(self, question):
        raise Died("it was ended by SIGKILL")

    monkeypatch.setattr(aside, "cores", lambda: 2)
    monkeypatch.setattr(ProcessWorker, "ask", die)
    with Aside("de-en", USUAL) as watching:
        result = watching.tell(score(corpus, watching.look))
    assert result.flags == {}
