"""An idempotent producer for the search by seeds (Kafka: Sender.java, TransactionManager.java).

It sends batches of numbered records with acks=all. A connection has up to five requests in flight.
Each batch has the producer's id and epoch and the sequence number of its first record. A failed
batch is sent again with the same sequence number. So the broker can refuse a batch that comes twice
or too early. The answers have the same meaning as for Kafka's producer:

    no error                          acknowledged
    DUPLICATE_SEQUENCE_NUMBER         acknowledged: the broker has written the batch before
    OUT_OF_ORDER_SEQUENCE_NUMBER      an earlier batch has failed: send that batch again first
    any other retriable error         look up the leader, then send again
    connection closed, no answer      look up the leader, then send again
    an error without retry            the simulation run fails

While a batch waits to be sent again, no later batch is sent. So retries are sent one at a time.

Two rules are stricter than Kafka's producer, because its own rules leave gaps:

- A partition has at most five batches without acknowledgement, on all connections together. A log
  remembers the last five batches of a producer. With ten of them on two connections, the oldest
  could be written, forgotten, and refused when it is sent again.
- A partition has one batch in flight until its first batch is acknowledged. A log that does not
  know the producer takes any sequence number. It would take batch 2 after it has refused batch 1.
"""

import asyncio
import random
from collections import deque
from collections.abc import Sequence
from typing import Final

from kafka_edu.clients.answer_deadlines import AnswerDeadlines
from kafka_edu.clients.probe_requests import CLIENT_TIMEOUT_MS, Probe, produce
from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.network.network_client import NetworkClient
from kafka_edu.protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from kafka_edu.protocol.messages.produce import ProduceResponse
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import NO_PRODUCER_ID, build_batch, increment_sequence
from kafka_edu.sim.timed_connections import GIVE_UP_MS, RETRY_MS, Gone, TimedConnections

MAX_IN_FLIGHT: Final = 5
"""The limit for requests in flight on one connection, and for unacknowledged batches of one
partition.
"""
LINGER_MS: Final = 20
"""How often the producer checks for records to send while records wait, in ms."""
BATCH_EVERY_MS: Final = 120
BURST_RECORDS: Final = 64
MAX_BATCH_RECORDS: Final = 3
#: The possible sequence numbers of a partition's first record. The last one exceeds 2³¹ - 1 during
#: the run, and then continues at 0.
FIRST_SEQUENCES: Final = (0, 0, 0, 2**31 - 30)


class _Batch:
    """Some records and the sequence number of the first one. The bytes are the same in every
    attempt.
    """

    __slots__ = ("data", "in_flight", "numbers", "sequence")

    def __init__(self, sequence: int, numbers: tuple[int, ...], data: bytes) -> None:
        self.sequence = sequence
        self.numbers = numbers
        self.data = data
        self.in_flight = False


class _PartitionQueue:
    """The records of one partition that are not yet acknowledged, in order."""

    def __init__(self, first_sequence: int) -> None:
        self.waiting: deque[int] = deque()
        """The numbers of the records that are in no batch yet."""
        self.unacknowledged: deque[_Batch] = deque()
        """The batches that are in flight or wait to be sent again."""
        self.next_sequence = first_sequence
        self.any_acknowledged = False
        self.out_of_order = 0
        """How many times in a row the broker has refused the oldest batch as out of order."""

    @property
    def is_empty(self) -> bool:
        return not self.waiting and not self.unacknowledged

    def batch_to_retry(self) -> _Batch | None:
        """Return the oldest batch if it must be sent again, otherwise None."""
        first = self.unacknowledged[0] if self.unacknowledged else None
        return first if first is not None and not first.in_flight else None

    @property
    def may_begin_batch(self) -> bool:
        limit = MAX_IN_FLIGHT if self.any_acknowledged else 1
        return (
            bool(self.waiting)
            and len(self.unacknowledged) < limit
            and all(batch.in_flight for batch in self.unacknowledged)
        )


class PipelinedProducer:
    """Sends numbered records until it is stopped and all records are acknowledged."""

    def __init__(
        self,
        connections: TimedConnections,
        partitions: Sequence[TopicPartition],
        chance: random.Random,
    ) -> None:
        self.connections = connections
        self.stopping = False
        self.timeout_ms: int = chance.choice((1_500, 5_000, 30_000))
        """The time-out in each request: how long the leader waits for the followers, in ms."""
        self.request_timeout_ms: int = chance.choice(
            (self.timeout_ms + 2_000, self.timeout_ms + 15_000, GIVE_UP_MS)
        )
        """After this time without an answer, in ms, the producer closes the connection
        (request.timeout.ms).
        """
        self.sent: dict[TopicPartition, list[int]] = {tp: [] for tp in partitions}
        """The numbers of all records of each partition, in the order in which the producer created
        them.
        """
        self.acked: dict[int, TopicPartition] = {}
        self.refused: list[str] = []
        """The errors after which a batch is not sent again, in words."""
        self.timed_out: list[float] = []
        """The times at which a broker answered that followers had not fetched a batch within the
        request's time-out.
        """
        self.burst = False
        """Set to True by the script when the producer must create many records at once."""
        self._chance = chance
        first_sequence = chance.choice(FIRST_SEQUENCES)
        self._queues = {tp: _PartitionQueue(first_sequence) for tp in partitions}
        self._producer_id, self._epoch = NO_PRODUCER_ID, -1
        self._in_flight: dict[NetworkClient, int] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._next_number = 0

    @property
    def unfinished(self) -> str:
        """Return a text about the partitions that have unacknowledged records."""
        return ", ".join(
            f"{tp}: {len(queue.waiting)} records without a batch,"
            f" {len(queue.unacknowledged)} batches without acknowledgement, the oldest"
            f" {queue.out_of_order} times out of order"
            for tp, queue in self._queues.items()
            if not queue.is_empty
        )

    async def run(self) -> None:
        observed = self.connections.observed
        next_records_ms = observed.now_ms()
        while not self.stopping or not all(queue.is_empty for queue in self._queues.values()):
            if not self.stopping and (self.burst or observed.now_ms() >= next_records_ms):
                self._hand_in()
                next_records_ms = observed.now_ms() + BATCH_EVERY_MS
            try:
                await self._find_leaders()
                if self._producer_id == NO_PRODUCER_ID:
                    await self._init_producer_id()
                await self._send()
            except Gone:
                await observed.sleep(RETRY_MS)
            backlog = any(queue.waiting for queue in self._queues.values())
            await observed.sleep(LINGER_MS if backlog else BATCH_EVERY_MS)

    def _hand_in(self) -> None:
        count = BURST_RECORDS if self.burst else self._chance.randint(1, 3)
        self.burst = False
        for _ in range(count):
            tp = self._chance.choice(list(self._queues))
            self._queues[tp].waiting.append(self._next_number)
            self.sent[tp].append(self._next_number)
            self._next_number += 1

    async def _find_leaders(self) -> None:
        leaders = self.connections.leaders
        if any(leaders.get(tp, -1) < 0 for tp in self._queues):
            topics = sorted({tp.topic for tp in self._queues})
            await self.connections.refresh(topics, self._chance)

    async def _init_producer_id(self) -> None:
        """Get a producer id from any broker. Raises Gone if no broker gives one."""
        broker = self._chance.choice(list(self.connections.observed.cluster.brokers))
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=10_000)
        probe = Probe("InitProducerId", request, 1, CLIENT_TIMEOUT_MS)
        answer = await self.connections.ask(broker, probe, InitProducerIdResponse)
        if answer.error_code:
            raise Gone
        self._producer_id, self._epoch = answer.producer_id, answer.producer_epoch

    async def _send(self) -> None:
        """Send as many batches as the limits allow. Raises Gone if there is no connection."""
        for tp, queue in self._queues.items():
            while queue.batch_to_retry() is not None or queue.may_begin_batch:
                leader = self.connections.leaders.get(tp, -1)
                if leader not in self.connections.observed.cluster.brokers:
                    break
                client, deadlines = await self.connections.connection(leader)
                if self._in_flight.get(client, 0) >= MAX_IN_FLIGHT:
                    break
                batch = queue.batch_to_retry()
                if batch is None:
                    if not queue.may_begin_batch:
                        break
                    batch = self._new_batch(queue)
                batch.in_flight = True
                self._in_flight[client] = self._in_flight.get(client, 0) + 1
                task = asyncio.get_running_loop().create_task(
                    self._send_batch(tp, batch, leader, client, deadlines)
                )
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    def _new_batch(self, queue: _PartitionQueue) -> _Batch:
        """Take records from the queue and put them into a batch with the next sequence numbers."""
        count = min(len(queue.waiting), self._chance.randint(1, MAX_BATCH_RECORDS))
        numbers = tuple(queue.waiting.popleft() for _ in range(count))
        now_ms = self.connections.observed.cluster.time.milliseconds()
        data = build_batch(
            [Record(index, now_ms, None, b"%d" % number) for index, number in enumerate(numbers)],
            producer_id=self._producer_id,
            producer_epoch=self._epoch,
            base_sequence=queue.next_sequence,
        )
        batch = _Batch(queue.next_sequence, numbers, data)
        queue.next_sequence = increment_sequence(queue.next_sequence, count)
        queue.unacknowledged.append(batch)
        return batch

    async def _send_batch(
        self,
        tp: TopicPartition,
        batch: _Batch,
        leader: int,
        client: NetworkClient,
        deadlines: AnswerDeadlines,
    ) -> None:
        probe = produce(
            self._chance,
            tp,
            self.connections.observed.cluster.time.milliseconds(),
            timeout_ms=self.timeout_ms,
            batch=batch.data,
        )
        try:
            answer = await self.connections.ask_on(
                leader, client, deadlines, probe, ProduceResponse, self.request_timeout_ms
            )
            error = Errors.of(answer.responses[0].partition_responses[0].error_code)
        except Gone:
            error = Errors.NETWORK_EXCEPTION
        finally:
            self._in_flight[client] -= 1
            if not self._in_flight[client]:
                del self._in_flight[client]
        batch.in_flight = False
        queue = self._queues[tp]
        if error in (Errors.NONE, Errors.DUPLICATE_SEQUENCE_NUMBER):
            queue.unacknowledged.remove(batch)
            queue.any_acknowledged = True
            queue.out_of_order = 0
            self.acked.update(dict.fromkeys(batch.numbers, tp))
        else:
            self._failed(tp, batch, error, leader)

    def _failed(self, tp: TopicPartition, batch: _Batch, error: Errors, leader: int) -> None:
        """Note the error of a batch. The batch stays in its queue and is sent again."""
        queue = self._queues[tp]
        now_ms = self.connections.observed.now_ms()
        if error is Errors.OUT_OF_ORDER_SEQUENCE_NUMBER:
            # A leader that has been replaced but does not know it yet may also refuse the oldest
            # batch in this way.
            queue.out_of_order += batch is queue.unacknowledged[0]
        elif not error.retriable:
            self.refused.append(
                f"broker {leader} refused sequence {batch.sequence} of {tp} at {now_ms:.0f} ms:"
                f" {error.name}"
            )
        if error is Errors.REQUEST_TIMED_OUT:
            self.timed_out.append(now_ms)
        if self.connections.leaders.get(tp) == leader:
            self.connections.leaders[tp] = -1
