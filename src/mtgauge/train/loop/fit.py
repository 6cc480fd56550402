"""The training loop of the trained metrics: seeded, resumable, logged, stopped early.

    task = ...                                  # a model, its batches, its loss, its validation
    fitted = fit(task, Plan(epochs=75, rate=4e-4), out)
    fitted.best["average"]                      # the validation that was kept

A run is a pure function of (task, plan): the order of batches comes from (seed, epoch) and every
random draw inside step `s` from (seed, s), so no generator state has to be stored. `checkpoint`
is one safetensors file with the place in the run in its header, replaced in one move; a run that
was killed at any moment goes on from the last one and, on the same device, ends with the weights
that it would have ended with anyway. `log.jsonl` is cut back to the checkpoint's place first, so
that no step stands in it twice. A change of plan or data is refused, not continued.

With `average` what is validated and kept is a moving average of the weights over the last
1 / (1 - average) steps: judgements are noisy, and so is the place where a run happens to stand.

Rate: `plateau` halves it after a validation that did not improve (paper 002), `linear` warms up
and falls to zero at the end of the run (paper 004). With `minutes` the run ends in that time, and
the linear schedule with it; such a run depends on the speed of the machine.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

import torch
from safetensors import safe_open
from safetensors.torch import load_file
from torch import Tensor, nn
from tqdm import tqdm

from mtgauge.encode.hub import place
from mtgauge.encode.load import EncoderSettings
from mtgauge.errors import MtgaugeError, UsageError
from mtgauge.train.nets.weights import write_tensors
from mtgauge.train.settings import MetricTraining

_LOG_EVERY = 20  # steps


@dataclass(frozen=True)
class Plan:
    epochs: int
    rate: float
    schedule: Literal["plateau", "linear"] = "plateau"
    warmup: float = 0.1  # share of a linear run
    decay: float = 0.0  # AdamW's weight decay; 0 is Adam
    clip: float = 10.0  # largest norm of the gradient
    patience: int = 4  # validations without improvement before the run stops
    seed: int = 1
    bf16: bool = False
    average: float = 0.0  # decay of the moving average of weights that is kept; 0: the last ones
    minutes: float | None = None
    save_every: float = 60.0  # seconds between checkpoints within an epoch

    @classmethod
    def of(cls, settings: MetricTraining, **more: Any) -> Plan:
        """What a metric's settings say of its run; the seed is set for each run."""
        names = ("epochs", "rate", "patience", "bf16", "average", "minutes")
        return cls(**{name: getattr(settings, name) for name in names}, **more)


class Task(Protocol):
    """What is trained. `groups` lists parameters with their share of the plan's rate."""

    model: nn.Module
    fingerprint: str  # of the data and the settings: a checkpoint of another one is refused

    def groups(self) -> Sequence[tuple[list[nn.Parameter], float]]: ...
    def batches(self, epoch: int, seed: int) -> Sequence[Any]: ...
    def loss(self, batch: Any, seed: int) -> Tensor: ...
    def validate(self) -> dict[str, float]: ...  # Pearson by language pair, and "average"


@dataclass
class _State:
    """The place in a run; what a checkpoint's header holds."""

    epoch: int = 0
    batch: int = 0  # batches done in this epoch
    step: int = 0
    factor: float = 1.0  # of the rate, moved by the plateau schedule
    best: dict[str, float] = field(default_factory=dict)
    bad: int = 0  # validations since the best
    seconds: float = 0.0
    log_bytes: int = 0
    finished: bool = False


@dataclass(frozen=True)
class _Weights:
    """What a run moves."""

    trainable: dict[str, nn.Parameter]
    optimiser: torch.optim.Optimizer
    average: dict[str, Tensor]  # empty where none is kept

    @property
    def device(self) -> torch.device:
        return next(iter(self.trainable.values())).device

    @torch.no_grad()
    def follow(self, decay: float, step: int) -> None:
        """Move the average towards the weights; faster at first, when it is of few steps."""
        if self.average:
            share = 1 - min(decay, (1 + step) / (10 + step))
            torch._foreach_lerp_(list(self.average.values()), list(self.trainable.values()), share)

    @contextlib.contextmanager
    def averaged(self) -> Iterator[None]:
        """The average in the place of the weights."""
        own = {name: self.trainable[name].data for name in self.average}
        for name, value in self.average.items():
            self.trainable[name].data = value
        try:
            yield
        finally:
            for name, value in own.items():
                self.trainable[name].data = value


@dataclass(frozen=True)
class Fitted:
    best: dict[str, float]
    steps: int
    epochs: int
    seconds: float


def pick_device(name: str = "auto") -> torch.device:
    """`auto` is CUDA, then MPS, then the CPU; a device that is not there is refused."""
    return torch.device(place(EncoderSettings(device=name)).device)


def fit(task: Task, plan: Plan, out: Path, quiet: bool = False) -> Fitted:
    """Train `task`, or go on with the run that was begun in `out`; best weights end in `task`.

    With no epochs the model is validated as it is.
    """
    out.mkdir(parents=True, exist_ok=True)
    trainable = {n: p for n, p in task.model.named_parameters() if p.requires_grad}
    if not plan.epochs:
        task.model.eval()
        with torch.inference_mode():
            return Fitted(task.validate(), 0, 0, 0.0)
    if next(iter(trainable.values())).device.type == "cuda":
        torch.set_float32_matmul_precision("high")  # products of 19 bits, sums of 32
        torch.backends.cuda.enable_cudnn_sdp(False)  # it makes a plan for every shape of a batch
    groups = task.groups()
    optimiser = torch.optim.AdamW(
        [{"params": params, "share": share} for params, share in groups],
        lr=plan.rate,
        weight_decay=plan.decay,
        fused=next(iter(trainable.values())).device.type == "cuda",
    )
    identity = json.dumps([asdict(plan) | {"save_every": 0, "minutes": 0}, task.fingerprint])
    average = {n: p.detach().clone() for n, p in trainable.items()} if plan.average else {}
    weights = _Weights(trainable, optimiser, average)
    state = _resume(out, weights, identity)
    with _Log(out / "log.jsonl", state) as log:
        if not state.finished:
            log.write("resume" if state.step else "start", plan=asdict(plan))
            _run(task, plan, state, weights, identity, out, log, quiet)
        _load_best(out, trainable)
    return Fitted(state.best, state.step, state.epoch, state.seconds)


def _run(
    task: Task,
    plan: Plan,
    state: _State,
    weights: _Weights,
    identity: str,
    out: Path,
    log: _Log,
    quiet: bool,
) -> None:
    clock = _Clock(state.seconds)
    bar = tqdm(total=None, initial=state.step, disable=quiet, unit="step", mininterval=1.0)

    def save(finished: bool = False) -> None:
        state.seconds, state.log_bytes, state.finished = clock.seconds, log.bytes(), finished
        _save(out, weights, state, identity)

    saved, losses = clock.seconds, []
    while True:
        batches = task.batches(state.epoch, plan.seed)
        if not batches:
            raise UsageError("There is nothing to train on: no batch could be made of the data.")
        total = plan.epochs * len(batches)
        bar.total = total
        out_of_time = False
        for batch in batches[state.batch :]:
            progress = state.step / total
            if plan.minutes is not None:
                progress = max(progress, clock.seconds / (60 * plan.minutes))
                out_of_time = progress >= 1
                if out_of_time:
                    break
            rate = plan.rate * state.factor * _shape(plan, progress)
            losses.append(_step(task, batch, plan, rate, weights, state.step))
            state.step, state.batch = state.step + 1, state.batch + 1
            bar.update()
            if state.step % _LOG_EVERY == 0:
                loss = float(torch.stack(losses).mean())
                losses = []
                if not math.isfinite(loss):
                    raise MtgaugeError(
                        f"The loss is {loss} by step {state.step}: the training has run away. "
                        f"Try a lower --rate than {plan.rate:g}, or without --bf16."
                    )
                log.write("step", step=state.step, epoch=state.epoch, loss=loss, rate=rate)
                bar.set_postfix(loss=f"{loss:.4f}", best=f"{state.best.get('average', 0):.4f}")
            if clock.seconds - saved > plan.save_every:
                save()
                saved = clock.seconds
        state.epoch, state.batch = state.epoch + 1, 0
        _validate(task, plan, state, weights, out, log)
        done = out_of_time or state.bad >= plan.patience or state.epoch >= plan.epochs
        if done:
            log.write("end", best=state.best, steps=state.step, seconds=round(clock.seconds, 1))
        save(finished=done)
        saved = clock.seconds
        if done:
            break
    bar.close()


def _step(
    task: Task,
    batch: Any,
    plan: Plan,
    rate: float,
    weights: _Weights,
    step: int,
) -> Tensor:
    """One step of Adam; the loss stays on the device, so that a GPU need not wait for it."""
    task.model.train()
    seed = plan.seed * 1_000_003 + step
    torch.manual_seed(seed)
    for group in weights.optimiser.param_groups:
        group["lr"] = rate * group["share"]
    with _precision(weights.device, plan.bf16):
        loss = task.loss(batch, seed)
    weights.optimiser.zero_grad(set_to_none=True)
    loss.backward()  # type: ignore[no-untyped-call]
    nn.utils.clip_grad_norm_(weights.trainable.values(), plan.clip)
    weights.optimiser.step()
    weights.follow(plan.average, step)
    return loss.detach().float()


def _validate(
    task: Task,
    plan: Plan,
    state: _State,
    weights: _Weights,
    out: Path,
    log: _Log,
) -> None:
    task.model.eval()
    with weights.averaged(), torch.inference_mode(), _precision(weights.device, plan.bf16):
        result = task.validate()
    # A model that gives every segment one score has no correlation: that is no improvement.
    average = result["average"]
    if not state.best or average > state.best["average"] or math.isnan(state.best["average"]):
        state.best, state.bad = result, 0
        kept = weights.average or {n: p.detach() for n, p in weights.trainable.items()}
        write_tensors(out / "best.safetensors", kept)
    else:
        state.bad += 1
        if plan.schedule == "plateau":
            state.factor *= 0.5
    log.write("validation", step=state.step, epoch=state.epoch, pearson=result, bad=state.bad)


def _shape(plan: Plan, progress: float) -> float:
    if plan.schedule == "plateau":
        return 1.0
    if progress < plan.warmup:
        return (progress + 1e-3) / (plan.warmup + 1e-3)
    return max(0.0, (1 - progress) / (1 - plan.warmup))


def _precision(device: torch.device, bf16: bool) -> contextlib.AbstractContextManager[None]:
    return torch.autocast(device.type, torch.bfloat16) if bf16 else contextlib.nullcontext()


def _save(
    out: Path,
    weights: _Weights,
    state: _State,
    identity: str,
) -> None:
    tensors = {f"model.{name}": p.detach() for name, p in weights.trainable.items()}
    tensors |= {f"average.{name}": p for name, p in weights.average.items()}
    for name, p in weights.trainable.items():
        for key, value in weights.optimiser.state.get(p, {}).items():
            tensors[f"{key}.{name}"] = value
    header = {"state": json.dumps(asdict(state)), "identity": identity}
    write_tensors(out / "checkpoint.safetensors", tensors, header)


def _resume(
    out: Path,
    weights: _Weights,
    identity: str,
) -> _State:
    path = out / "checkpoint.safetensors"
    if not path.exists():
        return _State()
    with safe_open(path, framework="pt") as file:
        header = file.metadata()
    if header["identity"] != identity:
        raise UsageError(
            f"{path} is of a run with other data or settings. Train into another folder with "
            "--out, or remove this one."
        )
    tensors = load_file(path)
    with torch.no_grad():
        for name, p in weights.average.items():
            p.copy_(tensors[f"average.{name}"])
        optimiser = weights.optimiser
        for name, p in weights.trainable.items():
            p.copy_(tensors[f"model.{name}"])
            for key in ("step", "exp_avg", "exp_avg_sq"):
                if f"{key}.{name}" in tensors:
                    value = tensors[f"{key}.{name}"]
                    on_cpu = key == "step" and not optimiser.defaults["fused"]
                    optimiser.state[p][key] = value if on_cpu else value.to(p.device)
    return _State(**json.loads(header["state"]))


def _load_best(out: Path, trainable: dict[str, nn.Parameter]) -> None:
    tensors = load_file(out / "best.safetensors")
    with torch.no_grad():
        for name, p in trainable.items():
            p.copy_(tensors[name])


class _Clock:
    def __init__(self, before: float) -> None:
        self._start = time.monotonic() - before

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._start


class _Log:
    """`log.jsonl`, one object per line, continued where the checkpoint stands."""

    def __init__(self, path: Path, state: _State) -> None:
        path.touch()
        self._file = path.open("r+", encoding="utf-8")
        self._file.truncate(state.log_bytes)
        self._file.seek(0, os.SEEK_END)

    def __enter__(self) -> _Log:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def write(self, event: str, **facts: Any) -> None:
        self._file.write(json.dumps({"event": event, **facts}) + "\n")
        self._file.flush()

    def bytes(self) -> int:
        return self._file.tell()


def read_log(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)
