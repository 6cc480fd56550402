"""The English teacher learns from people what a match is worth: `mtgauge train teacher`.

The teacher's vectors were made for finding sentences. On judged translations with references (for
the package's encoder WMT15 and WMT16) its lower layers are tuned until its best matches P, R and F
of translation and reference follow people's scores (`people`); the students then follow the tuned
teacher on translations that nobody judged. An anchor keeps the mean of the last layer, which
teaches where a sentence lies, where it was. The epoch that is best on held-out judgements is kept.

    mtgauge train teacher --corpus CORPUS --teacher teacher.npz --train da15.tsv.gz da16.tsv.gz \
        --out tuned.npz
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from mtgauge.train.embedded import objective as o
from mtgauge.train.embedded.people import People
from mtgauge.train.embedded.teacher import FIRST, LAST, Teacher
from mtgauge.train.embedded.watch import best_matches, means_by_file, shown
from mtgauge.train.judged.codes import Coded, FloatArray
from mtgauge.train.judged.rows import Rows, hold_out, read_needed, refuse_constant, refuse_overlap
from mtgauge.train.progress import say
from mtgauge.train.settings import TeacherTuning


def tune(teacher: Teacher, fixed: Teacher, train: Coded, dev: Coded, how: TeacherTuning) -> None:
    """Tune `teacher` (float32) in place; `fixed` is the same teacher as it was."""
    device = str(teacher.w["embeddings.LayerNorm.weight"].device)
    people = People.of(_texts(train, "ref"), _texts(train, "hyp"), train, device)
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


def _loss(
    teacher: Teacher, fixed: Teacher, people: People, rows: Tensor, how: TeacherTuning
) -> Tensor:
    batch = people.texts(rows)
    states = teacher.states_of(batch, how.layer)
    loss = people.follow_match(rows, states, batch)
    first = batch.take(torch.arange(len(rows), device=rows.device))
    last = teacher.states_of(first, teacher.layers, states[: len(first.ids)], how.layer)
    means = o.word_means(last, first.row, len(first))
    was = o.word_means(fixed(first, fixed.layers).float(), first.row, len(first))
    return loss + how.anchor * (1 - F.cosine_similarity(means, was)).mean()


def _texts(rows: Coded, column: str) -> list[list[int]]:
    return rows.framed(column, FIRST, LAST)


def scores(teacher: Teacher, rows: Coded, layer: int) -> FloatArray:
    """Best-match F of each translation with its reference."""
    device = teacher.w["embeddings.LayerNorm.weight"].device
    texts = _texts(rows, "ref"), _texts(rows, "hyp")
    return best_matches(lambda b: {layer: teacher(b, layer)}, *texts, [layer], device)[layer, "F"]


def _report(teacher: Teacher, dev: Coded, layer: int, when: str) -> float:
    means = means_by_file(dev, scores(teacher, dev, layer))
    say(f"{when}: {shown(means)}")
    return float(np.mean(list(means.values())))


def split(train: Sequence[Path], dev: Sequence[Path], seed: int) -> tuple[Rows, Rows]:
    """What is learned from, and what the epoch is chosen by: `dev`, or a tenth of `train`."""
    needs = ["reference", "hypothesis"]
    rows = read_needed(train, needs)
    if not dev:
        own, held = hold_out(rows, 0.1, None, seed)
        refuse_constant(held, by_file=True, part=" in the tenth that is held out")
        return own, held
    held = read_needed(dev, needs)
    refuse_overlap(rows, held)
    return rows, held
