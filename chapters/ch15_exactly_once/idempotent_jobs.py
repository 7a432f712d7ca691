"""The jobs of chapter 15 about idempotence: broken connections, and payments sent again."""

import asyncio
from collections.abc import Mapping
from contextlib import closing
from functools import partial
from typing import Final

from kafka_edu.cli.demo_topic import wait_until_in_sync
from kafka_edu.clients.producer.producer import Producer
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.supervisor.cluster import attach
from kafka_edu.trace.events.client import ClientListed, ClientProduced
from kafka_edu.trace.tracer import Tracer

from ..chapter import JobPlace, Program
from ..demo_parts.counted import counted
from ..demo_parts.own_reader import ends_of, read_from

RESETS: Final[Mapping[str, str]] = {
    "resets": "break connections until the log has a record twice",
    "resets-idempotent": "the same with idempotence",
}
LIMITS: Final = "limits"
TOPIC: Final = "ch15"
PARTITIONS: Final = 3
PAYMENTS: Final = TopicPartition(TOPIC, 0)
"""The partition of most jobs."""
OTHER: Final = TopicPartition(TOPIC, 1)
ROUND: Final = 200
"""How many records are sent around each broken connection."""


def leaders_of(servers: str) -> dict[int, int]:
    """Return partition of TOPIC → its leader. Waits until all replicas are in sync."""
    return wait_until_in_sync(servers, TOPIC, PARTITIONS)


class IdempotentJobs:
    """The jobs about idempotence, on one cluster."""

    def __init__(self, place: JobPlace) -> None:
        self._place = place
        self._servers = place.bootstrap_servers
        self._rounds = 3
        """How many rounds the job without idempotence took. The other job repeats this number."""

    def program(self, name: str) -> Program:
        """Return the program of the job with this name."""
        if name == LIMITS:
            return self._limits
        return partial(self._resets, name, name.endswith("idempotent"))

    def _producer(self, client: str, idempotent: bool, trace: Tracer) -> Producer:
        return Producer(
            {
                "bootstrap.servers": self._servers,
                "client.id": client,
                "acks": "all",
                "enable.idempotence": idempotent,
                "batch.size": 1_000,
            },
            trace=trace,
        )

    async def _resets(self, name: str, idempotent: bool, trace: Tracer) -> None:
        """Send records, and reset the connections of the leader's clients meanwhile.

        A retried record was written twice if the leader had appended it before the reset. Without
        idempotence the rounds end when the log has more records than were sent. With idempotence
        this never happens, so there are as many rounds as in the job without idempotence.
        """
        start = await ends_of(self._servers, [PAYMENTS])
        sent: list[bytes] = []
        with closing(attach(self._place.cluster)) as cluster:
            leaders = await asyncio.to_thread(leaders_of, self._servers)
            leader = leaders[PAYMENTS.partition]
            reset = partial(cluster.perform, "reset-clients", {"broker": leader})
            async with self._producer(name, idempotent, trace) as producer:
                rounds = 0
                while not self._place.another_waits():
                    breaking = asyncio.create_task(asyncio.to_thread(reset))
                    while not breaking.done() or len(sent) < (rounds + 1) * ROUND:
                        value = b"payment %d" % len(sent)
                        sent.append(value)
                        await producer.send(TOPIC, value, partition=PAYMENTS.partition)
                    await breaking
                    await producer.flush()
                    rounds += 1
                    written = (await ends_of(self._servers, [PAYMENTS]))[PAYMENTS]
                    if idempotent and rounds >= self._rounds:
                        break
                    if not idempotent and written > start[PAYMENTS] + len(sent):
                        self._rounds = rounds
                        break
        self._place.emit(ClientProduced(client=name, sent=len(sent), acked=len(sent), error=""))
        await self._count(name, start, sent)

    async def _count(
        self, client: str, start: Mapping[TopicPartition, int], sent: list[bytes]
    ) -> None:
        found = [record.value for record in await read_from(self._servers, start)]
        self._place.emit(counted(client, str(PAYMENTS), sent, found))

    async def _limits(self, trace: Tracer) -> None:
        """Send one payment again in three ways that sequence numbers cannot detect."""
        start = await ends_of(self._servers, [PAYMENTS, OTHER])
        async with self._producer("shop", True, trace) as producer:
            for client, tp in (("once", PAYMENTS), ("again", PAYMENTS), ("elsewhere", OTHER)):
                await (await producer.send(TOPIC, b"payment 7", partition=tp.partition))
                await self._list(client, start)
        async with self._producer("shop-restarted", True, trace) as producer:
            await (await producer.send(TOPIC, b"payment 7", partition=PAYMENTS.partition))
        await self._list("restarted", start)

    async def _list(self, client: str, start: Mapping[TopicPartition, int]) -> None:
        records = await read_from(self._servers, start)
        places = sorted(f"{record.topic}/{record.partition}" for record in records)
        self._place.emit(ClientListed(client=client, records=len(records), values="-".join(places)))
