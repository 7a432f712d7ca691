"""The shop of exercise 12-7: a program with our producer. Orders come at fixed times. An order that
comes while `send()` still waits for memory is refused. `python -m … FOLDER SUPERVISOR-PID SERVERS
TOPIC SETTINGS` runs it until the cluster ends.
"""

import asyncio
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from kafka_edu.cli.client_trace import client_tracer
from kafka_edu.clients.producer.producer import Producer
from kafka_edu.clients.producer.producer_batch import RecordMetadata
from kafka_edu.common.config_def import ConfigException
from kafka_edu.common.errors import KafkaException
from kafka_edu.supervisor.cluster_folder import ClusterFolder
from kafka_edu.trace.tracer import Tracer

from ...lab_program import SettingsFile, while_cluster_is_up, write_notes
from .material import RATE

NOTES: Final = "shop.json"
LOOKS_EVERY: Final = RATE // 4
"""After this number of orders the shop writes its notes and reads its settings."""
ORDER_BYTES: Final = 100


class Seen(NamedTuple):
    """The shop's notes."""

    pid: int
    file: str
    """The path of the settings."""
    settings: dict[str, str]
    """The settings of the current producer."""
    complaint: str
    """Why the shop could not use the newest settings. Empty if it uses them."""
    producer: int
    """The number of the current producer. New settings need a new producer."""
    taken: int
    """The orders that this producer has put into its buffer, or wants to put there."""
    turned_away: int
    """The orders that came while `send()` waited."""
    in_a_row: int
    """The orders accepted since the last one that was refused."""
    acked: int
    failed: int
    acked_in_all: int
    """The acknowledged orders of all producers so far."""


class Till:
    """One producer of the shop, and the results of its orders."""

    def __init__(self, shop: "Shop", number: int, producer: Producer, settings: Mapping[str, str]):
        self._shop = shop
        self.number = number
        self.producer = producer
        self.settings = dict(settings)
        self.taken = self.turned_away = self.in_a_row = self.acked = self.failed = 0
        self._sending: asyncio.Task[object] | None = None

    def order(self, topic: str, number: int) -> None:
        """Accept an order, or refuse it because `send()` still waits with the previous order."""
        if self._sending is not None and not self._sending.done():
            self.turned_away += 1
            self.in_a_row = 0
            return
        self.taken += 1
        self.in_a_row += 1
        value = f"order {number} ".encode().ljust(ORDER_BYTES, b".")
        self._sending = asyncio.create_task(
            self.producer.send(topic, value, partition=0, on_delivery=self._ended)
        )

    def _ended(self, metadata: RecordMetadata | None, error: KafkaException | None) -> None:
        if metadata is not None:
            self.acked += 1
            self._shop.acked += 1
        elif error is not None:
            self.failed += 1


class Shop:
    """The shop. Only the newest Till takes orders. Older ones wait for their last answers."""

    def __init__(self, folder: Path, supervisor: int, servers: str, topic: str, file: Path) -> None:
        self._notes = folder / NOTES
        self._is_up = while_cluster_is_up(folder, supervisor)
        self._servers = servers
        self._topic = topic
        self._settings = SettingsFile(file)
        self.acked = 0
        self._closing: set[asyncio.Task[None]] = set()

    async def run(self, trace: Tracer) -> None:
        """Work as long as the cluster is up."""
        till: Till | None = None
        number = 0
        while self._is_up():
            till = await self._with_new_settings(till, trace)
            for _ in range(LOOKS_EVERY):
                if till is not None:
                    number += 1
                    till.order(self._topic, number)
                await asyncio.sleep(1 / RATE)
            if till is not None:
                self._write_notes(till)

    async def _with_new_settings(self, till: Till | None, trace: Tracer) -> Till | None:
        """Return a Till with a new producer if the settings have changed, else the old Till."""
        settings = self._settings.changed()
        if settings is None:
            return till
        number = till.number + 1 if till is not None else 1
        fixed = {"bootstrap.servers": self._servers, "client.id": f"shop-{number}"}
        try:
            producer = Producer(settings | fixed, trace=trace)
            await producer.start()
        except (KafkaException, ConfigException) as error:
            self._settings.refused = str(error)
            return till
        if till is not None:
            closing = asyncio.create_task(till.producer.close())
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)
        return Till(self, number, producer, settings)

    def _write_notes(self, till: Till) -> None:
        seen = Seen(
            os.getpid(),
            str(self._settings.file),
            till.settings,
            self._settings.complaint,
            till.number,
            till.taken,
            till.turned_away,
            till.in_a_row,
            till.acked,
            till.failed,
            self.acked,
        )
        write_notes(self._notes, seen._asdict())


async def _main() -> None:
    folder, supervisor, servers, topic, file = sys.argv[1:]
    home = Path(folder)
    shop = Shop(home, int(supervisor), servers, topic, Path(file))
    async with client_tracer(ClusterFolder(home)) as trace:
        await shop.run(trace)
        os._exit(0)  # a producer with unacknowledged orders would wait for them


if __name__ == "__main__":
    asyncio.run(_main())
