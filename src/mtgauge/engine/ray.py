"""Workers on a Ray cluster (`--engine ray`, extra `ray`): actors that hold the models.

    with open_place(Where("ray", workers=2)) as place: ...                a cluster of this machine
    with open_place(Where("ray", address="10.0.0.1:6379")) as place: ...  one that runs

Each actor takes one core, and one GPU where the cluster has some and a metric has a hub encoder (or
`--device cuda` was said). Without `workers` there are as many as the cluster has cores or GPUs; of
more than it has room for, the rest begin as soon as a node with room joins. An actor that is lost
(killed, out of memory, its node gone) is made anew where there is room.

Nodes need the same mtgauge, Python and Ray. The precision of a hub encoder is part of a signature,
so where the nodes have GPUs and this process has none, say it: `encode.configure(dtype=...)`.

Ray's usage reports and its dashboard are off, and a cluster started here listens on this machine
only. Limits: one cluster per process at a time.
"""

from __future__ import annotations

import logging
import os
import socket
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from mtgauge.data.segments import Segments
from mtgauge.encode.load import current_settings
from mtgauge.encode.model_folder import model_folder
from mtgauge.encode.runtime import cores
from mtgauge.engine.places import Tables, Where
from mtgauge.engine.pool import Died, Pool
from mtgauge.engine.ready import Ready
from mtgauge.engine.worker import Message, Worker, thread_limits
from mtgauge.errors import ResourceError

PATIENCE = 60.0  # seconds that a cluster without room is waited for
ANSWER = 30.0  # seconds within which a cluster must answer at its address
_POLL = 0.2


def library() -> Any:
    """Ray, with its reports to its makers off."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ["RAY_ENABLE_AUTO_CONNECT"] = "0"  # no cluster that nobody asked for
    os.environ["RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"] = "0"  # and without a warning of it
    try:
        import ray
    except ImportError:
        raise ResourceError(
            "--engine ray needs Ray: pip install 'mtgauge[ray]', here and on the nodes."
        ) from None
    return ray


class RayWorker:
    """One actor; `peers` are all workers of its pool."""

    def __init__(self, gpu: bool, threads: int, peers: list[RayWorker]) -> None:
        self.gpu, self.threads, self.peers = gpu, threads, peers
        self.up = False
        self._actor: Any = None

    def start(self, wanted: Callable[[], bool]) -> None:
        ray = library()
        self._actor = (
            ray.remote(Worker)
            .options(
                num_cpus=1,
                num_gpus=1 if self.gpu else 0,
                max_restarts=0,  # the pool replaces it, and scores its shard again
                runtime_env={"env_vars": thread_limits(self.threads)},
            )
            .remote()
        )
        waiting = [self._actor.__ray_ready__.remote()]
        began = time.monotonic()
        while not ray.wait(waiting, timeout=_POLL)[0]:
            if not wanted():
                return
            late = time.monotonic() - began > PATIENCE
            if late and not any(peer.up for peer in self.peers):
                raise ResourceError(
                    f"The Ray cluster has had no room for a worker for {PATIENCE:.0f} s: each "
                    f"needs a core{' and a GPU' if self.gpu else ''}. Free some, or add a node."
                )
        try:
            ray.get(waiting[0])
        except ray.exceptions.RayError as fault:
            raise ResourceError(_cannot_start(fault)) from None
        self.up = True

    def ask(self, question: Message) -> Message:
        ray = library()
        try:
            answer: Message = ray.get(self._actor.answer.remote(question))
        except ray.exceptions.RayTaskError as fault:  # `answer` itself never raises
            raise ResourceError(f"A Ray worker failed ({_first(fault)}).") from None
        except (ray.exceptions.RayError, ConnectionError) as fault:
            raise Died(_first(fault)) from None
        return answer

    def stop(self) -> None:
        self.up = False
        actor, self._actor = self._actor, None
        ray = library()
        if actor is not None and ray.is_initialized():
            ray.kill(actor)


class RayPool(Pool):
    """Actors, and the connection to their cluster."""

    def __init__(self, where: Where) -> None:
        super().__init__("Ray", [])
        self.where = where
        ray = library()
        self._mine = not ray.is_initialized()  # the connection is made here, and ours to end
        if self._mine:
            _connect(ray, where)

    def run(self, metrics: Mapping[str, Ready], batches: Iterable[Segments]) -> Iterator[Tables]:
        if metrics and not self.workers:  # only now it is known whether they want a GPU
            room = library().cluster_resources()
            gpus = int(room.get("GPU", 0)) if any(map(_wants_gpu, metrics.values())) else 0
            count = self.where.workers or gpus or max(1, int(room.get("CPU", 1)))
            threads = 1 if self.where.address is not None else max(1, cores() // count)
            peers: list[RayWorker] = []
            peers += [RayWorker(gpus > 0, threads, peers) for _ in range(count)]
            self.workers += peers
        return super().run(metrics, batches)

    def close(self) -> None:
        super().close()
        ray = library()
        if self._mine and ray.is_initialized():
            ray.shutdown()


def _wants_gpu(ready: Ready) -> bool:
    device = current_settings().device
    if device != "auto":
        return device.startswith("cuda") and ready.metric.uses_device
    encoder = ready.metric.params().get("encoder", "embedded")
    return ready.metric.uses_device and model_folder(encoder, "encoder") is None


def _connect(ray: Any, where: Where) -> None:
    if where.address is not None:
        _refuse_nothing_there(where.address)
    quiet = {"log_to_driver": False, "logging_level": logging.ERROR, "configure_logging": True}
    try:
        with _hushed():
            if where.address is not None:
                ray.init(address=where.address, **quiet)
            else:
                ray.init(
                    num_cpus=max(cores(), where.workers or 1),
                    include_dashboard=False,
                    _node_ip_address="127.0.0.1",
                    **quiet,
                )
    except (ConnectionError, TimeoutError, ValueError) as fault:
        if where.address is not None:
            raise _no_cluster(where.address, _first(fault)) from None
        raise ResourceError(f"Ray cannot be started here ({_first(fault)}).") from None
    except RuntimeError as fault:  # Ray refuses another Python or another Ray in this way
        raise ResourceError(
            f"The Ray cluster at {where.address or 'this machine'} cannot be used "
            f"({_first(fault)}). It needs the Python and the Ray of this process."
        ) from None


def _refuse_nothing_there(address: str) -> None:
    """Ray itself would try a wrong address for ever."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not port.isdigit():  # "auto", or a name of Ray's own
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
    except (OSError, OverflowError) as fault:
        raise _no_cluster(address, str(fault)) from None
    ask = [sys.executable, "-P", "-m", "ray.scripts.scripts", "status", "--address", address]
    try:
        subprocess.run(ask, capture_output=True, timeout=ANSWER, check=True)
    except subprocess.TimeoutExpired:
        raise _no_cluster(address, "what listens there does not answer") from None
    except subprocess.CalledProcessError as fault:
        said = fault.stderr.decode(errors="replace").strip().splitlines()
        raise _no_cluster(address, said[-1] if said else "it does not answer") from None


def _no_cluster(address: str, reason: str) -> ResourceError:
    return ResourceError(
        f"There is no Ray cluster at {address} that can be used ({reason.rstrip('.')}). Start one "
        "with ray start --head, or leave the address out: one is started on this machine."
    )


def _cannot_start(fault: Exception) -> str:
    text = str(fault)
    if "ModuleNotFoundError" in text or "No module named" in text:
        return "The nodes of the Ray cluster have no mtgauge: install the version of this process."
    return f"A Ray worker cannot be started ({_first(fault)})."


def _first(fault: Exception) -> str:
    """The first line of what Ray says, without the full stop."""
    lines = [line.strip() for line in str(fault).splitlines() if line.strip()]
    return (lines[0] if lines else type(fault).__name__).rstrip(".")


@contextmanager
def _hushed() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
