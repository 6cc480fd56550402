"""Training of the small language model: `mtgauge train fluency`.

A causal transformer over the encoder's pieces. Half of its sequences are a text alone,
`<s> y </s>`, so that it tells how fluent y is in any of its languages; half are a translation pair,
`<s> x <sep> y </s>`, so that the same model also tells how likely y is *given* the source:

    alone     mean over i of log p(y_i | y_<i)
    given     mean over i of log p(y_i | x, y_<i)

Where machine translations with ratings are at hand (`samples`), log p(c | x) learns to rank them;
where people judged some (`people`: the same rows as (x, c), and as (c, x)), log p(c | x) and
log p(x | c) follow their scores too. `also` are losses from elsewhere: `recipes/reader.py` has one
that follows a larger model.

    corpus = ParallelCorpus.load(folder, "cuda")
    train_language_model(corpus, Causal(shape), LanguageModelTraining(seconds=300), out)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor

from mtgauge.encode.transformer import Causal, Ragged, log_probability
from mtgauge.train.embedded.corpus import BOS, EOS, SEP
from mtgauge.train.embedded.corrupt import Table, expand, framed, same_width
from mtgauge.train.embedded.objective import follow, within, word_means
from mtgauge.train.embedded.people import People
from mtgauge.train.embedded.sampler import ParallelCorpus
from mtgauge.train.embedded.samples import Samples
from mtgauge.train.loop.descend import descend
from mtgauge.train.settings import LanguageModelTraining

Loss = Callable[[Causal, ParallelCorpus, Tensor, torch.Generator], Tensor]  # of rows of the corpus


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


def drawn(rows: Tensor, share: float, rng: torch.Generator) -> Tensor:
    """A share of the rows, two at least."""
    order = torch.randperm(len(rows), device=rows.device, generator=rng)
    return rows[order[: max(2, int(len(rows) * share))]]


def train_language_model(
    corpus: ParallelCorpus,
    model: Causal,
    settings: LanguageModelTraining,
    out: Path,
    watch: Callable[[Causal], str] | None = None,
    samples: Samples | None = None,
    people: Sequence[People] = (),
    also: Mapping[str, Loss] | None = None,
) -> None:
    """Train until `steps` or `seconds` are over; weights go to `out`/fluency.safetensors."""
    device = corpus.source.device
    model.to(device).train()
    table = corpus.tables("student", BOS, EOS)
    rng = torch.Generator(device=device).manual_seed(settings.seed)

    def losses(rows: Tensor) -> dict[str, Tensor]:
        batch, learned = sequences(corpus, rows, table, settings, rng)
        at = learned.nonzero()[:, 0]
        log_p = log_probability(model(batch)[at], model.pieces.weight, batch.ids[at + 1])
        parts = {"text": -log_p.mean()}
        for name, loss in (also or {}).items():
            parts[name] = loss(model, corpus, rows, rng)
        if samples is not None:
            some = drawn(rows, settings.ranked_share, rng)
            parts["ranked"] = ranked_loss(model, corpus, samples, some, table)
        if people:
            chosen = people[0].draw(settings.people, rng)
            lost = [people_loss(model, each, chosen) for each in people]
            parts["people"] = torch.stack(lost).mean()
        return parts

    if samples is not None:
        corpus = corpus.only(samples.row)
    look = (lambda: watch(model)) if watch is not None else None
    file = out / "fluency.safetensors"
    batches = corpus.batches(settings.words, settings.seed)
    more = dict.fromkeys(also or (), 1.0)
    weights = {**more, **settings.weights, "ranked": settings.ranked}
    descend(model, model.shape, batches, losses, weights, settings, file,
            decay=0.05, betas=(0.9, 0.95), watch=look)  # fmt: skip
