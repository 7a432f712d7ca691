"""The shop of exercise 06-6: an application that writes and reads numbered orders. It saves notes
about its results in a file. `python -m … FOLDER SUPERVISOR-PID SERVERS ZOOKEEPER TOPIC GIVES-UP-MS`
runs it until the cluster ends.

The shop uses confluent-kafka, because a real application uses a client that we did not write.
"""

import json
import os
import sys
import threading
import time
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer

from ...lab_program import while_cluster_is_up, write_notes

NOTES: Final = "shop.json"
GROUP: Final = "shop"
EVERY_S: Final = 0.1
"""The time in s between two orders, and also between two checks of the ISR."""
WRITES_EVERY_S: Final = 0.3


class Seen(NamedTuple):
    """The shop's notes: everything it has seen so far."""

    pid: int
    sent: int
    acked: int
    given_up: dict[str, int]
    """The number of orders that were given up, by the name of the error."""
    read: int
    failed_to_read: dict[str, int]
    tried_again: int
    """The number of requests that the client repeated by itself."""
    slowest_ms: int
    """The longest time in ms from an order to its acknowledgement."""
    fewest_in_sync: int
    settled: int
    """All orders with a number below this one have been acknowledged or given up."""
    refused: list[int]
    """The numbers of the orders that were given up."""


class Shop:
    """The shop. One thread sends orders, one thread reads them, and one thread looks at the ISR."""

    def __init__(
        self,
        folder: Path,
        supervisor: int,
        servers: str,
        zookeeper: str,
        topic: str,
        gives_up_ms: int,
    ) -> None:
        self._notes = folder / NOTES
        self._is_up = while_cluster_is_up(folder, supervisor)
        self._servers = servers
        self._zookeeper = zookeeper
        self._topic = topic
        self._gives_up_ms = gives_up_ms
        self._lock = threading.Lock()
        self._sent = 0
        self._open: dict[int, float] = {}
        """The orders without an answer: order number → when it was sent."""
        self._refused: list[int] = []
        self._given_up: Counter[str] = Counter()
        self._read = 0
        self._failed_to_read: Counter[str] = Counter()
        self._slowest_s = 0.0
        self._fewest_in_sync = sys.maxsize
        self._tried_again = 0

    def run(self) -> None:
        """Work as long as the cluster is up."""
        for work in (self._send_orders, self._read_orders, self._look_at_isr):
            threading.Thread(target=work, name=work.__name__, daemon=True).start()
        while self._is_up():
            write_notes(self._notes, self._seen()._asdict())
            time.sleep(WRITES_EVERY_S)

    def _send_orders(self) -> None:
        producer = Producer(
            {
                "bootstrap.servers": self._servers,
                "acks": "all",
                "linger.ms": 0,
                "enable.idempotence": True,
                "message.timeout.ms": self._gives_up_ms,
                "socket.timeout.ms": self._gives_up_ms // 2,
                "statistics.interval.ms": 1_000,
                "stats_cb": self._statistics,
                "log_level": 0,
            }
        )
        while True:
            number = self._sent
            with self._lock:
                self._open[number] = time.monotonic()
                self._sent += 1
            producer.produce(
                self._topic, f"order {number}", on_delivery=partial(self._ended, number)
            )
            next_order = time.monotonic() + EVERY_S
            while (left := next_order - time.monotonic()) > 0:
                producer.poll(left)

    def _statistics(self, text: str) -> None:
        brokers = json.loads(text)["brokers"].values()
        self._tried_again = sum(broker["txretries"] for broker in brokers)

    def _ended(self, number: int, error: KafkaError | None, _where: Message) -> None:
        with self._lock:
            took_s = time.monotonic() - self._open.pop(number)
            if error is None:
                self._slowest_s = max(self._slowest_s, took_s)
            else:
                self._refused.append(number)
                self._given_up[error.name()] += 1

    def _read_orders(self) -> None:
        consumer = Consumer(
            {
                "bootstrap.servers": self._servers,
                "group.id": GROUP,
                "auto.offset.reset": "earliest",
                "log_level": 0,
            }
        )
        consumer.subscribe([self._topic])
        while True:
            try:
                message = consumer.poll(0.5)
                if message is None:
                    continue
                error = message.error()
                if error is None:
                    self._read += 1
                else:
                    self._failed_to_read[error.name()] += 1
            except KafkaException as error:
                self._failed_to_read[error.args[0].name()] += 1

    def _look_at_isr(self) -> None:
        from kazoo.client import KazooClient  # type: ignore[import-untyped]  # kazoo has no types

        zookeeper = KazooClient(self._zookeeper)
        zookeeper.start()
        path = f"/brokers/topics/{self._topic}/partitions/0/state"
        while True:
            state = json.loads(zookeeper.retry(zookeeper.get, path)[0])
            self._fewest_in_sync = min(self._fewest_in_sync, len(state["isr"]))
            time.sleep(EVERY_S)

    def _seen(self) -> Seen:
        with self._lock:
            settled = min(self._open, default=self._sent)
            return Seen(
                os.getpid(),
                self._sent,
                self._sent - len(self._open) - len(self._refused),
                dict(self._given_up),
                self._read,
                dict(self._failed_to_read),
                self._tried_again,
                round(self._slowest_s * 1000),
                self._fewest_in_sync,
                settled,
                self._refused[:1_000],
            )


def main() -> None:
    """Run the shop with the arguments of the command line."""
    folder, supervisor, servers, zookeeper, topic, gives_up_ms = sys.argv[1:]
    Shop(Path(folder), int(supervisor), servers, zookeeper, topic, int(gives_up_ms)).run()


if __name__ == "__main__":
    main()
