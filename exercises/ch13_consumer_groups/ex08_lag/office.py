"""The office of exercise 13-8: a program that writes orders, and a group of workers that handle
them. `python -m … FOLDER SUPERVISOR-PID SERVERS SETTINGS` runs it until the cluster ends.
"""

import asyncio
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from kafka_edu.cli.client_trace import client_tracer
from kafka_edu.clients.client_errors import ClientException
from kafka_edu.clients.consumer.consumer import Consumer
from kafka_edu.clients.producer.producer import Producer
from kafka_edu.common.config_def import ConfigException
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.supervisor.cluster_folder import ClusterFolder
from kafka_edu.trace.tracer import Tracer

from ...lab_program import SettingsFile, while_cluster_is_up, write_notes
from .material import GROUP, MOST_WORKERS, RATE, TOPIC, WORK_MS

NOTES: Final = "office.json"
LOOK_EVERY_S: Final = 0.25
POLL_MS: Final = 500
BACKLOG: Final = 1_200
"""The number of orders that are in the topic before the first worker starts."""
FRESH_MS: Final = 2_000
"""The largest age of metadata, in ms. It is small, so new partitions are found soon."""
WORKERS_KEY: Final = "workers"


class Seen(NamedTuple):
    """The office's notes."""

    pid: int
    file: str
    """The path of the settings."""
    workers: int
    """How many workers there are."""
    complaint: str
    """Why the office could not use the newest settings. Empty if it uses them."""
    shift: int
    """The number of the current workers' shift. New settings begin a new shift."""
    written: int
    """The orders that are in the log."""
    handled: int
    """How many times an order was handled."""
    refused: int
    """The commits that were refused."""
    skipped: int
    """The unhandled orders that have a handled order after them in their partition."""
    waiting: int
    """The orders that no worker has handled yet."""


class Worker:
    """One member of the group. It handles orders, and commits them after each poll."""

    def __init__(self, office: "Office", consumer: Consumer) -> None:
        self._office = office
        self.consumer = consumer
        self.task = asyncio.create_task(self._work())

    async def _work(self) -> None:
        while True:
            records = await self.consumer.poll(POLL_MS)
            for record in records:
                await asyncio.sleep(WORK_MS / 1_000)
                self._office.handle(TopicPartition(record.topic, record.partition), record.offset)
            if records:
                try:
                    await self.consumer.commit()
                except ClientException:
                    self._office.refused += 1

    async def close(self) -> None:
        """End the work, and leave the group."""
        self.task.cancel()
        await asyncio.wait([self.task])
        await self.consumer.close()


class Office:
    """The producer of the orders, and the workers (group members) with the current settings."""

    def __init__(self, folder: Path, supervisor: int, servers: str, file: Path) -> None:
        self._notes = folder / NOTES
        self._is_up = while_cluster_is_up(folder, supervisor)
        self._servers = servers
        self._settings = SettingsFile(file)
        self._workers: list[Worker] = []
        self._shift = 0
        self._next: dict[TopicPartition, int] = {}
        self._sent = self._written = self._handled = 0
        self.skipped = 0
        self.refused = 0

    def handle(self, partition: TopicPartition, offset: int) -> None:
        """Count an order that was handled."""
        self._handled += 1
        expected = self._next.get(partition, 0)
        self.skipped += max(offset - expected, 0)
        self._next[partition] = max(offset + 1, expected)

    async def run(self, trace: Tracer) -> None:
        """Work as long as the cluster is up."""
        config = {
            "bootstrap.servers": self._servers,
            "client.id": "orders",
            "acks": "all",
            "partitioner.class": "RoundRobinPartitioner",
            "metadata.max.age.ms": FRESH_MS,
        }
        producer = await Producer(config, trace=trace).start()
        await self._write(producer, BACKLOG)
        await producer.flush()
        began = time.monotonic()
        while self._is_up():
            await self._with_new_settings(trace)
            due = BACKLOG + round((time.monotonic() - began) * RATE)
            await self._write(producer, due - self._sent)
            self._write_notes()
            await asyncio.sleep(LOOK_EVERY_S)

    async def _write(self, producer: Producer, orders: int) -> None:
        for _ in range(orders):
            self._sent += 1
            value = f"order {self._sent}".encode()
            await producer.send(TOPIC, value, on_delivery=self._ended)

    def _ended(self, metadata: object, _: object) -> None:
        self._written += metadata is not None

    async def _with_new_settings(self, trace: Tracer) -> None:
        """Replace all workers if the settings have changed."""
        settings = self._settings.changed()
        if settings is None:
            return
        try:
            consumers = self._consumers(settings, trace)
        except (ConfigException, ValueError) as error:
            self._settings.refused = str(error)
            return
        self._shift += 1
        await asyncio.gather(*(worker.close() for worker in self._workers))
        self._workers = []
        for consumer in consumers:
            await consumer.start()
            consumer.subscribe([TOPIC])
            self._workers.append(Worker(self, consumer))

    def _consumers(self, settings: Mapping[str, str], trace: Tracer) -> list[Consumer]:
        """Return a consumer for each worker. Raises ConfigException and ValueError."""
        count = int(settings.get(WORKERS_KEY, "1"))
        if not 0 <= count <= MOST_WORKERS:
            raise ValueError(f"workers={count}: the office has room for {MOST_WORKERS}")
        rest = {key: value for key, value in settings.items() if key != WORKERS_KEY}
        fixed = {
            "bootstrap.servers": self._servers,
            "group.id": GROUP,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "metadata.max.age.ms": FRESH_MS,
        }
        return [
            Consumer({**rest, **fixed, "client.id": f"office-{number}"}, trace=trace)
            for number in range(1, count + 1)
        ]

    def _write_notes(self) -> None:
        ended = [one for one in self._workers if one.task.done()]
        why = f"a worker has ended: {ended[0].task.exception()}" if ended else ""
        seen = Seen(
            pid=os.getpid(),
            file=str(self._settings.file),
            workers=len(self._workers),
            complaint=self._settings.complaint or why,
            shift=self._shift,
            written=self._written,
            handled=self._handled,
            refused=self.refused,
            skipped=self.skipped,
            waiting=self._written - sum(self._next.values()),
        )
        write_notes(self._notes, seen._asdict())


async def _main() -> None:
    folder, supervisor, servers, file = sys.argv[1:]
    home = Path(folder)
    office = Office(home, int(supervisor), servers, Path(file))
    async with client_tracer(ClusterFolder(home)) as trace:
        await office.run(trace)
        os._exit(0)  # the cluster is gone: nobody would answer a consumer that closes


if __name__ == "__main__":
    asyncio.run(_main())
