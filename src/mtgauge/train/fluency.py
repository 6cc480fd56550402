"""Training of the small language model: `mtgauge train fluency`.

A causal transformer over the encoder's pieces. Half of its sequences are a text alone,
`<s> y </s>`, so that it tells how fluent y is in any of its languages; half are a translation pair,
`<s> x <sep> y </s>`, so that the same model also tells how likely y is *given* the source:

    alone     mean over i of log p(y_i | y_<i)
    given     mean over i of log p(y_i | x, y_<i)

Where a larger English model is at hand (`reader`), its judgement is learned too: on sentences and
on corrupted versions of them, the student's log-probability of each word follows the reader's.
Slips are only judged this way, never learned as text.

    train_fluency(Corpus.load(folder, "cuda"), Causal(shape), FluencySettings(seconds=300), out)
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from mtgauge.train.corpus import BOS, EOS, SEP
from mtgauge.train.corrupt import Table, corrupt, expand, framed
from mtgauge.train.encoder import load_weights, save
from mtgauge.train.model import Causal, Ragged, log_probability
from mtgauge.train.objective import follow, word_means
from mtgauge.train.reader import BEGIN, Reader
from mtgauge.train.sampler import Corpus


@dataclass(frozen=True)
class FluencySettings:
    steps: int = 0
    seconds: float = 0.0
    words: int = 40_000
    rate: float = 1.5e-3
    warm: int = 300
    seed: int = 1
    given: float = 0.5  # share of sequences with the source before the translation
    foreign: float = 0.15  # share of texts alone that are the foreign side
    reverse: float = 0.15  # share of pairs translated out of English
    source_weight: float = 0.2  # of the loss on the source's own pieces
    judged_share: float = 0.4  # of a batch's rows shown to the reader as well
    judged_weight: float = 1.0
    save_every: float = 150.0
    first_share: float = 0.0


def load_causal(path: Path) -> Causal:
    weights, shape = load_weights(path)
    model = Causal(shape)
    model.load_state_dict(weights)
    return model


def sequences(
    corpus: Corpus, rows: Tensor, table: Table, settings: FluencySettings, rng: torch.Generator
) -> tuple[Ragged, Tensor]:
    """A batch of `<s> y </s>` and `<s> x <sep> y </s>`, and the weight of each prediction."""
    source, target = corpus.padded(rows, "source"), corpus.padded(rows, "target")
    wide = max(source.shape[1], target.shape[1])
    pad = torch.nn.functional.pad
    source = pad(source, (0, wide - source.shape[1]), value=-1)
    target = pad(target, (0, wide - target.shape[1]), value=-1)
    draw = torch.rand(3, len(rows), 1, device=rows.device, generator=rng)
    paired = draw[0] < settings.given
    swapped = draw[1] < torch.where(paired, settings.reverse, settings.foreign)
    first, second = torch.where(swapped, target, source), torch.where(swapped, source, target)
    between = torch.where(paired, table.frame[1], -1)
    words, starts = framed(
        torch.cat([torch.where(paired, first, -1), between, second], 1), table.frame
    )
    batch, _ = expand(words, starts, table)
    # the frame's end type stands for the separator where another end follows
    is_end = batch.ids == EOS
    last = batch.position == batch.lengths[batch.row] - 1
    ids = torch.where(is_end & ~last, SEP, batch.ids)
    after = torch.zeros_like(ids).scatter(0, (ids == SEP).nonzero()[:, 0], 1)
    passed = after.cumsum(0) - after
    at_start = passed[batch.start[:-1]][batch.row]
    has = torch.bincount(batch.row[ids == SEP], minlength=len(batch))[batch.row]
    before = (has > 0) & (passed - at_start + after == 0)
    weight = torch.where(before, settings.source_weight, 1.0) * ~last
    return Ragged(ids, batch.start, batch.longest), weight


def word_chances(log_p: Tensor, batch: Ragged, word: Tensor, words: int) -> Tensor:
    """Log-probability of each word: the sum over its pieces; log_p[i] is of piece i + 1."""
    told = batch.position[1:] > 0
    return log_p.new_zeros(words).index_add(0, word[1:], log_p[:-1].float() * told)


def judged_loss(
    model: Causal, reader: Reader, corpus: Corpus, rows: Tensor, tables: tuple[Table, Table],
    rng: torch.Generator,
) -> Tensor:  # fmt: skip
    """How far the student's word log-probabilities are from the reader's, real and corrupted."""
    source, target = corpus.padded(rows, "source"), corpus.padded(rows, "target")
    slips = corrupt(target, source, corpus.lang[rows], corpus.slips, 1, rng)[:, 0]
    wide = max(slips.shape[1], target.shape[1])
    pad = torch.nn.functional.pad
    slots = torch.cat([pad(x, (0, wide - x.shape[1]), value=-1) for x in (target, slips)])
    words, starts = framed(slots, tables[0].frame)
    batch, word = expand(words, starts, tables[0])
    theirs, their_word = expand(words, starts, tables[1])
    wanted = word_chances(reader(theirs), theirs, their_word, len(words)).clamp(min=-25)
    log_p = log_probability(model(batch), model.pieces.weight, batch.ids.roll(-1))
    mine = word_chances(log_p, batch, word, len(words))
    first = torch.zeros_like(words, dtype=torch.bool)
    first[starts[:-1]] = True
    near = torch.nn.functional.smooth_l1_loss(mine[~first], wanted[~first], beta=2.0)
    row = torch.repeat_interleave(
        torch.arange(len(slots), device=rows.device), starts.diff(), output_size=len(words)
    )
    means = [word_means(x[~first], row[~first], len(slots)) for x in (mine, wanted)]
    return near / 2 + follow(means[0], means[1])


def train_fluency(
    corpus: Corpus,
    model: Causal,
    settings: FluencySettings,
    out: Path,
    watch: Callable[[Causal], str] | None = None,
    reader: Reader | None = None,
) -> None:
    """Train until `steps` or `seconds` are over; weights go to `out`/fluency.safetensors."""
    device = corpus.source.device
    torch.set_float32_matmul_precision("high")
    model.to(device).train()
    table = corpus.tables("student", BOS, EOS)
    their_table = corpus.tables("reader", BEGIN, BEGIN) if reader is not None else table
    rng = torch.Generator(device=device).manual_seed(settings.seed)
    fused = device.type == "cuda"
    matrices = [p for p in model.parameters() if p.dim() > 1]
    vectors = [p for p in model.parameters() if p.dim() < 2]
    optimiser = torch.optim.AdamW(
        [{"params": matrices, "weight_decay": 0.05}, {"params": vectors, "weight_decay": 0.0}],
        lr=settings.rate, betas=(0.9, 0.95), fused=fused,
    )  # fmt: skip
    began = saved = time.monotonic()
    running, pieces = torch.zeros((), device=device), 0
    agree = torch.zeros((), device=device)
    for step, rows in enumerate(corpus.batches(settings.words, settings.seed)):
        spent = time.monotonic() - began
        done = max(
            step / settings.steps if settings.steps else 0.0,
            spent / settings.seconds if settings.seconds else 0.0,
        )
        if done >= 1:
            break
        progress = settings.first_share + (1 - settings.first_share) * done
        rate = settings.rate * min(1.0, (step + 1) / settings.warm) * max(1 - progress, 0.01)
        for group in optimiser.param_groups:
            group["lr"] = rate
        batch, weight = sequences(corpus, rows, table, settings, rng)
        with torch.autocast(device.type, torch.bfloat16, enabled=fused):
            hidden = model(batch)
            log_p = log_probability(hidden, model.pieces.weight, batch.ids.roll(-1))
        loss = -(log_p * weight).sum() / weight.sum()
        torch.autograd.backward(loss)
        if reader is not None:
            few = rows[torch.randperm(len(rows), device=device, generator=rng)]
            few = few[: max(2, int(len(rows) * settings.judged_share))]
            with torch.autocast(device.type, torch.bfloat16, enabled=fused):
                judged = judged_loss(model, reader, corpus, few, (table, their_table), rng)
            torch.autograd.backward(settings.judged_weight * judged)
            agree = agree * 0.98 + judged.detach() * 0.02
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        running = running * 0.98 + loss.detach() * 0.02
        pieces += len(batch.ids)
        if step % 100 == 99 or step < 3:
            bias, now = 1 - 0.98 ** (step + 1), time.monotonic() - began
            shown = f"loss {running.item() / bias:.3f} judged {agree.item() / bias:.3f}"
            print(
                f"step {step + 1} {now:.0f}s {pieces / now:.0f} pieces/s lr {rate:.1e} {shown}",
                file=sys.stderr,
                flush=True,
            )
        if time.monotonic() - saved > settings.save_every:
            save(model, model.shape, out / "fluency.safetensors")
            if watch is not None:
                print(watch(model), file=sys.stderr, flush=True)
            saved = time.monotonic()
    save(model, model.shape, out / "fluency.safetensors")
    if watch is not None:
        print(watch(model), file=sys.stderr, flush=True)
