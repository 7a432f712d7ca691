"""Measure how long a partition has no leader, with two producers on the same partitions.

Both producers use acks=all. The application's probe is confluent-kafka (librdkafka) with its
default retries. It measures what an application experiences. The raw probe does not wait for the
usual retry pause. It sends the record to each broker in turn, every 20 ms, until one accepts it. So
it measures the time of the cluster, with an error of 20 ms for each broker. The difference between
the two is the time that the client library adds.

A gap is the time from a partition's last acknowledgement to its next acknowledgement.
"""

import asyncio
import itertools
import math
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from confluent_kafka import KafkaError, Message, Producer

from kafka_edu.common.errors import Errors
from kafka_edu.common.socket_transport import SocketTransport
from kafka_edu.network.network_client import NetworkClient
from kafka_edu.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from kafka_edu.protocol.types import ProtocolError
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import build_batch

Addresses = Mapping[int, tuple[str, int]]
"""Id of a broker → its host and port."""

EVERY_S: Final = 0.05
"""Seconds between two records of a partition."""
_AGAIN_S: Final = 0.02
_TIMEOUT_MS: Final = 30_000
_FLUSH_S: Final = 60.0
_PRODUCE_VERSION: Final = 7
_VALUE: Final = b"x" * 100


class AckTimes:
    """The times at which each partition's records were acknowledged, in s of the monotonic clock.

    One thread adds times. Other threads may read them.
    """

    def __init__(self, partitions: Iterable[int]) -> None:
        self.of: dict[int, list[float]] = {partition: [] for partition in partitions}

    def note(self, partition: int) -> None:
        self.of[partition].append(time.monotonic())

    def all_acked_after(self, when: float) -> bool:
        """Return whether every partition has an acknowledgement later than `when`."""
        return all(times and times[-1] > when for times in self.of.values())

    def first_after(self, when: float) -> float:
        """Return the time of the first acknowledgement of any partition after `when`.

        Return infinity if there is none.
        """
        return min((t for times in self.of.values() for t in times if t > when), default=math.inf)

    def longest_gap(self, since: float, partitions: Iterable[int] | None = None) -> float:
        """Return the longest gap between acknowledgements of a partition that ended after `since`.

        It is infinity if a partition has no acknowledgement after `since`.
        """
        return max(
            (
                _longest_gap(self.of[p], since)
                for p in (self.of if partitions is None else partitions)
            ),
            default=math.inf,
        )


def _longest_gap(times: Sequence[float], since: float) -> float:
    if not times or times[-1] <= since:
        return math.inf
    return max((b - a for a, b in itertools.pairwise(times) if b > since), default=0.0)


class ApplicationProbe:
    """Send a record to each partition every 50 ms with confluent-kafka, in a thread.

    All settings except acks have their defaults.
    """

    def __init__(self, bootstrap: str, topic: str, partitions: Sequence[int]) -> None:
        self.acks = AckTimes(partitions)
        self.failed: list[str] = []
        """The errors of the records that were given up."""
        self._topic = topic
        self._producer = Producer({"bootstrap.servers": bootstrap, "acks": "all", "log_level": 0})
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="application-probe", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def finish(self) -> None:
        """Stop sending, and wait until each record has been acknowledged or given up."""
        self._stop.set()
        self._thread.join()
        if left := self._producer.flush(_FLUSH_S):
            self.failed.append(f"{left} records without an answer {_FLUSH_S:g} s after the end")

    def _run(self) -> None:
        due = time.monotonic()
        while not self._stop.is_set():
            for partition in self.acks.of:
                self._producer.produce(
                    self._topic, _VALUE, partition=partition, on_delivery=self._delivered
                )
            due = max(due + EVERY_S, time.monotonic())
            while (left := due - time.monotonic()) > 0:
                self._producer.poll(left)

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        partition = message.partition()
        if error is not None or partition is None:
            self.failed.append(str(error))
        else:
            self.acks.note(partition)


class RawProbe:
    """Send records to partitions without the waiting times of a client library.

    There is one task for each partition, on an event loop in a separate thread. Each task opens a
    connection to each broker to which it sends records.
    """

    def __init__(self, addresses: Addresses, topic: str, partitions: Sequence[int]) -> None:
        self.acks = AckTimes(partitions)
        self._addresses = addresses
        self._topic = topic
        self._stopping = False
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._run()), name="raw-probe", daemon=True
        )

    def start(self) -> None:
        self._thread.start()

    def finish(self) -> None:
        """Stop sending, and wait until all tasks have ended."""
        self._stopping = True
        self._thread.join()

    async def _run(self) -> None:
        transport = SocketTransport()
        await asyncio.gather(*(self._probe(transport, partition) for partition in self.acks.of))

    async def _probe(self, transport: SocketTransport, partition: int) -> None:
        clients = {broker: NetworkClient(transport, "raw-probe") for broker in self._addresses}
        turns = itertools.cycle(clients)
        broker = next(turns)
        request = _produce_request(self._topic, partition)
        while not self._stopping:
            if await self._is_acked(clients[broker], self._addresses[broker], request):
                self.acks.note(partition)
                await asyncio.sleep(EVERY_S)
            else:
                broker = next(turns)
                await asyncio.sleep(_AGAIN_S)
        for client in clients.values():
            client.close()

    async def _is_acked(
        self, client: NetworkClient, address: tuple[str, int], request: ProduceRequest
    ) -> bool:
        try:
            if not client.connected:
                await client.connect(*address, _TIMEOUT_MS)
            response = await client.ask(request, _PRODUCE_VERSION, ProduceResponse, _TIMEOUT_MS)
        except (OSError, ProtocolError):  # The broker is gone, or is going.
            return False
        return response.responses[0].partition_responses[0].error_code == Errors.NONE


def _produce_request(topic: str, partition: int) -> ProduceRequest:
    entry = PartitionProduceData(
        index=partition, records=build_batch([Record(0, 1_700_000_000_000, None, _VALUE)])
    )
    return ProduceRequest(
        acks=-1,
        timeout_ms=_TIMEOUT_MS,
        topic_data=[TopicProduceData(name=topic, partition_data=[entry])],
    )
