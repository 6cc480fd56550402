"""What the encoder is trained for. Everything is a similarity between token vectors.

    best match   of piece i of a in b:  m_i = max_j cos(a_i, b_j);  P = mean m,  R the other way,
                 F = 2PR / (P + R): what the metrics compute later
    follow       1 - Pearson(student's numbers, teacher's numbers): only the order and the spacing
                 are learned, not the scale

For each source x, reference y and graded versions c of y, the teacher's m, P, R, F of (c, y) are
followed by the student's of (c, x), across languages, and of (c, y), within English; word by word
(a word's m is the mean of its pieces'), sentence by sentence, and among the versions of one source.
Contrast (InfoNCE) keeps translations apart from other sentences and from their own bad versions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from mtgauge.encode.transformer import Ragged


@dataclass(frozen=True)
class Padded:
    """Rows of a ragged batch laid out as (n, longest), without the frame's two pieces."""

    index: Tensor
    mask: Tensor

    @classmethod
    def of(cls, batch: Ragged, rows: Tensor, longest: int) -> Padded:
        step = torch.arange(longest, device=rows.device)
        mask = step < (batch.lengths[rows] - 2)[:, None]
        return cls((batch.start[rows][:, None] + 1 + step) * mask, mask)

    def pick(self, vectors: Tensor) -> Tensor:
        """(pieces, dim) -> (n, longest, dim)"""
        picked = vectors.index_select(0, self.index.flatten())
        return picked.view(*self.index.shape, -1)


@dataclass(frozen=True)
class Match:
    """Best match of each piece of a text a in its b; P, R and F of each pair of texts."""

    best: Tensor
    precision: Tensor
    recall: Tensor
    f: Tensor

    @property
    def three(self) -> tuple[Tensor, Tensor, Tensor]:
        return self.precision, self.recall, self.f

    def by_source(self, versions: int) -> Match:
        """Values (sources * versions,) as (sources, versions)."""
        return Match(self.best, *(value.view(-1, versions) for value in self.three))


def match(similarity: Tensor, mask_a: Tensor, mask_b: Tensor) -> Match:
    """From similarities (..., la, lb) in float32 and masks (..., la), (..., lb) of real pieces."""
    to_b = similarity.masked_fill(~mask_b[..., None, :], -2.0).amax(-1)
    to_a = similarity.masked_fill(~mask_a[..., :, None], -2.0).amax(-2)
    p = (to_b * mask_a).sum(-1) / mask_a.sum(-1).clamp(min=1)
    r = (to_a * mask_b).sum(-1) / mask_b.sum(-1).clamp(min=1)
    return Match(to_b, p, r, 2 * p * r / (p + r).clamp(min=0.05))


def similarities(vectors: Tensor, a: Padded, b: Padded) -> Tensor:
    """Cosines (n, la, lb) of unit vectors picked by the two layouts.

    In float32 (tf32 on a GPU): bfloat16 would round a cosine to .004, more than versions differ by.
    """
    with torch.autocast(vectors.device.type, enabled=False):
        return torch.bmm(a.pick(vectors.float()), b.pick(vectors.float()).transpose(1, 2))


def match_versions(
    states: Tensor, batch: Ragged, references: int, versions: int
) -> tuple[Match, Padded]:
    """Best matches of each version in its reference: references come first in the batch, then
    `versions` of each; second, how the versions are laid out."""
    device = states.device
    reference_rows = torch.arange(references, device=device).repeat_interleave(versions)
    longest = batch.longest - 2
    a = Padded.of(batch, torch.arange(references, len(batch), device=device), longest)
    b = Padded.of(batch, reference_rows, longest)
    unit = F.normalize(states.float(), dim=-1)
    return match(similarities(unit, a, b), a.mask, b.mask), a


def follow(student: Tensor, teacher: Tensor, counted: Tensor | None = None) -> Tensor:
    """1 - Pearson correlation of two tensors, where `counted` (everywhere by default)."""
    s, t = student.float(), teacher.float()
    w = torch.ones_like(t) if counted is None else counted.to(t.dtype)
    total = w.sum().clamp(min=1)
    s, t = (s - (s * w).sum() / total) * w, (t - (t * w).sum() / total) * w
    lengths = torch.linalg.vector_norm(s) * torch.linalg.vector_norm(t)
    agreement: Tensor = (s * t).sum() / lengths.clamp(min=1e-6)
    return 1 - agreement


def within(values: Tensor) -> Tensor:
    """Values (sources, versions), less the mean of each source's."""
    return torch.flatten(values - values.mean(1, keepdim=True))


def follow_match(student: Match, teacher: Match, kinds: Sequence[slice]) -> Tensor:
    """Sentence level: P, R and F (sources, versions) over the whole batch, and F among the versions
    of one source.

    `kinds` are groups of versions made in one way: each is followed by itself, so that nothing is
    learned from how a version was made.
    """
    parts = []
    for kind in kinds:
        for mine, theirs in zip(student.three, teacher.three, strict=True):
            parts.append(follow(mine[:, kind], theirs[:, kind]) / 3)
        if student.f[:, kind].shape[1] > 1:
            parts.append(follow(within(student.f[:, kind]), within(teacher.f[:, kind])))
    return torch.stack(parts).sum() / len(kinds)


def word_means(values: Tensor, word: Tensor, words: int) -> Tensor:
    """Mean of piece rows over the words they belong to: (pieces, ...) -> (words, ...)."""
    total = values.new_zeros((words, *values.shape[1:])).index_add(0, word, values)
    count = torch.bincount(word, minlength=words).clamp(min=1).to(values.dtype)
    return total / count.view(-1, *[1] * (values.dim() - 1))


def matched_words(found: Match, at: Padded, word: Tensor, words: int) -> tuple[Tensor, Tensor]:
    """Mean best match of each word of the a side; second, the row of each such word, else -1."""
    row, place = at.mask.nonzero(as_tuple=True)
    where = word[at.index[row, place]]
    value = found.best[row, place]
    total = value.new_zeros(words).index_add(0, where, value)
    count = value.new_zeros(words).index_add(0, where, torch.ones_like(value))
    whose = torch.full((words,), -1, device=where.device).scatter(0, where, row)
    return total / count.clamp(min=1), whose


def contrast(left: Tensor, right: Tensor, scale: float = 20.0) -> Tensor:
    """InfoNCE in both directions: row i of `left` belongs to row i of `right`."""
    logits = (left @ right.T).float() * scale
    own = torch.arange(len(left), device=left.device)
    return (F.cross_entropy(logits, own) + F.cross_entropy(logits.T, own)) / 2


def late_contrast(
    vectors: Tensor, source: Padded, target: Padded, versions: Tensor, similar: Tensor,
    group: int = 64, scale: float = 30.0,
) -> Tensor:  # fmt: skip
    """InfoNCE on P + R within groups of sentences, own bad versions among the negatives.

    `versions` (n, K) are the student's P + R of (source, version); `similar` (n, K) the teacher's
    F: a version the teacher can hardly tell from the reference (over .97) is no negative.
    """
    loss = vectors.new_zeros((), dtype=torch.float32)
    n = len(source.index) // group * group
    starts = range(0, n, group) if n else range(1)
    for begin in starts:
        part = slice(begin, begin + group) if n else slice(None)
        mx, my = source.mask[part], target.mask[part]
        x = Padded(source.index[part], mx).pick(vectors)
        y = Padded(target.index[part], my).pick(vectors)
        with torch.autocast(vectors.device.type, enabled=False):
            every = torch.einsum("ild,jmd->ijlm", x.float(), y.float())
        found = match(every, mx[:, None], my[None])
        score = (found.precision + found.recall) / 2
        hard = (versions[part] / 2).masked_fill(similar[part] > 0.97, -2.0)
        own = torch.arange(len(score), device=score.device)
        loss = loss + F.cross_entropy(torch.cat([score, hard], 1) * scale, own)
        loss = loss + F.cross_entropy(score.T * scale, own)
    return loss / (2 * len(starts))
