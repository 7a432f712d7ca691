"""The producer that programs use (Kafka: KafkaProducer.java), as a thin shell around the core.

    async with Producer({"bootstrap.servers": "127.0.0.1:9092"}) as producer:
        future = await producer.send("web", value=b"hello", key=b"7")
        metadata = await future

`send` puts a record into a batch and returns. It waits only for metadata and for memory, at most
max.block.ms. It returns a future for the record's offset or error. One task of the event loop runs
the sender when a batch is ready, a response arrives, or a time limit is reached.
"""

import asyncio
import contextlib
import functools
import itertools
import logging
import random
from collections.abc import AsyncIterator, Generator, Iterable, Iterator, Mapping
from types import TracebackType
from typing import Final, Self

from kafka_edu.clients.client_errors import (
    BrokerException,
    BufferExhaustedException,
    ClientException,
    IllegalStateException,
    InvalidPartitionException,
    InvalidTimestampException,
    ProducerClosedException,
    RecordTooLargeException,
    SerializationException,
    TimeoutException,
)
from kafka_edu.clients.connection_shell import ConnectionShell
from kafka_edu.clients.consumer.group_metadata import ConsumerGroupMetadata
from kafka_edu.clients.consumer.subscription_state import OffsetAndMetadata
from kafka_edu.clients.metadata import NEVER, TopicInfo
from kafka_edu.clients.producer.partitioners import PARTITIONERS
from kafka_edu.clients.producer.producer_batch import (
    Callback,
    Headers,
    Outcome,
    ProducerBatch,
    RecordMetadata,
    Thunk,
    largest_size,
)
from kafka_edu.clients.producer.producer_config import (
    ProducerRecord,
    Serializer,
    make_partitioner,
    parse_producer_config,
)
from kafka_edu.clients.producer.producer_core import build_core
from kafka_edu.clients.producer.producer_sample import describe_producer
from kafka_edu.clients.producer.producer_state import Call
from kafka_edu.clients.producer.transactions import TransactionalResult, Transactions
from kafka_edu.common.errors import KafkaException
from kafka_edu.common.socket_transport import SocketTransport
from kafka_edu.common.time import SystemTime, Time
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.common.transport import Transport
from kafka_edu.trace.event import Event
from kafka_edu.trace.events.producer import (
    ClientClosed,
    ProducerDescription,
    ProducerSampled,
    ProducerSnapshot,
)
from kafka_edu.trace.tracer import Tracer

log = logging.getLogger(__name__)

_numbers: Final = itertools.count(1)
_NO_HEADERS: Final[Headers] = ()


class FutureRecordMetadata:
    """The future of one record (Kafka: FutureRecordMetadata.java). Await it for the metadata.

    All records of a batch share the batch's outcome, so each record needs only this small object.
    """

    __slots__ = ("_batch", "_error", "_index", "_key_size", "_timestamp", "_value_size")

    def __init__(
        self,
        batch: ProducerBatch | None,
        index: int,
        timestamp: int,
        key_size: int,
        value_size: int,
        error: KafkaException | None = None,
    ) -> None:
        self._batch = batch
        self._index = index
        self._timestamp = timestamp
        self._key_size = key_size
        self._value_size = value_size
        self._error = error

    def _outcome(self) -> tuple[ProducerBatch, int, Outcome] | None:
        if self._batch is None:
            return None
        batch, index = self._batch.locate(self._index)
        return None if batch.outcome is None else (batch, index, batch.outcome)

    @property
    def in_batch(self) -> bool:
        """Whether the record was put into a batch. A record without a batch has failed at once."""
        return self._batch is not None

    def done(self) -> bool:
        """Return whether the record has its metadata or its error."""
        return self._error is not None or self._outcome() is not None

    def exception(self) -> KafkaException | None:
        """Return the record's error, or None if the record is stored. Raises InvalidStateError if
        the record has neither yet.
        """
        if self._error is not None:
            return self._error
        found = self._outcome()
        if found is None:
            raise asyncio.InvalidStateError("The record has no answer yet. Await its future.")
        return found[2].error

    def result(self) -> RecordMetadata:
        """Return the record's metadata, or raise its error. Raises InvalidStateError if the record
        has neither yet.
        """
        error = self.exception()
        if error is not None:
            raise error
        found = self._outcome()
        assert found is not None
        batch, index, outcome = found
        return batch.metadata(
            Thunk(_no_callback, index, self._timestamp, self._key_size, self._value_size), outcome
        )

    def __await__(self) -> Generator[object, None, RecordMetadata]:
        while not self.done():
            assert self._batch is not None
            batch, _ = self._batch.locate(self._index)
            yield from _changed(batch).__await__()
        return self.result()


def _no_callback(metadata: RecordMetadata | None, error: KafkaException | None) -> None: ...


def _changed(batch: ProducerBatch) -> "asyncio.Future[None]":
    """Return a future that ends when the batch has its outcome, or is split."""
    changed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    batch.listeners.append(lambda: _end(changed))
    return changed


def _end(future: "asyncio.Future[None]") -> None:
    """End a future, unless it has ended already."""
    if not future.done():
        future.set_result(None)


def already_closed() -> ProducerClosedException:
    """Return the error of a call after `close`."""
    return ProducerClosedException(
        "Cannot perform operation after producer has been closed.", "Create a new producer."
    )


class Producer:
    """Sends records to a Kafka cluster. One event loop owns it.

    `config` has Kafka's keys. docs/clients.md lists them. The simulator and tests use the other
    arguments: the network, the clock, the tracer and the random numbers.
    """

    def __init__(
        self,
        config: Mapping[str, object],
        *,
        transport: Transport | None = None,
        time: Time | None = None,
        trace: Tracer | None = None,
        chance: random.Random | None = None,
    ) -> None:
        """Build a producer; `start` or `async with` starts it. Raises ConfigException."""
        self.config = parsed = parse_producer_config(config, next(_numbers))
        chance = chance or random.Random()
        self._time = time or SystemTime()
        self._core = core = build_core(parsed, chance, trace)
        self._trace = trace
        self._metadata = core.metadata
        self._accumulator = core.accumulator
        self._pool = core.accumulator.pool
        self._connections = core.connections
        self._sender = core.sender
        self._transactions = core.transactions
        wires = transport or SocketTransport()
        self._shells = tuple(
            ConnectionShell(connections, wires, self._time, self._wake)
            for connections in (core.connections, core.coordinator_connections)
        )
        self._partitioner = make_partitioner(
            parsed.partitioner, lambda name: PARTITIONERS[name](chance)
        )
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._scheduled = False
        self._closing = False
        self._closed = False
        self._bug: Exception | None = None
        """The bug that has ended the producer, or None."""
        self._flushes = 0
        self._waiting: list[asyncio.Future[None]] = []
        """The calls of `send` that wait for metadata."""
        self._waiting_for_memory: set[asyncio.Future[None]] = set()
        self._seen_version = 0

    async def start(self) -> Self:
        """Bind the producer to the running event loop. It connects when the first record is
        sent.
        """
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            if self._trace:
                self._trace.on_snapshot(self._snapshot)
                self._trace.on_gauges(self._gauges)
        return self

    def _describe(self) -> ProducerDescription:
        return describe_producer(self.config, self._core, self._time.hi_res_clock_ms())

    def _snapshot(self) -> Iterator[Event]:
        yield ProducerSnapshot(producer=self._describe())

    def _gauges(self) -> Iterator[Event]:
        yield ProducerSampled(producer=self._describe())

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    def _wake(self) -> None:
        """Run the sender soon."""
        if not self._scheduled and not self._closed and self._loop is not None:
            self._scheduled = True
            self._loop.call_soon(self._turn)

    def _turn(self) -> None:
        """Run the sender once, perform its effects, and set the timer for the next run."""
        self._scheduled = False
        if self._closed or self._loop is None:
            return
        now = self._time.hi_res_clock_ms()
        try:
            while self._sender.run(now):
                self._perform()
            self._perform()
        except Exception as bug:  # after a bug, nothing may wait for ever
            self._bug = bug
            self._closing = self._closed = True
            self._sender.abort(now)
            self._wake_all_sends()
            self._perform()  # closes the connections
            raise
        if self._waiting:
            self._wake_waiting()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        due = self._sender.next_run_ms(now)
        if due < NEVER and not self._scheduled:
            self._timer = self._loop.call_later(max(due, 1) / 1000, self._turn)

    def _perform(self) -> None:
        for shell in self._shells:
            shell.perform()

    def _wake_waiting(self) -> None:
        if self._metadata.version != self._seen_version or self._closing:
            self._seen_version = self._metadata.version
            waiting, self._waiting = self._waiting, []
            for future in waiting:
                _end(future)

    def _wake_all_sends(self) -> None:
        """End each waiting `send`, because the producer closes."""
        self._wake_waiting()
        for future in list(self._waiting_for_memory):
            _end(future)

    async def send(
        self,
        topic: str,
        value: object = None,
        key: object = None,
        *,
        partition: int | None = None,
        timestamp_ms: int | None = None,
        headers: Mapping[str, bytes | None] | Iterable[tuple[str, bytes | None]] | None = None,
        on_delivery: Callback | None = None,
    ) -> FutureRecordMetadata:
        """Put a record into a batch, and return its future.

        Wait at most max.block.ms for the topic's metadata and for memory. `partition` overrides the
        partitioner. `timestamp_ms` is in ms since 1970, at least 0. The default is the time of this
        call. `on_delivery` is called once, with the metadata or the error.

        The future contains errors of Kafka. Raises ProducerClosedException after `close`,
        SerializationException for a value of a wrong type, and any error of the partitioner. A
        transactional producer raises IllegalStateException outside a transaction. If its
        transaction must be aborted, it raises the reason.
        """
        if self._loop is None or self._closing:
            raise self._not_usable()
        if self._transactions is not None:
            self._transactions.check_send()
        parsed = self.config
        tail = _NO_HEADERS if headers is None else _header_list(headers)
        callback = on_delivery
        if parsed.interceptors:
            record = self._intercepted(
                ProducerRecord(topic, value, key, partition, timestamp_ms, tail)
            )
            topic, value, key, partition, timestamp_ms, tail = record
            callback = self._with_interceptors(on_delivery)
        key_bytes = (
            key
            if parsed.key_serializer is None and (key is None or type(key) is bytes)
            else _serialized("key", key, parsed.key_serializer)
        )
        value_bytes = (
            value
            if parsed.value_serializer is None and type(value) is bytes
            else _serialized("value", value, parsed.value_serializer)
        )
        timestamp = self._time.milliseconds() if timestamp_ms is None else timestamp_ms
        now = self._time.hi_res_clock_ms()
        try:
            if timestamp < 0:
                raise InvalidTimestampException(timestamp)
            info = self._metadata.use(topic, now)
            if info is None or (partition is not None and partition >= len(info)):
                info = await self._wait_for_topic(topic, partition, now + parsed.max_block_ms)
                if self._transactions is not None:
                    # The transaction may have ended during the wait.
                    self._transactions.check_send()
            chosen = self._choose(info, key_bytes, value_bytes) if partition is None else partition
            if chosen < 0:
                raise InvalidPartitionException(
                    f"Partition {chosen} was given for a record of {topic}; it must be 0 or more."
                )
            batch = (
                self._accumulator.try_append(topic, chosen, timestamp, key_bytes, value_bytes, tail)
                if parsed.batch_size <= parsed.max_request_size
                else None
            )
            if batch is None:
                batch = await self._append_slowly(
                    info, chosen, partition, timestamp, key_bytes, value_bytes, tail, now
                )
        except ClientException as error:
            if self._transactions is not None:
                self._transactions.send_failed(error)
            return self._failed(error, callback)
        index = batch.count - 1  # no other task has run since the record was put into the batch
        # A batch never begins before its transaction.
        if not index and self._transactions is not None:
            self._transactions.add_partition(batch.tp)
        key_size = -1 if key_bytes is None else len(key_bytes)
        value_size = -1 if value_bytes is None else len(value_bytes)
        if callback is not None:
            batch.thunks.append(Thunk(callback, index, timestamp, key_size, value_size))
        if not index or batch.is_full:
            self._wake()
            if not index:
                await asyncio.sleep(0)
        return FutureRecordMetadata(batch, index, timestamp, key_size, value_size)

    def _not_usable(self) -> ProducerClosedException:
        if self._bug is not None:
            error = ProducerClosedException(
                f"The producer has a bug: {self._bug!r}.", "Report it, and create a new producer."
            )
            error.__cause__ = self._bug
            return error
        if self._closing:
            return already_closed()
        return ProducerClosedException(
            "The producer is not started.", "Use `async with Producer(...)`, or await start()."
        )

    def _choose(self, info: TopicInfo, key: bytes | None, value: bytes | None) -> int:
        chosen = self._partitioner.partition(info, key, value)
        if not 0 <= chosen < len(info.partitions):
            raise InvalidPartitionException(
                f"The partitioner returned {chosen}, but {info.topic} has the partitions 0 to"
                f" {len(info) - 1}."
            )
        return chosen

    async def _wait_for_topic(
        self, topic: str, partition: int | None, deadline_ms: float
    ) -> TopicInfo:
        """Wait until the metadata contains the topic, and the partition if one is given.

        Raises TimeoutException at the deadline, and BrokerException if the topic can never exist.
        """
        while True:
            now = self._time.hi_res_clock_ms()
            info = self._metadata.use(topic, now)
            if info is not None and (partition is None or partition < len(info)):
                return info
            error = self._metadata.errors.get(topic)
            if error is not None and not error.retriable:
                raise BrokerException(error, f"Topic {topic}: {error.message}")
            if self._closing:
                raise ProducerClosedException(
                    "Producer closed while send in progress."
                ) from self._bug
            if now >= deadline_ms:
                raise self._no_topic(topic, partition, info)
            self._metadata.request_update()
            await self._wait(self._metadata_changed(), deadline_ms - now)

    def _no_topic(
        self, topic: str, partition: int | None, info: TopicInfo | None
    ) -> ClientException:
        limit = self.config.max_block_ms
        if info is not None:
            return TimeoutException(
                f"Partition {partition} of topic {topic} with partition count {len(info)} is not"
                f" present in metadata after {limit} ms.",
                "Check the partition's number.",
            )
        reason = self._connections.last_failure
        error = self._metadata.errors.get(topic)
        if error is not None:
            why = f" The brokers answer: {error.name}."
        else:
            why = f" The last connection ended because: {reason}." if reason else ""
        return TimeoutException(
            f"Topic {topic} not present in metadata after {limit} ms.{why}",
            "Check bootstrap.servers, and that the topic exists.",
        )

    def _metadata_changed(self) -> "asyncio.Future[None]":
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        self._wake()
        return future

    async def _wait(self, future: "asyncio.Future[None]", timeout_ms: float) -> None:
        """Wait for the future, at most `timeout_ms`."""
        loop = asyncio.get_running_loop()
        alarm = loop.call_later(max(timeout_ms, 1) / 1000, _end, future)
        try:
            await future
        finally:
            alarm.cancel()

    async def _append_slowly(
        self,
        info: TopicInfo,
        chosen: int,
        fixed: int | None,
        timestamp: int,
        key: bytes | None,
        value: bytes | None,
        headers: Headers,
        began_ms: float,
    ) -> ProducerBatch:
        """Append a record that needs a new batch. Wait for memory if not enough is free."""
        parsed = self.config
        size = largest_size(key, value, headers)
        if size > parsed.max_request_size:
            raise RecordTooLargeException(
                f"The message is {size} bytes when serialized which is larger than"
                f" {parsed.max_request_size}, which is the value of max.request.size.",
                "Send a smaller record, or raise max.request.size.",
            )
        reserved = max(parsed.batch_size, size)
        if reserved > parsed.buffer_memory:
            raise RecordTooLargeException(
                f"The record's batch takes {reserved} bytes, but buffer.memory is"
                f" {parsed.buffer_memory}.",
                "Raise buffer.memory, or lower batch.size.",
            )
        topic = info.topic
        accumulator = self._accumulator
        if fixed is None and self._partitioner.sticky:
            self._partitioner.on_new_batch(info, chosen)
            chosen = self._choose(info, key, value)
        batch = accumulator.try_append(topic, chosen, timestamp, key, value, headers)
        if batch is not None:
            return batch
        if not self._pool.allocate(reserved):
            await self._wait_for_memory(reserved, began_ms + parsed.max_block_ms)
            if self._transactions is not None:
                try:
                    self._transactions.check_send()
                except KafkaException:
                    self._pool.free(reserved)
                    raise
            batch = accumulator.try_append(topic, chosen, timestamp, key, value, headers)
            if batch is not None:
                self._pool.free(reserved)
                return batch
        return accumulator.append_to_new_batch(
            topic,
            chosen,
            timestamp,
            key,
            value,
            headers,
            reserved,
            self._time.hi_res_clock_ms(),
        )

    async def _wait_for_memory(self, size: int, deadline_ms: float) -> None:
        """Allocate `size` bytes, or raise BufferExhaustedException at the deadline."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting_for_memory.add(future)
        waiter = self._pool.wait(size, lambda: _end(future))
        self._wake()
        kept = False
        try:
            await self._wait(future, deadline_ms - self._time.hi_res_clock_ms())
            if self._closing:
                raise ProducerClosedException(
                    "Producer closed while send in progress."
                ) from self._bug
            if not waiter.granted:
                raise BufferExhaustedException(
                    f"Failed to allocate {size} bytes within the configured max blocking time"
                    f" {self.config.max_block_ms} ms. Total memory: {self._pool.total} bytes."
                    f" Available memory: {self._pool.available} bytes.",
                    "Send more slowly, raise buffer.memory, or check the brokers.",
                )
            kept = True
        finally:
            self._waiting_for_memory.discard(future)
            if not kept:
                self._pool.cancel(waiter)

    def _failed(self, error: ClientException, callback: Callback | None) -> FutureRecordMetadata:
        if callback is not None:
            try:
                callback(None, error)
            except Exception as bug:
                log.error("A record's callback failed. The producer continues.", exc_info=bug)
        return FutureRecordMetadata(None, 0, -1, -1, -1, error)

    def _intercepted(self, record: ProducerRecord) -> ProducerRecord:
        """Pass the record through each interceptor's on_send. Skip an interceptor that raises an
        error.
        """
        for interceptor in self.config.interceptors:
            try:
                record = interceptor.on_send(record)
            except Exception as bug:
                log.warning(
                    "on_send of interceptor %s failed. The record is used unchanged.",
                    type(interceptor).__name__,
                    exc_info=bug,
                )
        return record

    def _with_interceptors(self, callback: Callback | None) -> Callback:
        """Return a callback that calls each on_acknowledgement, and then `callback`."""

        def call(metadata: RecordMetadata | None, error: KafkaException | None) -> None:
            for interceptor in self.config.interceptors:
                try:
                    interceptor.on_acknowledgement(metadata, error)
                except Exception as bug:
                    log.warning(
                        "on_acknowledgement of interceptor %s failed. The producer continues.",
                        type(interceptor).__name__,
                        exc_info=bug,
                    )
            if callback is not None:
                callback(metadata, error)

        return call

    @property
    def last_failure(self) -> str:
        """Why the last connection was lost or could not be opened. Empty if there was no
        failure.
        """
        return self._connections.last_failure

    async def partitions_for(self, topic: str) -> list[TopicPartition]:
        """Return the partitions of a topic. Raises TimeoutException after max.block.ms."""
        if self._loop is None or self._closing:
            raise self._not_usable()
        deadline = self._time.hi_res_clock_ms() + self.config.max_block_ms
        info = await self._wait_for_topic(topic, None, deadline)
        return [TopicPartition(topic, each.partition) for each in info.partitions]

    async def flush(self) -> None:
        """Send all records now, without waiting for linger.ms. Wait until each record has its
        answer.
        """
        batches = list(self._accumulator.incomplete)
        self._flushes += 1
        self._accumulator.flushing = True
        self._wake()
        try:
            while batches:
                batch = batches.pop()
                while not batch.done and not batch.children:
                    await _changed(batch)
                batches += [child for _, child in batch.children]
        finally:
            self._flushes -= 1
            self._accumulator.flushing = self._flushes > 0

    def _of_transactions(self) -> Transactions:
        """Return the transactions. Raises an error if the producer has none, or cannot be used."""
        if self._loop is None or self._closing:
            raise self._not_usable()
        if self._transactions is None:
            raise IllegalStateException(
                "Cannot use transactional methods without enabling transactions.",
                "Set transactional.id.",
            )
        return self._transactions

    async def _until_ended(self, result: TransactionalResult) -> None:
        """Wait at most max.block.ms for the end of a call. Raises the call's error."""
        deadline_ms = self._time.hi_res_clock_ms() + self.config.max_block_ms
        self._wake()
        while not result.done:
            left_ms = deadline_ms - self._time.hi_res_clock_ms()
            if left_ms <= 0:
                raise self._not_ended(result.call)
            ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            result.listeners.append(functools.partial(_end, ended))
            await self._wait(ended, left_ms)
        if self._transactions is not None:
            self._transactions.taken(result)
        if result.error is not None:
            raise result.error

    def _not_ended(self, call: Call) -> TimeoutException:
        reason = self._connections.last_failure
        return TimeoutException(
            f"Timeout expired after {self.config.max_block_ms} ms while awaiting {call}."
            + (f" The last connection ended because: {reason}." if reason else ""),
            "Check that the brokers are alive. "
            + (
                "Then abort the transaction."
                if call is Call.SEND_OFFSETS
                else f"Then await {call}() again."
            ),
        )

    async def init_transactions(self) -> None:
        """Get the producer's id and epoch. Call this once, before the first transaction.

        Any older producer with the same transactional.id is fenced, and its open transaction is
        aborted. Raises TimeoutException after max.block.ms. In this case, call the method again.
        """
        await self._until_ended(self._of_transactions().init())

    def begin_transaction(self) -> None:
        """Begin a transaction. All records until its end are committed or aborted together."""
        self._of_transactions().begin()

    async def send_offsets_to_transaction(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        group: ConsumerGroupMetadata | str,
    ) -> None:
        """Commit a consumer's offsets with the transaction.

        `group` is `consumer.group_metadata()`, or only the group's name for brokers older than
        Kafka 2.5. Do not also commit with the consumer. Raises CommitFailedException if the group
        has removed the consumer. After this error, abort the transaction.
        """
        metadata = ConsumerGroupMetadata(group) if isinstance(group, str) else group
        await self._until_ended(self._of_transactions().send_offsets(offsets, metadata))

    async def commit_transaction(self) -> None:
        """Send all records, and commit the transaction when each record is stored.

        Raises the reason if the transaction cannot be committed. In this case, abort the
        transaction. After a TimeoutException, call this method again instead, because it is not yet
        known whether the transaction is committed.
        """
        await self._until_ended(self._of_transactions().commit())

    async def abort_transaction(self) -> None:
        """Abort the transaction. Records that are not sent yet fail with the transaction's error,
        or with TransactionAbortedException.
        """
        await self._until_ended(self._of_transactions().abort())

    @contextlib.asynccontextmanager
    async def transaction(self) -> AsyncIterator[None]:
        """Begin a transaction, and commit it at the end of the block.

        If the block or the commit raises an error, abort the transaction and raise that error.
        """
        self.begin_transaction()
        try:
            yield
            await self.commit_transaction()
        except BaseException as error:
            await self._abort_because_of(error)
            raise

    async def _abort_because_of(self, error: BaseException) -> None:
        """Abort the transaction if possible. If this fails too, add the second error to `error` as
        a note.
        """
        if self._closing or self._transactions is None or not self._transactions.may_be_aborted:
            return
        try:
            await self.abort_transaction()
        except KafkaException as second:
            if second is not error:
                error.add_note(f"The transaction could not be aborted: {second}")

    async def _end_open_transaction(self, transactions: Transactions) -> None:
        """Abort the open transaction, because the producer closes. A commit in progress is
        completed.
        """
        try:
            result = transactions.end_open()
            if result.call is Call.ABORT_TRANSACTION:
                log.info("The producer closes and aborts its open transaction.")
            await self._until_ended(result)
        except KafkaException as error:
            log.warning(
                "The producer closes with an open transaction. The coordinator aborts it after"
                " transaction.timeout.ms. %s",
                error,
            )

    async def close(self, timeout_s: float | None = None) -> None:
        """Wait at most `timeout_s` until each record has its answer. Then close the connections.

        Records without an answer fail with ProducerClosedException. A second call does nothing. An
        open transaction is aborted, but a commit in progress is completed. This takes at most
        max.block.ms. If it fails, the coordinator aborts the transaction after
        transaction.timeout.ms.
        """
        if self._closing:
            return
        self._closing = True
        self._wake_all_sends()
        try:
            if self._loop is not None:
                async with asyncio.timeout(timeout_s):
                    if self._transactions is not None and self._transactions.is_open:
                        await self._end_open_transaction(self._transactions)
                    elif self._accumulator.incomplete:
                        await self.flush()
        except TimeoutError:
            log.info("The producer closes before all records have their answers.")
        finally:
            self._sender.abort(self._time.hi_res_clock_ms())
            self._perform()
            self._closed = True
            if self._timer is not None:
                self._timer.cancel()
            if self._trace and self._loop is not None:
                self._trace.forget(self._snapshot, self._gauges)
                self._trace(ClientClosed(client=self.config.client_id, role="producer"))
            for shell in self._shells:
                await shell.close()


def _header_list(
    headers: Mapping[str, bytes | None] | Iterable[tuple[str, bytes | None]],
) -> Headers:
    """Return the headers as pairs. Raises SerializationException for a wrong type."""
    pairs = list(headers.items() if isinstance(headers, Mapping) else headers)
    for name, content in pairs:
        if not isinstance(name, str) or not isinstance(content, bytes | None):
            raise SerializationException(
                f"Header {name!r} is {content!r}.", "A header is a str and bytes or None."
            )
    return pairs


def _serialized(part: str, value: object, serializer: Serializer | None) -> bytes | None:
    """Return a key or value as bytes. Raises SerializationException."""
    if serializer is not None:
        try:
            value = serializer(value)
        except Exception as error:
            raise SerializationException(
                f"The {part}.serializer cannot serialize {value!r}: {error}",
                "Correct the serializer or the record.",
            ) from error
    if isinstance(value, str):
        return value.encode()
    if value is None or isinstance(value, bytes):
        return value
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    raise SerializationException(
        f"The {part} is of type {type(value).__name__}.",
        f"Send bytes or str, or set {part}.serializer.",
    )
