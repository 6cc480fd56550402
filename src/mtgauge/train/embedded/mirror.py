"""Corruptions of a pair on both sides at once.

What is done to the English reference y is done to the foreign side x as well, word by aligned word:
lost where y's word is lost, replaced by a translation of what y's word was replaced by, left in
English where y's had been left foreign. So an English teacher that rates the version c of y also
rates the version x' of x, as a translation of y and against x, in languages that it cannot read.

    both = slip(target, source, lang, slips, back, facts, versions=2, rng=g, guessed=guessed)
    both.english, both.foreign          # word slots (n, versions, S), -1 empty
    both.hurt                           # numbers and negations that are wrong, (n, versions)

Alignment is by the lexicon, so a word that it does not know stays as it is in x'.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from mtgauge.train.embedded.corrupt import (
    Dictionaries,
    Slips,
    one_of,
    reordered,
    word_by_word,
    words_beside,
)
from mtgauge.train.embedded.prepare import MARK, load_types

NEGATIONS = ("not", "no", "never", "cannot", "without", "none", "nothing", "nobody", "neither")


def into_foreign(folder: Path, langs: Sequence[str], device: str | torch.device) -> Dictionaries:
    """English words into each language: the corpus's lexicon turned round."""
    types = len(np.load(folder / "english.npy", allow_pickle=False))
    keys, words, weights = [], [], []
    with np.load(folder / "lexicon.npz", allow_pickle=False) as stored:
        for i, lang in enumerate(langs):
            english = stored[f"{lang}.english"].astype(np.int64)
            weight = stored[f"{lang}.share"] / 255 * stored[f"{lang}.mass"][:, None]
            word = np.repeat(stored[f"{lang}.word"], english.shape[1])
            some = weight.ravel() > 0
            keys.append(english.ravel()[some] + i * types)
            words.append(word[some])
            weights.append(weight.ravel()[some])
    key, word = np.concatenate(keys), np.concatenate(words)
    weight = np.concatenate(weights)
    order = np.lexsort((-weight, key))
    key, word, weight = key[order], word[order], weight[order]
    first = np.flatnonzero(np.diff(key, prepend=-1))
    rank = np.arange(len(key)) - np.repeat(first, np.diff(first, append=len(key)))
    owner = np.repeat(np.arange(len(first)), np.diff(first, append=len(key)))
    best = rank < 4
    found = np.repeat(word[first][:, None], 4, 1).astype(np.int64)
    share = np.zeros((len(first), 4), np.float32)
    found[owner[best], rank[best]] = word[best]
    share[owner[best], rank[best]] = weight[best]
    share = np.cumsum(share, 1) / share.sum(1, keepdims=True)

    def put(array: np.ndarray) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(device)

    return Dictionaries(put(key[first]), put(found), put(share.astype(np.float32)), types)


@dataclass(frozen=True)
class Facts:
    """Words on which the truth of a sentence hangs: numbers and negations."""

    number: Tensor  # (types,) bool
    negation: Tensor
    numbers: Tensor  # types of common numbers
    no: int  # the type of "not"

    @classmethod
    def load(cls, folder: Path, device: str | torch.device) -> Facts:
        names = load_types(folder)
        english = np.load(folder / "english.npy", allow_pickle=False)
        number = np.array([name.removeprefix(MARK).isdigit() for name in names])
        known = {MARK + word for word in NEGATIONS}
        negation = np.array([name in known for name in names])
        common = np.flatnonzero(number & (english > 3))
        if not len(common):
            common = np.zeros(1, np.int64)
        no = names.index(MARK + "not") if MARK + "not" in names else 0

        def put(array: np.ndarray) -> Tensor:
            return torch.from_numpy(array).to(device)

        return cls(put(number), put(negation), put(common), no)


@dataclass(frozen=True)
class Slipped:
    english: Tensor
    foreign: Tensor
    hurt: Tensor


def align(source: Tensor, target: Tensor, lang: Tensor, slips: Slips) -> tuple[Tensor, Tensor]:
    """For each foreign word the place of its English one, -1 where none is known; and the same
    with the gaps filled by the place of the word before."""
    english = slips.english
    key = lang[:, None] * english.types + source.clamp(min=0)
    at = torch.searchsorted(english.keys, key).clamp(max=max(len(english.keys) - 1, 0))
    known = (english.keys[at] == key) & (source >= 0)
    share = english.share[at].diff(dim=-1, prepend=torch.zeros_like(english.share[at][..., :1]))
    same = english.words[at][..., None] == target[:, None, None, :]  # (n, wx, 4, wy)
    score = (same * share[..., None]).amax(2) * known[..., None]
    score = torch.maximum(score, (source[..., None] == target[:, None, :]).float())
    score = score * (source >= 0)[..., None] * (target >= 0)[:, None, :]
    wx, wy = source.shape[1], target.shape[1]
    lx = (source >= 0).sum(1).clamp(min=1)[:, None, None]
    ly = (target >= 0).sum(1).clamp(min=1)[:, None, None]
    apart = (
        torch.arange(wx, device=source.device)[None, :, None] / lx
        - torch.arange(wy, device=source.device)[None, None, :] / ly
    ).abs()
    value, place = (score * (1.2 - apart)).max(2)
    exact = torch.where(value > 0.04, place, -1)
    step = torch.arange(wx, device=source.device).expand_as(exact)
    last = torch.where(exact >= 0, step, 0).cummax(1).values
    return exact, exact.gather(1, last)


def slip(
    words: Tensor, source: Tensor, lang: Tensor, slips: Slips, back: Dictionaries, facts: Facts,
    versions: int, rng: torch.Generator, guessed: Tensor,
) -> Slipped:  # fmt: skip
    """`versions` of each pair; `guessed` (n, W) are likely other words, -1 where there is none."""
    batch, width = words.shape
    device = words.device

    def draw(*shape: int) -> Tensor:
        return torch.rand(*shape, device=device, generator=rng)

    one = (batch, versions, 1)
    size = (batch, versions, width)
    real = (words >= 0)[:, None].expand(size)
    length = (words >= 0).sum(1)[:, None, None].clamp(min=1)
    now = words.clamp(min=0)[:, None].expand(size)
    was = now
    step = torch.arange(width, device=device)

    # strength: a share of words touched, and how it splits among the kinds of slip
    light = draw(*one)
    strength = draw(*one) ** 1.5
    strength = torch.where(light < 0.6, strength * 0.4, strength * 0.75) * (light > 0.08)
    kinds = draw(batch, versions, 6) ** 3 + 0.02
    edge = (kinds / kinds.sum(-1, keepdim=True) * strength).cumsum(-1)
    kind = (draw(*size)[..., None] > edge[:, :, None]).sum(-1)  # 0..5, 6 is untouched
    foreign_words = words_beside(source, words, versions)
    likely = slips.confuse(now, draw(*size))
    other = guessed[:, None].expand(size)
    rewritten = (draw(*one) < 0.3) & (other >= 0)  # a version in which most guesses stand
    kind = torch.where(rewritten & (draw(*size) < 0.7), 0, kind)
    likely = torch.where((other >= 0) & (rewritten | (draw(*size) < 0.7)), other, likely)
    strange = torch.where(draw(*size) < 0.5, slips.random(draw(*size)), likely)
    now = torch.where(kind == 0, likely, torch.where(kind == 1, strange, now))
    left = (kind == 2) & (draw(*size) < 0.6)
    keep = real & (kind != 3)
    second = torch.where(kind == 4, now, slips.random(draw(*size)))
    doubled = real & ((kind == 4) | (kind == 5))

    # one span: lost, taken from the neighbour in the batch, or left in the source's language
    fate = draw(*one)
    wide = draw(*one) * torch.where((fate > 0.84) & (fate < 0.94), 1.0, 0.5)
    begin = draw(*one) * (1 - wide)
    begin = torch.where(fate < 0.05, 1 - wide, begin)
    place = step / length
    inside = (place >= begin) & (place < begin + wide)
    keep = keep & ~(inside & (fate < 0.14))
    alien = words.roll(1, 0)[:, None].expand(size)
    now = torch.where(inside & (fate > 0.94) & (alien >= 0), alien, now)
    left = left | (inside & (fate > 0.86) & (fate < 0.94))

    # numbers changed, negations lost or added
    turn = draw(*one)
    number, negation = facts.number[was], facts.negation[was]
    pick = (draw(*size) * len(facts.numbers)).long().clamp(max=len(facts.numbers) - 1)
    now = torch.where(number & (turn < 0.2), facts.numbers[pick], now)
    keep = keep & ~(negation & (turn < 0.2))
    here = (draw(*one) * length).long()
    added = (step == here) & (turn > 0.94) & real
    doubled = (doubled | added) & keep
    second = torch.where(added, facts.no, second)
    changed = (now != was) & ~left
    lost = ((number | negation) & real & (~keep | changed)).sum(-1)
    hurt = (lost + added.sum(-1)).clamp(max=2)

    # order
    how = draw(*one)
    loose = torch.where(how < 0.12, 1.2, 0.0) + torch.where(how > 0.96, 9.0, 0.0)
    literal = draw(*one) < 0.07
    mixed = torch.where(left, foreign_words, now)
    english = reordered(mixed, keep, second, doubled, real, loose, rng)
    by_word = word_by_word(source, lang, slips, draw(batch, versions, source.shape[1]))
    english = one_of(literal, by_word, english, words)

    # the same on the foreign side
    exact, near = align(source, words, lang, slips)
    language, many = lang[:, None, None], (batch, versions, source.shape[1])
    own = exact.clamp(min=0)[:, None].expand(many)
    aligned = (exact >= 0)[:, None].expand(many)
    by = near.clamp(min=0)[:, None].expand(many)
    real_x = (source >= 0)[:, None].expand(many)
    kept_x = real_x & (keep.gather(2, by) | (near < 0)[:, None])
    new = back.draw(language, now.gather(2, own), draw(*many))
    as_it_was = source.clamp(min=0)[:, None].expand(many)
    x = torch.where(aligned & changed.gather(2, own), new, as_it_was)
    x = torch.where(left.gather(2, by) & (near >= 0)[:, None], was.gather(2, by), x)
    twice = doubled.gather(2, own) & aligned & kept_x
    more = back.draw(language, second.gather(2, own), draw(*many))
    more = torch.where(kind.gather(2, own) == 4, x, more)
    foreign = reordered(x, kept_x, more, twice, real_x, loose, rng)
    back_word = back.draw(language, words.clamp(min=0)[:, None].expand(size), draw(*size))
    back_word = torch.where(real, back_word, -1)
    return Slipped(english, one_of(literal, back_word, foreign, source), hurt)
