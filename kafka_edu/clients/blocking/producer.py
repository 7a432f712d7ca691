"""The producer for programs without asyncio. docs/clients.md has its settings.

    with Producer({"bootstrap.servers": "127.0.0.1:9092"}) as producer:
        metadata = producer.send("web", b"hello", b"7").result()

`send` returns a future, as Kafka's producer does.
"""

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from types import TracebackType

from kafka_edu.clients.blocking.client import BlockingClient, at_once, waiting
from kafka_edu.clients.client_errors import TimeoutException
from kafka_edu.clients.producer import producer
from kafka_edu.clients.producer.producer_batch import Callback, RecordMetadata
from kafka_edu.common.errors import KafkaException
from kafka_edu.trace.tracer import Tracer


class RecordFuture:
    """The future of one record. `result()` waits for its metadata."""

    __slots__ = ("_future", "_producer")

    def __init__(self, owner: "Producer", future: producer.FutureRecordMetadata) -> None:
        self._producer = owner
        self._future = future

    def done(self) -> bool:
        """Return whether the record has its metadata or its error."""
        return self._future.done()

    def result(self, timeout_s: float | None = None) -> RecordMetadata:
        """Wait for the record's metadata and return it, or raise its error.

        Raises TimeoutException after `timeout_s`. Without it, the wait ends after
        delivery.timeout.ms, because then the record has an error.
        """
        if self._future.done():
            return self._future.result()

        async def wait() -> RecordMetadata:
            async with asyncio.timeout(timeout_s):
                return await self._future

        try:
            return self._producer.run(wait)
        except TimeoutError as error:
            raise TimeoutException(
                f"The record has no answer after {timeout_s} s.",
                "It may still be stored. Wait longer, or check that the brokers are alive.",
            ) from error

    def exception(self, timeout_s: float | None = None) -> KafkaException | None:
        """Wait for the answer. Return the record's error, or None if it is stored."""
        try:
            self.result(timeout_s)
        except KafkaException:
            if not self._future.done():
                raise
        return self._future.exception()


class _Transaction(AbstractContextManager[None]):
    """The `with` block of one transaction."""

    def __init__(self, owner: "Producer") -> None:
        self._producer = owner
        self._block = owner.client.transaction()

    def __enter__(self) -> None:
        self._producer.run(self._block.__aenter__)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._producer.run(lambda: self._block.__aexit__(kind, error, traceback))


class Producer(BlockingClient[producer.Producer]):
    """Sends records to a Kafka cluster. Several threads may use it."""

    def __init__(self, config: Mapping[str, object], *, trace: Tracer | None = None) -> None:
        """Build a producer. Its thread calls the sinks of `trace`. Raises ConfigException."""
        client = producer.Producer(config, trace=trace)
        super().__init__(client, client.config.client_id, client.start, producer.already_closed())

    def send(
        self,
        topic: str,
        value: object = None,
        key: object = None,
        *,
        partition: int | None = None,
        timestamp_ms: int | None = None,
        headers: Mapping[str, bytes | None] | Iterable[tuple[str, bytes | None]] | None = None,
        on_delivery: Callback | None = None,
    ) -> RecordFuture:
        """Put a record into a batch, and return its future. The arguments are those of asyncio's.

        It waits at most max.block.ms for the topic's metadata and for memory. `on_delivery` is
        called in the client's thread. There it must not wait for the client.
        """

        async def call() -> producer.FutureRecordMetadata:
            return await self.client.send(
                topic,
                value,
                key,
                partition=partition,
                timestamp_ms=timestamp_ms,
                headers=headers,
                on_delivery=on_delivery,
            )

        return RecordFuture(self, self.run(call))

    init_transactions = waiting(producer.Producer.init_transactions)
    begin_transaction = at_once(producer.Producer.begin_transaction)
    send_offsets_to_transaction = waiting(producer.Producer.send_offsets_to_transaction)
    commit_transaction = waiting(producer.Producer.commit_transaction)
    abort_transaction = waiting(producer.Producer.abort_transaction)

    def transaction(self) -> AbstractContextManager[None]:
        """Begin a transaction, and commit it at the end of the `with` block.

        If the block or the commit raises an error, abort the transaction and raise that error.
        """
        return _Transaction(self)

    partitions_for = waiting(producer.Producer.partitions_for)
    flush = waiting(producer.Producer.flush)

    def close(self, timeout_s: float | None = None) -> None:
        """Wait until each record has its answer, at most `timeout_s`. Then close the connections.

        Records without an answer fail with ProducerClosedException.
        """
        self._close(lambda: self.client.close(timeout_s))
