"""The consumer that programs use (Kafka: KafkaConsumer.java), as a thin shell around the core.

    settings = {"bootstrap.servers": "127.0.0.1:9092", "group.id": "readers"}
    async with Consumer(settings) as consumer:
        consumer.subscribe(["web"])
        async for record in consumer:
            print(record.partition, record.offset, record.value)

The event loop runs the core when a response arrives or a time limit is reached. So heartbeats and
fetches continue while the program processes records. The consumer gives up and takes partitions
only in `poll()`. `async for` calls `poll()` for each record.
"""

import asyncio
import inspect
import itertools
import logging
import random
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from functools import partial
from types import TracebackType
from typing import Final, Self, TypeVar

from kafka_edu.clients.client_connections import ClientConnections
from kafka_edu.clients.client_errors import BrokerException, ClientException, TimeoutException
from kafka_edu.clients.connection_shell import ConnectionShell
from kafka_edu.clients.consumer.consumer_config import parse_consumer_config
from kafka_edu.clients.consumer.consumer_coordinator import RebalanceCallback, RebalanceStep
from kafka_edu.clients.consumer.consumer_core import ConsumerCore
from kafka_edu.clients.consumer.consumer_record import ConsumerRecord
from kafka_edu.clients.consumer.consumer_sample import describe_consumer
from kafka_edu.clients.consumer.group_metadata import ConsumerGroupMetadata
from kafka_edu.clients.consumer.group_offsets import GiveUp, OnCommitted
from kafka_edu.clients.consumer.offset_lookups import FoundOffset
from kafka_edu.clients.consumer.subscription_state import (
    NO_OFFSET,
    OffsetAndMetadata,
    SubscriptionType,
)
from kafka_edu.clients.metadata import NEVER
from kafka_edu.common.errors import Errors
from kafka_edu.common.socket_transport import SocketTransport
from kafka_edu.common.time import SystemTime, Time
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.common.transport import Transport
from kafka_edu.protocol.messages.list_offsets import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP
from kafka_edu.trace.event import Event
from kafka_edu.trace.events.consumer import (
    ConsumerDescription,
    ConsumerSampled,
    ConsumerSnapshot,
)
from kafka_edu.trace.events.producer import ClientClosed
from kafka_edu.trace.tracer import Tracer

log = logging.getLogger(__name__)

_numbers: Final = itertools.count(1)
CLOSE_TIMEOUT_S: Final = 30.0
_SUSPEND_EVERY_MS: Final = 50
"""If `poll()` does not have to wait, it lets the event loop run at this interval, for heartbeats
and fetches.
"""

T = TypeVar("T")
RebalanceListener = Callable[[tuple[TopicPartition, ...]], Awaitable[None] | None]
"""A function or a coroutine function. It is called with the partitions."""
OnDone = Callable[[T | None, ClientException | None], None]


class ConsumerStateException(ClientException):
    """The consumer is in a state in which it cannot do this."""

    def __init__(self, message: str, advice: str) -> None:
        super().__init__(Errors.INVALID_REQUEST, message, advice)


def already_closed() -> ConsumerStateException:
    """Return the error of a call after `close`."""
    return ConsumerStateException(
        "This consumer has already been closed.", "Create a new consumer."
    )


class Consumer:
    """Reads records from a Kafka cluster. Only one task of one event loop may use it.

    `config` has Kafka's keys: docs/consumer.md lists them. The simulator and tests use the other
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
        """Build a consumer; `start` or `async with` starts it. Raises ConfigException."""
        self.config = parse_consumer_config(config, next(_numbers))
        self._time = time or SystemTime()
        self._core = core = ConsumerCore(self.config, chance or random.Random(), trace)
        self._trace = trace
        self._subscriptions = core.subscriptions
        wires = transport or SocketTransport()

        def shell(connections: ClientConnections) -> ConnectionShell:
            return ConnectionShell(connections, wires, self._time, self._wake)

        self._shells = shell(core.connections), shell(core.coordinator_connections)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._scheduled = False
        self._ran_ms = -NEVER
        """When the core last ran."""
        self._closing = False
        self._closed = False
        self._polling = False
        self._suspended_ms = -NEVER
        """When `poll()` last let other tasks run. If it has records, it does not wait by itself."""
        self._bug: Exception | None = None
        self._warned: set[str] = set()
        """The reasons why no broker was reached that are already in the log."""
        self._waiting: list[asyncio.Future[None]] = []
        self._listeners: dict[RebalanceStep, RebalanceListener | None] = {}

    async def start(self) -> Self:
        """Bind the consumer to the running event loop."""
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            if self._trace:
                self._trace.on_snapshot(self._snapshot)
                self._trace.on_gauges(self._gauges)
        return self

    def _describe(self) -> ConsumerDescription:
        return describe_consumer(self.config, self._core, self._now())

    def _snapshot(self) -> Iterator[Event]:
        yield ConsumerSnapshot(consumer=self._describe())

    def _gauges(self) -> Iterator[Event]:
        yield ConsumerSampled(consumer=self._describe())

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    def _now(self) -> float:
        return self._time.hi_res_clock_ms()

    def _wake(self) -> None:
        """Run the core soon."""
        if not self._scheduled and not self._closed and self._loop is not None:
            self._scheduled = True
            self._loop.call_soon(self._turn)

    def _turn(self) -> None:
        """Run the core once, perform its effects, and set the timer for the next run."""
        self._scheduled = False
        if self._closed or self._loop is None:
            return
        self._ran_ms = now = self._now()
        try:
            self._core.run(now)
            for shell in self._shells:
                shell.perform()
        except Exception as bug:  # after a bug, no call may wait for ever
            self._bug = bug
            self._closing = True
            self._end_waiting()
            raise
        self._end_waiting()
        if self._core.metadata.version == 0:
            self._warn_if_unreached()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        due = self._core.next_run_ms(now)
        if due < NEVER and not self._scheduled:
            self._timer = self._loop.call_later(max(due, 1) / 1000, self._turn)

    def _has_just_run(self, now: float) -> bool:
        """Return whether the core has run at `now`, in the same ms, and has nothing more to do. The
        result is False for a consumer in a group, because `poll()` may have to continue a
        rebalance.
        """
        return self._ran_ms == now and not self._scheduled and not self._subscriptions.in_group

    def _end_waiting(self) -> None:
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            _end(future)

    async def _changed(self, deadline_ms: float) -> None:
        """Wait until the core has run again, or until the deadline."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        alarm = asyncio.get_running_loop().call_later(
            max(deadline_ms - self._now(), 1) / 1000, _end, future
        )
        try:
            await future
        finally:
            alarm.cancel()

    def _last_failure(self) -> str:
        """Return a sentence for an error message. It says why the last connection ended."""
        reason = self._core.connections.last_failure
        return f" The last connection ended because: {reason}." if reason else ""

    def _warn_if_unreached(self) -> None:
        """Log why no broker was reached so far, once for each reason. `poll()` does not raise an
        error, because a broker may start later.
        """
        reason = self._core.connections.last_failure
        if reason and reason not in self._warned:
            self._warned.add(reason)
            log.warning(
                "Consumer %s has reached no broker of bootstrap.servers yet: %s. It keeps trying."
                " Check bootstrap.servers, and that a broker is alive there.",
                self.config.client_id,
                reason,
            )

    def _check_usable(self) -> None:
        if self._loop is None:
            raise ConsumerStateException(
                "The consumer is not started.", "Use `async with Consumer(...)`, or await start()."
            )
        if self._bug is not None:
            raise ConsumerStateException(
                f"The consumer has a bug: {self._bug!r}.", "Report it, and create a new consumer."
            ) from self._bug
        if self._closing:
            raise already_closed()

    def _check_group(self) -> None:
        if not self.config.group_id:
            raise ConsumerStateException(
                "To use the group management or offset commit APIs, you must provide a valid"
                " group.id in the consumer configuration.",
                "Set group.id.",
            )

    def subscribe(
        self,
        topics: Iterable[str] | re.Pattern[str],
        *,
        on_assigned: RebalanceListener | None = None,
        on_revoked: RebalanceListener | None = None,
        on_lost: RebalanceListener | None = None,
    ) -> None:
        """Read these topics as a member of the group. The next `poll()` joins the group.

        A pattern, such as `re.compile("web-.*")`, means every topic whose whole name matches, also
        if the topic is created later. The consumer finds a new topic within metadata.max.age.ms.
        Internal topics match only with exclude.internal.topics=false.

        `poll()` calls `on_revoked` before the consumer gives up partitions. In this listener, the
        program can commit. `poll()` calls `on_assigned` after the consumer got more partitions. In
        this listener, the program can seek. If partitions are already lost, `poll()` calls
        `on_lost`, or `on_revoked` if there is no `on_lost`. If a listener raises an exception,
        `poll()` raises the same exception.
        """
        self._check_usable()
        self._check_group()
        if isinstance(topics, str):
            raise ConsumerStateException(
                f"subscribe() got the text {topics!r}.",
                "Give a list of topics, or re.compile(...).",
            )
        if isinstance(topics, re.Pattern):
            self._core.subscribe_pattern(topics)
        else:
            self._subscriptions.subscribe(topics)
        self._listeners = {
            RebalanceStep.ASSIGNED: on_assigned,
            RebalanceStep.REVOKED: on_revoked,
            RebalanceStep.LOST: on_lost or on_revoked,
        }

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Read these partitions, without a rebalance. This replaces the previous call of
        `assign`.
        """
        self._check_usable()
        self._subscriptions.assign(partitions)
        self._wake()

    async def unsubscribe(self) -> None:
        """Leave the group, and stop reading."""
        self._check_usable()
        await self._leave("unsubscribe() was called")
        self._core.unsubscribe()

    def subscription(self) -> tuple[str, ...]:
        """Return the topics of `subscribe`, or those that match its pattern so far."""
        return self._subscriptions.topics

    def assignment(self) -> list[TopicPartition]:
        """Return the partitions that the consumer has now."""
        return self._subscriptions.assigned()

    async def poll(
        self, timeout_ms: float = 0, *, max_records: int | None = None
    ) -> list[ConsumerRecord]:
        """Return at most `max_records` records, or max.poll.records. The records of each partition
        are in order.

        Wait at most `timeout_ms` for the first record. The records of the previous call count as
        processed. So with enable.auto.commit their offsets may be committed now.
        """
        most = self.config.max_poll_records if max_records is None else max_records
        return await self._poll(timeout_ms, most)

    async def _poll(self, timeout_ms: float, most: int) -> list[ConsumerRecord]:
        self._check_usable()
        if self._subscriptions.type is SubscriptionType.NONE:
            raise ConsumerStateException(
                "Consumer is not subscribed to any topics or assigned any partitions.",
                "Call subscribe() or assign() first.",
            )
        if self._polling:
            raise ConsumerStateException(
                "Two tasks poll the same consumer.", "Let one task poll, or use two consumers."
            )
        self._polling = True
        try:
            return await self._poll_for(timeout_ms, most)
        finally:
            self._polling = False

    async def _poll_for(self, timeout_ms: float, most: int) -> list[ConsumerRecord]:
        core = self._core
        fetcher = core.fetcher
        now = self._now()
        deadline_ms = now + timeout_ms
        if now - self._suspended_ms >= _SUSPEND_EVERY_MS:
            self._suspended_ms = now
            await asyncio.sleep(0)
            now = self._now()
        while True:
            core.poll(now)
            # Send an automatic commit that is due now. Otherwise it would wait for the next
            # heartbeat.
            if (
                (not fetcher.buffered and not self._has_just_run(now))
                or core.coordinator.callback is not None
                or core.offsets.unsent
            ):
                self._turn()
            if core.coordinator.callback is not None:
                await self._call_listener(core.coordinator.callback)
                now = self._now()
                continue
            if not core.coordinator.rebalancing:
                before = fetcher.buffered
                records = fetcher.collect(most)
                if fetcher.buffered != before:
                    self._turn_with(records)
                if records:
                    return self._intercepted(records) if self.config.interceptors else records
            if now >= deadline_ms or self._closing:
                return []
            await self._changed(deadline_ms)
            now = self._suspended_ms = self._now()
            if self._bug is not None:
                self._check_usable()

    def _turn_with(self, records: list[ConsumerRecord]) -> None:
        """Send the next fetch while the program processes `records`, which `poll()` returns.

        The position is already after these records. So if a bug raises an exception in this step,
        `poll()` must still return the records. `_turn` keeps the exception, and the next `poll()`
        raises it.
        """
        try:
            self._turn()
        except Exception:  # otherwise the program would never get the records
            if not records:
                raise

    def _intercepted(self, records: list[ConsumerRecord]) -> list[ConsumerRecord]:
        """Let the interceptors change the records, one interceptor after the other. Return the
        result. An interceptor that raises an exception is skipped.
        """
        for interceptor in self.config.interceptors:
            try:
                records = interceptor.on_consume(records)
            except Exception as bug:
                log.warning(
                    "on_consume of interceptor %s failed. The records are used unchanged.",
                    type(interceptor).__name__,
                    exc_info=bug,
                )
        return records

    async def _call_listener(self, callback: RebalanceCallback) -> None:
        try:
            listener = self._listeners.get(callback.step)
            called = None if listener is None else listener(callback.partitions)
            if inspect.isawaitable(called):
                await called
        finally:
            self._core.coordinator.callback_done(self._now())

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> ConsumerRecord:
        """Wait for the next record and return it. The record before it counts as processed.

        Ends when another task closes the consumer.
        """
        while not self._closing:
            records = await self._poll(self.config.max_poll_interval_ms, 1)
            if records:
                return records[0]
        raise StopAsyncIteration

    async def _wait_for(
        self, name: str, timeout_ms: float | None, start: Callable[[OnDone[T]], GiveUp]
    ) -> T | None:
        """Call `start`, which begins an operation in the core. Wait for the result, or raise the
        error.
        """
        limit_ms = self.config.default_api_timeout_ms if timeout_ms is None else timeout_ms
        results: list[T | None] = []
        errors: list[ClientException] = []
        ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def done(result: T | None, error: ClientException | None) -> None:
            if error is not None:
                errors.append(error)
            results.append(result)
            _end(ended)

        give_up = start(done)
        self._turn()
        alarm = asyncio.get_running_loop().call_later(limit_ms / 1000, _end, ended)
        try:
            await ended
        finally:
            alarm.cancel()
            give_up()
        if errors:
            raise errors[0]
        if not results:
            if self._core.link.error is not None:
                raise self._core.link.error
            raise TimeoutException(
                f"Timeout of {limit_ms} ms expired before {name} could be completed."
                f"{self._last_failure()}",
                "Check that the brokers are alive, or wait longer.",
            )
        return results[0]

    async def commit(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata] | None = None,
        *,
        timeout_ms: float | None = None,
    ) -> None:
        """Commit `offsets`, or the positions, and wait until they are stored.

        A committed offset is the offset of the next record to read: the last record's offset plus
        1. Raises CommitFailedException if the consumer is no longer a member of the group's
        generation.
        """
        self._check_usable()
        self._check_group()
        chosen = self._subscriptions.all_consumed() if offsets is None else offsets

        def start(done: OnDone[None]) -> GiveUp:
            return self._core.offsets.commit(chosen, lambda error: done(None, error), retry=True)

        await self._wait_for("the commit", timeout_ms, start)

    def commit_async(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata] | None = None,
        on_done: OnCommitted | None = None,
    ) -> None:
        """Commit offsets without waiting. `on_done` is called with None or the error.

        A failed commit is not tried again, because a newer commit may already be stored.
        """
        self._check_usable()
        self._check_group()
        chosen = self._subscriptions.all_consumed() if offsets is None else offsets
        self._core.offsets.commit(chosen, on_done, retry=False)
        self._wake()

    def group_metadata(self) -> ConsumerGroupMetadata:
        """Return the consumer's membership, for `Producer.send_offsets_to_transaction`."""
        self._check_usable()
        self._check_group()
        membership = self._core.membership
        return ConsumerGroupMetadata(
            self.config.group_id,
            membership.generation,
            membership.member_id,
            self.config.group_instance_id,
        )

    async def committed(
        self, partitions: Iterable[TopicPartition], *, timeout_ms: float | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        """Return the group's committed offsets of the partitions that have one."""
        self._check_usable()
        self._check_group()
        chosen = list(partitions)

        def start(done: OnDone[dict[TopicPartition, OffsetAndMetadata]]) -> GiveUp:
            return self._core.offsets.fetch(chosen, done)

        found = await self._wait_for("the read of committed offsets", timeout_ms, start)
        if found is None:
            return await self.committed(chosen, timeout_ms=timeout_ms)  # a rebalance came between
        return found

    def seek(self, tp: TopicPartition, offset: int) -> None:
        """Continue at this offset. Raises NotAssignedException."""
        self._check_usable()
        if offset < 0:
            raise ConsumerStateException(
                f"seek() got the offset {offset}.", "Give an offset from 0 on."
            )
        self._subscriptions.seek(tp, offset, "seek() was called")
        self._wake()

    def seek_to_beginning(self, partitions: Iterable[TopicPartition] = ()) -> None:
        """Continue at the first record of these partitions, or of all assigned partitions."""
        self._request_resets(partitions, EARLIEST_TIMESTAMP, "seek_to_beginning() was called")

    def seek_to_end(self, partitions: Iterable[TopicPartition] = ()) -> None:
        """Continue after the last record of these partitions, or of all assigned partitions."""
        self._request_resets(partitions, LATEST_TIMESTAMP, "seek_to_end() was called")

    def seek_to_time(self, timestamp_ms: int, partitions: Iterable[TopicPartition] = ()) -> None:
        """Continue at the first record that is not older than a time in ms since 1970, or at the
        end.
        """
        self._check_usable()
        if timestamp_ms < 0:
            raise ConsumerStateException(
                f"seek_to_time() got {timestamp_ms}.", "Give a time in ms since 1970."
            )
        self._request_resets(partitions, timestamp_ms, "seek_to_time() was called")

    def _request_resets(
        self, partitions: Iterable[TopicPartition], timestamp: int, reason: str
    ) -> None:
        self._check_usable()
        for tp in list(partitions) or self._subscriptions.assigned():
            self._subscriptions.request_reset(tp, timestamp, reason)
        self._wake()

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        """Stop returning records of these partitions until `resume`. The partitions stay
        assigned.
        """
        self._check_usable()
        for tp in partitions:
            self._subscriptions.pause(tp)
        self._wake()  # their waiting records do not hold back the fetches of other partitions now

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        """Return records of these partitions again."""
        self._check_usable()
        for tp in partitions:
            self._subscriptions.resume(tp)
        self._wake()

    def paused(self) -> list[TopicPartition]:
        """Return the partitions that are paused."""
        return self._subscriptions.paused()

    def lag(self, tp: TopicPartition) -> int:
        """Return the number of offsets from the position to the high watermark. -1 if unknown."""
        return self._subscriptions.lag(tp)

    async def position(self, tp: TopicPartition, *, timeout_ms: float | None = None) -> int:
        """Return the offset of the next record that `poll()` returns. Wait until the position is
        known.
        """
        self._check_usable()
        limit_ms = self.config.default_api_timeout_ms if timeout_ms is None else timeout_ms
        deadline = self._now() + limit_ms
        self._turn()
        while (position := self._subscriptions.valid_position(tp)) == NO_OFFSET:
            if self._now() >= deadline:
                raise TimeoutException(
                    f"Timeout of {limit_ms} ms expired before the position for partition {tp} could"
                    f" be determined.{self._last_failure()}",
                    "Check that the brokers are alive, or wait longer.",
                )
            await self._changed(deadline)
        return position

    async def beginning_offsets(
        self, partitions: Iterable[TopicPartition], *, timeout_ms: float | None = None
    ) -> dict[TopicPartition, int]:
        """Return the first offset of each partition."""
        wanted = dict.fromkeys(partitions, EARLIEST_TIMESTAMP)
        found = await self._look_up(wanted, timeout_ms)
        return {tp: each.offset for tp, each in found.items()}

    async def end_offsets(
        self, partitions: Iterable[TopicPartition], *, timeout_ms: float | None = None
    ) -> dict[TopicPartition, int]:
        """Return each partition's end: the offset after the last record that this consumer may
        read.
        """
        wanted = dict.fromkeys(partitions, LATEST_TIMESTAMP)
        found = await self._look_up(wanted, timeout_ms)
        return {tp: each.offset for tp, each in found.items()}

    async def offsets_for_times(
        self, timestamps: Mapping[TopicPartition, int], *, timeout_ms: float | None = None
    ) -> dict[TopicPartition, FoundOffset | None]:
        """Return for each partition the first record that is not older than the given time. Return
        None for a partition without such a record.
        """
        found = await self._look_up(timestamps, timeout_ms)
        return {tp: None if each.offset == NO_OFFSET else each for tp, each in found.items()}

    async def _look_up(
        self, timestamps: Mapping[TopicPartition, int], timeout_ms: float | None
    ) -> dict[TopicPartition, FoundOffset]:
        self._check_usable()
        if not timestamps:
            return {}

        def start(done: OnDone[dict[TopicPartition, FoundOffset]]) -> GiveUp:
            found: dict[TopicPartition, FoundOffset] = {}

            def one(
                tp: TopicPartition,
                result: FoundOffset | None,
                error: ClientException | None,
                _: float,
            ) -> None:
                if result is None:
                    done(None, error)
                    return
                found[tp] = result
                if len(found) == len(timestamps):
                    done(found, None)

            given_up = [
                self._core.lookups.find(tp, timestamp, partial(one, tp))
                for tp, timestamp in timestamps.items()
            ]
            return lambda: [give_up() for give_up in given_up]

        found = await self._wait_for("the lookup of offsets", timeout_ms, start)
        assert found is not None
        return found

    async def partitions_for(
        self, topic: str, *, timeout_ms: float | None = None
    ) -> list[TopicPartition]:
        """Return the partitions of a topic."""
        self._check_usable()
        limit_ms = self.config.default_api_timeout_ms if timeout_ms is None else timeout_ms
        deadline = self._now() + limit_ms
        metadata = self._core.metadata
        metadata.use(topic, self._now())
        self._turn()
        while (info := metadata.use(topic, self._now())) is None:
            error = metadata.errors.get(topic)
            if error is not None and not error.retriable:
                raise BrokerException(error, f"Topic {topic}: {error.message}")
            if self._now() >= deadline:
                raise TimeoutException(
                    f"Topic {topic} not present in metadata after {limit_ms} ms."
                    f"{self._last_failure()}",
                    "Check bootstrap.servers, and that the topic exists.",
                )
            await self._changed(deadline)
        return [TopicPartition(topic, each.partition) for each in info.partitions]

    async def close(self, timeout_s: float = CLOSE_TIMEOUT_S) -> None:
        """Commit the positions with enable.auto.commit, leave the group, and close everything.

        Waits at most `timeout_s` for the brokers. A second call does nothing. A static member does
        not leave the group. The group keeps its partitions for session.timeout.ms.
        """
        if self._closed:
            return
        self._closing = True
        try:
            if self._loop is not None and self._bug is None:
                async with asyncio.timeout(timeout_s):
                    await self._leave("close() was called")
        except TimeoutError:  # LeaveGroup is sent nevertheless, if it can be sent now
            self._core.coordinator.leave(self._now(), "close() was called")
            self._turn()
        finally:
            self._closed = True
            if self._timer is not None:
                self._timer.cancel()
            self._end_waiting()
            self._core.close(self._now())
            if self._trace and self._loop is not None:
                self._trace.forget(self._snapshot, self._gauges)
                self._trace(ClientClosed(client=self.config.client_id, role="consumer"))
            for shell in self._shells:
                shell.perform()
                await shell.close()

    async def _leave(self, reason: str) -> None:
        """Commit if enable.auto.commit is set, call the listener, and leave the group."""
        core = self._core
        managed = self._subscriptions.in_group
        member = core.membership.may_commit
        if self.config.auto_commit and (member or not managed):
            await self._commit_last()
        if not managed:
            return
        assigned = tuple(self._subscriptions.assigned())
        try:
            if assigned:
                step = RebalanceStep.REVOKED if member else RebalanceStep.LOST
                await self._call_listener(RebalanceCallback(step, assigned))
        finally:
            core.coordinator.leave(self._now(), reason)
            self._turn()
        deadline = self._now() + self.config.request_timeout_ms
        while core.coordinator.leaving and self._now() < deadline:
            await self._changed(deadline)

    async def _commit_last(self) -> None:
        consumed = self._core.coordinator.committable()
        if not consumed:
            return

        def start(done: OnDone[None]) -> GiveUp:
            return self._core.offsets.commit(consumed, lambda error: done(None, error), retry=True)

        try:
            await self._wait_for("the last commit", None, start)
        except ClientException:
            return  # the event ConsumerCommitted has the error; the records will be read again


def _end(future: "asyncio.Future[None]") -> None:
    """End a future, unless it has ended already."""
    if not future.done():
        future.set_result(None)
