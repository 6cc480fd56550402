"""Training of the small language model: `mtgauge train fluency`.

A causal transformer over the encoder's pieces. Half of its sequences are a text alone,
`<s> y </s>`, so that it tells how fluent y is in any of its languages; half are a translation pair,
`<s> x <sep> y </s>`, so that the same model also tells how likely y is *given* the source:

    alone     mean over i of log p(y_i | y_<i)
    given     mean over i of log p(y_i | x, y_<i)

Where a larger English model is at hand (a `Reader`; `recipes/reader.py` has one), its judgement is
learned too: on sentences and on corrupted versions of them, the student's log-probability of each
word follows the reader's.
Slips are only judged this way, never learned as text. Where machine translations with ratings are
at hand (`samples`), log p(c | x) learns to rank them; where people judged some (`people`), it
follows their scores too.

    corpus = ParallelCorpus.load(folder, "cuda")
    train_language_model(corpus, Causal(shape), LanguageModelTraining(seconds=300), out)
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from mtgauge.encode.transformer import Causal, Ragged, log_probability
from mtgauge.train.embedded.corpus import BOS, EOS, SEP
from mtgauge.train.embedded.corrupt import Table, corrupt, expand, framed, same_width
from mtgauge.train.embedded.objective import follow, within, word_means
from mtgauge.train.embedded.people import People
from mtgauge.train.embedded.sampler import ParallelCorpus
from mtgauge.train.embedded.samples import Samples
from mtgauge.train.loop.descend import descend
from mtgauge.train.settings import LanguageModelTraining


def joined(first: Tensor, second: Tensor, table: Table) -> tuple[Ragged, Tensor, Tensor]:
    """`<s> first <sep> second </s>`, or `<s> second </s>` where `first` is empty (-1 throughout);
    then two flags per piece: whether it stands before the separator, and whether it is the last."""
    between = torch.where((first >= 0).any(1, keepdim=True), table.frame[1], -1)
    words, starts = framed(torch.cat([first, between, second], 1), table.frame)
    batch, _ = expand(words, starts, table)
    # the frame's end type stands for the separator where another end follows
    last = batch.position == batch.lengths[batch.row] - 1
    cut = (batch.ids == EOS) & ~last
    ids = torch.where(cut, SEP, batch.ids)
    passed = cut.long().cumsum(0)
    at_start = passed[batch.start[:-1]][batch.row]
    has = torch.zeros(len(batch), device=ids.device).index_add(0, batch.row, cut.float())
    before = (has[batch.row] > 0) & (passed == at_start)
    return Ragged(ids, batch.start, batch.longest), before, last


def sequences(
    corpus: ParallelCorpus,
    rows: Tensor,
    table: Table,
    settings: LanguageModelTraining,
    rng: torch.Generator,
) -> tuple[Ragged, Tensor]:
    """A batch of `<s> y </s>` and `<s> x <sep> y </s>`, and which pieces predict the next one."""
    source, target = same_width([corpus.padded(rows, "source"), corpus.padded(rows, "target")])
    draw = torch.rand(3, len(rows), 1, device=rows.device, generator=rng)
    paired = draw[0] < settings.given
    swapped = draw[1] < torch.where(paired, settings.reverse, settings.foreign)
    first, second = torch.where(swapped, target, source), torch.where(swapped, source, target)
    batch, before, last = joined(torch.where(paired, first, -1), second, table)
    some = torch.rand(len(before), device=rows.device, generator=rng) < settings.source_share
    return batch, (~before | some) & ~last


def ranked_loss(
    model: Causal, corpus: ParallelCorpus, samples: Samples, rows: Tensor, table: Table
) -> Tensor:
    """How far mean log p(c | x) of machine translations c is from following the teacher's rating:
    over the batch, and among the translations of one source."""
    source = corpus.padded(rows, "source").repeat_interleave(samples.each, 0)
    batch, before, last = joined(source, samples.padded(rows).flatten(0, 1), table)
    at = (~before & ~last).nonzero()[:, 0]
    log_p = log_probability(model(batch)[at], model.pieces.weight, batch.ids[at + 1])
    mean = word_means(log_p.float(), batch.row[at], len(batch)).view(-1, samples.each)
    wanted = samples.score[samples.at(rows)]
    return follow(mean, wanted) / 2 + follow(within(mean), within(wanted))


def people_loss(model: Causal, people: People, rows: Tensor) -> Tensor:
    """How far mean log p(c | x) of judged translations c is from following people's scores; the
    texts of `people` are x without its end, and c with a separator as its beginning."""
    apart, n = people.texts(rows), len(rows)
    turns = torch.arange(2 * n, device=rows.device).view(2, n).T.flatten()
    ids = apart.take(turns)  # x, c, x, c, ...
    batch = Ragged(ids.ids, ids.start[::2], int((ids.lengths[::2] + ids.lengths[1::2]).max()))
    last = batch.position == batch.lengths[batch.row] - 1
    at = ((ids.row % 2 == 1) & ~last).nonzero()[:, 0]
    log_p = log_probability(model(batch)[at], model.pieces.weight, batch.ids[at + 1])
    return people.follow(rows, word_means(log_p.float(), batch.row[at], n))


class Reader(Protocol):
    """A larger English language model with pieces of its own (`reader` in pieces.npz)."""

    begin: int  # the piece before a text

    def __call__(self, batch: Ragged) -> Tensor:
        """log p(next piece | pieces so far), (pieces,)."""


def word_chances(log_p: Tensor, batch: Ragged, word: Tensor, words: int) -> Tensor:
    """Log-probability of each word: the sum over its pieces; log_p[i] is of piece i + 1."""
    counted = batch.position[1:] > 0
    return log_p.new_zeros(words).index_add(0, word[1:], log_p[:-1].float() * counted)


def read_loss(
    model: Causal,
    reader: Reader,
    corpus: ParallelCorpus,
    rows: Tensor,
    tables: tuple[Table, Table],
    rng: torch.Generator,
) -> Tensor:
    """How far the student's word log-probabilities are from the reader's, real and corrupted."""
    source, target = corpus.padded(rows, "source"), corpus.padded(rows, "target")
    slips = corrupt(target, source, corpus.lang[rows], corpus.slips, 1, rng)[:, 0]
    slots = torch.cat(same_width([target, slips]))
    words, starts = framed(slots, tables[0].frame)
    batch, word = expand(words, starts, tables[0])
    reader_batch, reader_word = expand(words, starts, tables[1])
    wanted = word_chances(reader(reader_batch), reader_batch, reader_word, len(words)).clamp(
        min=-25
    )
    log_p = log_probability(model(batch), model.pieces.weight, batch.ids.roll(-1))
    mine = word_chances(log_p, batch, word, len(words))
    first = torch.zeros_like(words, dtype=torch.bool)
    first[starts[:-1]] = True
    near = F.smooth_l1_loss(mine[~first], wanted[~first], beta=2.0)
    row = torch.repeat_interleave(
        torch.arange(len(slots), device=rows.device), starts.diff(), output_size=len(words)
    )
    means = [word_means(x[~first], row[~first], len(slots)) for x in (mine, wanted)]
    return near / 2 + follow(means[0], means[1])


def train_language_model(
    corpus: ParallelCorpus,
    model: Causal,
    settings: LanguageModelTraining,
    out: Path,
    watch: Callable[[Causal], str] | None = None,
    reader: Reader | None = None,
    samples: Samples | None = None,
    people: People | None = None,
) -> None:
    """Train until `steps` or `seconds` are over; weights go to `out`/fluency.safetensors."""
    device = corpus.source.device
    model.to(device).train()
    table = corpus.tables("student", BOS, EOS)
    reader_table = table
    if reader is not None:
        reader_table = corpus.tables("reader", reader.begin, reader.begin)
    rng = torch.Generator(device=device).manual_seed(settings.seed)

    def few(rows: Tensor, share: float) -> Tensor:
        order = torch.randperm(len(rows), device=device, generator=rng)
        return rows[order[: max(2, int(len(rows) * share))]]

    def losses(rows: Tensor) -> dict[str, Tensor]:
        batch, learned = sequences(corpus, rows, table, settings, rng)
        at = learned.nonzero()[:, 0]
        log_p = log_probability(model(batch)[at], model.pieces.weight, batch.ids[at + 1])
        parts = {"text": -log_p.mean()}
        if reader is not None:
            some = few(rows, settings.read_share)
            parts["read"] = read_loss(model, reader, corpus, some, (table, reader_table), rng)
        if samples is not None:
            some = few(rows, settings.ranked_share)
            parts["ranked"] = ranked_loss(model, corpus, samples, some, table)
        if people is not None:
            parts["people"] = people_loss(model, people, people.draw(settings.people, rng))
        return parts

    if samples is not None:
        corpus = corpus.only(samples.row)
    look = (lambda: watch(model)) if watch is not None else None
    file = out / "fluency.safetensors"
    batches = corpus.batches(settings.words, settings.seed)
    weights = {**settings.weights, "ranked": settings.ranked}
    descend(model, model.shape, batches, losses, weights, settings, file,
            decay=0.05, betas=(0.9, 0.95), watch=look)  # fmt: skip
