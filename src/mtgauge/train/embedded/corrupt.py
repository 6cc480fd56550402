"""Graded corruptions of English sentences, and words to pieces, all as tensor operations.

A metric meets bad translations, not random sentences. For each reference `corrupt` makes K
versions, from untouched to ruined, by the slips that translation systems make:

    replaced      by a word sharing a translation (`lexicon.confusions`), by one the student itself
                  thinks likely there without seeing the source, or by a random one
    lost, doubled, added words; source words left as they are
    a span lost, the end cut off, a span from another sentence
    words moved a little, or everywhere
    the source translated word by word

How strong each is, is drawn anew for each version, so that versions are graded.

    slots = corrupt(words, source, lang, slips, versions=4, rng=g)     # (B, K, slots), -1 empty
    batch, word = expand(flat_words, starts, table)                        # pieces, and whose word
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from mtgauge.encode.transformer import Ragged
from mtgauge.train.embedded.corpus import Side


@dataclass(frozen=True)
class Table:
    """Type -> pieces. The last two types are the frame: begin and end of a sentence."""

    flat: Tensor
    start: Tensor

    @classmethod
    def of(cls, pieces: Side, first: int, last: int, device: str) -> Table:
        flat = np.concatenate([pieces.flat, [first, last]])
        start = np.concatenate([pieces.start, pieces.start[-1] + np.array([1, 2])])
        return cls(torch.from_numpy(flat).long().to(device), torch.from_numpy(start).to(device))

    @property
    def frame(self) -> tuple[int, int]:
        return len(self.start) - 3, len(self.start) - 2


@dataclass(frozen=True)
class Dictionaries:
    """Word translations of several languages, in one direction."""

    keys: Tensor  # sorted language * types + type
    words: Tensor  # (keys, 4) types
    share: Tensor  # (keys, 4) cumulative
    types: int

    def draw(self, lang: Tensor, words: Tensor, chance: Tensor) -> Tensor:
        """A translation of each word, by its share; the word itself where none is known."""
        if not len(self.keys):
            return words
        key = lang * self.types + words
        at = torch.searchsorted(self.keys, key).clamp(max=len(self.keys) - 1)
        which = (chance[..., None] > self.share[at]).sum(-1).clamp(max=self.words.shape[1] - 1)
        found = self.words[at].gather(-1, which[..., None])[..., 0]
        return torch.where(self.keys[at] == key, found, words)


@dataclass(frozen=True)
class Slips:
    """What corruption draws from, on one device."""

    confusion: Tensor  # (types,) row of `others`, -1 where there is none
    others: Tensor  # (rows, 8) English types
    common: Tensor  # cumulative chance of English types
    english: Dictionaries  # of foreign words

    def random(self, draw: Tensor) -> Tensor:
        return torch.searchsorted(self.common, draw).clamp(max=len(self.common) - 1)

    def confuse(self, words: Tensor, draw: Tensor) -> Tensor:
        row = self.confusion[words]
        column = (draw * self.others.shape[1]).long().clamp(max=self.others.shape[1] - 1)
        return torch.where(row >= 0, self.others[row.clamp(min=0), column], words)


def corrupt(
    words: Tensor, source: Tensor, lang: Tensor, slips: Slips, versions: int, rng: torch.Generator,
    guessed: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """`versions` of each row of `words` (B, W; -1 pads) as word slots (B, K, S); -1 is empty.

    `guessed` (B, W) are likely other words for some places, -1 where there is none.
    """
    batch, width = words.shape
    device = words.device

    def draw(*shape: int) -> Tensor:
        return torch.rand(*shape, device=device, generator=rng)

    size = (batch, versions, width)
    real = (words >= 0)[:, None].expand(size)
    length = (words >= 0).sum(1)[:, None, None]
    now = words.clamp(min=0)[:, None].expand(size)
    step = torch.arange(width, device=device)

    # strength: a share of words touched, and how it splits among the kinds of slip
    strength = draw(batch, versions, 1)
    light = draw(batch, versions, 1)
    strength = torch.where(light < 0.6, strength**1.5 * 0.4, strength**1.5 * 0.75) * (light > 0.08)
    kinds = draw(batch, versions, 6) ** 3 + 0.02
    edge = (kinds / kinds.sum(-1, keepdim=True) * strength).cumsum(-1)
    hit = draw(*size)
    kind = (hit[..., None] > edge[:, :, None]).sum(-1)  # 0..5, 6 is untouched
    copied = words_beside(source, words, versions)
    likely = slips.confuse(now, draw(*size))
    if guessed is not None:
        other = guessed[:, None].expand(size)
        likely = torch.where((other >= 0) & (draw(*size) < 0.7), other, likely)
    strange = torch.where(draw(*size) < 0.5, slips.random(draw(*size)), likely)
    now = torch.where(kind == 0, likely, torch.where(kind == 1, strange, now))
    now = torch.where((kind == 2) & (draw(*size) < 0.6), copied, now)
    keep = real & (kind != 3)
    second = torch.where(kind == 4, now, slips.random(draw(*size)))
    doubled = real & ((kind == 4) | (kind == 5))

    # one span: lost (a clause, or the end), or taken from the neighbour in the batch
    fate = draw(batch, versions, 1)
    wide = draw(batch, versions, 1) * 0.5
    begin = draw(batch, versions, 1) * (1 - wide)
    begin = torch.where(fate < 0.05, 1 - wide, begin)
    place = step / length.clamp(min=1)
    inside = (place >= begin) & (place < begin + wide)
    keep = keep & ~(inside & (fate < 0.12))
    doubled = doubled & keep
    alien = words.roll(1, 0)[:, None].expand(size)
    now = torch.where(inside & (fate > 0.94) & (alien >= 0), alien, now)

    # order
    how = draw(batch, versions, 1)
    loose = torch.where(how < 0.12, 1.2, 0.0) + torch.where(how > 0.96, 9.0, 0.0)
    slots = reordered(now, keep, second, doubled, real, loose, rng)
    literal = word_by_word(source, lang, slips, draw(batch, versions, source.shape[1]))
    return one_of(draw(batch, versions, 1) < 0.07, literal, slots, words)


def words_beside(source: Tensor, words: Tensor, versions: int) -> Tensor:
    """For each place of `words` (B, W) the source's word at the same share of its length."""
    size = (len(words), versions, words.shape[1])
    span, length = ((x >= 0).sum(1)[:, None, None] for x in (source, words))
    step = torch.arange(size[2], device=words.device)
    place = (step * span // length.clamp(min=1)).clamp(max=source.shape[1] - 1)
    return source.clamp(min=0)[:, None].expand(-1, versions, -1).gather(2, place.expand(size))


def reordered(
    words: Tensor, kept: Tensor, second: Tensor, doubled: Tensor, real: Tensor, loose: Tensor,
    rng: torch.Generator,
) -> Tensor:  # fmt: skip
    """Word slots (B, K, 2 W): kept words, each with a `second` one where `doubled`; moved about by
    `loose` places."""
    noise = torch.randn(words.shape, device=words.device, generator=rng) * loose
    step = torch.arange(words.shape[2], device=words.device)
    order = torch.argsort(step + noise + (~real) * 1e4, dim=-1)
    both = torch.stack([torch.where(kept, words, -1), torch.where(doubled, second, -1)], -1)
    return both.gather(2, order[..., None].expand(-1, -1, -1, 2)).flatten(2)


def word_by_word(source: Tensor, lang: Tensor, slips: Slips, draw: Tensor) -> Tensor:
    """The source translated word by word, as often as `draw` (B, K, S) has versions."""
    words = source.clamp(min=0)[:, None].expand(-1, draw.shape[1], -1)
    literal = slips.english.draw(lang[:, None, None], words, draw)
    return torch.where((source >= 0)[:, None], literal, -1)


def one_of(flag: Tensor, one: Tensor, other: Tensor, words: Tensor) -> Tensor:
    """Rows of `one` where the flag is set, else of `other`; never empty: then the first word."""
    one, other = same_width([one, other])
    slots = torch.where(flag, one, other)
    empty = (slots < 0).all(-1)
    slots[..., 0] = torch.where(empty, words[:, :1].expand_as(empty), slots[..., 0])
    return slots


def same_width(parts: list[Tensor]) -> list[Tensor]:
    """Word slots (..., S) filled up with empty ones (-1) to the widest."""
    wide = max(part.shape[-1] for part in parts)
    return [torch.nn.functional.pad(p, (0, wide - p.shape[-1]), value=-1) for p in parts]


def laid_out(flat: Tensor, start: Tensor, rows: Tensor, wide: int | None = None) -> Tensor:
    """Ragged rows of words (any shape of row numbers) as slots (..., wide), -1 after the end.

    As wide as the longest row, for which the host waits, or as `wide` says, longer rows cut.
    """
    length = start[rows + 1] - start[rows]
    step = torch.arange(int(length.max()) if wide is None else wide, device=rows.device)
    mask = step < length[..., None]
    return torch.where(mask, flat[(start[rows][..., None] + step) * mask].long(), -1)


def framed(slots: Tensor, frame: tuple[int, int]) -> tuple[Tensor, Tensor]:
    """Rows of word slots (N, S; -1 empty) to flat words with their frame, and starts (N + 1,)."""
    first = torch.full_like(slots[:, :1], frame[0])
    last = torch.full_like(slots[:, :1], frame[1])
    all_ = torch.cat([first, slots, last], 1)
    valid = all_ >= 0
    starts = torch.nn.functional.pad(valid.sum(1).cumsum(0), (1, 0))
    return all_[valid], starts


def expand(words: Tensor, starts: Tensor, table: Table) -> tuple[Ragged, Tensor]:
    """Flat words to a ragged batch of pieces; second, the flat word each piece belongs to."""
    first = table.start[words]
    count = table.start[words + 1] - first
    begun = torch.nn.functional.pad(count.cumsum(0), (1, 0))
    sequence = begun[starts]
    total, longest = torch.stack([begun[-1], sequence.diff().max()]).tolist()
    word = torch.repeat_interleave(
        torch.arange(len(words), device=words.device), count, output_size=total
    )
    inside = torch.arange(total, device=words.device) - begun[word]
    return Ragged(table.flat[first[word] + inside], sequence, longest), word


def flat_rows(parts: list[Tensor], table: Table) -> tuple[Ragged, Tensor, int]:
    """Rows of word slots as one framed batch of pieces, the word of each piece, and all words."""
    slots = torch.cat(same_width(parts))
    words, starts = framed(slots, table.frame)
    batch, word = expand(words, starts, table)
    return batch, word, len(words)
