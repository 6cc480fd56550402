"""Ray: actors that die, nodes that come and go, addresses without a cluster. One small cluster."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import numpy as np
import pytest

from engine.test_places import BATCH, TASK
from mtgauge.engine import ray as module
from mtgauge.engine.places import Here, Where, shards
from mtgauge.engine.pool import Died
from mtgauge.engine.ray import RayPool, RayWorker, library
from mtgauge.engine.ready import serve
from mtgauge.engine.worker import Worker, about
from mtgauge.errors import ResourceError

pytest.importorskip("ray", reason="the extra ray is not installed")
EXPECTED = [tables["chrf"] for tables in Here().run(serve(["chrf"], TASK)[0], shards(BATCH, 2))]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A head with room for one actor."""
    library()
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    yield made
    library().shutdown()
    made.shutdown()


def slowly(place: RayPool, pause: float = 0.05) -> Iterator[np.ndarray]:
    for tables in place.run(serve(["chrf"], TASK)[0], shards(BATCH, 2)):
        yield tables["chrf"]
        time.sleep(pause)


def pid(worker: Any) -> int:
    return library().get(worker._actor.__ray_call__.remote(lambda self: os.getpid()))


def up(place: Any) -> int:
    return sum(worker.up for worker in place.workers)


def same(found: list[np.ndarray]) -> None:
    np.testing.assert_array_equal(np.concatenate(found), np.concatenate(EXPECTED))


def test_actors_that_are_killed_are_replaced(cluster) -> None:
    with closing(RayPool(Where("ray", 1, cluster.address))) as place:
        found = []
        for rows in slowly(place):
            found.append(rows)
            if len(found) in (3, 12):
                os.kill(pid(place.workers[0]), signal.SIGKILL)
        same(found)
        assert place.deaths == 2


def test_a_node_joins_and_leaves(cluster) -> None:
    with closing(RayPool(Where("ray", 2, cluster.address))) as place:
        found = []
        for rows in slowly(place):
            found.append(rows)
            if len(found) == 1:  # the second actor has waited for room until now
                assert up(place) == 1
                node = cluster.add_node(num_cpus=1)
                _wait(lambda: up(place) == 2)
            if len(found) == 15:
                cluster.remove_node(node, allow_graceful=False)
        same(found)


def test_versions_that_differ_are_named(cluster, monkeypatch) -> None:
    older = {"code of mtgauge": "older"}
    monkeypatch.setattr("mtgauge.engine.pool.about", lambda given: about(given) | older)
    with (
        closing(RayPool(Where("ray", 1, cluster.address))) as place,
        pytest.raises(ResourceError, match=r"differs from this process in code of mtgauge"),
    ):
        list(slowly(place))


class Hungry(RayWorker):
    """It runs out of memory with its next `meals` shards."""

    meals = 99

    def ask(self, question):
        if "batch" in question and self.meals:  # what Ray's memory monitor raises here
            self.meals -= 1
            self._actor, lost = None, self._actor
            library().kill(lost)
            raise Died(module._first(library().exceptions.OutOfMemoryError("low on memory")))
        return super().ask(question)


def test_an_actor_out_of_memory_is_replaced(cluster) -> None:
    with closing(RayPool(Where("ray", 1, cluster.address))) as place:
        hungry = Hungry(False, 1, [])
        hungry.meals = 1
        place.workers += [hungry]
        same(list(slowly(place)))
        assert place.deaths == 1


def test_a_shard_that_is_always_too_much_is_one_clear_error(cluster) -> None:
    with closing(RayPool(Where("ray", 1, cluster.address))) as place:
        place.workers += [Hungry(False, 1, [])]
        with pytest.raises(ResourceError, match=r"3 times: low on memory\. Use fewer workers"):
            list(slowly(place))


def test_a_cluster_without_room_is_not_waited_for_for_ever(cluster, monkeypatch) -> None:
    monkeypatch.setattr(module, "PATIENCE", 2.0)
    ray = library()
    with closing(RayPool(Where("ray", 1, cluster.address))) as place:
        other = ray.remote(Worker).options(num_cpus=1).remote()
        ray.get(other.__ray_ready__.remote())
        with pytest.raises(ResourceError, match="no room for a worker"):
            list(slowly(place))


def test_an_address_without_a_cluster(monkeypatch) -> None:
    library().shutdown()
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
        monkeypatch.setattr(module, "ANSWER", 2.0)
        with pytest.raises(ResourceError, match="what listens there does not answer"):
            RayPool(Where("ray", address=address))
    with pytest.raises(ResourceError, match=f"no Ray cluster at {address}"):
        RayPool(Where("ray", address=address))
    with pytest.raises(ResourceError, match=r"no Ray cluster at nowhere\.invalid:6379"):
        RayPool(Where("ray", address="nowhere.invalid:6379"))


def test_nothing_is_reported_to_anyone(cluster) -> None:
    assert os.environ["RAY_USAGE_STATS_ENABLED"] == "0"
    from ray._common.usage import usage_lib

    assert not usage_lib.usage_stats_enabled()


def _wait(done, limit: float = 30.0) -> None:
    began = time.monotonic()
    while not done():
        assert time.monotonic() - began < limit
        time.sleep(0.1)
