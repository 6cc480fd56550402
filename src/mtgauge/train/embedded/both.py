"""Training of the encoder for both directions: `mtgauge train encoder --directions both`.

For a pair (x, y) a step has versions c of y (machine translations, and slips of `mirror`) and the
mirrored versions x' of x. The teacher rates (c, y); with best matches P, R and F (`fixed.match`)

    cross      (c, x) follows it: into English, and, read the other way, x as a translation of c
    mirror     (x', y) follows it: out of English
    english    (c, y), foreign (x', x) follow it: with a reference, in any language
    late       x against other y, own bad versions and its own copy; y likewise
    copy       a copy of the source stays below the translation
    sentence, mean, words, relations, masked, people    as in `encoder`

A text matches its own copy perfectly, whatever the encoder. So across languages the last
`fixed.TURNED` numbers of every *source* vector change their sign before they are compared: what a
text's language puts there speaks against another text in the same language, and for nothing
otherwise. A card's `turned` tells the metrics to do the same.

    how = EncoderTraining(directions="both", steps=1000)
    train_student(Losses(corpus, teacher, student, how, samples, people), out)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from mtgauge.encode.transformer import log_probability
from mtgauge.errors import UsageError
from mtgauge.train.embedded import fixed as f
from mtgauge.train.embedded import objective as o
from mtgauge.train.embedded.corpus import BOS, EOS, MASK
from mtgauge.train.embedded.corrupt import laid_out, same_width
from mtgauge.train.embedded.encoder import Student, whole_words
from mtgauge.train.embedded.mirror import Facts, into_foreign, slip
from mtgauge.train.embedded.sampler import ParallelCorpus
from mtgauge.train.embedded.samples import Samples
from mtgauge.train.embedded.teacher import FIRST, LAST, Teacher
from mtgauge.train.embedded.triples import Triples, people_loss
from mtgauge.train.settings import EncoderTraining

HURT = 0.35  # of the ratings' deviation, for each number or negation that is wrong


class Losses:
    """The losses of one step, by name."""

    def __init__(
        self, corpus: ParallelCorpus, teacher: Teacher, student: Student, settings: EncoderTraining,
        samples: Samples | None = None, people: Triples | None = None, fused: bool = False,
    ) -> None:  # fmt: skip
        device = corpus.source.device
        teacher.refuse_above(settings.teacher_layer)
        if (dim := student.encoder.shape.dim) <= f.TURNED:
            raise UsageError(
                f"--dim {dim}: {f.TURNED} numbers of a vector are kept for its language with "
                "--directions both, and there must be others."
            )
        if device.type == "cuda":
            torch.backends.cuda.enable_cudnn_sdp(False)  # it makes a plan for every shape
        self.corpus, self.student, self.s = corpus, student.to(device).train(), settings
        self.teacher = f.FixedTeacher(teacher, fused)
        self.samples, self.people = samples, people
        self.made = settings.made(samples.each if samples is not None else 0)
        self._turn_to(samples is not None)
        self.pieces = corpus.tables("student", BOS, EOS)
        self.teacher_pieces = corpus.tables("teacher", FIRST, LAST)
        self.back = into_foreign(corpus.folder, corpus.langs, device)
        self.facts = Facts.load(corpus.folder, device)
        self.rng = torch.Generator(device=device).manual_seed(settings.seed)
        self.host = np.random.default_rng(settings.seed)
        self.whole = whole_words(corpus, self.pieces, student.encoder.shape.vocabulary)

    def batches(self) -> Iterator[f.Drawn]:
        """Batches; where there are machine translations, two of three have them."""
        corpus, samples = self.corpus, self.samples
        texts, pieces, seed = 2 + 2 * self.made, self.s.batch_pieces, self.s.seed
        every = f.batches(corpus, pieces, texts, seed)
        if samples is None:
            return every
        few, texts = corpus.only(samples.row), texts + samples.each
        own = f.batches(few, pieces, texts, seed + 1, sampled=True)
        return (batch for three in zip(own, every, own, strict=True) for batch in three)

    def _turn_to(self, sampled: bool) -> None:
        """To batches with machine translations, or to those without."""
        self.each = self.samples.each if sampled and self.samples is not None else 0
        self.versions = self.each + self.made
        self.kinds = [k for k in (slice(0, self.each), slice(self.each, self.versions))
                      if k.stop > k.start]  # fmt: skip

    def _random(self, *shape: int) -> Tensor:
        return torch.rand(*shape, device=self.rng.device, generator=self.rng)

    @torch.no_grad()
    def _guessed(self, source: Tensor, target: Tensor, longest: int) -> Tensor:
        """Other likely words, guessed from the rest of the sentence, in half of the rows with the
        source in sight: fluent, and wrong or nearly right."""
        n, wide = target.shape
        most, few = min(2 * longest - 2, 160), max(2, wide // 6)
        before = torch.cat([source, torch.full_like(source[:, :1], self.pieces.frame[1])], 1)
        shown = torch.where(self._random(n, 1) < 0.5, before, -1)
        texts = f.lay_out(torch.cat([shown, target], 1), self.pieces, most)
        first, size = (part[:, before.shape[1] :] for part in (texts.first, texts.size))
        able = (size == 1) & (first < most - 1)
        noise = self._random(n, wide) + able
        chosen = noise.topk(few, 1).indices
        ok = able.gather(1, chosen)
        at = torch.where(ok, first.gather(1, chosen), 0)
        wanted = texts.ids.gather(1, at)
        ids = texts.ids.scatter(1, at, MASK)
        ids[:, 0] = BOS
        logits = self._hidden(texts, ids, at) @ self.student.encoder.pieces.weight.T
        noise = torch.empty_like(logits, dtype=torch.float32).exponential_(generator=self.rng)
        drawn = logits.float() - noise.clamp_(min=1e-9).log_() * 0.8
        piece = drawn.scatter_(1, wanted.flatten()[:, None], -1e4).argmax(1).view(n, few)
        types = torch.where(ok, self.whole[piece], -1)
        torch.clear_autocast_cache()  # weights cast here would pass on no gradient
        return torch.full_like(target, -1).scatter(1, chosen, types)

    def __call__(self, drawn: f.Drawn) -> dict[str, Tensor]:
        self._turn_to(drawn.sampled)
        rows, longest = drawn.rows, drawn.longest
        c, n, wide = self.corpus, len(drawn.rows), drawn.longest - 2
        source = laid_out(c.source, c.source_start, rows, wide)
        target = laid_out(c.target, c.target_start, rows, wide)
        made = slip(target, source, c.lang[rows], c.slips, self.back, self.facts, self.made,
                    self.rng, self._guessed(source, target, longest))  # fmt: skip
        slots = made.english
        if self.each and self.samples is not None:
            mt = laid_out(self.samples.words, self.samples.start, self.samples.at(rows), wide)
            slots = torch.cat(same_width([mt, slots]), 1)
        taught, words, mean = self._teach(target, slots, made.hurt, longest)
        losses = self._match(source, target, slots, made.foreign, taught, words, mean, longest)
        quarter = max(4, n // 4)
        losses["masked"] = self._masked(source[:quarter], target[:quarter], longest)
        if self.people is not None:
            losses["people"] = people_loss(
                self.student.encoder,
                self.people,
                self.s.people_rows,
                self.s.source_layer,
                self.host,
            )
        return losses

    @torch.no_grad()
    def _teach(
        self, target: Tensor, slots: Tensor, hurt: Tensor, longest: int
    ) -> tuple[o.Match, tuple[Tensor, Tensor], Tensor]:
        """Ratings of the versions; words' best matches and where, words' vectors of the references;
        the references' mean vectors."""
        n, k, wide = slots.shape
        y = f.lay_out(target, self.teacher_pieces, longest)
        c = f.lay_out(slots.flatten(0, 1), self.teacher_pieces, longest)
        states = self.teacher(f.together([y, c]), self.s.teacher_layer)
        unit = f.unit(states)
        inner = c.inner.view(n, k, -1)
        found = f.match(unit[n:].view(n, k, longest, -1), inner, unit[:n], y.inner)
        best, rated_words = f.by_word(found.best, c.word.view(n, k, -1), inner, wide)
        last = self.teacher(y, self.teacher.layers, states[:n], self.s.teacher_layer).float()
        mean = (last * y.real[..., None]).sum(1) / y.real.sum(1, keepdim=True)
        lower = torch.zeros_like(found.f)
        lower[:, self.each :] = HURT * hurt * found.f.std()
        p, r, both = (value - lower for value in found.three)
        return o.Match(best, p, r, both), (rated_words, f.word_vectors(states[:n].float(), y)), mean

    def _match(
        self, source: Tensor, target: Tensor, slots: Tensor, foreign: Tensor, taught: o.Match,
        words: tuple[Tensor, Tensor], mean: Tensor, longest: int,
    ) -> dict[str, Tensor]:  # fmt: skip
        n, k, wide = slots.shape
        m = foreign.shape[1]
        parts = [f.lay_out(t, self.pieces, longest)
                 for t in (source, target, slots.flatten(0, 1), foreign.flatten(0, 1))]  # fmt: skip
        whole = f.together(parts)
        states = f.encode(self.student.encoder, whole)
        cut = [n, n, n * k, n * m]
        x, y, c, z = torch.split(f.unit(states[self.s.source_layer]), cut)
        c, z = c.view(n, k, longest, -1), z.view(n, m, longest, -1)
        in_x, in_y = parts[0].inner, parts[1].inner
        in_c, in_z = parts[2].inner.view(n, k, -1), parts[3].inner.view(n, m, -1)
        word_c = parts[2].word.view(n, k, -1)
        x_, y_ = f.turned(x), f.turned(y)
        made = slice(self.each, k)
        rated = o.Match(taught.best, *(value[:, made] for value in taught.three))
        cross = f.match(c, in_c, x_, in_x)
        same = f.match(c, in_c, y, in_y)
        away = f.match(z, in_z, y_, in_y)
        abroad = f.match(z, in_z, x, in_x)
        one = [slice(0, m)]
        losses = {
            "cross": o.follow_match(cross, taught, self.kinds),
            "cross_words": self._words(cross.best, taught.best, words[0], word_c, in_c, wide),
            "mirror": o.follow_match(away, rated, one),
            "english": o.follow_match(same, taught, self.kinds),
            "english_words": self._words(same.best, taught.best, words[0], word_c, in_c, wide),
            "foreign": o.follow_match(abroad, rated, one),
        }
        good = f.match(y[:, None], in_y[:, None], x_, in_x).f[:, 0]
        copy_x = f.match(x[:, None], in_x[:, None], x_, in_x).f[:, 0]
        copy_y = f.match(y[:, None], in_y[:, None], y_, in_y).f[:, 0]
        losses["copy"] = (F.relu(copy_x - good + 0.2) + F.relu(copy_y - good + 0.2)).mean()
        bad = rated.f > 0.97
        losses["late"] = _late(
            x_, in_x, y, in_y,
            torch.cat([cross.f[:, made].masked_fill(bad, -2.0), copy_x[:, None]], 1),
            torch.cat([away.f.masked_fill(bad, -2.0), copy_y[:, None]], 1),
        )  # fmt: skip
        # words of the references, as the teacher sees them
        mine = f.word_vectors(states[self.s.source_layer][n : 2 * n].float(), parts[1])
        taught_words = words[1]
        in_both = (mine.abs().sum(-1) > 0) & (taught_words.abs().sum(-1) > 0)
        count = in_both.sum().clamp(min=1)
        centre = (taught_words * in_both[..., None]).sum((0, 1)) / count
        near = F.cosine_similarity(
            self.student.word_head(mine).float(), taught_words - centre, dim=-1
        )
        losses["words"] = 1 - (near * in_both).sum() / count
        losses["relations"] = _relations(mine, taught_words, in_both)
        last = states[-1][: 2 * n].float()
        real = whole.real[: 2 * n, :, None]
        means = (last * real).sum(1) / real.sum(1)
        side = F.normalize(means, dim=-1)
        losses["sentence"] = o.contrast(side[:n], side[n:])
        told = F.cosine_similarity(self.student.mean_head(means).float(), mean.repeat(2, 1))
        losses["mean"] = 1 - told.mean()
        return losses

    def _words(
        self,
        best: Tensor,
        taught: Tensor,
        rated_words: Tensor,
        word: Tensor,
        inner: Tensor,
        wide: int,
    ) -> Tensor:
        own, mine = f.by_word(best, word, inner, wide)
        both = mine & rated_words
        parts = [o.follow(own[:, kind], taught[:, kind], both[:, kind]) for kind in self.kinds]
        return torch.stack(parts).mean()

    def _masked(self, source: Tensor, target: Tensor, longest: int) -> Tensor:
        between = torch.full_like(source[:, :1], self.pieces.frame[1])
        most = min(2 * longest - 2, 160)
        texts = f.lay_out(torch.cat([source, between, target], 1), self.pieces, most)
        able = texts.inner & (texts.ids != EOS)
        noise = self._random(*able.shape) + able
        at = noise.topk(most // 6, 1).indices
        ok = able.gather(1, at).flatten()
        wanted = texts.ids.gather(1, at)
        shown = torch.where(self._random(*at.shape) < 0.85, MASK, wanted)
        ids = texts.ids.scatter(1, at, torch.where(able.gather(1, at), shown, wanted))
        table = self.student.encoder.pieces.weight
        log_p = log_probability(self._hidden(texts, ids, at), table, wanted.flatten())
        return -(log_p * ok).sum() / ok.sum().clamp(min=1)

    def _hidden(self, texts: f.Texts, ids: Tensor, at: Tensor) -> Tensor:
        """What the student guesses at these places of the texts, of which others were hidden."""
        states = f.encode(self.student.encoder, replace(texts, ids=ids))[-1]
        mine = states.gather(1, at[..., None].expand(-1, -1, states.shape[-1])).flatten(0, 1)
        guessed: Tensor = self.student.guess(mine)
        return guessed


def _late(
    x: Tensor, in_x: Tensor, y: Tensor, in_y: Tensor, bad_y: Tensor, bad_x: Tensor,
    group: int = 32, scale: float = 30.0,
) -> Tensor:  # fmt: skip
    """InfoNCE on F within groups of sentences; `bad_y` are own bad versions for x, and back."""
    n, longest, dim = x.shape
    group = min(group, n)
    g = n // group
    a, b = (t[: g * group].reshape(g, group * longest, dim) for t in (x, y))
    ia, ib = (t[: g * group].view(g, group, longest) for t in (in_x, in_y))
    with torch.autocast(x.device.type, enabled=False):
        near = torch.bmm(a, b.transpose(1, 2)).view(g, group, longest, group, longest)
    to_y = near.masked_fill(~ib[:, None, None], -2.0).amax(4)  # (g, i, l, j)
    to_x = near.masked_fill(~ia[..., None, None], -2.0).amax(2)  # (g, i, j, m)
    r = (to_y * ia[..., None]).sum(2) / ia.sum(2).clamp(min=1)[..., None]
    p = (to_x * ib[:, None]).sum(3) / ib.sum(2).clamp(min=1)[:, None]
    score = 2 * p * r / (p + r).clamp(min=0.05)
    own = torch.arange(group, device=x.device).repeat(g)
    bad_y, bad_x = (t[: g * group].view(g, group, -1) for t in (bad_y, bad_x))
    from_x = torch.cat([score, bad_y], 2).flatten(0, 1)
    from_y = torch.cat([score.transpose(1, 2), bad_x], 2).flatten(0, 1)
    return (F.cross_entropy(from_x * scale, own) + F.cross_entropy(from_y * scale, own)) / 2


def _relations(mine: Tensor, taught_words: Tensor, in_both: Tensor) -> Tensor:
    """Similarities of words a step apart, in a sentence and between sentences."""
    left, right = F.normalize(mine, dim=-1), F.normalize(taught_words, dim=-1)
    s, t, w = [], [], []
    for axis, step in ((1, 1), (1, 3), (0, 1), (0, 5)):
        s.append((left * left.roll(step, axis)).sum(-1))
        t.append((right * right.roll(step, axis)).sum(-1))
        w.append(in_both & in_both.roll(step, axis))
    return o.follow(torch.stack(s), torch.stack(t), torch.stack(w))
