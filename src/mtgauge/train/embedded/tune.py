"""The English teacher learns from people what a match is worth: `mtgauge train teacher`.

The teacher's vectors were made for finding sentences. On judged translations with references (for
the package's encoder WMT15 and WMT16) its lower layers are tuned until its best matches P, R and F
of translation and reference follow people's scores (`people`); the students then follow the tuned
teacher on translations that nobody judged. An anchor keeps the mean of the last layer, which
teaches where a sentence lies, where it was. The epoch that is best on held-out judgements is kept.

    mtgauge train teacher --corpus CORPUS --teacher teacher.npz --judged da15.tsv.gz da16.tsv.gz \
        --out tuned.npz
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from mtgauge.errors import InputError, UsageError
from mtgauge.train.embedded import objective as o
from mtgauge.train.embedded.people import People
from mtgauge.train.embedded.sampler import load_tokenizer
from mtgauge.train.embedded.teacher import FIRST, LAST, LAYER, Teacher
from mtgauge.train.embedded.watch import FloatArray, Judged, read, refuse_flat
from mtgauge.train.judged.rows import Rows, hold_out, overlap
from mtgauge.train.loop.descend import say
from mtgauge.train.nets.transformer import Ragged


@dataclass(frozen=True)
class Tuning:
    """How the teacher is tuned; its layers above `layer` stay as they are."""

    layer: int = LAYER
    epochs: int = 5
    batch: int = 96
    rate: float = 1e-4
    anchor: float = 1.0
    seed: int = 1

    def check(self) -> None:
        for name, least in (("epochs", 1), ("batch", 2)):
            if (value := getattr(self, name)) < least:
                raise UsageError(f"--{name} {value}: {least} at least.")
        if self.rate <= 0:
            raise UsageError(f"--rate {self.rate:g}: nothing is learned at that rate.")


def tune(teacher: Teacher, fixed: Teacher, train: Judged, dev: Judged, how: Tuning) -> None:
    """Tune `teacher` (float32) in place; `fixed` is the same teacher as it was."""
    device = str(teacher.w["embeddings.LayerNorm.weight"].device)
    people = People.of(train.reference, train.hypothesis, train, device)
    learned = _learned(teacher, how.layer)
    optimiser = torch.optim.AdamW(learned.values(), lr=how.rate, weight_decay=0.01)
    rng = torch.Generator(device=device).manual_seed(how.seed)
    steps = how.epochs * -(-len(people) // how.batch)
    best, kept = _report(teacher, dev, how.layer, "before"), _copied(learned)
    step = 0
    for epoch in range(how.epochs):
        order = torch.randperm(len(people), device=device, generator=rng)
        for rows in torch.split(order, how.batch):
            rate = how.rate * min(1.0, (step + 1) / (0.1 * steps)) * (1 - step / steps)
            for group in optimiser.param_groups:
                group["lr"] = rate
            loss = _loss(teacher, fixed, people, rows, how)
            torch.autograd.backward(loss)
            torch.nn.utils.clip_grad_norm_(learned.values(), 1.0)
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)
            step += 1
        found = _report(teacher, dev, how.layer, f"epoch {epoch + 1}")
        if found > best:
            best, kept = found, _copied(learned)
    teacher.w |= kept


def _copied(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in weights.items()}


def _learned(teacher: Teacher, layer: int) -> dict[str, Tensor]:
    """Weights of the layers up to `layer`, made to learn."""
    own = tuple(f"encoder.layer.{i}." for i in range(layer))
    names = [n for n in teacher.w if n.startswith(own)]
    for name in names:
        teacher.w[name].requires_grad_()
    return {name: teacher.w[name] for name in names}


def _loss(teacher: Teacher, fixed: Teacher, people: People, rows: Tensor, how: Tuning) -> Tensor:
    batch = people.texts(rows)
    states = teacher.states_of(batch, how.layer)
    loss = people.follow_match(rows, states, batch)
    first = batch.take(torch.arange(len(rows), device=rows.device))
    last = teacher.states_of(first, teacher.layers, states[: len(first.ids)], how.layer)
    means = o.word_means(last, first.row, len(first))
    was = o.word_means(fixed(first, fixed.layers).float(), first.row, len(first))
    return loss + how.anchor * (1 - F.cosine_similarity(means, was)).mean()


def scores(teacher: Teacher, judged: Judged, layer: int) -> FloatArray:
    """Best-match F of each translation with its reference."""
    device = teacher.w["embeddings.LayerNorm.weight"].device
    found = []
    for begin in range(0, len(judged.human), 256):
        part = slice(begin, begin + 256)
        texts = [*judged.reference[part], *judged.hypothesis[part]]
        batch = Ragged.of(texts, device)
        matched, _ = o.match_versions(teacher(batch, layer), batch, len(texts) // 2, 1)
        found.append(matched.f.double().cpu().numpy())
    return np.concatenate(found)


def _report(teacher: Teacher, dev: Judged, layer: int, when: str) -> float:
    means = dev.means(dev.pearson(scores(teacher, dev, layer)))
    say(f"{when}: " + "  ".join(f"{name} {value:.3f}" for name, value in means.items()))
    return float(np.mean(list(means.values())))


def _split(judged: list[Path], dev: list[Path], seed: int) -> tuple[Rows, Rows]:
    """What is learned from, and what the epoch is chosen by; no sentence stands in both."""
    needs = ["reference", "hypothesis"]
    rows = read(judged, needs=needs)
    if not dev:
        train, held = hold_out(rows, 0.1, None, seed)
        return train, refuse_flat(held, " in the tenth that is held out")
    held = read(dev, needs=needs)
    if len(both := overlap(rows, held)):
        raise InputError(
            f"{len(both)} of {len(rows)} segments translate a sentence that is also in --dev",
            file=rows.files[both[0]],
            remedy="Take them out of one side, or leave --dev away: a tenth is held out then.",
        )
    return rows, held


def run(
    corpus: Path, teacher: list[Path], judged: list[Path], dev: list[Path], out: Path, device: str,
    how: Tuning,
) -> None:  # fmt: skip
    """Read, hold out a tenth where no file is named for it, tune and save."""
    how.check()
    if out.suffix != ".npz":
        raise UsageError(f"--out {out}: name a file that ends in .npz.")
    tokenizer = load_tokenizer(corpus, "teacher")
    parts = _split(judged, dev, how.seed)
    train, held = (Judged.of(part, tokenizer, (FIRST, LAST)) for part in parts)
    own = Teacher.load(teacher, device, torch.float32)
    torch.set_float32_matmul_precision("high")
    tune(own, Teacher.load(teacher, device), train, held, how)
    own.save(out)
