"""The shop of exercise 16-18s: a program that writes clicks to a topic, as fast as they come.
`python -m … FOLDER SUPERVISOR-PID SERVERS SEED` runs it until the cluster ends.
"""

import asyncio
import json
import os
import sys
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from kafka_edu.cli.client_trace import client_tracer
from kafka_edu.clients.producer.producer import Producer
from kafka_edu.supervisor.cluster_folder import ClusterFolder
from kafka_edu.trace.tracer import Tracer

from ...lab_program import while_cluster_is_up, write_notes
from .material import HOT_KEY, HOT_OF, KEPT_BACK, MOST_ROWS, OTHER_KEYS, RATE, TOPIC, plan

NOTES: Final = "shop.json"
QUERY_NOTES: Final = "query.json"
RUSH_ORDERS: Final = "rush.txt"
"""The file in the cluster's folder with the number of rush hours that were requested."""
LOOK_EVERY_S: Final = 0.25
BACKLOG: Final = 600
"""The number of clicks in the topic before the query starts."""
RUSH: Final = MOST_ROWS
"""The number of clicks of a rush hour. They come at once. One micro-batch cannot take all of them
and the other new clicks.
"""
PAGES: Final = 40
FRESH_MS: Final = 2_000
"""The age of metadata, in ms, so that new partitions are found soon."""


class Sold(NamedTuple):
    """The shop's notes."""

    pid: int
    written: int
    """The clicks that are in the log."""
    rushes: int
    """How many rush hours there were."""


class Shop:
    """The shop. It gets a click every 1 / RATE s."""

    def __init__(self, folder: Path, supervisor: int, servers: str, seed: int) -> None:
        self._folder = folder
        self._is_up = while_cluster_is_up(folder, supervisor)
        self._servers = servers
        self._random = Random(seed)
        self._has_keys = plan(seed).has_keys
        self._sent = self._written = self._rushes = 0

    async def run(self, trace: Tracer) -> None:
        """Write clicks as long as the cluster is up."""
        config = {
            "bootstrap.servers": self._servers,
            "client.id": "shop",
            "acks": "all",
            "batch.size": 1,  # the clicks of many small programs come one by one
            "linger.ms": 0,
            "metadata.max.age.ms": FRESH_MS,
        }
        if not self._has_keys:
            config["partitioner.class"] = "RoundRobinPartitioner"
        loop = asyncio.get_running_loop()
        producer = await Producer(config, trace=trace).start()
        await self._write(producer, BACKLOG)
        await producer.flush()
        last_s, due = loop.time(), 0.0
        while self._is_up():
            now_s = loop.time()
            due, last_s = due + (now_s - last_s) * RATE, now_s
            come = int(due)
            due -= come
            if self._sent - brought(self._folder) < KEPT_BACK:
                await self._write(producer, come)
            if orders_of(self._folder) > self._rushes:
                await self._write(producer, RUSH)
                await producer.flush()
                self._rushes += 1
            notes = Sold(os.getpid(), self._written, self._rushes)
            write_notes(self._folder / NOTES, notes._asdict())
            await asyncio.sleep(LOOK_EVERY_S)

    async def _write(self, producer: Producer, clicks: int) -> None:
        for _ in range(clicks):
            self._sent += 1
            key = self.key_of(self._sent) if self._has_keys else None
            value = f"{self._sent} /page/{self._random.randrange(PAGES)}".encode()
            await producer.send(TOPIC, value, key, on_delivery=self._ended)

    def key_of(self, number: int) -> bytes:
        """Return the key of a click: one of OTHER_KEYS for each HOT_OF-th click, else HOT_KEY."""
        key = self._random.choice(OTHER_KEYS) if number % HOT_OF == 0 else HOT_KEY
        return key.encode()

    def _ended(self, metadata: object, _: object) -> None:
        self._written += metadata is not None


def brought(folder: Path) -> int:
    """Return how many clicks the query has written, from its notes in the cluster's folder."""
    try:
        notes = json.loads((folder / QUERY_NOTES).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return 0
    return sum(notes["ends"].values())


def orders_of(folder: Path) -> int:
    """Return how many rush hours were requested from the shop."""
    try:
        return int((folder / RUSH_ORDERS).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return 0


async def _main() -> None:
    folder, supervisor, servers, seed = sys.argv[1:]
    home = Path(folder)
    shop = Shop(home, int(supervisor), servers, int(seed))
    async with client_tracer(ClusterFolder(home)) as trace:
        await shop.run(trace)
        os._exit(0)  # the cluster is gone: nobody would answer a producer that closes


if __name__ == "__main__":
    asyncio.run(_main())
