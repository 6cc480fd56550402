"""What a corpus costs on a cluster that is not here: a simulation, from costs measured here.

    python bench/cluster.py                                  # the table of docs/scale.md
    python bench/cluster.py --cost 3300 --driver 30000       # other costs: us per pair, records/s

The model is how `mtgauge stream --engine ray` works. A driver reads blocks of 2,000 records, hands
them to free workers, takes rows back in order and writes shards; it serves one block at a time
(`driver` records per second, measured by bench/scale.py). A worker takes `cost` microseconds of a
core per pair, times a random factor (log-normal, 20 %: texts differ in length, cores in speed).
Nodes fail (exponentially, once in `mtbf` hours; drawn for every worker) and come back after five
minutes; what was in hand is done again. At most three blocks per worker are under way, and a block
that is late holds back those after it. Several drivers share out files and workers, one output
folder each.

Limits: network and storage are stated as the rates that the run needs, not simulated; they are far
below what links carry (see the printed MB/s). Blocks are enlarged so that a run is at most a
million of them. One seed: over four seeds and three CPU clusters, times of 10^10 pairs differed by
up to 1.4 %, those of 10^8 by up to 26 %, since a run of minutes either meets a failure or does not.
"""

from __future__ import annotations

import argparse
import heapq
from dataclasses import dataclass

import numpy as np

BLOCK = 2000
AHEAD = 3  # blocks per worker under way, as engine/places.py has it
REPAIR = 300.0  # seconds
BYTES_IN, BYTES_OUT = 250, 12  # of a pair to a worker; of its rows back


@dataclass(frozen=True)
class Cluster:
    name: str
    nodes: int
    workers: int  # per node
    seconds: float  # of a worker per pair
    drivers: int = 1


@dataclass(frozen=True)
class Outcome:
    hours: float
    busy: float  # share of the workers' time that was work
    driver: float  # share of the drivers' time
    again: int  # blocks done again, of all drivers

    def print(self, cluster: Cluster, pairs: float) -> None:
        rate = pairs / (self.hours * 3600)
        print(
            f"{cluster.name:34s} {pairs:8.0e} {self.hours:9.2f} h {self.busy:6.0%} "
            f"{self.driver:6.0%} {self.again:6d} {rate:10,.0f} "
            f"{rate * (BYTES_IN + BYTES_OUT) / 1e6:8.1f}"
        )


def simulate(cluster: Cluster, pairs: float, driver: float, mtbf: float, seed: int = 17) -> Outcome:
    """One driver's share; the others have the same."""
    rng = np.random.default_rng(seed)
    share, nodes = pairs / cluster.drivers, cluster.nodes / cluster.drivers
    block = max(BLOCK, share / 1e6)
    many = int(np.ceil(share / block))
    workers = max(1, round(nodes * cluster.workers))
    ahead = AHEAD * workers
    serve = block / driver  # read, hand out, take back, write
    factors = rng.lognormal(0.0, 0.2, many)
    factors /= factors.mean()
    fails = rng.exponential(mtbf * 3600, workers)  # when each worker's node goes next
    free = [(0.0, worker) for worker in range(workers)]
    heapq.heapify(free)
    done = np.empty(many)
    written, again, work = 0.0, 0, 0.0
    clock = 0.0  # of the driver
    for number in range(many):
        if number >= ahead:  # back-pressure: an earlier block must have been written
            clock = max(clock, done[number - ahead])
        clock += serve
        start, worker = heapq.heappop(free)
        start = max(start, clock)
        while start > fails[worker]:  # it failed and came back while it was idle
            fails[worker] += rng.exponential(mtbf * 3600)
        took = block * cluster.seconds * factors[number]
        while start + took > fails[worker]:
            again += 1
            start = fails[worker] + REPAIR
            fails[worker] = start + rng.exponential(mtbf * 3600)
        work += took
        heapq.heappush(free, (start + took, worker))
        written = max(written, start + took)  # in order
        done[number] = written
    total = max(written, clock)
    again *= cluster.drivers
    return Outcome(total / 3600, work / (total * workers), many * serve / total, again)


def clusters(cost: float, gpu: float, driver: float) -> list[Cluster]:
    """Of CPU nodes with 64 cores, one worker per core; of GPU nodes with 8 GPUs.

    With one driver, and with as many as keep the workers busy.
    """
    found = []
    for name, nodes, workers, seconds in (
        ("CPU x 64", 1, 64, cost),
        ("CPU x 64", 10, 64, cost),
        ("CPU x 64", 100, 64, cost),
        ("GPU x 8", 1, 8, 1 / gpu),
        ("GPU x 8", 10, 8, 1 / gpu),
    ):
        needed = int(np.ceil(nodes * workers / seconds / (0.9 * driver)))
        for drivers in dict.fromkeys((1, needed)):
            several = f"{drivers} driver" + ("s" if drivers > 1 else "")
            title = f"{nodes} node{'s' if nodes > 1 else ''} {name}, {several}"
            found.append(Cluster(title, nodes, workers, seconds, drivers))
    return found


def table(cost: float, driver: float, gpu: float, mtbf: float) -> None:
    """Print the table; `cost` in microseconds of a core per pair, `gpu` in pairs per second."""
    print(f"{cost:,.0f} us of a core per pair, {gpu:,.0f} pairs/s per GPU, "
          f"{driver:,.0f} records/s per driver, a node fails once in {mtbf:,.0f} h")  # fmt: skip
    print(f"{'':34s} {'pairs':>8s} {'time':>11s} {'busy':>6s} {'driver':>6s} {'again':>6s} "
          f"{'pairs/s':>10s} {'MB/s':>8s}")  # fmt: skip
    for pairs in (1e8, 1e10):
        for cluster in clusters(cost / 1e6, gpu, driver):
            simulate(cluster, pairs, driver, mtbf).print(cluster, pairs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cost", type=float, default=3300, help="us of a core per pair")
    parser.add_argument("--driver", type=float, default=30_000, help="records per second")
    parser.add_argument(
        "--gpu", type=float, default=26_022, help="pairs per second (bench/contextual_gpu.py)"
    )
    parser.add_argument("--mtbf", type=float, default=1000, help="hours between failures of a node")
    args = parser.parse_args()
    table(args.cost, args.driver, args.gpu, args.mtbf)


if __name__ == "__main__":
    main()
