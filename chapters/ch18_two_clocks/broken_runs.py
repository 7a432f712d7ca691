"""Runs of a simulated cluster whose client breaks determinism, each in a different way.

    python -m chapters.ch18_two_clocks.broken_runs NAME

This command plays the run NAME once, and prints each fact as a line of JSON: its virtual time, its
words, its bytes. The job `breaks` starts the command twice with two hash seeds, because a process
cannot change its own hash seed.
"""

import json
import random
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from kafka_edu.common.errors import Errors
from kafka_edu.common.python_process import python_command, python_environment
from kafka_edu.sim.no_log import no_log
from kafka_edu.sim.seeded_random import SeededRandom
from kafka_edu.sim.sim_client import SimClient
from kafka_edu.sim.sim_cluster import SimCluster, coroutines_of_dead_processes

from .fact_trail import FactTrail, TrailFact

TOPICS: Final = ("red", "green", "blue", "white", "black")
SEED: Final = 7
AFTER_MS: Final = 500
LOOK_EVERY_MS: Final = 50
POLL_MS: Final = 0.01
WORK: Final = 200_000
"""How far the thread counts. It takes some real ms."""

Waits = Callable[[SimCluster], Awaitable[None]]


async def _nothing(_: SimCluster) -> None: ...


async def _wall_clock(cluster: SimCluster) -> None:
    """Wait until the next full second, by the clock of this computer."""
    await cluster.time.sleep(1_000 - time.time_ns() % 1_000_000_000 / 1e6)


async def _thread(cluster: SimCluster) -> None:
    """Wait for a thread of this computer, and look for its end every POLL_MS of virtual time."""
    looked = threading.Event()

    def work() -> None:
        looked.wait()  # else a fast thread ends before anybody looks, in each run
        for _ in range(WORK):  # a loop in Python, so that the other thread can look meanwhile
            pass

    worker = threading.Thread(target=work)
    worker.start()
    while worker.is_alive():
        await cluster.time.sleep(POLL_MS)
        looked.set()


async def _chance(cluster: SimCluster) -> None:
    """Wait for a time that Python's own random generator draws, without a given seed."""
    await cluster.time.sleep(random.uniform(0, 1_000))


ORDER: Final = "set-order"
#: The name of each run → what its client waits for before it creates its topics.
RUNS: Final[Mapping[str, Waits]] = {
    "sound": _nothing,
    ORDER: _nothing,
    "wall-clock": _wall_clock,
    "thread": _thread,
    "chance": _chance,
}
WORDS: Final[Mapping[str, str]] = {
    "sound": "the same run again",
    ORDER: "the order of a set, with two hash seeds",
    "wall-clock": "a client looks at the wall clock",
    "thread": "a client waits for a thread",
    "chance": "a client uses Python's own random numbers",
}


def play_once(
    name: str, seed: int = SEED, *, watched: bool = False, waits: Waits | None = None
) -> FactTrail:
    """Start three brokers, and let a client create five topics. Return all facts.

    With `watched`, the state of all brokers is read every LOOK_EVERY_MS. With `waits`, the client
    calls this function before it creates the topics, instead of the one in RUNS.
    """
    wait = RUNS[name] if waits is None else waits
    with no_log(), coroutines_of_dead_processes():
        cluster = SimCluster(seed, make_random=SeededRandom)
        trail = FactTrail(cluster)
        cluster.sink.listeners.append(trail.add)
        cluster.start_all()
        client = SimClient(cluster)
        #: The order of a set depends on the hash seed of the process.
        topics = list(set(TOPICS)) if name == ORDER else sorted(TOPICS)

        async def create() -> None:
            await wait(cluster)
            for topic in topics:
                made = await client.create_topic(topic, 1, 3)
                assert made is Errors.NONE, made

        cluster.run_as(client.process, create())
        end_ms = cluster.time.hi_res_clock_ms() + AFTER_MS
        while (left := end_ms - cluster.time.hi_res_clock_ms()) > 0:
            cluster.advance(min(left, LOOK_EVERY_MS))
            if watched:
                look(cluster)
        cluster.close()
    return trail


def look(cluster: SimCluster) -> int:
    """Take a snapshot of every broker, as a dashboard does. Return the number of events in them."""
    tracers = [broker.tracer for broker in cluster.brokers.values() if broker.tracer is not None]
    return sum(len(list(tracer.snapshot())) for tracer in tracers)


def with_hash_seed(name: str, hash_seed: int) -> list[TrailFact]:
    """Play a run in a process of its own that has this hash seed."""
    done = subprocess.run(
        python_command(__name__, name),
        env={**python_environment(), "PYTHONHASHSEED": str(hash_seed)},
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    read = (json.loads(line) for line in done.stdout.splitlines())
    return [TrailFact(at_ms, text, line.encode("latin-1")) for at_ms, text, line in read]


def both_runs(name: str) -> tuple[list[TrailFact], list[TrailFact]]:
    """Play a run twice. For the order of a set this takes two processes."""
    if name == ORDER:
        return with_hash_seed(name, 1), with_hash_seed(name, 2)
    return play_once(name).facts, play_once(name).facts


if __name__ == "__main__":
    for fact in play_once(sys.argv[1]).facts:
        print(json.dumps((fact.at_ms, fact.text, fact.line.decode("latin-1"))))
