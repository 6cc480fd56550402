"""How much of a translation was left untranslated: in the source's language, or in a third one.

    pair = LanguagePair.parse("de-en")
    source = "Der Hund bellt den ganzen Abend den Mond an."
    untranslated_share([source], [source], pair)                                          # [1.]
    untranslated_share([source], ["The dog bellt den ganzen Abend at the moon."], pair)   # [.44]
    untranslated_share([source], ["The dog barks at the moon all evening."], pair)        # [0.]

A text in which nothing is wrong gets exactly 0. Three questions are asked of the others, and the
largest answer counts:

- *copies*: words that stand in the source in the same order, three or more together. They count if
  language identification takes them for the source's language rather than the target's. Names are
  not asked (words with a capital in scripts that have one), but counted with their neighbours:
  "Angela Merkel" is a good translation of itself, a sentence around it is not; nor is a headline of
  capitalised words, if the target has another script. Of a text of one or two words only a whole
  copy counts, if a word that can be no name is common in the source's language and unknown in the
  target's (text/vocabulary.py), or if all are in a script of neither the target nor Latin.
- *another language*: all of it counts if identification takes the text for another language, with
  a confidence calibrated on good translations (recipes/calibrate_untranslated.py), and does so
  again without names and words of the source.
- *script*: words in a script that neither the target nor the Latin alphabet uses; a text of nothing
  else counts as a whole, however short.

Shares below `FAINTEST` are 0: titles, quotations and names of firms are copied in good
translations. For a target that identification does not know (`basis`) there are only the copies,
which must then be half of the text, and the script. A character of a script without spaces counts
as half a word. From a language into itself nothing is a copy.

Limits: single foreign words in a good sentence, texts below three words that are no whole copy or
may be names (Haus), and a mixture of the target's language with a third one are not seen; neither
are Simplified for Traditional Chinese.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mtgauge.data.codes import Language, LanguagePair, foreign_letter, own_letter
from mtgauge.errors import UsageError
from mtgauge.text import language
from mtgauge.text.telling import Text, joined, read
from mtgauge.text.vocabulary import tells, tells_alone
from mtgauge.text.words import UNSPACED

FAINTEST = 0.15  # smaller shares are 0
SHORTEST = 3.0  # words in a row that make a copy, and in a text whose language is asked
_MOST, _A_QUARTER = 0.5, 0.25
_LETTERS = re.compile(r"[^\W\d_]+")
_UNSPACED = re.compile(f"[{UNSPACED}]")
_SENTENCE = re.compile(r"[.!?…]\W*$")
_BRIEF = 100  # characters in a text of two words
_WHOLE = 0.9  # share of words from the source from which a text is all copy


@dataclass(frozen=True)
class Margins:
    """From which margins (text/language.py) a text is not in the target's language.

    Set by hand, in view of what recipes/calibrate_untranslated.py prints for WMT15, WMT16 and
    parallel text; a little above its proposals, for the sake of near relations.
    """

    copied: float = 0.7
    foreign: float = 1.0
    kin: float = 0.5  # by how much more, if the other language is a near relation
    single: float = 3.0  # of the one telling word in a copy of more than half
    names: float = 3.5  # of a copy of more than half, names and all


MARGINS = Margins()


def basis(pair: LanguagePair) -> Literal["identification", "copies"]:
    """What the share of this pair rests on: "copies" where the target cannot be identified."""
    return "identification" if pair.target.base in language.known() else "copies"


def untranslated_share(
    sources: Sequence[str] | None,
    hypotheses: Sequence[str],
    pair: LanguagePair,
    limits: Margins = MARGINS,
) -> language.FloatArray:
    """One share in [0, 1] for every segment; without sources, copies are not looked for."""
    if sources is not None and len(sources) != len(hypotheses):
        raise UsageError(f"{len(hypotheses)} hypotheses but {len(sources)} sources.")
    givens = sources if sources is not None else [""] * len(hypotheses)
    rows = list(zip(givens, hypotheses, strict=True))
    distinct = list(dict.fromkeys(rows))
    judge = _Judge(pair, limits, basis(pair) == "identification")
    found = dict(zip(distinct, judge.shares(distinct), strict=True))
    return np.array([found[row] for row in rows], dtype=np.float64)


def copied_share(
    sources: Sequence[str], hypotheses: Sequence[str], pair: LanguagePair
) -> language.FloatArray:
    """The first question alone: how much of every segment was copied from its source.

    >>> house = "Das ist ein kleines Haus am See."
    >>> pair = LanguagePair.parse("de-en")
    >>> copied_share([house, house], [house, "C'est une petite maison."], pair)
    array([1., 0.])
    """
    judge = _Judge(pair, MARGINS, basis(pair) == "identification")
    found = judge.copied(list(zip(sources, hypotheses, strict=True)))
    shares = np.array([found.get(i, 0.0) for i in range(len(hypotheses))])
    return np.where(shares >= FAINTEST, shares, 0.0)


def is_foreign(texts: Sequence[str], expected: Language) -> NDArray[np.bool_]:
    """For every text of a column whether it is surely not in the language it is said to be in.

    >>> is_foreign(["Où est la gare, s'il vous plaît ?", "Paris"], Language("en")).tolist()
    [True, False]
    """
    return untranslated_share(None, texts, LanguagePair(Language("und"), expected)) >= _MOST


def strangers(texts: Sequence[str], expected: Language) -> list[str]:
    """For every text the language that it surely is in instead of `expected`; else "".

    >>> strangers(["Où est la gare, s'il vous plaît ?", "Where is the station?"], Language("en"))
    ['fr', '']
    """
    foreign = is_foreign(texts, expected)
    rest = [text for text, is_one in zip(texts, foreign, strict=True) if is_one]
    candidates = [code for code in language.known() if len(code) == 2 and code != expected.base]
    seen = iter(language.identify(rest, candidates) if rest else ())
    return [next(seen) if is_one else "" for is_one in foreign]


def ask_strangers(texts: Sequence[str], expected: Language) -> Callable[[], list[str]]:
    """`strangers` in the form of an answer that is fetched later; this one is there at once."""
    found = strangers(texts, expected)
    return lambda: found


class _Copy(NamedTuple):
    """The part of a hypothesis that stands in its source."""

    share: float
    text: str
    telling: str
    small: float  # how many words have no capital
    amount: float  # how many are telling


@dataclass(frozen=True)
class _Judge:
    pair: LanguagePair
    limits: Margins
    identifies: bool

    def shares(self, rows: Sequence[tuple[str, str]]) -> list[float]:
        shares = [self._in_other_script(text) for _, text in rows]
        for i, share in self.copied(rows).items():
            shares[i] = max(shares[i], share)
        rest = [i for i, share in enumerate(shares) if share < _WHOLE]
        for i in self._in_another_language([rows[i] for i in rest]):
            shares[rest[i]] = 1.0
        return [share if share >= FAINTEST else 0.0 for share in shares]

    def _in_other_script(self, text: str) -> float:
        if not self._is_strange(text):  # nearly always, and soon seen
            return 0.0
        usual = self.pair.target.scripts | {"Latn"}
        if not own_letter(usual).search(text) and len(foreign_letter(usual).findall(text)) > 1:
            return 1.0  # all of it, however short: no name in a text of its own
        words = read(text)
        each = zip(words.words, words.weights, strict=True)
        found = sum(weight for word, weight in each if self._is_strange(word))
        return found / max(sum(words.weights), SHORTEST)

    def _is_strange(self, text: str) -> bool:
        """Whether a letter is in a script that is neither the target's nor Latin."""
        scripts = self.pair.target.scripts
        if text.isascii() or not scripts:
            return False
        return foreign_letter(scripts | {"Latn"}).search(text) is not None

    def _has_own_letter(self, text: str) -> bool:
        """Whether a letter is in a script of the target."""
        scripts = self.pair.target.scripts
        return not scripts or own_letter(scripts).search(text) is not None

    def copied(self, rows: Sequence[tuple[str, str]]) -> dict[int, float]:
        source, target = self.pair.source.base, self.pair.target.base
        if source == target:  # a paraphrase, or simplified text
            return {}
        short = {i: 1.0 for i, row in enumerate(rows) if self._is_short_copy(*row)}
        copies = {
            i: copy
            for i, (given, text) in enumerate(rows)
            if _may_copy(given, text) and (copy := _copy(read(given), read(text))) is not None
        }
        if not self.identifies:
            long = (row for row in copies.items() if row[1].share >= _MOST and row[1].amount >= 2)
            return short | {i: copy.share for i, copy in long}
        rivals = [source] if source in language.known() else None
        kin = self.limits.kin
        telling = language.margins([c.telling for c in copies.values()], target, rivals, kin)
        whole = language.margins([c.text for c in copies.values()], target, rivals, kin)
        found = zip(copies.items(), telling, whole, strict=True)
        return short | {
            i: copy.share
            for (i, copy), of_telling, of_all in found
            if self._is_plain(copy, of_telling) or self._is_named(copy, of_all, rows[i][1])
        }

    def _is_short_copy(self, given: str, text: str) -> bool:
        """Whether one or two words are their own source, and no name."""
        if not _is_brief_copy(given, text):
            return False
        words = read(text)
        if not 0 < sum(words.weights) < SHORTEST:
            return False
        if all(map(self._is_strange, words.words)):
            return True
        small = [x and y for x, y in zip(words.small, read(given).small, strict=True)]
        if _SENTENCE.search(text) and all(small[1:]):
            small[0] = True  # its capital says nothing
        own = [word for word, is_small in zip(words.folded, small, strict=True) if is_small]
        source, target = self.pair.source.base, self.pair.target.base
        return any(tells_alone(word, source, target) for word in own)

    def _is_plain(self, copy: _Copy, margin: float) -> bool:
        """Whether enough of the copied words that are no names tell the source's language."""
        if copy.share >= _MOST and copy.amount > 0:
            source, target = self.pair.source.base, self.pair.target.base
            if margin >= self.limits.single or tells(copy.telling, source, target):
                return True
        enough = 2 if copy.share >= _A_QUARTER else 3  # a title without quotation marks
        return copy.amount >= enough and margin >= self.limits.copied

    def _is_named(self, copy: _Copy, margin: float, text: str) -> bool:
        """Whether most of a text is copied, and tells the source's language names and all.

        Names in Latin letters alone are no translation into another script.
        """
        telling = copy.small > 0 or not self._has_own_letter(text)
        return telling and copy.share >= _MOST and margin >= self.limits.names

    def _in_another_language(self, rows: Sequence[tuple[str, str]]) -> list[int]:
        """Rows that are in another language as they stand, and without names and copied words."""
        if not self.identifies:
            return []
        target, limits = self.pair.target.base, self.limits
        full = language.margins([text for _, text in rows], target, handicap=limits.kin)
        suspects = np.flatnonzero(full >= limits.foreign).tolist()
        cores = [_core(read(rows[i][0]), self._in_own_script(rows[i][1])) for i in suspects]
        again = language.margins([text for text, _ in cores], target, handicap=limits.kin)
        return [
            i
            for i, (_, named), margin in zip(suspects, cores, again, strict=True)
            if margin >= (limits.names if named else limits.foreign)
        ]

    def _in_own_script(self, text: str) -> Text:
        """The text without words in other scripts, unless they are most of it."""
        words = read(text)
        if not 0 < self._in_other_script(text) < _MOST:
            return words
        return words.take([i for i, word in enumerate(words.words) if not self._is_strange(word)])


def _core(source: Text, text: Text) -> tuple[str, bool]:
    """The words that tell a language, none from the source; whether there are names among them.

    Where nearly all stand in the source, in whatever order, they are what there is to ask. "" if
    there are too few.
    """
    theirs = set(source.folded)
    named = _hides_names(text)
    words = list(zip(text.words, text.folded, text.weights, text.telling, strict=True))
    own = [(word, weight, tells) for word, fold, weight, tells in words if fold not in theirs]
    if sum(weight for _, weight, tells in own if tells) >= SHORTEST:
        return joined([word for word, _, tells in own if tells]), named
    telling = [(word, fold in theirs, weight) for word, fold, weight, tells in words if tells]
    amount = sum(weight for _, _, weight in telling)
    copied = sum(weight for _, from_source, weight in telling if from_source)
    if amount >= SHORTEST and copied >= _WHOLE * amount:
        return joined([word for word, _, _ in telling]), named
    if sum(weight for _, weight, _ in own) > SHORTEST:
        return joined([word for word, _, _ in own]), True
    return "", False


def _hides_names(text: Text) -> bool:
    """Whether a text has no capitals, although its script does."""
    return not any(w[0].isupper() for w in text.words) and any(w.upper() != w for w in text.words)


def _may_copy(source: str, text: str) -> bool:
    """A quick no for most texts: a copy has three words of its source."""
    if _UNSPACED.search(text):
        return True
    theirs = _folded_words(source)
    return sum(map(theirs.__contains__, _LETTERS.findall(text.casefold()))) >= SHORTEST


def _is_brief_copy(source: str, text: str) -> bool:
    """Whether a text of a few words is its source, but for marks and case; a quick no for most."""
    if len(text) > _BRIEF or len(source) > _BRIEF:
        return False
    mine = _LETTERS.findall(text.casefold())
    return bool(mine) and mine == _LETTERS.findall(source.casefold())


@lru_cache(maxsize=4096)
def _folded_words(text: str) -> frozenset[str]:
    return frozenset(_LETTERS.findall(text.casefold()))


def _copy(source: Text, text: Text) -> _Copy | None:
    """What stands in the source in the same order, at least `SHORTEST` words at a time."""
    size = min(int(SHORTEST), len(source.words))
    if size < SHORTEST or len(text.words) < size:
        return None
    there = set(zip(*(source.folded[k:] for k in range(size)), strict=False))
    mine = list(zip(*(text.folded[k:] for k in range(size)), strict=False))
    if there.isdisjoint(mine):
        return None
    copied = [False] * len(text.words)
    for i, gram in enumerate(mine):
        if gram in there:
            copied[i : i + size] = [True] * size
    rows: list[int] = []
    for start, end in _runs(copied):
        if sum(text.weights[start:end]) >= SHORTEST:
            rows += range(start, end)
    if not rows:
        return None
    # lower-cased text does not show its names, but its source may
    capital, named = _never(source.small, source), _never(source.telling, source)
    small = [i for i in rows if text.small[i] and text.folded[i] not in capital]
    telling = [i for i in small if text.telling[i] and text.folded[i] not in named]
    return _Copy(
        sum(text.weights[i] for i in rows) / sum(text.weights),
        joined([text.words[i] for i in rows]),
        joined([text.words[i] for i in telling]),
        sum(text.weights[i] for i in small),
        sum(text.weights[i] for i in telling),
    )


def _never(marks: Sequence[bool], text: Text) -> set[str]:
    """Words of a text that are marked nowhere."""
    rows = list(zip(text.folded, marks, strict=True))
    return {fold for fold, mark in rows if not mark} - {fold for fold, mark in rows if mark}


def _runs(marks: Sequence[bool]) -> list[tuple[int, int]]:
    edges = np.flatnonzero(np.diff([False, *marks, False]))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))
