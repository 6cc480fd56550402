"""Parallel text for training: reading, the tokenizer, and texts as arrays of word types.

A *word* is what the tokenizer's own rules call one: lower-cased, split at spaces and punctuation,
no memory of the space before it (so tokenised and untokenised text look alike). Every distinct word
is a *type* with a number, the most frequent first; a text is a row of type numbers, and its pieces
follow from a table (`Pieces`) type -> piece numbers. Corruptions then act on words, and one word
has the same place in the student and in its teachers, whatever their vocabularies.

    tokenizer = train_tokenizer(lines, size=48_000)
    words = split_words("Guten Tag, Welt!")        # ["guten", "tag", ",", "welt", "!"]
    Side.of([[3, 7, 2], [9]])                                 # ragged rows: one flat array, offsets

Limits: text without spaces (Chinese, Japanese) yields long words, rarely seen twice.
"""

from __future__ import annotations

import functools
import io
import lzma
import math
import re
import string
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from mtgauge.data import readers
from mtgauge.encode.ragged import offsets_of, take
from mtgauge.errors import InputError

PAD, BOS, EOS, UNK, MASK, SEP = range(6)
SPECIAL = ("<pad>", "<s>", "</s>", "<unk>", "<mask>", "<sep>")
BYTES = tuple(f"<0x{value:02X}>" for value in range(256))
IntArray = NDArray[np.int32]

# What the tokenizer makes alike before anything else; escapes are common in distributed test sets,
# some doubled (`&amp;apos;`).
_ALIKE = (
    ("[“”„‟«»]", '"'),
    ("[‘’‚‛`´]", "'"),
    ("[–—‐‑]", "-"),
    ("&(?:amp;)*quot;", '"'),
    ("&(?:amp;)*apos;", "'"),
    ("&(?:amp;)*lt;", "<"),
    ("&(?:amp;)*gt;", ">"),
    ("&(?:amp;)+", "&"),
)


def read_pairs(path: Path) -> Iterator[tuple[str, str, str]]:
    """(foreign, English, origin) of a tab-separated file; the third column may be missing."""
    readers.must_exist(path)
    # not through `raw_lines`: of millions of pairs each has been looked at before
    with io.TextIOWrapper(readers.open_bytes(path), "utf-8", newline="\n") as handle:
        for number, line in enumerate(handle, 1):
            fields = line.rstrip("\n").split("\t")
            if len(fields) not in (2, 3):
                raise InputError(
                    f"{len(fields)} columns, where two or three are wanted",
                    file=str(path),
                    line=number,
                    remedy="each line is: foreign TAB English [TAB origin]",
                )
            yield fields[0], fields[1], fields[2] if len(fields) == 3 else ""


def rules() -> Tokenizer:
    """Normalisation and the cutting into words, without a vocabulary yet."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Sequence(
        [
            *(normalizers.Replace(Regex(old), new) for old, new in _ALIKE),
            normalizers.NFKC(),
            normalizers.Replace("İ", "i"),
            normalizers.Lowercase(),
            normalizers.Replace(Regex(r"[\p{Cc}\p{Cf}]"), " "),
        ]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.BertPreTokenizer(),
            pre_tokenizers.Metaspace(prepend_scheme="always", split=False),
        ]
    )
    tokenizer.decoder = decoders.Sequence(
        [
            decoders.ByteFallback(),
            decoders.Metaspace(prepend_scheme="always", split=False),
        ]
    )
    return tokenizer


def train_tokenizer(lines: Iterable[str], size: int, *, letters: int = 9000) -> Tokenizer:
    """A unigram tokenizer of `size` pieces with byte fallback: no text is unknown to it.

    Pieces are found by merging frequent neighbours (BPE), which takes a minute where the usual
    pruning of a large seed takes many; then each is given its log frequency under the best
    segmentation, twice over, so that words are cut by likelihood rather than by order of merging.
    """
    tokenizer = rules()
    words: Counter[str] = Counter()
    for line in lines:
        words.update(split_words(line))
    trainer = trainers.BpeTrainer(
        vocab_size=size - len(SPECIAL) - len(BYTES) + 1,
        special_tokens=["<unk>"],
        limit_alphabet=letters,
        max_token_length=16,
        show_progress=False,
    )
    # rare words cost time and teach nothing; counts are damped so that no language drowns another
    often = {word: n for word, n in words.items() if n > 1}
    repeated = (word for word, n in often.items() for _ in range(max(1, round(n**0.75))))
    tokenizer.train_from_iterator(_grouped(repeated, 512), trainer)
    names = sorted(tokenizer.get_vocab(), key=tokenizer.get_vocab().__getitem__)
    pieces = [name for name in names if name != "<unk>"]
    for _ in range(2):
        counts = _piece_counts(tokenizer, often)
        total = sum(counts.values())
        scores = [(p, math.log((counts[p] + 0.1) / total)) for p in pieces]
        vocabulary = [(name, 0.0) for name in SPECIAL] + [(b, -20.0) for b in BYTES] + scores
        tokenizer.model = models.Unigram(vocabulary, unk_id=UNK, byte_fallback=True)
    tokenizer.add_special_tokens(list(SPECIAL))
    return tokenizer


def _grouped(words: Iterable[str], size: int) -> Iterator[str]:
    """Words joined into lines, so that each call into the trainer has work to do."""
    group: list[str] = []
    for word in words:
        group.append(word)
        if len(group) == size:
            yield " ".join(group)
            group.clear()
    yield " ".join(group)


def _piece_counts(tokenizer: Tokenizer, words: dict[str, int]) -> Counter[str]:
    counts: Counter[str] = Counter()
    names = list(words)
    for i in range(0, len(names), 10_000):
        part = names[i : i + 10_000]
        for word, item in zip(
            part, tokenizer.encode_batch(part, add_special_tokens=False), strict=True
        ):
            for piece in item.tokens:
                counts[piece] += words[word]
    return counts


def with_frame(tokenizer: Tokenizer, between: int = EOS) -> Tokenizer:
    """The tokenizer as a model wants it: `<s> text </s>`, and `<s> a BETWEEN b </s>` for a pair."""
    from tokenizers import processors

    name = SPECIAL[between]
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair=f"<s> $A {name} $B:1 </s>:1",
        special_tokens=[
            ("<s>", BOS),
            ("</s>", EOS),
            *([(name, between)] if between != EOS else []),
        ],
    )
    return tokenizer


@functools.cache
def _splitter() -> tuple[dict[int, str], dict[int, str]]:
    """Tables for str.translate: what is made alike; and marks set apart by spaces."""
    alike = {ord(c): new for old, new in _ALIKE[:3] for c in old[1:-1]}
    alike |= {ord("İ"): "i", ord("Σ"): "σ"}
    every = map(chr, range(sys.maxunicode))
    marks = {c for c in every if unicodedata.category(c).startswith("P")} | set(string.punctuation)
    return alike, {ord(c): f" {c} " for c in marks}


def split_words(text: str) -> list[str]:
    """The words of a text by the rules of `rules()`, faster than by asking the tokenizer."""
    alike, apart = _splitter()
    if "&" in text:
        for old, new in _ALIKE[3:]:
            text = re.sub(old, new, text)
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text.translate(alike)).translate(alike)
    elif "`" in text:
        text = text.replace("`", "'")
    text = text.lower()
    if not text.isprintable():
        text = "".join(" " if unicodedata.category(c) in ("Cc", "Cf") else c for c in text)
    return text.translate(apart).split()


@dataclass(frozen=True)
class Side:
    """Ragged rows of numbers: row i is flat[start[i] : start[i + 1]]."""

    flat: IntArray
    start: NDArray[np.int64]

    @classmethod
    def of(cls, rows: Iterable[Sequence[int]]) -> Side:
        rows = list(rows)
        start = offsets_of([len(row) for row in rows])
        return cls(np.fromiter((x for row in rows for x in row), np.int32, int(start[-1])), start)

    def __len__(self) -> int:
        return len(self.start) - 1

    @property
    def lengths(self) -> NDArray[np.int64]:
        return np.diff(self.start)

    def row(self, i: int) -> IntArray:
        return self.flat[self.start[i] : self.start[i + 1]]

    def take(self, rows: NDArray[np.int64]) -> Side:
        """The chosen rows, in the order asked for."""
        at, start = take(self.start, rows)
        return Side(self.flat[at], start)


TAILS = frozenset({"s", "t", "re", "ve", "ll", "d", "m"})  # what follows an apostrophe
OPENING = frozenset('"([{$#@&*+/=<')


def as_written(word: str) -> str:
    """A word with the space before it that running English text would have."""
    close = word in TAILS or (len(word) == 1 and not word.isalnum() and word not in OPENING)
    return word if close else " " + word


def pieces_of_types(tokenizer: Tokenizer, types: Sequence[str], most: int = 8) -> Side:
    """Piece numbers of each type, at most `most` (a longer word is cut)."""
    encoded = tokenizer.encode_batch_fast(list(types), add_special_tokens=False)
    return Side.of([item.ids[:most] for item in encoded])


def pack(values: NDArray[Any]) -> bytes:
    """Whole numbers from 0 on, small ones in fewer bytes, then lzma: what travels to a GPU."""
    value: NDArray[Any] = values.astype(np.uint32)
    planes = []
    while True:
        more = value >= 128
        planes.append(((value & 127) | (more << 7)).astype(np.uint8))
        value = value[more] >> 7
        if not len(value):
            break
    sizes = np.array([len(plane) for plane in planes], np.int64)
    body = b"".join(plane.tobytes() for plane in planes)
    head = np.int64(len(planes)).tobytes() + sizes.tobytes()
    return lzma.compress(head + body, preset=1)


def unpack(blob: bytes) -> IntArray:
    """The inverse of `pack`."""
    raw = lzma.decompress(blob)
    count = int(np.frombuffer(raw, np.int64, 1)[0])
    sizes = np.frombuffer(raw, np.int64, count, offset=8)
    at = 8 + 8 * count + np.concatenate([[0], np.cumsum(sizes)])
    value = np.frombuffer(raw, np.uint8, sizes[-1], offset=int(at[count - 1])).astype(np.int32)
    for i in range(count - 2, -1, -1):
        plane = np.frombuffer(raw, np.uint8, sizes[i], offset=int(at[i]))
        whole = (plane & 127).astype(np.int32)
        whole[plane >= 128] += (value & 0x1FFFFFF) << 7
        value = whole
    return value
