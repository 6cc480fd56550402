"""One way down for both embedded models: schedule, optimiser, log, checkpoints.

    descend(model, batches, losses, weights, schedule, out / "model.safetensors", watch)

`losses(rows)` gives named losses of a batch, `weights` their share in the sum. Adam with decay; the
rate rises over `warmup` steps and falls to nothing as the schedule ends. With `steps` a run repeats
exactly; with `seconds` the schedule follows the clock. Several runs add up to one: the first ends
at `schedule_end`, the next begins there (`schedule_start`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sized
from pathlib import Path
from typing import TypeVar

import torch
from torch import Tensor, nn

from mtgauge.encode.transformer import Shape
from mtgauge.train.nets.weights import save
from mtgauge.train.progress import say
from mtgauge.train.settings import Schedule

Batch = TypeVar("Batch", bound=Sized)


def descend(
    model: nn.Module,
    shape: Shape,
    batches: Iterable[Batch],
    losses: Callable[[Batch], dict[str, Tensor]],
    weights: Mapping[str, float],
    schedule: Schedule,
    out: Path,
    *,
    decay: float = 0.01,
    betas: tuple[float, float] = (0.9, 0.98),
    watch: Callable[[], str] | None = None,
) -> None:
    """Train until `steps` or `seconds` are over; weights go to `out`, a log to stderr."""
    schedule.check()
    device = next(model.parameters()).device
    fused = device.type == "cuda"
    torch.set_float32_matmul_precision("high")
    groups = [
        {"params": [p for p in model.parameters() if p.dim() > 1], "weight_decay": decay},
        {"params": [p for p in model.parameters() if p.dim() < 2], "weight_decay": 0.0},
    ]
    optimiser = torch.optim.AdamW(groups, lr=schedule.rate, betas=betas, fused=fused)
    began = saved = time.monotonic()
    totals: dict[str, Tensor] = {}
    rows_seen = 0

    def checkpoint() -> None:
        save(model, shape, out)
        if watch is not None:
            say(watch())

    for step, rows in enumerate(batches):
        done = schedule.done(step, time.monotonic() - began)
        if done >= 1:
            break
        rate = schedule.rate_at(step, done)
        for group in optimiser.param_groups:
            group["lr"] = rate
        with torch.autocast(device.type, torch.bfloat16, enabled=fused):
            parts = losses(rows)
            loss = torch.stack([weights[k] * v.float() for k, v in parts.items()]).sum()
        torch.autograd.backward(loss)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        rows_seen += len(rows)
        for name, value in parts.items():
            before = totals.get(name, torch.zeros_like(value))
            totals[name] = before * 0.98 + value.detach() * 0.02
        if step % 100 == 99 or step < 3:
            bias = 1 - 0.98 ** (step + 1)
            shown = " ".join(f"{k} {v.item() / bias:.3f}" for k, v in totals.items())
            now = time.monotonic() - began
            say(f"step {step + 1} {now:.0f}s {rows_seen / now:.0f} pairs/s lr {rate:.1e} {shown}")
        if time.monotonic() - saved > schedule.save_every:
            checkpoint()
            saved = time.monotonic()
    checkpoint()
