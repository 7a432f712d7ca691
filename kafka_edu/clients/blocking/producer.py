"""The producer for programs without asyncio. docs/clients.md lists its settings.

    with Producer({"bootstrap.servers": "127.0.0.1:9092"}) as producer:
        metadata = producer.send("web", b"hello", b"7").result()

`send` returns a future, as Kafka's producer does.
"""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Final, NamedTuple

from kafka_edu.clients.blocking.client import BlockingClient, at_once, waiting
from kafka_edu.clients.client_errors import TimeoutException
from kafka_edu.clients.producer import producer
from kafka_edu.clients.producer.producer_batch import Callback, RecordMetadata
from kafka_edu.trace.tracer import Tracer

_MOST_HANDED: Final = 1_000


class RecordFuture:
    """The future of one record. `result()` waits for its metadata."""

    __slots__ = ("_error", "_future", "_producer")

    def __init__(self, owner: "Producer") -> None:
        self._producer = owner
        self._future: producer.FutureRecordMetadata | None = None
        """None until the record is in a batch, or has failed with an error of Kafka."""
        self._error: Exception | None = None
        """The exception that kept the record out of a batch."""

    def done(self) -> bool:
        """Return whether the record has its metadata or its error."""
        return self._error is not None or (self._future is not None and self._future.done())

    def result(self, timeout_s: float | None = None) -> RecordMetadata:
        """Wait for the record's metadata and return it, or raise its error.

        Raises TimeoutException after `timeout_s`. Without `timeout_s`, the wait lasts at most
        max.block.ms plus delivery.timeout.ms, because the record has an error after that time.
        """
        if not self.done():
            try:
                self._producer.run(lambda: self._wait(timeout_s))
            except TimeoutError as error:
                raise TimeoutException(
                    f"The record has no answer after {timeout_s} s.",
                    "It may still be stored. Wait longer, or check that the brokers are alive.",
                ) from error
        if self._error is not None:
            raise self._error
        assert self._future is not None
        return self._future.result()

    async def _wait(self, timeout_s: float | None) -> None:
        async with asyncio.timeout(timeout_s):
            while self._future is None and self._error is None:
                await self._producer.prepare()
            if self._future is not None:
                await self._future

    def exception(self, timeout_s: float | None = None) -> Exception | None:
        """Wait for the record's result. Return its error, or None if the record is stored."""
        try:
            self.result(timeout_s)
        except Exception as error:
            if not self.done():
                raise
            return error
        return None


class _Transaction(AbstractContextManager[None]):
    """The `with` block of one transaction."""

    def __init__(self, owner: "Producer") -> None:
        self._producer = owner
        self._block = owner.client.transaction()

    def __enter__(self) -> None:
        self._producer.run(self._enter)

    async def _enter(self) -> None:
        await self._producer.prepare()
        await self._block.__aenter__()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        async def leave() -> None:
            await self._producer.prepare()
            await self._block.__aexit__(kind, error, traceback)

        self._producer.run(leave)


class _Handed(NamedTuple):
    """A record that the program's thread passes to the client's thread, with its future."""

    topic: str
    value: object
    key: object
    partition: int | None
    timestamp_ms: int | None
    headers: Mapping[str, bytes | None] | Iterable[tuple[str, bytes | None]] | None
    on_delivery: Callback | None
    future: RecordFuture


class Producer(BlockingClient[producer.Producer]):
    """Sends records to a Kafka cluster. Several threads may use it.

    `send` passes a record to the client's thread and returns. In the client's thread, one task puts
    the records into batches, in the order of the calls. If each `send` waited for the client's
    thread, a call would take 0.2 ms.
    """

    def __init__(self, config: Mapping[str, object], *, trace: Tracer | None = None) -> None:
        """Build a producer. Its thread calls the sinks of `trace`. Raises ConfigException."""
        client = producer.Producer(config, trace=trace)
        super().__init__(client, client.config.client_id, client.start, producer.already_closed())
        self._lock = threading.Lock()
        """Held while the fields below are read or changed."""
        self._handed: deque[_Handed] = deque()
        self._taking: asyncio.Task[None] | None = None
        """The task that puts the records into batches. None if there are no records."""
        self._is_taken = False
        """Whether that task runs or will start soon."""

    async def prepare(self) -> None:
        """Wait until each record of earlier calls of `send` is in a batch, or has an error."""
        while self._handed or self._taking is not None:
            await asyncio.wait({self._start_taking()})

    def _start_taking(self) -> asyncio.Task[None]:
        if self._taking is None:
            self._taking = asyncio.get_running_loop().create_task(self._take())
        return self._taking

    async def _take(self) -> None:
        """Put records into batches until no record waits."""
        while True:
            with self._lock:
                if not self._handed:
                    self._is_taken, self._taking = False, None
                    return
                topic, value, key, partition, timestamp_ms, headers, callback, future = (
                    self._handed.popleft()
                )
            try:
                future._future = await self.client.send(
                    topic,
                    value,
                    key,
                    partition=partition,
                    timestamp_ms=timestamp_ms,
                    headers=headers,
                    on_delivery=callback,
                )
            except Exception as error:  # an error of the client, a serializer or a partitioner
                future._error = error

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
        """Pass a record to the client's thread, and return its future.

        The arguments are the same as in the `send` of the asyncio producer. The future contains
        every error, also an error of a serializer or partitioner. Only ProducerClosedException is
        raised here. Serializers, partitioner, interceptors and `on_delivery` are called in the
        client's thread, where they must not wait for the client.

        If 1,000 records wait for metadata or memory, `send` waits too.
        """
        self.check_open()
        future = RecordFuture(self)
        record = _Handed(topic, value, key, partition, timestamp_ms, headers, on_delivery, future)
        with self._lock:
            self._handed.append(record)
            start, self._is_taken = not self._is_taken, True
            waiting = len(self._handed)
        if start:
            self.call_soon(self._start_taking)
        if waiting >= _MOST_HANDED:
            self.run(self.prepare)
        return future

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
        """Wait at most `timeout_s` until each record has its answer. Then close the connections.

        Records without an answer fail with ProducerClosedException.
        """

        async def close() -> None:
            began = time.monotonic()
            try:
                async with asyncio.timeout(timeout_s):
                    await self.prepare()
            except TimeoutError:
                pass  # `close` below ends the calls that wait for metadata or memory
            left = None if timeout_s is None else timeout_s - (time.monotonic() - began)
            await self.client.close(None if left is None else max(left, 0))
            await self.prepare()  # what was not taken yet fails now

        self._close(close)
