"""Training of the multilingual encoder: `mtgauge train encoder`.

One step draws translation pairs (x, y), makes graded versions c of each y (`corrupt`), takes
machine translations of x beside them where there are any (`samples`), encodes all of them at once,
and adds up the losses of `objective`:

    cross     (c, x) follows the teacher's (c, y), word by word and sentence by sentence    layer 5
    english   (c, y) follows it too, and so do all similarities of their words              layer 5
    late      translations against other sentences and own bad versions, by best matches    layer 5
    sentence  translations against other sentences by mean vectors; the teacher's mean      layer 6
    masked    pieces of `x </s> y` hidden and guessed (TLM)                                 layer 6
    people    (translation, source) follows people's scores, where some are given            layer 5

    corpus, teacher = ParallelCorpus.load(folder, "cuda"), Teacher.load(...)
    losses = Losses(corpus, teacher, Student(...), EncoderTraining(seconds=800))
    train_student(losses, out)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mtgauge.encode.transformer import Encoder, Ragged, Shape, log_probability
from mtgauge.train.embedded import objective as o
from mtgauge.train.embedded.corpus import BOS, EOS, MASK
from mtgauge.train.embedded.corrupt import Table, corrupt, expand, flat_rows, framed, same_width
from mtgauge.train.embedded.people import People
from mtgauge.train.embedded.sampler import ParallelCorpus
from mtgauge.train.embedded.samples import Samples
from mtgauge.train.embedded.teacher import FIRST, LAST, Teacher
from mtgauge.train.loop.descend import Batch, descend
from mtgauge.train.settings import EncoderTraining


class Student(nn.Module):
    """The encoder and the heads that only training needs."""

    def __init__(self, shape: Shape, teacher_dim: int) -> None:
        super().__init__()
        self.encoder = Encoder(shape)
        self.word_head = nn.Linear(shape.dim, teacher_dim)
        self.mean_head = nn.Linear(shape.dim, teacher_dim)
        self.guess = nn.Sequential(
            nn.Linear(shape.dim, shape.dim), nn.GELU(), nn.LayerNorm(shape.dim)
        )


@dataclass(frozen=True)
class _Step:
    """Everything one step compares, encoded."""

    batch: Ragged
    word: Tensor
    words: int
    states: list[Tensor]
    pairs: int
    versions: int

    def at(self, kind: str) -> Tensor:
        """Rows of the sources, the references, or (one per version) either again."""
        n, device = self.pairs, self.word.device
        if kind == "versions":
            return torch.arange(2 * n, n * (2 + self.versions), device=device)
        first = torch.arange(n, device=device) + (0 if kind.startswith("source") else n)
        return first.repeat_interleave(self.versions) if kind.endswith("*") else first


@dataclass(frozen=True)
class _Taught:
    """What the teacher says of one step's references and versions."""

    found: o.Match
    matched: Tensor  # of each word
    kinds: list[Tensor]  # for each kind of version, which words are of it
    words: Tensor  # vectors
    mean: Tensor  # of each reference's last states


def whole_words(corpus: ParallelCorpus, pieces: Table, vocabulary: int) -> Tensor:
    """Piece -> the English type that is this piece and no other, -1 where there is none."""
    known = corpus.slips.confusion >= 0
    count = pieces.start.diff()[: len(known)]
    types = (known & (count == 1)).nonzero()[:, 0]
    out = torch.full((vocabulary,), -1, device=types.device)
    out[pieces.flat[pieces.start[types]]] = types
    return out


class Losses:
    """The losses of one step, by name."""

    def __init__(
        self, corpus: ParallelCorpus, teacher: Teacher, student: Student, settings: EncoderTraining,
        samples: Samples | None = None, people: People | None = None,
    ) -> None:  # fmt: skip
        self.corpus, self.teacher, self.student, self.s = corpus, teacher, student, settings
        self.people = people
        student.to(corpus.source.device).train()
        self.samples, each = samples, samples.each if samples is not None else 0
        settings.made(each)
        # versions made in one way, machine translations first
        self.kinds = [
            k for k in (slice(0, each), slice(each, settings.versions)) if k.stop > k.start
        ]
        self.pieces = corpus.tables("student", BOS, EOS)
        self.teacher_pieces = corpus.tables("teacher", FIRST, LAST)
        device = corpus.source.device
        self.rng = torch.Generator(device=device).manual_seed(settings.seed)
        self.whole = whole_words(corpus, self.pieces, student.encoder.shape.vocabulary)

    @torch.no_grad()
    def _guessed(self, target: Tensor) -> Tensor:
        """Other likely words, guessed from the rest of the sentence alone: fluent, and wrong."""
        words, starts = framed(target, self.pieces.frame)
        batch, word = expand(words, starts, self.pieces)
        count = self.pieces.start[words + 1] - self.pieces.start[words]
        draw = torch.rand(len(words), device=words.device, generator=self.rng)
        frame = torch.tensor(self.pieces.frame, device=words.device)
        wanted = (count == 1) & (draw < 0.15) & ~torch.isin(words, frame)
        hidden = wanted[word]
        ids = torch.where(hidden, MASK, batch.ids)
        states = self.student.encoder(Ragged(ids, batch.start, batch.longest))[-1][hidden]
        logits = self.student.guess(states) @ self.student.encoder.pieces.weight.T
        # a draw from the softmax, the true piece left out (the largest of logit + Gumbel noise)
        noise = torch.rand(
            logits.shape, device=logits.device, generator=self.rng, dtype=torch.float32
        )
        drawn = logits.float() - torch.log(-torch.log(noise.clamp(1e-9, 1 - 1e-7))) * 0.8
        pieces = drawn.scatter(1, batch.ids[hidden][:, None], -1e4).argmax(1)
        types = self.whole[pieces]
        row = torch.repeat_interleave(
            torch.arange(len(target), device=words.device), starts.diff(), output_size=len(words)
        )
        place = torch.arange(len(words), device=words.device) - starts[row] - 1
        out = torch.full_like(target, -1)
        out[row[wanted], place[wanted]] = types
        return out

    def batches(self) -> Iterable[Tensor]:
        own = self.corpus if self.samples is None else self.corpus.only(self.samples.row)
        return own.batches(self.s.words, self.s.seed)

    def __call__(self, rows: Tensor) -> dict[str, Tensor]:
        source, target = self.corpus.padded(rows, "source"), self.corpus.padded(rows, "target")
        lang = self.corpus.lang[rows]
        guessed = self._guessed(target)
        made = self.kinds[-1]
        slots = corrupt(
            target, source, lang, self.corpus.slips, made.stop - made.start, self.rng, guessed
        )
        if self.samples is not None:
            slots = torch.cat(same_width([self.samples.padded(rows), slots]), 1)
        slots = slots.flatten(0, 1)
        taught = self._teach(target, slots)
        step = self._encode([source, target, slots], len(rows))
        losses = self._match(step, taught)
        losses |= self._sentence(step, taught.mean)
        quarter = max(4, len(rows) // 4)
        losses["masked"] = self._masked(source[:quarter], target[:quarter])
        if self.people is not None:
            judged = self.people.draw(self.s.people_rows, self.rng)
            batch = self.people.texts(judged)
            states = self.student.encoder(batch)[self.s.source_layer]
            losses["people"] = self.people.follow_match(judged, states, batch)
        return losses

    def _encode(self, parts: list[Tensor], pairs: int) -> _Step:
        batch, word, words = flat_rows(parts, self.pieces)
        states = self.student.encoder(batch)
        return _Step(batch, word, words, states, pairs, self.s.versions)

    @torch.no_grad()
    def _teach(self, target: Tensor, slots: Tensor) -> _Taught:
        batch, word, words = flat_rows([target, slots], self.teacher_pieces)
        layer, n = self.s.teacher_layer, len(target)
        states = self.teacher(batch, layer)
        found, a = o.match_versions(states, batch, n, self.s.versions)
        matched, whose = o.matched_words(found, a, word, words)
        version = whose % self.s.versions
        kinds = [(whose >= 0) & (version >= k.start) & (version < k.stop) for k in self.kinds]
        ends = torch.stack([batch.start[n], batch.lengths[:n].max()]).tolist()
        first = Ragged(batch.ids[: ends[0]], batch.start[: n + 1], ends[1])
        last = self.teacher(first, self.teacher.layers, states[: ends[0]], layer)
        mean = o.word_means(last.float(), first.row, n)
        return _Taught(found, matched, kinds, o.word_means(states.float(), word, words), mean)

    def _match(self, step: _Step, taught: _Taught) -> dict[str, Tensor]:
        k, found = self.s.versions, taught.found
        batch, n = step.batch, step.pairs
        kinds = batch.lengths[:n], batch.lengths[n : 2 * n], batch.lengths[2 * n :]
        long_x, long_y, long_c = (torch.stack([x.max() for x in kinds]) - 2).tolist()
        a = o.Padded.of(batch, step.at("versions"), long_c)
        b = o.Padded.of(batch, step.at("source*"), long_x)
        c = o.Padded.of(batch, step.at("reference*"), long_y)
        # words of sources come first in the flat row of words; the teacher never saw them
        shift = step.words - len(taught.matched)
        losses: dict[str, Tensor] = {}
        unit = F.normalize(step.states[self.s.source_layer], dim=-1)
        cross = o.match(o.similarities(unit, a, b), a.mask, b.mask)
        losses["cross"] = self._follow(cross, taught)
        own, _ = o.matched_words(cross, a, step.word, step.words)
        losses["cross_words"] = self._follow_words(own[shift:], taught)
        one_x = o.Padded.of(batch, step.at("source"), long_x)
        one_y = o.Padded.of(batch, step.at("reference"), long_y)
        score = (cross.precision + cross.recall).view(n, k)
        made = self.kinds[-1]  # a machine translation is no worse for being one
        losses["late"] = o.late_contrast(
            unit, one_x, one_y, score[:, made], found.f.view(n, k)[:, made]
        )
        for layer in self.s.reference_layers:
            self._english(step, layer, a, c, taught, losses)
        hidden = o.word_means(step.states[self.s.source_layer].float(), step.word, step.words)
        wanted = taught.words - taught.words.mean(0)
        guess = self.student.word_head(hidden[shift:])
        losses["words"] = 1 - F.cosine_similarity(guess.float(), wanted).mean()
        return losses

    def _follow(self, own: o.Match, taught: _Taught) -> Tensor:
        k = self.s.versions
        return o.follow_match(own.by_source(k), taught.found.by_source(k), self.kinds)

    def _follow_words(self, own: Tensor, taught: _Taught) -> Tensor:
        parts = [o.follow(own, taught.matched, mine) for mine in taught.kinds]
        return torch.stack(parts).mean()

    def _english(
        self, step: _Step, layer: int, a: o.Padded, c: o.Padded, taught: _Taught,
        losses: dict[str, Tensor],
    ) -> None:  # fmt: skip
        share = 1 / len(self.s.reference_layers)
        shift = step.words - len(taught.matched)
        unit = F.normalize(step.states[layer], dim=-1)
        same = o.match(o.similarities(unit, a, c), a.mask, c.mask)
        own, _ = o.matched_words(same, a, step.word, step.words)

        def add(name: str, value: Tensor) -> None:
            losses[name] = losses.get(name, torch.zeros((), device=value.device)) + share * value

        add("english", self._follow(same, taught))
        add("english_words", self._follow_words(own[shift:], taught))
        # similarities of neighbouring words across the whole batch, rows a step apart in 3 ways
        mean = o.word_means(step.states[layer].float(), step.word, step.words)[shift:]
        left, right = F.normalize(mean, dim=-1), F.normalize(taught.words, dim=-1)
        rolls = (1, 3, 8)
        s = torch.cat([(left * left.roll(r, 0)).sum(-1) for r in rolls])
        t = torch.cat([(right * right.roll(r, 0)).sum(-1) for r in rolls])
        add("relations", o.follow(s, t))

    def _sentence(self, step: _Step, mean: Tensor) -> dict[str, Tensor]:
        last, batch, n = step.states[-1].float(), step.batch, step.pairs
        pieces = int(batch.start[2 * n])
        means = o.word_means(last[:pieces], batch.row[:pieces], 2 * n)
        unit = F.normalize(means, dim=-1)
        wanted = mean.repeat(2, 1)
        near = F.cosine_similarity(self.student.mean_head(means).float(), wanted)
        return {"sentence": o.contrast(unit[:n], unit[n:]), "mean": 1 - near.mean()}

    def _masked(self, source: Tensor, target: Tensor) -> Tensor:
        between = torch.full_like(source[:, :1], self.pieces.frame[1])
        batch, _, _ = flat_rows([torch.cat([source, between, target], 1)], self.pieces)
        draw = torch.rand(len(batch.ids), device=batch.ids.device, generator=self.rng)
        hidden = (draw < 0.2) & (batch.ids != BOS) & (batch.ids != EOS)
        ids = torch.where(hidden & (draw < 0.17), MASK, batch.ids)
        states = self.student.encoder(Ragged(ids, batch.start, batch.longest))[-1][hidden]
        table = self.student.encoder.pieces.weight
        return -log_probability(self.student.guess(states), table, batch.ids[hidden]).mean()


class StudentLosses(Protocol[Batch]):
    """The losses of a student by name, and the batches that it learns from."""

    student: Student
    s: EncoderTraining

    def __call__(self, batch: Batch, /) -> dict[str, Tensor]: ...
    def batches(self) -> Iterable[Batch]: ...


def train_student(
    losses: StudentLosses[Batch], out: Path, watch: Callable[[Encoder], str] | None = None
) -> None:
    """Train until `steps` or `seconds` are over; checkpoints and a log go to `out`."""
    student, settings = losses.student, losses.s
    look = (lambda: watch(student.encoder)) if watch is not None else None
    file, shape = out / "student.safetensors", student.encoder.shape
    batches = losses.batches()
    descend(student, shape, batches, losses, settings.loss_weights, settings, file, watch=look)
