"""Tables as text: one writer per format, and the one place where names are escaped.

    draw([["system", "bleu"], ["a|b", "31.4"]], "markdown")
    escape("a_b", "latex")                     a name outside a table
    json_text({"score": float("nan")})         valid JSON: what is undefined is null

A system may be called anything: a file name may hold a line end, an escape sequence for the
terminal or a spreadsheet formula. Every cell passes `visible` first, which writes control
characters and direction marks as \\x1b, \\n or \\u202e; then each format escapes what it gives a
meaning to.
"""

from __future__ import annotations

import codecs
import csv
import io
import json
import math
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TextIO

Grid = Sequence[Sequence[str]]  # rows of cells, the heading first
TABLES = ("table", "tsv", "csv", "markdown", "latex")
FORMATS = (*TABLES, "json")

_HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]"
)
_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_NUMBER = re.compile(r"[+-]?\.?[0-9][0-9.]*(?:e[+-]?[0-9]+)?(?: %)?")
_MARKDOWN = re.compile(r"[\\|`*\[\]~$]|(?<![0-9A-Za-z])_|_(?![0-9A-Za-z])")
_HTML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_LATEX = str.maketrans(
    {c: "\\" + c for c in "&%$#_{}"}
    | {"±": r"$\pm$", "↑": r"$\uparrow$", "↓": r"$\downarrow$"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}"}
)


def visible(text: str, keep: str = "") -> str:
    """Control characters, direction marks and halves of characters as escapes.

    >>> print(visible("a\\x1b[31mb\\tc"))
    a\\x1b[31mb\\tc
    """

    def shown(match: re.Match[str]) -> str:
        char = match.group()
        if char in keep:
            return char
        code = ord(char)
        return _NAMED.get(char) or (f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}")

    return _HIDDEN.sub(shown, text)


def escape(text: str, format: str) -> str:
    """A name as it may stand in the given format."""
    return _ESCAPES[format](visible(text))


def draw(grid: Grid, format: str, *, numbers: bool = True) -> str:
    """The grid as a table, without a line end after it; `numbers`: all columns but the first."""
    cells = [[escape(cell, format) for cell in row] for row in grid]
    if format == "markdown":
        lines = ["| " + " | ".join(row) + " |" for row in cells]
        rule = "| --- |" + (" ---: |" if numbers else " --- |") * (len(cells[0]) - 1)
        return "\n".join([lines[0], rule, *lines[1:]])
    if format == "latex":
        return _latex(cells, numbers)
    if format == "csv":
        stream = io.StringIO()
        csv.writer(stream, lineterminator="\n").writerows(cells)
        return stream.getvalue().removesuffix("\n")
    if format == "tsv":
        return "\n".join("\t".join(row) for row in cells)
    return _terminal(cells, numbers)


def _terminal(cells: Grid, numbers: bool) -> str:
    widths = [max(map(display_width, column)) for column in zip(*cells, strict=True)]
    lines = [
        "  ".join(
            pad(cell, w, right=bool(i) and numbers)
            for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]
    return "\n".join([lines[0], "  ".join("-" * w for w in widths), *lines[1:]])


def _latex(cells: Grid, numbers: bool) -> str:
    head, *body = (" & ".join(row) + r" \\" for row in cells)
    side = "r" if numbers else "l"
    columns = "l" + side * (len(cells[0]) - 1)
    lines = [r"\begin{tabular}{" + columns + "}", r"\hline", head, r"\hline", *body]
    return "\n".join([*lines, r"\hline", r"\end{tabular}"])


def _markdown_text(text: str) -> str:
    text = _MARKDOWN.sub(lambda match: "\\" + match.group(), text.translate(_HTML))
    return text.replace("://", "&#58;//").replace("www.", "www&#46;")  # no links of their own


def _latex_text(text: str) -> str:
    text = text.translate(_LATEX).replace("--", "-{}-")  # two hyphens would become a dash
    return "{}" + text if text[:1] in ("[", "*") else text  # \\[ and \\* have a meaning


def _spreadsheet_text(text: str) -> str:
    """A spreadsheet would run =cmd() as a formula: a quote in front makes it text."""
    risky = len(text) > 1 and text[0] in "=+-@" and not _NUMBER.fullmatch(text)
    return "'" + text if risky else text


def _tsv_text(text: str) -> str:
    """Some readers take a quote at the start for the start of a cell with tabs and line ends."""
    return "'" + text if text.startswith('"') else _spreadsheet_text(text)


_ESCAPES: dict[str, Callable[[str], str]] = {
    "table": str,
    "tsv": _tsv_text,
    "csv": _spreadsheet_text,
    "markdown": _markdown_text,
    "latex": _latex_text,
}


def display_width(text: str) -> int:
    """Width in terminal cells: Chinese characters take two, combining marks none."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def pad(text: str, cells: int, *, right: bool = False) -> str:
    """The text with spaces to fill so many terminal cells."""
    space = " " * (cells - display_width(text))
    return space + text if right else text + space


def fold(text: str, cells: int) -> list[str]:
    """The text in lines of so many terminal cells, broken at spaces, or anywhere without them.

    >>> fold("one two three", 7)
    ['one two', 'three']
    """
    lines: list[str] = []
    for word in text.split():
        if lines and display_width(lines[-1]) + 1 + display_width(word) <= cells:
            lines[-1] += f" {word}"
            continue
        while display_width(word) > cells > 1:
            start = _cut(word, cells)
            lines.append(word[:start])
            word = word[start:]
        lines.append(word)
    return lines


def shorten(text: str, cells: int) -> str:
    """The text, or as much of its beginning as fits before an ellipsis."""
    if display_width(text) <= cells:
        return text
    return text[: _cut(text, cells - 1)].rstrip() + "…"


def _cut(text: str, cells: int) -> int:
    """How many characters fill so many cells at most, one at least."""
    used = 0
    for k, char in enumerate(text):
        used += display_width(char)
        if used > cells:
            return max(k, 1)
    return len(text)


# What a terminal cannot show

_PLAIN = {
    "↑": "^", "↓": "v", "±": "+-", "…": "...", "×": "x", "→": "->", "–": "-", "—": "-", "−": "-",
    "≥": ">=", "≤": "<=", "░": ".", "▒": ":", "▓": "*", "█": "#", "─": "-", "│": "|", "’": "'",
    "“": '"', "”": '"',
}  # fmt: skip


def _plain(error: UnicodeError) -> tuple[str, int]:
    r"""An error handler of codecs: marks in ASCII, anything else as \uXXXX, which JSON can read."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    stretch = error.object[error.start : error.end]
    units = (char.encode("utf-16-be", "surrogatepass") for char in stretch)
    escaped = ("".join(f"\\u{u[k]:02x}{u[k + 1]:02x}" for k in range(0, len(u), 2)) for u in units)
    pairs = zip(stretch, escaped, strict=True)
    return "".join(_PLAIN.get(char, code) for char, code in pairs), error.end


def speak_plainly(*streams: TextIO) -> None:
    """Let streams that cannot show every character write ASCII for the marks they lack."""
    codecs.register_error("mtgauge-plain", _plain)
    for stream in streams:
        named = (getattr(stream, "encoding", None) or "utf-8").lower().replace("-", "")
        if not named.startswith("utf") and isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="mtgauge-plain")


# Numbers


def fixed(value: float | None, form: str = ".3f", missing: str = "-") -> str:
    """A number for people; a dash where there is none."""
    return missing if value is None or not math.isfinite(value) else format(value, form)


def full(value: float) -> str:
    """A number for programs; empty where it is undefined."""
    return "" if math.isnan(value) else f"{value:.6g}"


def json_text(content: Any) -> str:
    """JSON with a line end; NaN and infinity become null, hidden characters escapes."""
    text = json.dumps(_defined(content), ensure_ascii=False, allow_nan=False, indent=1)
    return "\n".join(_HIDDEN.sub(_json_escape, line) for line in text.split("\n")) + "\n"


def _json_escape(match: re.Match[str]) -> str:
    return f"\\u{ord(match.group()):04x}"


def _defined(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _defined(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_defined(item) for item in value]
    return value
