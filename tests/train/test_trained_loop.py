"""The training loop: resumed runs end like uninterrupted ones, bad runs are refused."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from mtgauge.errors import MtgaugeError, ResourceError, UsageError
from mtgauge.train.loop import fit as loop
from mtgauge.train.loop.fit import Plan, fit, pick_device, read_log
from mtgauge.train.nets import weights as stored

PLAN = Plan(epochs=4, rate=0.05, save_every=0.0)


class Killed(Exception):
    pass


class Line:
    """Fits a line through noise, with dropout so that random draws matter."""

    fingerprint = "line"

    def __init__(self, kill_at: int | None = None) -> None:
        torch.manual_seed(3)
        self.model: nn.Module = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 1))
        rng = np.random.default_rng(0)
        self.x = torch.tensor(rng.normal(size=(60, 4)), dtype=torch.float32)
        self.y = self.x @ torch.tensor([1.0, -2.0, 0.5, 0.0])
        self.kill_at, self.calls = kill_at, 0

    def groups(self) -> list[tuple[list[nn.Parameter], float]]:
        return [(list(self.model.parameters()), 1.0)]

    def batches(self, epoch: int, seed: int) -> list[np.ndarray]:
        order = np.random.default_rng([seed, epoch]).permutation(60)
        return np.split(order, 6)

    def loss(self, batch: np.ndarray, seed: int) -> Tensor:
        self.calls += 1
        if self.calls == self.kill_at:
            raise Killed
        return ((self.model(self.x[batch]).squeeze(-1) - self.y[batch]) ** 2).mean()

    def validate(self) -> dict[str, float]:
        error = ((self.model(self.x).squeeze(-1) - self.y) ** 2).mean()
        return {"average": -float(error)}


def weights(task: Line) -> Tensor:
    return torch.cat([p.detach().flatten() for p in task.model.parameters()])


@pytest.mark.parametrize("average", [0.0, 0.9])
@pytest.mark.parametrize("kill_at", [1, 2, 7, 13, 24])
def test_killed_anywhere_it_ends_as_if_it_had_not_been(
    tmp_path: Path, kill_at: int, average: float
) -> None:
    plan = replace(PLAN, average=average)
    whole = Line()
    expected = fit(whole, plan, tmp_path / "whole", quiet=True)
    with pytest.raises(Killed):
        fit(Line(kill_at), plan, tmp_path / "cut", quiet=True)
    again = Line()
    found = fit(again, plan, tmp_path / "cut", quiet=True)
    torch.testing.assert_close(weights(again), weights(whole), rtol=0, atol=0)
    assert found.best == expected.best
    assert again.calls == 24 - (kill_at - 1)


def test_no_step_stands_twice_in_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "_LOG_EVERY", 1)
    rare = replace(PLAN, save_every=1e9)  # checkpoints at the end of epochs only
    with pytest.raises(Killed):
        fit(Line(10), rare, tmp_path, quiet=True)
    fit(Line(), rare, tmp_path, quiet=True)
    steps = [e["step"] for e in read_log(tmp_path / "log.jsonl") if e["event"] == "step"]
    assert steps == list(range(1, 25))


def test_a_kill_while_writing_keeps_the_old_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(Killed):
        fit(Line(5), PLAN, tmp_path, quiet=True)
    before = (tmp_path / "checkpoint.safetensors").read_bytes()

    def half(tensors: object, path: Path, metadata: object) -> None:
        Path(path).write_bytes(b"half of it")
        raise Killed

    monkeypatch.setattr(stored, "save_file", half)
    with pytest.raises(Killed):
        fit(Line(), PLAN, tmp_path, quiet=True)
    assert (tmp_path / "checkpoint.safetensors").read_bytes() == before


def test_a_finished_run_is_not_run_again(tmp_path: Path) -> None:
    first = Line()
    fit(first, PLAN, tmp_path, quiet=True)
    log = (tmp_path / "log.jsonl").read_bytes()
    again = Line()
    fit(again, PLAN, tmp_path, quiet=True)
    assert again.calls == 0
    assert (tmp_path / "log.jsonl").read_bytes() == log
    torch.testing.assert_close(weights(again), weights(first), rtol=0, atol=0)


def test_other_settings_or_data_are_not_continued(tmp_path: Path) -> None:
    fit(Line(), PLAN, tmp_path, quiet=True)
    with pytest.raises(UsageError, match="other data or settings"):
        fit(Line(), replace(PLAN, rate=0.01), tmp_path, quiet=True)
    other = Line()
    other.fingerprint = "another"
    with pytest.raises(UsageError, match="other data or settings"):
        fit(other, PLAN, tmp_path, quiet=True)


def test_the_seed_decides(tmp_path: Path) -> None:
    runs = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        task = Line()
        fit(task, replace(PLAN, seed=seed), tmp_path / name, quiet=True)
        runs.append(weights(task))
    assert torch.equal(runs[0], runs[1])
    assert not torch.equal(runs[0], runs[2])


def test_it_stops_early_and_keeps_the_best(tmp_path: Path) -> None:
    class Worse(Line):
        validations = 0

        def validate(self) -> dict[str, float]:
            self.validations += 1
            return {"average": {1: 0.1, 2: 0.5}.get(self.validations, 0.2)}

    task = Worse()
    fitted = fit(task, replace(PLAN, epochs=50, patience=3), tmp_path, quiet=True)
    assert fitted.epochs == 5  # the best at 2, then three worse ones
    assert fitted.best == {"average": 0.5}
    rates = [e["rate"] for e in read_log(tmp_path / "log.jsonl") if e["event"] == "step"]
    assert rates == sorted(rates, reverse=True)


def test_a_model_without_correlation_is_never_the_best(tmp_path: Path) -> None:
    class Late(Line):
        values = iter([math.nan, 0.3, math.nan, 0.2])

        def validate(self) -> dict[str, float]:
            return {"average": next(self.values)}

    assert fit(Late(), PLAN, tmp_path, quiet=True).best == {"average": 0.3}


def test_a_loss_that_runs_away_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "_LOG_EVERY", 2)

    class Away(Line):
        def loss(self, batch: np.ndarray, seed: int) -> Tensor:
            return super().loss(batch, seed) * math.inf

    with pytest.raises(MtgaugeError, match="Try a lower --rate"):
        fit(Away(), PLAN, tmp_path, quiet=True)


def test_out_of_time_it_ends_cleanly(tmp_path: Path) -> None:
    fitted = fit(
        Line(), replace(PLAN, epochs=10**6, minutes=0.005, schedule="linear"), tmp_path, quiet=True
    )
    assert fitted.seconds < 30
    events = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert events[-1]["event"] == "end"


def test_a_device_that_is_not_there_is_refused() -> None:
    with pytest.raises(ResourceError, match="There is no device 'gpu': auto, cpu, cuda, mps"):
        pick_device("gpu")
    if not torch.cuda.is_available():
        with pytest.raises(ResourceError, match="no CUDA GPU is there"):
            pick_device("cuda")


def test_the_average_of_weights_is_validated_and_kept(tmp_path: Path) -> None:
    """By hand: each step moves the average by 1 - min(decay, (1 + step) / (10 + step))."""
    task, seen = Line(), []
    plain = task.loss

    def loss(batch: np.ndarray, seed: int) -> Tensor:
        seen.append(weights(task))
        return plain(batch, seed)

    task.loss = loss  # type: ignore[method-assign]
    fit(task, Plan(epochs=1, rate=0.05, average=0.3), tmp_path / "a", quiet=True)
    last = Line()
    fit(last, Plan(epochs=1, rate=0.05), tmp_path / "b", quiet=True)
    expected = seen[0]
    for step, after in enumerate([*seen[1:], weights(last)]):
        expected = expected + (after - expected) * (1 - min(0.3, (1 + step) / (10 + step)))
    torch.testing.assert_close(weights(task), expected)
    assert not torch.allclose(weights(task), weights(last))


def test_without_epochs_the_weights_stay(tmp_path: Path) -> None:
    task = Line()
    before = weights(task)
    assert math.isfinite(fit(task, Plan(epochs=0, rate=0.05), tmp_path, quiet=True).best["average"])
    assert torch.equal(weights(task), before)
