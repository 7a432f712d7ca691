"""The jobs of chapter 15 about transactions: open, committed, aborted, fenced, hanging, and their
cost.
"""

import asyncio
import signal
import statistics
from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import Final

from kafka_edu.clients.producer.producer import Producer
from kafka_edu.common.errors import KafkaException
from kafka_edu.common.python_process import python_command, python_environment
from kafka_edu.common.socket_transport import SocketTransport
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.supervisor.cluster import ClusterError
from kafka_edu.trace.events.client import ClientListed, ClientProduced, ProducerMeasured
from kafka_edu.trace.tracer import Tracer

from ..chapter import JobPlace, Program
from ..demo_parts.faulty_network import FaultyNetwork
from ..demo_parts.own_reader import COMMITTED, UNCOMMITTED, ends_of, read_from
from . import open_transaction
from .idempotent_jobs import OTHER, PAYMENTS, TOPIC

TRANSACTION_JOBS: Final[Mapping[str, str]] = {
    "transfer": "write to two partitions in a transaction, and leave it open",
    "commit": "commit that transaction",
    "abort": "write the same again, and abort",
    "zombie": "start a second producer with the same transactional id",
    "hang": "kill a producer in its transaction, and wait until the transaction ends",
    "cost": "send the same records in transactions of several sizes",
}
BANK: Final = "bank"
DEAD: Final = "dead"
"""The client ids and transactional ids."""
LONGEST_MS: Final = 900_000
"""transaction.timeout.ms of other producers. A class needs time to read, so it is the largest value
that a broker accepts by default (transaction.max.timeout.ms).
"""
TIMEOUT_MS: Final = 20_000
"""transaction.timeout.ms of the producer that dies."""
BEHIND: Final = 5
"""How many records are written after the open transaction."""
MEASURED: Final = 60
#: Records in a transaction. 0: no transactions, only idempotence.
SIZES: Final = (0, 1, 10, 60)
_LOOK_EVERY_S: Final = 0.2


class TransactionJobs:
    """The transaction jobs on one cluster. The job `transfer` leaves its transaction open."""

    def __init__(self, place: JobPlace) -> None:
        self._place = place
        self._servers = place.bootstrap_servers
        self._open: tuple[Producer, Mapping[TopicPartition, int]] | None = None
        """The producer with the open transaction, and the ends of the logs before it."""

    def program(self, name: str) -> Program:
        """Return the program of the job with this name."""
        programs: Mapping[str, Program] = {
            "transfer": self._transfer,
            "commit": self._commit,
            "abort": self._abort,
            "zombie": self._zombie,
            "hang": self._hang,
            "cost": self._cost,
        }
        return programs[name]

    def close(self) -> None:
        """Abort the transaction that is open."""
        if self._open is not None:
            self._place.run(self._forget)

    async def _forget(self, trace: Tracer) -> None:
        if self._open is not None:
            producer, self._open = self._open[0], None
            await producer.close()

    def _producer(self, transactional_id: str, client: str, trace: Tracer) -> Producer:
        settings: dict[str, object] = {
            "bootstrap.servers": self._servers,
            "client.id": client,
            "transactional.id": transactional_id,
            "transaction.timeout.ms": LONGEST_MS,
        }
        return Producer(settings, trace=trace)

    async def _begin(self, trace: Tracer) -> tuple[Producer, Mapping[TopicPartition, int]]:
        """Send both sides of a transfer in a new transaction, and wait until they are stored."""
        await self._forget(trace)
        start = await ends_of(self._servers, [PAYMENTS, OTHER])
        producer = await self._producer(BANK, BANK, trace).start()
        self._open = producer, start
        await producer.init_transactions()
        producer.begin_transaction()
        await producer.send(TOPIC, b"-100", partition=PAYMENTS.partition)
        await producer.send(TOPIC, b"+100", partition=OTHER.partition)
        await producer.flush()
        return self._open

    async def _transfer(self, trace: Tracer) -> None:
        _, start = await self._begin(trace)
        await self._list_both(start)

    async def _commit(self, trace: Tracer) -> None:
        """Commit the open transaction. If it was aborted meanwhile, write it again and commit."""
        producer, start = self._open or await self._begin(trace)
        try:
            await producer.commit_transaction()
        except KafkaException:
            producer, start = await self._begin(trace)
            await producer.commit_transaction()
        await self._forget(trace)
        await self._list_both(start)

    async def _abort(self, trace: Tracer) -> None:
        producer, start = await self._begin(trace)
        await producer.abort_transaction()
        await self._forget(trace)
        await self._list_both(start)

    async def _list_both(self, start: Mapping[TopicPartition, int]) -> None:
        """Emit what a reader of each isolation level gets."""
        for isolation in (UNCOMMITTED, COMMITTED):
            await self._list(isolation, start)

    async def _list(self, isolation: str, start: Mapping[TopicPartition, int]) -> None:
        records = await read_from(self._servers, start, isolation)
        values = [record.value.decode() for record in records if isinstance(record.value, bytes)]
        self._place.emit(
            ClientListed(client=isolation, records=len(values), values=" ".join(values))
        )

    async def _zombie(self, trace: Tracer) -> None:
        """Let an old producer continue after a new producer has taken over its transactional id."""
        start = await ends_of(self._servers, [PAYMENTS])
        async with AsyncExitStack() as stack:
            old, new = [
                await stack.enter_async_context(self._producer("shop", client, trace))
                for client in ("zombie", "successor")
            ]
            await old.init_transactions()
            old.begin_transaction()
            await (await old.send(TOPIC, b"old", partition=PAYMENTS.partition))
            await new.init_transactions()
            new.begin_transaction()
            await (await new.send(TOPIC, b"new", partition=PAYMENTS.partition))
            await new.commit_transaction()
            error = ""
            try:
                await old.commit_transaction()
            except KafkaException as refused:
                error = refused.error.name
        self._place.emit(
            ClientProduced(client="zombie", sent=1, acked=0 if error else 1, error=error)
        )
        await self._list_both(start)

    async def _hang(self, trace: Tracer) -> None:
        """Kill a producer within its transaction, write more records, and wait for the
        transaction's end.
        """
        start = await ends_of(self._servers, [PAYMENTS])
        program = await asyncio.create_subprocess_exec(
            *python_command(open_transaction.__name__, self._servers, DEAD, str(TIMEOUT_MS)),
            env=python_environment(),
        )
        if await program.wait() != -signal.SIGKILL:
            raise ClusterError(f"{open_transaction.__name__} ended with {program.returncode}")
        settings = {"bootstrap.servers": self._servers, "client.id": "others"}
        async with Producer(settings, trace=trace) as producer:
            for number in range(BEHIND):
                await producer.send(TOPIC, b"%d" % number, partition=PAYMENTS.partition)
            await producer.flush()
        await self._list_both(start)
        while await ends_of(self._servers, start, COMMITTED) != await ends_of(self._servers, start):
            await asyncio.sleep(_LOOK_EVERY_S)
        await self._list(COMMITTED, start)

    async def _cost(self, trace: Tracer) -> None:
        for size in SIZES:
            await self._measure(size, trace)

    async def _measure(self, size: int, trace: Tracer) -> None:
        """Send MEASURED records in transactions of this size, and emit the costs."""
        client = f"{size} in a transaction" if size else "no transactions"
        network = FaultyNetwork(SocketTransport())
        settings: dict[str, object] = {
            "bootstrap.servers": self._servers,
            "client.id": client,
            "enable.idempotence": True,
        }
        if size:
            settings["transactional.id"] = client
        loop = asyncio.get_running_loop()
        took: list[float] = []
        async with Producer(settings, transport=network, trace=trace) as producer:
            if size:
                await producer.init_transactions()
            await producer.partitions_for(TOPIC)
            network.all_requests = network.bytes = 0
            for first in range(0, MEASURED, size or MEASURED):
                sent: list[float] = []
                if size:
                    producer.begin_transaction()
                for number in range(first, first + (size or MEASURED)):
                    sent.append(loop.time())
                    await producer.send(TOPIC, b"%060d" % number, partition=PAYMENTS.partition)
                await (producer.commit_transaction() if size else producer.flush())
                took += [(loop.time() - at) * 1_000 for at in sent]
        self._place.emit(
            ProducerMeasured(
                client=client,
                linger_ms=0,
                records=len(took),
                requests=network.all_requests,
                bytes=network.bytes,
                median_ms=round(statistics.median(took)),
            )
        )
