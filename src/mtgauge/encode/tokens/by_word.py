"""Token ids of many texts, each distinct word tokenised once.

    read = ByWord(tokenizer, before=[1], after=[2], most=256)      # special ids, longest text
    offsets, ids, truncated = read(["Ein Satz.", "Noch ein Satz."])

A tokenizer that cuts at spaces first reads a word the same in every text. Words of a corpus recur,
so their ids are looked up in one table, and only new words go through the tokenizer, all together.
That costs a few microseconds per text on one core, where the tokenizers of BERT or of the embedded
encoder take 20 to 100: with them a GPU would wait for 16 cores.

Limits: `cuts_at_spaces` says which tokenizers can be read so; byte-level ones, for which a space is
part of the next word, and SentencePiece's rules for characters cannot.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mtgauge.encode.ragged import IntArray, offsets_of, ranges

if TYPE_CHECKING:
    from tokenizers import Tokenizer

WORDS = 2**18  # that are remembered; the table then starts anew
SPLITTERS = ("BertPreTokenizer", "Whitespace", "WhitespaceSplit")
LOCAL = ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "BertNormalizer")
# what a rule of replacement must not have, if it is to look at no space and beyond no word
FAR = (
    " ",
    ".",
    "^",
    "$",
    "\\s",
    "\\S",
    "\\W",
    "\\b",
    "\\B",
    "\\D",
    "\\P",
    "\\X",
    "(?=",
    "(?!",
    "(?<",
)


def cuts_at_spaces(tokenizer: Tokenizer) -> bool:
    """Whether the words between spaces are tokenised each by itself."""
    splitter = _steps(tokenizer.pre_tokenizer, "pretokenizers")
    if not splitter or splitter[0]["type"] not in SPLITTERS:
        return False
    later = splitter[1:]
    if any(x["type"] != "Metaspace" or x.get("prepend_scheme") != "always" for x in later):
        return False
    added = tokenizer.get_added_tokens_decoder().values()
    if any(x.lstrip or x.rstrip or x.single_word or " " in x.content for x in added):
        return False
    return all(map(_is_local, _steps(tokenizer.normalizer, "normalizers")))


def _steps(part: Any, inner: str) -> list[dict[str, Any]]:
    """A part of a tokenizer as its file describes it, step by step."""
    if part is None:
        return []
    said = json.loads(part.__getstate__())
    return list(said[inner]) if said["type"] == "Sequence" else [said]


def _is_local(step: dict[str, Any]) -> bool:
    """Whether a normaliser changes a word without regard to its neighbours."""
    if step["type"] != "Replace":
        return step["type"] in LOCAL
    pattern = step["pattern"]
    return not any(sign in pattern.get("Regex", pattern.get("String", " ")) for sign in FAR)


class ByWord:
    """Ids by a table of words; `before` and `after` are the special tokens of every text."""

    def __init__(
        self, tokenizer: Tokenizer, before: Sequence[int], after: Sequence[int], most: int
    ) -> None:
        self.tokenizer, self.before, self.after, self.most = tokenizer, before, after, most
        self._lock = threading.Lock()
        self._start_anew()

    def _start_anew(self) -> None:
        self._numbers: dict[str, int] = {}
        self._offsets = np.zeros(1, np.int64)
        self._ids = np.empty(0, np.int64)

    def __call__(self, texts: Sequence[str]) -> tuple[IntArray, IntArray, NDArray[np.bool_]]:
        """Offsets, ids and which texts were cut."""
        counts = np.fromiter((text.count(" ") + 1 for text in texts), np.int64, len(texts))
        words = " ".join(texts).split(" ") if len(texts) else []
        with self._lock:
            numbers = self._look_up(words)
            starts, sizes = self._offsets[numbers], np.diff(self._offsets)[numbers]
            ids = self._ids[ranges(starts, sizes)]
        at = offsets_of(sizes)[offsets_of(counts)]  # where the tokens of each text begin and end
        return self._framed(ids, at[:-1], np.diff(at))

    def _look_up(self, words: list[str]) -> IntArray:
        if len(self._numbers) > WORDS:
            self._start_anew()
        numbers = np.fromiter(map(self._numbers.get, words, repeat(-1)), np.int64, len(words))
        missing = np.flatnonzero(numbers < 0).tolist()
        if missing:
            new = list(dict.fromkeys(words[i] for i in missing))
            found = [e.ids for e in self.tokenizer.encode_batch_fast(new, add_special_tokens=False)]
            self._numbers.update(zip(new, range(len(self._numbers), 2**62), strict=False))
            more = offsets_of([len(ids) for ids in found])[1:] + len(self._ids)
            self._offsets = np.concatenate([self._offsets, more])
            self._ids = np.concatenate([self._ids, *(np.array(x, np.int64) for x in found)])
            numbers[missing] = [self._numbers[words[i]] for i in missing]
        return numbers

    def _framed(
        self, ids: IntArray, starts: IntArray, sizes: IntArray
    ) -> tuple[IntArray, IntArray, NDArray[np.bool_]]:
        """Texts cut to what fits, with their special tokens."""
        room = self.most - len(self.before) - len(self.after)
        kept = np.minimum(sizes, room)
        offsets = offsets_of(kept + self.most - room)
        framed = np.empty(int(offsets[-1]), np.int64)
        framed[ranges(offsets[:-1] + len(self.before), kept)] = ids[ranges(starts, kept)]
        for step, number in enumerate(self.before):
            framed[offsets[:-1] + step] = number
        for step, number in enumerate(reversed(self.after), 1):
            framed[offsets[1:] - step] = number
        return offsets, framed, sizes > room
