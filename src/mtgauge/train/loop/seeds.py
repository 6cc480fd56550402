"""Several seeds of one training: each in a folder of its own, the best on validation kept.

kept = over_seeds(make_task, plan, HeadTraining(seeds=(1, 2, 3)), out)
kept.task.model                  # with the weights of the best seed
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, Generic, Protocol, TypeVar

import torch

from mtgauge.errors import InputError
from mtgauge.train.judged.codes import Coded
from mtgauge.train.loop.batching import rounded
from mtgauge.train.loop.fit import Fitted, Plan, Task, fit, read_log
from mtgauge.train.nets.weights import load_trained
from mtgauge.train.settings import MetricTraining


class JudgedTask(Task, Protocol):
    """What several seeds are compared by."""

    def settle(self) -> None: ...  # the weights are those that are kept
    def correlations(self, rows: Coded) -> dict[str, float]: ...  # as `validate` gives


T = TypeVar("T", bound=JudgedTask)


@dataclass(frozen=True)
class Kept(Generic[T]):
    task: T
    seed: int
    fitted: Fitted
    by_seed: dict[str, float]
    before: dict[str, Any]  # of the run that this one went on from
    tested: dict[str, float]  # the mean correlation with test judgements of each seed
    test: dict[str, float]  # correlations of this one with them

    def facts(self) -> dict[str, Any]:
        """What the card says of the runs."""
        return {
            "seed": str(self.seed),
            **_spread(self.by_seed),
            **({"test_by_seed": _spread(self.tested)} if self.tested else {}),
            "dev_pearson": rounded(self.fitted.best),
            "steps": self.fitted.steps,
            "epochs": self.fitted.epochs,
            "seconds": round(self.fitted.seconds, 1),
            **self.before,
            **({"test_pearson": rounded(self.test)} if self.test else {}),
        }


def _spread(by_seed: dict[str, float]) -> dict[str, Any]:
    """The values of all seeds, their mean and their standard deviation."""
    values = list(by_seed.values())
    return {
        "seeds": rounded(by_seed),
        "mean": round(fmean(values), 4),
        "deviation": round(stdev(values), 4) if len(values) > 1 else 0.0,
    }


def over_seeds(
    make: Callable[[], T],
    plan: Plan,
    how: MetricTraining,
    out: Path,
    test: Coded | None = None,
) -> Kept[T]:
    """Train what `make` makes once per seed, from the weights of `how.start` where it is given.

    Every seed's model is tested: papers print the mean over seeds, not the best one.
    """
    best: Kept[T] | None = None
    by_seed: dict[str, float] = {}
    tested: dict[str, float] = {}
    for seed in how.seeds:
        torch.manual_seed(seed)  # the first weights come from the seed too
        task = make()
        before = {} if how.start is None else load_trained(how.start, task.model)
        fitted = fit(task, replace(plan, seed=seed), out / f"seed-{seed}", how.quiet)
        value = fitted.best["average"]
        if math.isnan(value):
            raise InputError(
                "the model gives all validation segments the same score, or there are fewer than "
                "three of every language pair",
                remedy="Use more data, another --rate, or check the column human.",
            )
        by_seed[str(seed)] = value
        task.model.eval()
        with torch.inference_mode():
            task.settle()
            found = {} if test is None else task.correlations(test)
        tested |= {str(seed): found["average"]} if found else {}
        if best is None or value > best.fitted.best["average"]:
            best = Kept(task, seed, fitted, by_seed, before, tested, found)
        if plan.epochs:
            _draw(out / f"seed-{seed}")
    assert best is not None
    return best


def _draw(folder: Path) -> None:
    """`curve.png`: loss and validation over steps; left out where matplotlib is not installed."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return
    events = list(read_log(folder / "log.jsonl"))
    figure = Figure(figsize=(6, 4))
    loss_axis = figure.add_subplot()
    steps = [(e["step"], e["loss"]) for e in events if e["event"] == "step"]
    checks = [(e["step"], e["pearson"]["average"]) for e in events if e["event"] == "validation"]
    if steps:
        loss_axis.plot(*zip(*steps, strict=True), color="tab:grey", label="training loss")
    loss_axis.set_xlabel("step")
    loss_axis.set_ylabel("training loss")
    right = loss_axis.twinx()
    right.plot(*zip(*checks, strict=True), marker="o", color="tab:blue")
    right.set_ylabel("validation Pearson")
    figure.tight_layout()
    figure.savefig(folder / "curve.png", dpi=120)
