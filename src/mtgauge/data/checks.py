"""The one door: every text that is scored has passed here.

The field's worst fault is a plausible number from wrong input. What is certainly wrong stops the
run here with an `InputError` (file, line, remedy): bytes that are not UTF-8, NUL characters, a line
end inside a text, half a character, files of different length, an empty file. What is only
suspicious is counted (`watch.py`).
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from os import PathLike

import numpy as np

from mtgauge.data.codes import Language, LanguagePair, foreign_letter
from mtgauge.errors import InputError

LONGEST = 16 * 2**20  # bytes of a text; a small .gz may unpack to gigabytes in one line
LINE_SEPARATORS = "\u2028\u2029\x85\x0b\x0c\x1c\x1d\x1e"
_FAULT = re.compile("[\0\r\n\ud800-\udfff]")
# control and format characters (zero width, direction, soft hyphen, BOM), fillers, blank braille
_INVISIBLE = (
    "\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u2028-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb"
    "\U000e0000-\U000e0fff"
)
_VISIBLE = re.compile(f"[^\\s{_INVISIBLE}]")
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
    listing = ", ".join(f"{n} has {len(c):,}" for n, c in zip(names, lengths, strict=True))
    message = f"the files have different numbers of lines: {listing}"
    counts = [len(column) for column in lengths]
    short, long = int(np.argmin(counts)), int(np.argmax(counts))
    a, b = (np.log1p(lengths[i].astype(float)) for i in (short, long))
    shift = len(b) - len(a)
    if not lengths[long][-shift:].any():
        return InputError(
            message,
            remedy=f"{names[long]} ends in {shift:,} empty line{'s' if shift > 1 else ''}, which "
            f"{names[short]} does not have: delete what is no segment.",
        )
    centre = np.median(b) - np.median(a) if len(a) else 0.0
    before = np.concatenate(([0.0], np.cumsum(np.abs(b[: len(a)] - a - centre))))
    after = np.concatenate(([0.0], np.cumsum(np.abs(b[shift:] - a - centre)[::-1])))[::-1]
    part = int(np.argmin(before + after)) + 1
    return InputError(
        message,
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
