"""What is suspicious about the texts of a run: counted while they stream by, told at the end.

    watch = Watch("de-en")
    watch.look({"a": texts}, sources, references)         # chunk by chunk
    watch.messages()                                      # sentences; notes("a"): counts
    in_other_languages("de-en", {"a": texts}, stranger)   # of what is no run, the languages alone

Empty texts, copies of the source or of the reference, text in the wrong script or language, far too
long text, HTML escapes, text that is tokenised, lower-cased, in capitals or decomposed (NFD) on one
side only, bare numbers, odd line separators and invisible characters, equal columns, lines in
another order.
What is certainly wrong never comes here: `checks.py` refuses it.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from mtgauge.data.alignment import REFERENCES, SOURCE, Together
from mtgauge.data.checks import LINE_SEPARATORS, in_script, is_blank
from mtgauge.data.codes import Language, LanguagePair
from mtgauge.data.judgements import Judgements
from mtgauge.data.scripts import Scripts

_SEPARATOR = re.compile(f"[{LINE_SEPARATORS}]")
# what does not belong inside a text; joiners and variation selectors do
_STRAY = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u200b\u202a-\u202e\u2060-\u206f\ufeff]"
)
_IDENTIFIED, _MOST_IDENTIFIED = 50, 200  # lines of a chunk and of a stream that are identified
_MUCH = 0.25  # share of lines in another language that is told
_LONG, _TIMES = 300, 10  # characters of a text, and how much longer than its other side it is
_BARE_NUMBER = re.compile(r"[+-]?[0-9]*[.,]?[0-9]+(?:[eE][+-]?[0-9]+)?")
_ESCAPE = re.compile(r"&(?:amp;)*(?:quot|apos|lt|gt|amp|nbsp|#\d{1,6}|#x[0-9a-fA-F]{1,5});")
_TOKENISED = re.compile(r"\S [.,!?;:](?: |$)")


@dataclass
class Side:
    """Habits of one text stream: how many lines look tokenised, are lower-cased, and so on."""

    lines: int = 0
    tokenised: int = 0
    cased: int = 0
    capitals: int = 0
    letters: int = 0
    accented: int = 0
    decomposed: int = 0
    numbers: int = 0

    def look(self, texts: Sequence[str]) -> None:
        for text in texts:
            self.lines += 1
            self.tokenised += _TOKENISED.search(text) is not None
            lowered, raised = text.lower(), text.upper()
            self.cased += lowered != text
            self.capitals += lowered != raised == text
            self.letters += lowered != raised  # has letters that know case
            if not text.isascii() and not unicodedata.is_normalized("NFD", text):
                self.accented += 1  # and written as one character each
            elif not unicodedata.is_normalized("NFC", text):
                self.accented += 1
                self.decomposed += 1
            self.numbers += _BARE_NUMBER.fullmatch(text.strip()) is not None

    @property
    def share_tokenised(self) -> float:
        return self.tokenised / max(self.lines, 1)

    @property
    def share_lowered(self) -> float:
        return 1 - self.cased / max(self.letters, 1)

    @property
    def share_capitals(self) -> float:
        return self.capitals / max(self.letters, 1)

    @property
    def share_decomposed(self) -> float:
        return self.decomposed / max(self.accented, 1)


Strangers = Callable[[], Sequence[str]]  # of some lines, once they are wanted


@dataclass
class Watch:
    """Counts suspicions as chunks stream by; `messages` tells them in plain sentences.

    The habits (tokenised, lower-cased) are judged on the first `sample` segments of each stream:
    a habit is a property of a file, and the rest of a million lines need not be looked at. The same
    holds for the language, which costs more to tell: `stranger` is given some lines of each stream
    and the language they should be in; what it returns is called when the languages are wanted, and
    gives the language that each line is in instead, or "".
    """

    lang: str | None = None
    stranger: Callable[[Sequence[str], Language], Strangers] | None = None
    sample: int = 2000
    counts: dict[str, Counter[str]] = field(default_factory=dict)
    sides: dict[str, Side] = field(default_factory=dict)
    seen: int = 0
    copied: Counter[str] = field(default_factory=Counter)  # lines equal to a reference
    asked: dict[str, list[Strangers]] = field(default_factory=dict)
    identified: Counter[str] = field(default_factory=Counter)  # lines whose language is asked for
    together: Together = field(default_factory=Together)
    scripts: Scripts = field(default_factory=Scripts)  # where no pair tells them

    def __post_init__(self) -> None:
        self._pair = LanguagePair.parse(self.lang) if self.lang else None

    def look(
        self,
        systems: Mapping[str, Sequence[str]],
        sources: Sequence[str] | None,
        references: Sequence[tuple[str, ...]] | None,
    ) -> None:
        self.together.look(systems, sources, references)
        if self._pair is None:
            self.scripts.look(systems, references)
        for name, texts in systems.items():
            counter = self.counts.setdefault(name, Counter())
            self._count(counter, texts, sources)
            counter["long"] += _overlong(texts, sources, references)
            if references is not None:
                pairs = zip(texts, references, strict=True)
                self.copied[name] += sum(text in row for text, row in pairs)
        if sources is not None:
            self.counts.setdefault(SOURCE, Counter())["empty"] += sum(map(is_blank, sources))
        if references is not None:
            counter = self.counts.setdefault(REFERENCES, Counter())
            for row in references:
                for text in row:
                    counter["empty"] += is_blank(text)
                    counter["escapes"] += "&" in text and _ESCAPE.search(text) is not None
        fresh = max(0, self.sample - self.seen)
        if fresh:
            for name, texts in systems.items():
                self.sides.setdefault(name, Side()).look(texts[:fresh])
            if references is not None:
                firsts = [row[0] for row in references[:fresh] if row]
                self.sides.setdefault(REFERENCES, Side()).look(firsts)
        if self._pair is not None:
            self.look_at_languages(systems, sources, references)
        self.seen += len(next(iter(systems.values()), ()))

    def look_at_languages(
        self,
        systems: Mapping[str, Sequence[str]],
        sources: Sequence[str] | None,
        references: Sequence[tuple[str, ...]] | None,
    ) -> None:
        """Nothing of `look` but this."""
        self.identify({**systems, SOURCE: sources or (), **_alternatives(references or ())})

    def identify(self, sides: Mapping[str, Sequence[str]]) -> None:
        """Ask for the language of some lines of each side, spread over the chunk."""
        for name, texts in sides.items():
            if self._pair is None or self.stranger is None or not texts:
                continue
            if self.identified[name] < _MOST_IDENTIFIED:
                some = texts[:: -(-len(texts) // _IDENTIFIED)]
                some = [text for text in some if not is_blank(text)]
                self.identified[name] += len(some)
                self.asked.setdefault(name, []).append(self.stranger(some, self._expected(name)))

    def _expected(self, name: str) -> Language:
        assert self._pair is not None
        return self._pair.source if name == SOURCE else self._pair.target

    def foreign_lines(self, name: str) -> tuple[int, int]:
        """How many lines of a side are in another language, and how many were looked at."""
        counter = self.languages(name)
        return counter.total() - counter[""], counter.total()

    def languages(self, name: str) -> Counter[str]:
        """The languages that lines of a side are in; "": as expected."""
        return Counter(code for answer in self.asked.get(name, ()) for code in answer())

    def _count(
        self, counter: Counter[str], texts: Sequence[str], sources: Sequence[str] | None
    ) -> None:
        for i, text in enumerate(texts):
            if is_blank(text):
                counter["empty"] += 1
                continue
            if sources is not None and text.strip() == sources[i].strip():
                counter["copies"] += 1
            if self._pair is not None and not in_script(text, self._pair.target):
                counter["script"] += 1
            if "&" in text and _ESCAPE.search(text):
                counter["escapes"] += 1
            if not text.isprintable():
                counter["separators"] += _SEPARATOR.search(text) is not None
                counter["invisible"] += _STRAY.search(text) is not None

    def notes(self, system: str) -> dict[str, int]:
        """Counts of one system that are not zero, for the JSON."""
        foreign, _ = self.foreign_lines(system)
        counts = {**self.counts.get(system, {}), "language": foreign}
        return {key: n for key, n in counts.items() if n}

    def messages(self, *, unescaped: bool = False) -> list[str]:
        lines = []
        for name, counter in self.counts.items():
            for kind, text in _SENTENCES.items():
                if counter[kind] and not (kind == "escapes" and unescaped):
                    said = text.format(n=counter[kind], s="s" * (counter[kind] > 1))
                    lines.append(f"{name}: {said}")
        for name, copied in self.copied.items():
            if copied == self.seen > 1:
                lines.append(f"{name}: every line equals a reference. Is this the reference file?")
        for name, side in self.sides.items():
            if 2 * side.numbers > side.lines > 1:
                lines.append(f"{name}: most lines are bare numbers. Is this a column of scores?")
        lines += [*self.together.messages(), *self.scripts.messages()]
        return lines + self.in_other_languages() + self._one_sided()

    def in_other_languages(self) -> list[str]:
        """Sides of which a large share is in another language than was said."""
        lines, mostly = [], {}
        for name in self.asked:
            foreign, seen = self.foreign_lines(name)
            if not foreign or foreign < _MUCH * seen:
                continue
            counter = self.languages(name)
            mostly[name] = max((code for code in counter if code), key=lambda code: counter[code])
            lines.append(
                f"{name}: {foreign / seen:.0%} of the {seen} lines looked at are not in "
                f"{self._expected(name)}, but mostly in {mostly[name]}. Check the file, and -l."
            )
        return lines + self._exchanged(mostly)

    def _exchanged(self, mostly: Mapping[str, str]) -> list[str]:
        """What was confused, where sides are in the language of the other side."""
        if self._pair is None:
            return []
        source, target = self._pair.bases
        turned = {n for n, code in mostly.items() if code == (target if n == SOURCE else source)}
        straight = self.asked.keys() - turned
        if len(self.asked.keys() & {SOURCE, REFERENCES}) and not straight:
            return [
                "all of it is the other way round: write "
                f"-l {self._pair.target}-{self._pair.source}, or exchange the files."
            ]
        if SOURCE in turned and all(name.startswith(REFERENCES) for name in straight):
            return ["source and translations are exchanged: see which file is -s and which is -t."]
        return []

    def _one_sided(self) -> list[str]:
        """Habits of one side only: such scores compare nothing."""
        reference = self.sides.get(REFERENCES)
        if reference is None or reference.lines < 5:
            return []
        lines = []
        for name, side in self.sides.items():
            for habit, (limit, text) in _HABITS.items():
                if habit in _OF_CASE and min(side.letters, reference.letters) < 5:
                    continue
                if habit == "share_decomposed" and min(side.accented, reference.accented) < 2:
                    continue
                more = getattr(side, habit) - getattr(reference, habit)
                if abs(more) > limit:
                    pair = (name, REFERENCES)
                    first, other = pair if more > 0 else pair[::-1]
                    lines.append(f"{first}: {text.format(other=other)}")
        return lines


def _alternatives(references: Sequence[tuple[str, ...]]) -> dict[str, list[str]]:
    """First, second, third references: one of several files may be the wrong one.

    >>> _alternatives([("a", "b"), ("c",)])
    {'the references': ['a', 'c'], 'the references (2)': ['b']}
    """
    most = max(map(len, references), default=0)
    return {
        REFERENCES + (f" ({k + 1})" if k else ""): [row[k] for row in references if len(row) > k]
        for k in range(most)
    }


def in_other_languages(
    lang: str | None,
    sides: Mapping[str, Sequence[str]],
    stranger: Callable[[Sequence[str], Language], Strangers],
) -> list[str]:
    """What `Watch` says of the languages of sides: any names, SOURCE and REFERENCES."""
    watch = Watch(lang, stranger)
    watch.identify(sides)
    return watch.in_other_languages()


def judged_in_other_languages(
    item: Judgements, stranger: Callable[[Sequence[str], Language], Strangers]
) -> list[str]:
    """Sides that are in another language than the pair of the judgements says."""
    refs = None if item.references is None else [row[0] for row in item.references if row]
    sides = {"the translations": item.hypotheses, SOURCE: item.sources, REFERENCES: refs}
    there = {name: texts for name, texts in sides.items() if texts}
    told = in_other_languages(item.lp, there, stranger)
    return [f"{item.data} {item.lp}, {text}" for text in told]


def _overlong(
    texts: Sequence[str],
    sources: Sequence[str] | None,
    references: Sequence[tuple[str, ...]] | None,
) -> int:
    """How many texts are many times as long as what they translate, or should say."""
    if references is None and sources is None:
        return 0
    others = references if references is not None else [(text,) for text in sources or ()]
    found = 0
    for text, other in zip(texts, others, strict=True):
        if len(text) > _LONG:
            found += 0 < _TIMES * max(map(len, other), default=0) < len(text)
    return found


# share of a Side: (difference that matters, what is said of the side that has more of it)
_HABITS = {
    "share_tokenised": (
        0.5,
        "tokenised (spaces before punctuation), but {other} not. Detokenise, or the scores compare "
        "spacing.",
    ),
    "share_lowered": (
        0.5,
        "lower-cased, but {other} not. Use the same casing on both sides, or an option that "
        "ignores case.",
    ),
    "share_capitals": (
        0.5,
        "all in capitals, but {other} not. Use the same casing on both sides, or an option that "
        "ignores case.",
    ),
    "share_decomposed": (
        0.5,
        "accents are characters of their own (NFD), in {other} not. Bring both to NFC, or equal "
        "words count as different.",
    ),
}
_OF_CASE = ("share_lowered", "share_capitals")
_SENTENCES = {
    "empty": "{n} empty line{s}.",
    "copies": "{n} line{s} copied from the source unchanged.",
    "long": "{n} line{s} more than ten times as long as the other side: joined lines, or a loop?",
    "script": "{n} line{s} not in the script of the target language.",
    "invisible": "{n} line{s} with invisible characters (zero width, direction, control).",
    "escapes": "{n} line{s} with HTML escapes such as &quot; : --unescape undoes them.",
    "separators": "{n} line{s} with a Unicode line separator (such as U+2028): kept as it is here, "
    "but other tools split the line there. Replace it by a space.",
}
