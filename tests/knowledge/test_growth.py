"""Hostile texts: time grows with the text, not with its square, and no number is too long.

No test here is timed; before, each of these ran for minutes or raised.
"""

from __future__ import annotations

import pytest

from mtgauge.knowledge.link.names import NameFinder
from mtgauge.knowledge.link.numbers import NumberFinder
from mtgauge.knowledge.link.spans import Spans


@pytest.mark.parametrize("text", ["a" * 1_000_000 + "@", "a" * 1_000_000 + "@b", "a." * 500_000])
def test_letters_before_an_at(text: str) -> None:
    assert NumberFinder("en", {}).find(text + " www.") == []


def test_addresses_are_found_as_before() -> None:
    found = NumberFinder("en", {}).find("Mail a.b+c@d-e.co.uk, (x@y.org) or https://z.com/?q=1@2.")
    assert [m.text for m in found] == ["a.b+c@d-e.co.uk", "x@y.org", "https://z.com/?q=1@2"]


@pytest.mark.parametrize("text", ["9" * 1_100_000, "9" * 1_100_000 + ".5 million"])
def test_a_number_of_a_million_digits(text: str) -> None:
    (found,) = NumberFinder("en", {"million": 6}).find(text)
    assert found.ids[0].startswith("num:10")  # rounded to the precision of all numbers
    assert len(found.ids[0]) > 1_100_000


def test_many_names_beside_many_mentions() -> None:
    from mtgauge.knowledge.link.mention import Mention
    from mtgauge.knowledge.link.morphology import morphology

    text = "and Qwertzuio " * 20_000
    known = [Mention(i * 14, i * 14 + 3, "and", ("x",), "concept") for i in range(20_000)]
    assert len(NameFinder("en", morphology("en")).find(text, known)) == 20_000


def test_spans_agree_with_a_scan() -> None:
    spans = [(3, 5), (0, 10), (12, 13), (20, 20)]
    taken = Spans(spans)
    for begin in range(22):
        for end in range(begin + 1, 23):
            scan = any(b < end and begin < e for b, e in spans)
            assert taken.meets(begin, end) == scan, (begin, end)
    assert not Spans([]).meets(0, 5)
