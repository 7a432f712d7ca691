"""The consumer for programs without asyncio. docs/consumer.md lists its settings and its calls.

    settings = {"bootstrap.servers": "127.0.0.1:9092", "group.id": "readers"}
    with Consumer(settings) as consumer:
        consumer.subscribe(["web"])
        for record in consumer:
            print(record.partition, record.offset, record.value)

The consumer's thread sends heartbeats and fetches while the program processes records.
"""

import re
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Final

from kafka_edu.clients.blocking.client import BlockingClient, at_once, waiting
from kafka_edu.clients.blocking.loop_thread import in_caller
from kafka_edu.clients.consumer import consumer
from kafka_edu.clients.consumer.consumer_record import ConsumerRecord
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.trace.tracer import Tracer

Listener = Callable[[tuple[TopicPartition, ...]], None]
_OLDEST_UNREAD_S: Final = 1.0
"""After this time `for` polls again, so that rebalances and automatic commits can happen."""


class Consumer(BlockingClient[consumer.Consumer]):
    """Reads records from a Kafka cluster. Only one thread may use it, but any thread may close it.

    A `for` loop polls several records at once, because each call from the program's thread to the
    consumer's thread takes time. But a record counts as processed only when the program requests
    the next record. So before each call of a different method, the position goes back to the first
    record that the program has not got yet. After such a call, the `for` loop begins again with
    polls of one record. So if a program commits each record, no record is fetched twice.
    """

    def __init__(self, config: Mapping[str, object], *, trace: Tracer | None = None) -> None:
        """Build a consumer. Its thread calls the sinks of `trace`. Raises ConfigException."""
        client = consumer.Consumer(config, trace=trace)
        super().__init__(client, client.config.client_id, client.start, consumer.already_closed())
        self._unread: deque[ConsumerRecord] = deque()
        """Records that `for` has polled, but that the program has not got yet."""
        self._most = 1
        """How many records `for` polls next."""
        self._polled_s = 0.0
        self._closing = False

    async def prepare(self) -> None:
        """Go back to the first record that the program has not got yet. Runs in the client's
        thread.

        If the group has given one of the partitions to a different member, that member reads the
        records that the program has not got.
        """
        self._most = 1
        if not self._unread:
            return
        first: dict[TopicPartition, int] = {}
        for record in self._unread:
            first.setdefault(TopicPartition(record.topic, record.partition), record.offset)
        self._unread.clear()
        assigned = self.client.assignment()
        for tp, offset in first.items():
            if tp in assigned:
                self.client.seek(tp, offset)

    def subscribe(
        self,
        topics: Iterable[str] | re.Pattern[str],
        *,
        on_assigned: Listener | None = None,
        on_revoked: Listener | None = None,
        on_lost: Listener | None = None,
    ) -> None:
        """Read these topics as a member of the group. The next `poll()` joins the group.

        `poll()`, `for`, `unsubscribe()` and `close()` call the listeners, in the program's thread.
        A listener may call the consumer, for example to commit or to seek.
        """
        self._subscribe(
            topics,
            on_assigned=_for_loop(on_assigned),
            on_revoked=_for_loop(on_revoked),
            on_lost=_for_loop(on_lost),
        )

    _subscribe = at_once(consumer.Consumer.subscribe)
    assign = at_once(consumer.Consumer.assign)
    unsubscribe = waiting(consumer.Consumer.unsubscribe)
    subscription = at_once(consumer.Consumer.subscription)
    assignment = at_once(consumer.Consumer.assignment)
    poll = waiting(consumer.Consumer.poll)

    def __iter__(self) -> Iterator[ConsumerRecord]:
        return self

    def __next__(self) -> ConsumerRecord:
        """Return the next record, and wait for it. Ends when another thread closes the consumer."""
        if not self._unread or time.monotonic() - self._polled_s > _OLDEST_UNREAD_S:
            try:
                self.run(self._poll_next)
            except consumer.ConsumerStateException:
                if not self._closing:
                    raise
        try:
            return self._unread.popleft()
        except IndexError:
            raise StopIteration from None

    async def _poll_next(self) -> None:
        """Poll until there is a record, or until the consumer is closed."""
        most = self._most if not self._unread else 1
        await self.prepare()
        config = self.client.config
        while not self._unread and not self._closing:
            records = await self.client.poll(config.max_poll_interval_ms, max_records=most)
            self._unread.extend(records)
        self._most = min(2 * most, config.max_poll_records)
        self._polled_s = time.monotonic()

    commit = waiting(consumer.Consumer.commit)
    commit_async = at_once(consumer.Consumer.commit_async)
    group_metadata = at_once(consumer.Consumer.group_metadata)
    committed = waiting(consumer.Consumer.committed)
    seek = at_once(consumer.Consumer.seek)
    seek_to_beginning = at_once(consumer.Consumer.seek_to_beginning)
    seek_to_end = at_once(consumer.Consumer.seek_to_end)
    seek_to_time = at_once(consumer.Consumer.seek_to_time)
    pause = at_once(consumer.Consumer.pause)
    resume = at_once(consumer.Consumer.resume)
    paused = at_once(consumer.Consumer.paused)
    lag = at_once(consumer.Consumer.lag)
    position = waiting(consumer.Consumer.position)
    beginning_offsets = waiting(consumer.Consumer.beginning_offsets)
    end_offsets = waiting(consumer.Consumer.end_offsets)
    offsets_for_times = waiting(consumer.Consumer.offsets_for_times)
    partitions_for = waiting(consumer.Consumer.partitions_for)

    def close(self, timeout_s: float = consumer.CLOSE_TIMEOUT_S) -> None:
        """Commit the positions with enable.auto.commit, leave the group, and close everything.

        Waits at most `timeout_s` for the brokers.
        """

        async def close() -> None:
            await self.prepare()
            await self.client.close(timeout_s)

        self._closing = True
        self._close(close)


def _for_loop(listener: Listener | None) -> Callable[..., Awaitable[None]] | None:
    """Wrap a listener of the program, so that it runs in the program's thread."""
    if listener is None:
        return None

    async def call(partitions: tuple[TopicPartition, ...]) -> None:
        await in_caller(partial(listener, partitions))

    return call
