"""One way down for both embedded models: schedule, optimiser, log, checkpoints.

    descend(model, batches, losses, weights, schedule, out / "model.safetensors", watch)

`losses(rows)` gives named losses of a batch, `weights` their share in the sum. Adam with decay; the
rate rises over `warm` steps and falls to nothing as the schedule ends. With `steps` a run repeats
exactly; with `seconds` the schedule follows the clock. Several runs add up to one: the first ends
at `last_share` of the schedule, the next begins there (`first_share`).
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from mtgauge.errors import ResourceError, UsageError
from mtgauge.train.nets.transformer import Shape


@dataclass(frozen=True)
class Schedule:
    """How long and how fast; what a run's settings start with."""

    steps: int = 0
    seconds: float = 0.0
    rate: float = 4e-4
    warm: int = 200
    seed: int = 1
    save_every: float = 150.0
    first_share: float = 0.0  # of the schedule behind us when the run begins
    last_share: float = 1.0  # and when it ends

    def check(self) -> None:
        if self.steps <= 0 and self.seconds <= 0:
            raise UsageError("Say how long to train: --steps or --seconds.")
        if self.warm < 1:
            raise UsageError(f"--warm {self.warm}: the rate rises over one step at least.")
        if not 0 <= self.first_share < self.last_share <= 1:
            raise UsageError(
                f"--behind {self.first_share} --until {self.last_share}: these are shares of the "
                "schedule, the first smaller than the second."
            )

    def done(self, step: int, spent: float) -> float:
        """The share of this run that is over."""
        by_steps = step / self.steps if self.steps else 0.0
        return max(by_steps, spent / self.seconds if self.seconds else 0.0)

    def rate_at(self, step: int, done: float) -> float:
        behind = self.first_share + (self.last_share - self.first_share) * done
        return self.rate * min(1.0, (step + 1) / self.warm) * max(1 - behind, 0.01)


def save(model: nn.Module, shape: Shape, path: Path) -> None:
    """Weights as fp16 safetensors, with the shape in the header."""
    from safetensors.torch import save_file

    half = {k: v.detach().half().cpu().contiguous() for k, v in model.state_dict().items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".part")
    save_file(half, temporary, metadata={"shape": json.dumps(asdict(shape))})
    temporary.replace(path)


def load_weights(path: Path) -> tuple[dict[str, Tensor], Shape]:
    """What `save` wrote, in float32."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "pt") as stored:
            shape = Shape(**json.loads(stored.metadata()["shape"]))
            return {name: stored.get_tensor(name).float() for name in stored.keys()}, shape  # noqa: SIM118
    except (OSError, SafetensorError, KeyError, TypeError, ValueError) as error:
        raise ResourceError(
            f"{path} holds no weights of `mtgauge train encoder` or `fluency` ({error})."
        ) from None


def descend(
    model: nn.Module,
    shape: Shape,
    batches: Iterable[Tensor],
    losses: Callable[[Tensor], dict[str, Tensor]],
    weights: dict[str, float],
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


def say(text: str) -> None:
    """A line of progress, at once."""
    print(text, file=sys.stderr, flush=True)
