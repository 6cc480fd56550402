"""Numbers, dates, currencies, percentages, URLs and e-mail addresses as entities.

Ids are normalised values, so 1 234,5 (Czech), 1.234,5 (German) and 1,234.5 (English) are one
entity `num:1234.5`, and "3 млн", "300万" and "3 million" are `num:3000000`. A date is its day,
month and year: 24.12.2018 and "24 December 2018" share `num:24`, `cldr:month/12` and `num:2018`.
A time is one entity on a clock of twelve hours: 18:45, 18.45 and "6:45 p.m." are `time:6:45`; and
the fifties are 50 as well as 1950.

    NumberFinder("de", scales={"millionen": 6}).find("1,5 Millionen Euro")

A number that can be read two ways ("1.234") carries both ids, the language's own reading first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import MAX_EMAX, Context, Decimal
from functools import lru_cache

from mtgauge.knowledge.base.keys import fold, plain
from mtgauge.knowledge.link.mention import Mention

# languages that write 1,234.5; all others write 1.234,5 or 1 234,5
_POINT = frozenset(
    "en zh ja ko th he hi gu bn pa ta te mr ur ar fa ga cy ms fil sw ne si km my".split()
)
_DIGITS = r"[0-9\u0660-\u0669\u06f0-\u06f9\u0966-\u096f\u0ae6-\u0aef\u09e6-\u09ef\uff10-\uff19]"
_SPACES = r" \u00a0\u202f\u2009"
_FIGURES = rf"""(?P<date>(?<!\d)\d{{1,2}}(?:[./-]|\.[ ])\d{{1,2}}(?:[./-]|\.[ ])(?:19|20)\d\d(?!\d))
    |(?P<iso>(?<!\d)(?:19|20)\d\d-\d\d-\d\d(?!\d))
    |(?P<month>(?<!\d)(?:1[0-2]|[1-9])[ ]?月)
    |(?P<years>(?<!\d)(?:19|20)\d\d[-–/]\d\d(?![\d-]))
    |(?P<time>(?<![\d.,:])(?:[01]?\d|2[0-3]):[0-5]\d(?![\d:]))
    |(?P<group>{_DIGITS}{{1,3}}(?:[{_SPACES}.,'’]{_DIGITS}{{3}})+(?![0-9])(?:[.,]{_DIGITS}+)?)
    |(?P<plain>{_DIGITS}+(?:[.,]{_DIGITS}+)?)
    |(?P<sign>[%\u066a\uff05$€£¥\uffe5₽₺₹₸₴₩₪฿])"""
# a name before an @ is tried from its first letter only: no run of letters is scanned twice
_ADDRESSES = r"""(?P<mail>(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+)
    |(?P<url>(?:https?://|www\.)[^\s<>"“”«»]+)"""
_OPENS = r"[\d%\u066a\uff05$€£¥\uffe5₽₺₹₸₴₩₪฿]"  # what any figure begins with
_PARTS = re.compile(f"(?={_OPENS})(?:{_FIGURES})", re.VERBOSE)
_ALL_PARTS = re.compile(f"{_ADDRESSES}|{_FIGURES}", re.VERBOSE)
_ANY = re.compile(rf"{_OPENS}|@|://|www\.")  # worth a closer look
# currency codes that stand close before an amount: RMB2.9, TL 40, US$5
_CODE = re.compile(
    r"(?<![^\W\d_])(RMB|USD|EUR|GBP|CNY|JPY|HKD|CHF|AUD|CAD|TL)[ ]?$|(?<!\w)(US|HK|A|C)$"
)
_SIGNS = {
    "$": ("USD", "CAD", "AUD", "NZD", "HKD", "SGD", "MXN"),
    "€": ("EUR",), "£": ("GBP", "EGP"), "¥": ("JPY", "CNY"), "\uffe5": ("CNY", "JPY"),
    "₽": ("RUB",), "₺": ("TRY",), "₹": ("INR",), "₸": ("KZT",), "₴": ("UAH",), "₩": ("KRW",),
    "₪": ("ILS",), "฿": ("THB",),
}  # fmt: skip
_CODES = {"RMB": "CNY", "US": "USD", "HK": "HKD", "A": "AUD", "C": "CAD", "TL": "TRY"}
_SHORT_SCALES = {"bn": 9, "mn": 6, "tn": 12, "mio": 6, "mrd": 9, "mld": 9, "млн": 6, "млрд": 9}
_AFTER_SIGNS = {"k": 3, "m": 6, "b": 9}  # £5m; without the sign it may be metres
_STEM = 6
_REMEMBERED = 1 << 12  # words that follow a number
_LARGE = Context(Emax=MAX_EMAX)  # the usual precision; a number of a million digits is one too
_SCALE = re.compile(r"[ \u00a0-]?(?:[多余][ ]?)?([^\W\d_]{1,14})")
_CLOCK = re.compile(r"([01]?\d|2[0-3])(?:[.:]([0-5]\d))?$")
_HALF_DAY = re.compile(r"[ \u00a0]?([ap])\.?[ ]?m\b", re.IGNORECASE)
_DECADE = re.compile(r"['’]?s\b|-?(?:er|х)\b|-luv|\. (?:let|rokov)\b")


class NumberFinder:
    """Finds numbers and the like in texts of one language; `scales` maps folded words to powers."""

    def __init__(self, lang: str, scales: Mapping[str, int]) -> None:
        self._decimal = "." if lang in _POINT else ","
        self._scales = _SHORT_SCALES | {plain(word): power for word, power in scales.items()}
        # "miljoonalle" is a case of "miljoona": six letters tell the scales apart
        self._stems = {
            word[:_STEM]: power for word, power in self._scales.items() if len(word) >= _STEM
        }
        self._scale_of = lru_cache(maxsize=_REMEMBERED)(self._scale)

    def find(self, text: str) -> list[Mention]:
        found: list[Mention] = []
        if _ANY.search(text) is None:
            return found
        scaled: tuple[int, int] | None = None  # place and power of the last number with a scale
        addressed = "@" in text or "://" in text or "www." in text
        for match in (_ALL_PARTS if addressed else _PARTS).finditer(text):
            kind = str(match.lastgroup)
            if kind in ("date", "iso"):
                found += _date(match, day_first=self._decimal == ",")
            elif kind in ("group", "plain", "time"):
                found += _code(text, match.start(), found)
                mention, power = self._number(match, text)
                found.append(mention)
                if scaled is not None and 0 < mention.begin - found[scaled[0]].end + 1 <= 2:
                    _join(found, scaled, text)
                scaled = (len(found) - 1, power) if power else None
            elif kind == "years":
                found += _years(match)
            else:
                sign = _other(match, kind)
                letters = _code(text, match.start(), found) if match.group() == "$" else []
                found += [_spanning(letters[0], sign)] if letters else [sign]
        return found

    def _number(self, match: re.Match[str], text: str) -> tuple[Mention, int]:
        """The number's mention, and the power of its scale (0: none)."""
        begin, end = match.span()
        half = _HALF_DAY.match(text, end)
        clock = _CLOCK.match(match.group())
        if match.lastgroup == "time" or (half and clock):
            time = _clock(match.group(), half.group(1).lower() if half else "")
            return Mention(begin, end, match.group(), time, "number", False), 0
        values = list(self._readings(match.group(), grouped=match.lastgroup == "group"))
        following = _SCALE.match(text, end)
        power = self._scale_of(following.group(1)) if following else None
        if following and power is None and text[begin - 1 : begin] in _SIGNS:
            short = _AFTER_SIGNS.get(following.group(1).lower())
            power = (short, len(following.group(1))) if short else None
        if following and power:
            values = [value.scaleb(power[0], _LARGE) for value in values]
            end = following.start(1) + power[1]
        ids = [f"num:{_canonical(value)}" for value in values]
        if clock and clock.group(2) and not power and self._decimal == ",":
            ids += _clock(match.group(), "")  # 16.30 may be half past four
        if len(match.group()) == 4 and match.group()[:2] == "19" and _DECADE.match(text, end):
            ids.append(f"num:{int(match.group()[2:])}")
        mention = Mention(begin, end, text[begin:end], tuple(dict.fromkeys(ids)), "number", False)
        return mention, power[0] if power else 0

    def _scale(self, word: str) -> tuple[int, int] | None:
        """(power, length) of the scale that a word is or, in Chinese, begins with."""
        folded = plain(fold(word))
        if folded in self._scales:
            return self._scales[folded], len(word)
        if folded[:_STEM] in self._stems:
            return self._stems[folded[:_STEM]], len(word)
        if "\u4e00" <= word[0] <= "\u9fff":
            for length in (2, 1):
                if folded[:length] in self._scales:
                    return self._scales[folded[:length]], length
        return None

    def _readings(self, text: str, grouped: bool) -> Iterator[Decimal]:
        digits = text
        if not text.isascii():
            digits = "".join(str(int(c)) if c.isdigit() else c for c in text)
        if digits.isdecimal():
            yield Decimal(digits)
            return
        marks = [c for c in digits if not c.isdigit()]
        last = marks[-1]
        head, tail = digits.rsplit(last, 1)
        whole = re.sub(r"\D", "", digits)
        fraction = Decimal(re.sub(r"\D", "", head) + "." + tail)
        if last not in ".,":
            yield Decimal(whole)
        elif not grouped or marks.count(last) != len(marks):
            yield fraction  # 12,5 or 1.234,5: the last mark can only be the decimal one
        elif len(marks) > 1:
            yield Decimal(whole)  # 1.234.567
        elif last == self._decimal:
            yield from (fraction, Decimal(whole))
        else:
            yield from (Decimal(whole), fraction)


def _join(found: list[Mention], scaled: tuple[int, int], text: str) -> None:
    """Make one number of two: "753 milyon 500 bin", 1亿5000万."""
    at, power = scaled
    first, last = found[at], found[-1]
    if not last.ids[0].startswith("num:") or text[first.end : last.begin].strip():
        return
    small = Decimal(last.ids[0].removeprefix("num:"))
    if at == len(found) - 2 and small < 10**power:
        total = _LARGE.add(Decimal(first.ids[0].removeprefix("num:")), small)
        ids = (f"num:{_canonical(total)}",)
        found[at:] = [Mention(first.begin, last.end, text[first.begin : last.end], ids, "number")]


def _canonical(value: Decimal) -> str:
    return f"{value.normalize(_LARGE):f}"


def _code(text: str, begin: int, found: list[Mention]) -> list[Mention]:
    """The currency code that ends where a figure or a dollar sign begins, if any."""
    window = max(0, begin - 5)
    if not text[window:begin].rstrip(" ")[-1:].isupper():  # nearly always
        return []
    match = _CODE.search(text[window:begin])
    is_sign = text[begin] == "$"
    if match is None or bool(match[2]) != is_sign:
        return []
    code = match[1] or match[2]
    start = window + match.start()
    if found and found[-1].end > start:
        return []
    id = f"cldr:currency/{_CODES.get(code, code)}"
    return [Mention(start, start + len(code), code, (id,), "currency", False)]


def _spanning(letters: Mention, sign: Mention) -> Mention:
    """US and $ as one mention."""
    return letters._replace(end=sign.end, text=letters.text + sign.text)


def _clock(text: str, half: str) -> tuple[str, ...]:
    """Ids of a time of day: on the clock of twelve, and as bare hours where there are no minutes.

    "15:00" is met by "3 p.m." and by "15 Uhr", so it has the ids of both.
    """
    hour, _, minute = text.replace(".", ":").partition(":")
    value = int(hour) % 12
    ids = [f"time:{value}:{minute or '00'}"]
    if minute in ("", "00"):
        late = half == "p" or int(hour) > 12
        ids += [f"num:{int(hour)}", f"num:{value + 12 if late else value}"]
    return tuple(dict.fromkeys(ids))


def _years(match: re.Match[str]) -> list[Mention]:
    """2015-16 is 2015 and 2016."""
    first, last = re.finditer(r"\d+", match.group())
    offset = match.start()
    century = first.group()[:2]
    return [
        Mention(
            offset + part.start(), offset + part.end(), part.group(), tuple(ids), "number", False
        )
        for part, ids in (
            (first, [f"num:{int(first.group())}"]),
            (last, [f"num:{int(last.group())}", f"num:{century}{last.group()}"]),
        )
    ]


def _other(match: re.Match[str], kind: str) -> Mention:
    begin, end, text = match.start(), match.end(), match.group()
    if kind == "month":
        return Mention(begin, end, text, (f"cldr:month/{int(text[:-1])}",), "date", False)
    if kind == "sign":
        if text in "%\u066a\uff05":
            return Mention(begin, end, text, ("unit:percent",), "unit", False)
        codes = tuple(f"cldr:currency/{code}" for code in _SIGNS[text])
        return Mention(begin, end, text, codes, "currency", False)
    stripped = text.rstrip(".,;:!?)]'")
    value = stripped.casefold().removeprefix("https://").removeprefix("http://")
    id = f"{kind}:{value.removeprefix('www.').rstrip('/')}"
    return Mention(begin, begin + len(stripped), stripped, (id,), "address", False)


def _date(match: re.Match[str], day_first: bool) -> list[Mention]:
    """Day, month and year of a date in figures; an open order of day and month keeps both."""
    parts = list(re.finditer(r"\d+", match.group()))
    values = [int(part.group()) for part in parts]
    if match.lastgroup == "iso":
        year, month, day = 0, 1, 2
    else:
        year = 2
        month_second = values[0] > 12 or (day_first and values[1] <= 12)
        day, month = (0, 1) if month_second else (1, 0)
    if not 1 <= values[month] <= 12:
        day, month = month, day
    offset = match.start()
    found = []
    for i, part in enumerate(parts):
        if i == month and 1 <= values[i] <= 12:
            ids: tuple[str, ...] = (f"cldr:month/{values[i]}",)
            if i != 2 and year == 2 and 1 <= values[day] <= 12:
                ids += (f"cldr:month/{values[day]}",)
            category = "date"
        else:
            ids, category = (f"num:{values[i]}",), "number"
            if i == day and year == 2 and 1 <= values[day] <= 12:
                ids += (f"num:{values[month]}",)
        begin, end = offset + part.start(), offset + part.end()
        found.append(Mention(begin, end, part.group(), ids, category, False))
    return found
