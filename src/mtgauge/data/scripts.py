"""Scripts of a run that names no language pair: what `-l` would have told.

    scripts = Scripts()
    scripts.look({"a": texts}, references)      # the first lines of every side
    scripts.messages()                          # what is suspicious, in sentences

With a pair the script of every line is compared with that of its language. Without one, two things
still give a plausible number from wrong input: a translation in another script than the references,
and Chinese, Japanese, Thai and others, of which a line would be cut into words at its spaces.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

_NAMES = (
    "Latin", "Cyrillic", "Greek", "Arabic", "Hebrew", "Armenian", "Georgian", "Ethiopic",
    "Devanagari", "Bengali", "Gujarati", "Gurmukhi", "Tamil", "Telugu", "Kannada", "Malayalam",
    "Sinhala", "Hangul", "Han", "Thai", "Lao", "Khmer", "Myanmar",
)  # fmt: skip
_UNSPACED = {"Han": "en-zh or en-ja", "Thai": "en-th", "Lao": "en-lo", "Khmer": "en-km",
             "Myanmar": "en-my"}  # fmt: skip
_LINES, _CHARACTERS = 200, 200  # that are looked at: a script is a property of a file
_FEWEST, _MOST = 20, 0.75  # letters, and the share of them that makes a script


@lru_cache(maxsize=1)
def _letters() -> dict[str, Any]:
    """A pattern of one letter, by script."""
    import regex

    patterns = {name: rf"\p{{Script={name}}}" for name in _NAMES}
    patterns["Han"] = r"[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]"
    return {name: regex.compile(pattern) for name, pattern in patterns.items()}


class Scripts:
    """Letters by script, of every system and of the first references."""

    def __init__(self) -> None:
        self._lines: Counter[str] = Counter()
        self._letters: dict[str, Counter[str]] = {}

    def look(
        self, systems: Mapping[str, Sequence[str]], references: Sequence[tuple[str, ...]] | None
    ) -> None:
        sides = dict(systems)
        if references is not None:
            sides["the references"] = [row[0] for row in references if row]
        for name, texts in sides.items():
            some = texts[: _LINES - self._lines[name]]
            self._lines[name] += len(some)
            joined = "".join(text[:_CHARACTERS] for text in some)
            counter = self._letters.setdefault(name, Counter())
            for script, letter in _letters().items():
                counter[script] += len(letter.findall(joined))

    def messages(self) -> list[str]:
        expected = self._of("the references")
        if not expected:
            return []
        lines = []
        for name in self._letters:
            script = self._of(name)
            if script and script != expected:
                lines.append(
                    f"{name}: written in {script} letters, the references in {expected}. "
                    "Check the file."
                )
        if expected in _UNSPACED:
            lines.append(
                "there are no spaces between words, and no language pair is given: what counts "
                f"words, such as bleu and ter, takes a line for one. Say -l {_UNSPACED[expected]}."
            )
        return lines

    def _of(self, name: str) -> str:
        """The script of a side; empty: too few letters, or several."""
        counter = self._letters.get(name, Counter())
        for script, count in counter.most_common(1):
            if count >= _FEWEST and count >= _MOST * counter.total():
                return script
        return ""
