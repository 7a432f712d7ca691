"""The billing program and the shop of exercise 14-6: some members of a group, and a producer that
sends orders at fixed times. `python -m … FOLDER SUPERVISOR-PID SERVERS SETTINGS OPEN` runs it until
the cluster ends. OPEN lists the partitions that get orders.
"""

import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from kafka_edu.cli.client_trace import client_tracer
from kafka_edu.clients.client_errors import ClientException
from kafka_edu.clients.consumer.consumer import Consumer
from kafka_edu.clients.producer.producer import Producer
from kafka_edu.clients.producer.producer_batch import RecordMetadata
from kafka_edu.common.errors import KafkaException
from kafka_edu.supervisor.cluster_folder import ClusterFolder
from kafka_edu.trace.tracer import Tracer

from ...lab_program import SettingsFile, while_cluster_is_up, write_notes
from .material import GROUP, OTHER, RATE, TOPIC

NOTES: Final = "billing.json"
LOOKS_EVERY: Final = RATE // 4
"""After this number of orders the program writes its notes and reads its settings."""
MOST_MEMBERS: Final = 4


class Read(NamedTuple):
    """The records of one partition that were read since the billing program began."""

    lowest: int
    behind: int
    """The highest offset that was read, plus 1."""
    distinct: int
    """How many different records were read."""


class Seen(NamedTuple):
    """The notes of the billing."""

    pid: int
    file: str
    """The path of the settings."""
    members: int
    """The members that are in the group, or join it."""
    complaint: str
    """Why the newest settings cannot be used. Empty if they are used."""
    sent: int
    """The orders and refunds that have come since the billing began, and are acknowledged."""
    read: dict[str, Read]
    """Partition → its records that were read."""


class Billing:
    """The members of the group, and the shop."""

    def __init__(
        self, folder: Path, supervisor: int, servers: str, file: Path, partitions: Sequence[int]
    ) -> None:
        self._notes = folder / NOTES
        self._is_up = while_cluster_is_up(folder, supervisor)
        self._servers = servers
        self._settings = SettingsFile(file)
        self._open = partitions
        self._error = ""
        """The error that keeps the members from their work. Empty if they work."""
        self._sent = 0
        self._read: dict[str, set[int]] = {}
        self._members: dict[asyncio.Task[None], asyncio.Event] = {}

    async def run(self, trace: Tracer) -> None:
        """Work as long as the cluster is up."""
        number = 0
        producer = await Producer({"bootstrap.servers": self._servers}, trace=trace).start()
        while self._is_up():
            self._look_at_settings(trace)
            for _ in range(LOOKS_EVERY):
                number += 1
                await self._sell(producer, number)
                await asyncio.sleep(1 / RATE)
            self._write_notes()

    async def _sell(self, producer: Producer, number: int) -> None:
        """Let an order and a refund come."""
        partition = self._open[number % len(self._open)]
        for topic, chosen in ((TOPIC, partition), (OTHER, 0)):
            value = f"new {number}".encode()
            await producer.send(topic, value, partition=chosen, on_delivery=self._ended)

    def _ended(self, metadata: RecordMetadata | None, error: KafkaException | None) -> None:
        if metadata is not None:
            self._sent += 1

    def _look_at_settings(self, trace: Tracer) -> None:
        """If the settings have changed, let members join or leave."""
        settings = self._settings.changed()
        if settings is None:
            return
        wanted = settings.get("members", "")
        if not wanted.isdecimal() or int(wanted) > MOST_MEMBERS:
            why = f"members={wanted}: a number from 0 to {MOST_MEMBERS} is wanted"
            self._settings.refused = why
            return
        self._error = ""
        staying = [leave for leave in self._members.values() if not leave.is_set()]
        for leave in staying[int(wanted) :]:
            leave.set()
        for _ in range(int(wanted) - len(staying)):
            leave = asyncio.Event()
            member = asyncio.create_task(self._bill(leave, trace))
            self._members[member] = leave
            member.add_done_callback(self._members.pop)

    async def _bill(self, leave: asyncio.Event, trace: Tracer) -> None:
        """Be a member of the group until `leave` is set."""
        config = {
            "bootstrap.servers": self._servers,
            "group.id": GROUP,
            "enable.auto.commit": False,
            "auto.offset.reset": "none",
            "session.timeout.ms": 30_000,
        }
        async with Consumer(config, trace=trace) as consumer:
            consumer.subscribe([TOPIC, OTHER])
            while not leave.is_set():
                try:
                    records = await consumer.poll(100)
                    for record in records:
                        name = f"{record.topic}-{record.partition}"
                        self._read.setdefault(name, set()).add(record.offset)
                    if records:
                        await consumer.commit()
                except ClientException as error:  # a rebalance, or an offset that is not there
                    self._error = str(error) if not error.error.retriable else ""
                    await asyncio.sleep(0.1)

    def _write_notes(self) -> None:
        read = {
            name: Read(min(offsets), max(offsets) + 1, len(offsets))
            for name, offsets in sorted(self._read.items())
        }
        seen = Seen(
            os.getpid(),
            str(self._settings.file),
            len(self._members),
            self._settings.complaint or self._error,
            self._sent,
            read,
        )
        write_notes(self._notes, seen._asdict())


async def _main() -> None:
    folder, supervisor, servers, file, partitions = sys.argv[1:]
    home = Path(folder)
    chosen = [int(one) for one in partitions.split(",")]
    billing = Billing(home, int(supervisor), servers, Path(file), chosen)
    async with client_tracer(ClusterFolder(home)) as trace:
        await billing.run(trace)
        os._exit(0)  # the members would wait for the brokers, which are gone


if __name__ == "__main__":
    asyncio.run(_main())
