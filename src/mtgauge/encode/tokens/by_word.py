"""Tokens of many texts, each distinct word tokenised once.

    read = by_word(tokenizer, most=256)                  # None: words are not read by themselves
    tokens = read(["Ein Satz.", "Noch ein Satz."])       # as `pack(tokenizer.encode_batch(...))`

A tokenizer that cuts at spaces first reads a word the same in every text. Words of a corpus recur,
so their tokens are looked up in one table, and only new words go through the tokenizer, some dozens
as one text. That costs a few microseconds per text on one core, where the tokenizers of BERT or of
the embedded encoder take 20 to 100: with them a GPU would wait for 16 cores.

Limits: `cuts_at_spaces` says which tokenizers can be read so; byte-level ones, for which a space is
part of the next word, and SentencePiece's rules for characters cannot.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from mtgauge.encode.ragged import IntArray, offsets_of, ranges
from mtgauge.encode.tokens.encoder import Tokens
from mtgauge.encode.tokens.encodings import pack

if TYPE_CHECKING:
    from tokenizers import Tokenizer

WORDS = 2**18  # that are remembered; the table then starts anew
TOGETHER = 64  # new words that go through the tokenizer as one text
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


def edges(tokenizer: Tokenizer) -> tuple[list[int], list[int]] | None:
    """Ids of the special tokens before and after every text; None: some stand elsewhere."""
    one = tokenizer.encode("a a")
    mask = list(one.special_tokens_mask)
    before, after = mask.index(0), len(mask) - mask[::-1].index(0)
    return None if any(mask[before:after]) else (one.ids[:before], one.ids[after:])


def by_word(tokenizer: Tokenizer, most: int) -> ByWord | None:
    """A reader of texts up to `most` tokens; None where words are not read by themselves."""
    around = edges(tokenizer) if cuts_at_spaces(tokenizer) else None
    return ByWord(tokenizer, *around, most) if around else None


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
    """Tokens by a table of words; `before` and `after` are the special tokens of every text."""

    def __init__(
        self, tokenizer: Tokenizer, before: Sequence[int], after: Sequence[int], most: int
    ) -> None:
        self.tokenizer, self.before, self.after, self.most = tokenizer, before, after, most
        self._lock = threading.Lock()
        self._start_anew()

    def _start_anew(self) -> None:
        self._numbers: dict[str, int] = {}
        self._offsets = np.zeros(1, np.int64)
        self._table = np.empty((0, 4), np.int64)  # id, begin and end in the word, begins a word

    def __call__(self, texts: Sequence[str]) -> Tokens:
        counts = np.fromiter((text.count(" ") + 1 for text in texts), np.int64, len(texts))
        words = " ".join(texts).split(" ") if len(texts) else []
        with self._lock:
            numbers = self._look_up(words)
            starts, sizes = self._offsets[numbers], np.diff(self._offsets)[numbers]
            rows = self._table[ranges(starts, sizes)]
        of_text = offsets_of(counts)
        lengths = np.fromiter(map(len, words), np.int64, len(words)) + 1
        begins = offsets_of(lengths)[:-1]  # of words, in all texts joined by spaces
        begins -= np.repeat(begins[of_text[:-1]], counts)
        rows[:, 1:3] += np.repeat(begins, sizes)[:, None]
        at = offsets_of(sizes)[of_text]  # where the tokens of each text begin and end
        return self._framed(rows, at[:-1], np.diff(at))

    def _look_up(self, words: list[str]) -> IntArray:
        if len(self._numbers) > WORDS:
            self._start_anew()
        numbers = np.fromiter(map(self._numbers.get, words, repeat(-1)), np.int64, len(words))
        missing = np.flatnonzero(numbers < 0).tolist()
        if missing:
            new = list(dict.fromkeys(words[i] for i in missing))
            found, sizes = self._read(new)
            self._numbers.update(zip(new, range(len(self._numbers), 2**62), strict=False))
            more = offsets_of(sizes)[1:] + len(self._table)
            self._offsets = np.concatenate([self._offsets, more])
            self._table = np.concatenate([self._table, found])
            numbers[missing] = [self._numbers[words[i]] for i in missing]
        return numbers

    def _read(self, words: list[str]) -> tuple[IntArray, IntArray]:
        """Rows of the table for new words, and how many rows each has."""
        groups = [words[i : i + TOGETHER] for i in range(0, len(words), TOGETHER)]
        found = self._encode(groups)
        if found.truncated.any():  # one by one where a group is longer than the longest text
            cut = zip(groups, found.truncated, strict=True)
            groups = [part for g, c in cut for part in ([[w] for w in g] if c else [g])]
            found = self._encode(groups)
        lengths = np.fromiter(map(len, chain.from_iterable(groups)), np.int64, len(words)) + 1
        ends = np.cumsum(lengths)  # of words, in all groups joined by spaces
        begins = ends - lengths
        firsts = begins[offsets_of([len(group) for group in groups])[:-1]]
        spans = found.spans + np.repeat(firsts, np.diff(found.offsets))[:, None]
        word = np.searchsorted(ends, spans[:, 0], side="right")
        spans -= begins[word][:, None]
        rows = np.column_stack([found.ids, spans, found.first])
        return rows, np.bincount(word, minlength=len(words))

    def _encode(self, groups: list[list[str]]) -> Tokens:
        joined = [" ".join(group) for group in groups]
        return pack(self.tokenizer.encode_batch(joined, add_special_tokens=False))

    def _framed(self, rows: IntArray, starts: IntArray, sizes: IntArray) -> Tokens:
        """Texts cut to what fits, with their special tokens."""
        room = self.most - len(self.before) - len(self.after)
        kept = np.minimum(sizes, room)
        offsets = offsets_of(kept + self.most - room)
        framed = np.zeros((int(offsets[-1]), 4), np.int64)
        framed[:, 3] = 1
        special = np.ones(len(framed), dtype=bool)
        inside = ranges(offsets[:-1] + len(self.before), kept)
        special[inside] = False
        framed[inside] = rows[ranges(starts, kept)]
        for step, number in enumerate(self.before):
            framed[offsets[:-1] + step, 0] = number
        for step, number in enumerate(reversed(self.after), 1):
            framed[offsets[1:] - step, 0] = number
        ids, first = np.ascontiguousarray(framed[:, 0]), framed[:, 3].astype(bool)
        return Tokens(offsets, ids, framed[:, 1:3], first, special, sizes > room)
