"""What a metric that reads whole texts makes of each word: its score when the word is left out.

    found, remark = omissions(metric, segment)      the words that the score is better without

A trained network gives one number and no parts. But it can be asked again: if the translation
scores better without a word, that word cost something. The differences are exact answers of the
metric; they do not add up to the score, and a word may be missed only together with another.
"""

from __future__ import annotations

from mtgauge.data.segments import Segments
from mtgauge.explanation import Finding
from mtgauge.metric import Metric
from mtgauge.text.words import tokenizer

UNIT = "better by"
_WHOLE = "This metric reads whole texts: its score has no parts. "
_ASKED = "The list says how much better it would rate the translation without the word."
_NONE = "It would not rate the translation better without any one of its words."


def omissions(metric: Metric, alone: Segments) -> tuple[tuple[Finding, ...], str]:
    """The words without which the score would be better and by how much, and a remark on that."""
    text = alone.hypotheses[0]
    places = _places(text)
    if len(places) < 2:
        return (), _WHOLE.strip()
    shorter = [" ".join((text[:a] + text[b:]).split()) for a, b in places]
    many = alone.take([0] * (len(shorter) + 1))
    batch = Segments([text, *shorter], many.sources, many.references, alone.lang)
    score, *without = metric.segment_score(metric.rows(batch)).tolist()
    sign = 1.0 if metric.higher_is_better else -1.0
    found = [
        Finding("", text[a:b], "", sign * (other - score), (a, b))
        for (a, b), other in zip(places, without, strict=True)
    ]
    real = [finding for finding in found if finding.cost > metric.tolerance]
    worse = sorted(real, key=lambda finding: -finding.cost)
    return tuple(worse), _WHOLE + (_ASKED if worse else _NONE)


def _places(text: str) -> list[tuple[int, int]]:
    """The characters of every word and mark."""
    places, start = [], 0
    for word in tokenizer("unicode")(text):
        start = text.index(word, start)
        places.append((start, start + len(word)))
        start += len(word)
    return places
