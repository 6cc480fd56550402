"""The one door: every text that is scored has passed here.

The field's worst fault is a plausible number from wrong input. Two kinds of trouble exist:

- *faults* stop the run with an `InputError` (file, line, remedy): bytes that are not UTF-8, NUL
  characters, a line end inside a text, half a character, files of different length, an empty file;
- *suspicions* are counted while the texts stream by and told once at the end, beside the scores:
  empty texts, copies of the source or of the reference, text in the wrong script or language, HTML
  escapes, text that is tokenised, lower-cased or decomposed (NFD) on one side only, bare numbers,
  odd line separators and invisible characters, equal columns, lines in another order.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike

import numpy as np

from mtgauge.data.alignment import Together
from mtgauge.data.codes import Language, LanguagePair, foreign_letter
from mtgauge.data.scripts import Scripts
from mtgauge.errors import InputError

LONGEST = 16 * 2**20  # bytes of a text; a small .gz may unpack to gigabytes in one line
LINE_SEPARATORS = "\u2028\u2029\x85\x0b\x0c\x1c\x1d\x1e"
_SEPARATOR = re.compile(f"[{LINE_SEPARATORS}]")
_FAULT = re.compile("[\0\r\n\ud800-\udfff]")
# control and format characters (zero width, direction, soft hyphen, BOM), fillers, blank braille
_INVISIBLE = (
    "\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u2028-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb"
    "\U000e0000-\U000e0fff"
)
_VISIBLE = re.compile(f"[^\\s{_INVISIBLE}]")
# of these, what does not belong inside a text either; joiners and variation selectors do
_STRAY = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u200b\u202a-\u202e\u2060-\u206f\ufeff]"
)
_IDENTIFIED, _MOST_IDENTIFIED = 50, 200  # lines of a chunk and of a stream that are identified
_MUCH = 0.25  # share of lines in another language that is told
_BARE_NUMBER = re.compile(r"[+-]?[0-9]*[.,]?[0-9]+(?:[eE][+-]?[0-9]+)?")
_ESCAPE = re.compile(r"&(?:amp;)*(?:quot|apos|lt|gt|amp|nbsp|#\d{1,6}|#x[0-9a-fA-F]{1,5});")
_TOKENISED = re.compile(r"\S [.,!?;:](?: |$)")
_LETTER = re.compile(r"[^\W\d_]")


def language_pair(text: str) -> str:
    """The pair in its usual form, or a `UsageError` that says how to write one.

    >>> language_pair("de-en"), language_pair("eng-zho_Hans")
    ('de-en', 'en-zh-Hans')
    """
    return str(LanguagePair.parse(text))


def decode_line(raw: bytes, file: str | PathLike[str], line: int) -> str:
    """One line of a file as text, without its line end; `line` counts from 1."""
    _refuse_long(len(raw), file, line)
    raw = raw.removesuffix(b"\n").removesuffix(b"\r")
    if line == 1:
        if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise InputError(
                "the file is UTF-16, not UTF-8", file=file, line=1, remedy=_reencode("UTF-16")
            )
        raw = raw.removeprefix(b"\xef\xbb\xbf")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            f"byte {error.start + 1} (0x{raw[error.start]:02x}) is not UTF-8",
            file=file,
            line=line,
            remedy=_reencode("ISO-8859-1"),
        ) from None
    check_text(text, file=file, line=line)
    return text


def check_text(text: str, *, file: str | PathLike[str], line: int | None = None) -> None:
    """Refuse a text that no tool reads as one line of Unicode; every way in calls this.

    `file` and `line` say where it stands; from Python, `file` is a name such as references[3].
    """
    match = _FAULT.search(text)
    if match is not None:
        found = match.group()
        what, remedy = _FAULTS.get(found) or _FAULTS["half"]
        raise InputError(
            f"character {match.start() + 1} is {what} (U+{ord(found):04X})",
            file=file,
            line=line,
            remedy=remedy,
        )
    if len(text) > LONGEST // 4:  # a character takes four bytes at most
        _refuse_long(len(text.encode()), file, line)


def _refuse_long(size: int, file: str | PathLike[str], line: int | None) -> None:
    if size > LONGEST:
        raise InputError(
            f"the {'text' if line is None else 'line'} is longer than {LONGEST:,} bytes",
            file=file,
            line=line,
            remedy="Is this text, one segment per line?",
        )


_SPLIT = "Other tools would split the line there. Replace it by a space"
_FAULTS = {
    "\0": (
        "a NUL character",
        "The file may be binary or UTF-16; save it as plain UTF-8 text.",
    ),
    "\r": (
        "a carriage return inside the text",
        f"{_SPLIT}, or use line feeds if the file comes from an old Macintosh.",
    ),
    "\n": ("a line feed inside the text", f"{_SPLIT}."),
    "half": (
        "half of a surrogate pair",
        "The text was cut inside a character, or decoded wrongly: make it again as UTF-8.",
    ),
}


def is_blank(text: str) -> bool:
    """Whether there is nothing to see: spaces, zero-width and control characters only.

    >>> is_blank(" \u200b\ufeff"), is_blank("\u200ba")
    (True, False)
    """
    return _VISIBLE.search(text) is None


def _reencode(encoding: str) -> str:
    return f"Save it as UTF-8, for example: iconv -f {encoding} -t UTF-8 FILE > NEW."


def refuse_uneven(names: Sequence[str], lengths: Sequence[np.ndarray]) -> InputError:
    """The error for files of different length, with the line where two of them seem to part.

    `lengths` holds the characters of each line, one array per file. If the longer file has d lines
    too many, some split k is right: lines before k belong together, lines after it are d apart.
    The k with the least disagreement in length is found from two running sums.
    """
    counts = [len(column) for column in lengths]
    short, long = int(np.argmin(counts)), int(np.argmax(counts))
    a, b = (np.log1p(lengths[i].astype(float)) for i in (short, long))
    shift = len(b) - len(a)
    centre = np.median(b) - np.median(a) if len(a) else 0.0
    before = np.concatenate(([0.0], np.cumsum(np.abs(b[: len(a)] - a - centre))))
    after = np.concatenate(([0.0], np.cumsum(np.abs(b[shift:] - a - centre)[::-1])))[::-1]
    part = int(np.argmin(before + after)) + 1
    listing = ", ".join(f"{name} has {count:,}" for name, count in zip(names, counts, strict=True))
    return InputError(
        f"the files have different numbers of lines: {listing}",
        remedy=f"{names[short]} and {names[long]} seem to part near line {part:,}: look for a line "
        "that was lost, split or joined there.",
    )


def unescape(text: str) -> str:
    """HTML escapes undone twice, since WMT texts carry `&amp;apos;`."""
    return html.unescape(html.unescape(text)) if "&" in text else text


def in_script(text: str, language: Language) -> bool:
    """Whether most letters of a text (three or more) are of a script of the language.

    >>> in_script("Привет, мир", Language("ru")), in_script("Privet, mir", Language("ru"))
    (True, False)
    """
    if not language.scripts:
        return True
    foreign = len(foreign_letter(language.scripts).findall(text))
    total = len(_LETTER.findall(text)) if foreign else 0
    return total < 3 or 2 * foreign <= total


@dataclass
class Side:
    """Habits of one text stream: how many lines look tokenised, are lower-cased, and so on."""

    lines: int = 0
    tokenised: int = 0
    cased: int = 0
    letters: int = 0
    accented: int = 0
    decomposed: int = 0
    numbers: int = 0

    def look(self, texts: Sequence[str]) -> None:
        for text in texts:
            self.lines += 1
            self.tokenised += _TOKENISED.search(text) is not None
            lowered = text.lower()
            self.cased += lowered != text
            self.letters += lowered != text.upper()  # has letters that know case
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
            self._count(self.counts.setdefault(name, Counter()), texts, sources)
            if references is not None:
                pairs = zip(texts, references, strict=True)
                self.copied[name] += sum(text in row for text, row in pairs)
        if sources is not None:
            self.counts.setdefault("the source", Counter())["empty"] += sum(map(is_blank, sources))
        if references is not None:
            counter = self.counts.setdefault("the references", Counter())
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
                self.sides.setdefault("the references", Side()).look(firsts)
        if self._pair is not None:
            for name, texts in systems.items():
                self._identify(name, texts, self._pair.target)
            if sources is not None:
                self._identify("the source", sources, self._pair.source)
            if references is not None:
                firsts = [row[0] for row in references if row]
                self._identify("the references", firsts, self._pair.target)
        self.seen += len(next(iter(systems.values()), ()))

    def _identify(self, name: str, texts: Sequence[str], expected: Language) -> None:
        """Ask for the language of some lines, spread over the chunk."""
        if self.stranger is None or self.identified[name] >= _MOST_IDENTIFIED:
            return
        some = [text for text in texts[:: -(-len(texts) // _IDENTIFIED)] if not is_blank(text)]
        self.identified[name] += len(some)
        self.asked.setdefault(name, []).append(self.stranger(some, expected))

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
        seen = self.languages(system)
        counts = {**self.counts.get(system, {}), "language": seen.total() - seen[""]}
        return {key: n for key, n in counts.items() if n}

    def messages(self, *, unescaped: bool = False) -> list[str]:
        lines = []
        for name, counter in self.counts.items():
            for kind, text in _SENTENCES.items():
                if counter[kind] and not (kind == "escapes" and unescaped):
                    lines.append(f"{name}: {text.format(n=counter[kind])}")
        for name, copied in self.copied.items():
            if copied == self.seen > 1:
                lines.append(f"{name}: every line equals a reference. Is this the reference file?")
        for name, side in self.sides.items():
            if 2 * side.numbers > side.lines > 1:
                lines.append(f"{name}: most lines are bare numbers. Is this a column of scores?")
        lines += [*self.together.messages(), *self.scripts.messages()]
        return lines + self._in_other_languages() + self._one_sided()

    def _in_other_languages(self) -> list[str]:
        """Sides of which a large share is in another language than was said."""
        lines = []
        for name in self.asked:
            counter = self.languages(name)
            foreign = counter.total() - counter[""]
            if self._pair is None or not foreign or foreign < _MUCH * counter.total():
                continue
            side = self._pair.source if name == "the source" else self._pair.target
            seen = max((code for code in counter if code), key=lambda code: counter[code])
            lines.append(
                f"{name}: {foreign / counter.total():.0%} of the {counter.total()} lines looked at "
                f"are not in {side}, but mostly in {seen}. Check the file, and -l."
            )
        return lines

    def _one_sided(self) -> list[str]:
        """Habits of one side only: such scores compare nothing."""
        reference = self.sides.get("the references")
        if reference is None or reference.lines < 5:
            return []
        lines = []
        for name, side in self.sides.items():
            for habit, (limit, text) in _HABITS.items():
                if habit == "share_lowered" and min(side.letters, reference.letters) < 5:
                    continue
                if habit == "share_decomposed" and min(side.accented, reference.accented) < 2:
                    continue
                more = getattr(side, habit) - getattr(reference, habit)
                if abs(more) > limit:
                    pair = (name, "the references")
                    first, other = pair if more > 0 else pair[::-1]
                    lines.append(f"{first}: {text.format(other=other)}")
        return lines


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
    "share_decomposed": (
        0.5,
        "accents are characters of their own (NFD), in {other} not. Bring both to NFC, or equal "
        "words count as different.",
    ),
}
_SENTENCES = {
    "empty": "{n} empty line(s).",
    "copies": "{n} line(s) copy the source unchanged.",
    "script": "{n} line(s) are not in the script of the target language.",
    "invisible": "{n} line(s) hold invisible characters (zero width, direction, control).",
    "escapes": "{n} line(s) hold HTML escapes such as &quot; : --unescape undoes them.",
    "separators": "{n} line(s) hold a Unicode line separator (such as U+2028): kept as it is here, "
    "but other tools split the line there. Replace it by a space.",
}
