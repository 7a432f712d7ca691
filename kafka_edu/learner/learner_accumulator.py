"""Exercise 12-1 in a live producer: a learner's Accumulator decides which batches are sent when.

The shipped accumulator keeps the batches and their memory. It gives the learner's code only
numbers, and takes out the batches that the answer names. The partitions of a producer are numbered
from 0, in the order in which they got their first batch.

A wrong answer is used if possible: a batch then waits too long, is sent half empty, or is sent
again at once. It is an error in the learner's code if an answer names a partition that has no
batch, or names no partition although a batch must be sent. The shipped rules then take over.
"""

from collections.abc import Callable, Iterable
from functools import partial

from kafka_edu.clients.metadata import NEVER, Metadata
from kafka_edu.clients.producer.producer_batch import ProducerBatch
from kafka_edu.clients.producer.record_accumulator import (
    BufferPool,
    PartitionQueue,
    Ready,
    RecordAccumulator,
)
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.learner.learner_part import LearnerPart
from kafka_edu.learner.seams import LearnerCode, LearnerError
from kafka_edu.record.compression import CompressionType
from kafka_edu.trace.tracer import Tracer


class LearnerAccumulator(RecordAccumulator):
    """An accumulator that asks an object of the learner's class. Each producer has one such
    object.
    """

    def __init__(
        self,
        code: LearnerCode,
        client_id: str,
        batch_size: int,
        linger_ms: float,
        retry_backoff_ms: float,
        compression: CompressionType,
        pool: BufferPool,
        trace: Tracer | None = None,
    ) -> None:
        super().__init__(
            client_id, batch_size, linger_ms, retry_backoff_ms, compression, pool, trace
        )
        self._part = LearnerPart(code, batch_size, int(linger_ms), int(retry_backoff_ms))
        self._places: dict[TopicPartition, int] = {}
        """The number of each partition that has had a batch."""

    def ready(self, metadata: Metadata, now: float) -> Ready:
        if self._part.is_out:
            return super().ready(metadata, now)
        at_once = self.at_once
        queues = {
            self._places.setdefault(tp, len(self._places)): queue
            for tp, queue in self._filled.items()
        }
        rows = [self._row(place, queues[place]) for place in sorted(queues)]
        try:
            match self._part.ask("ready", rows, int(now), at_once):
                case (list(places) | tuple(places), None | int() as next_ms) if _are(
                    places, queues
                ) and (next_ms is None or (next_ms is not True and next_ms >= 0)):
                    sendable = [queues[place] for place in places]
                    wait_ms = NEVER if next_ms is None else next_ms
                    return self._by_leader(sendable, metadata, wait_ms)
                case answer:
                    expected = "([partition of a row], ms from 0 on, or None)"
                    raise self._part.blame("ready", (rows, int(now), at_once), answer, expected)
        except LearnerError as error:
            self._part.fail(error)
            return super().ready(metadata, now)

    def _row(self, place: int, queue: PartitionQueue) -> dict[str, object]:
        first = queue.batches[0]
        least = self._batch_size if first.is_full else 0
        return {
            "partition": place,
            "batches": [max(first.size, least), *(one.size for one in list(queue.batches)[1:])],
            "since_ms": int(first.last_attempt_ms),
            "attempts": first.attempts,
            "muted": queue.muted,
        }

    def drain(
        self,
        node: int,
        queues: Iterable[PartitionQueue],
        max_bytes: int,
        may_drain: Callable[[ProducerBatch], bool],
        assign: Callable[[ProducerBatch], None],
        now: float,
    ) -> list[ProducerBatch]:
        waiting = list(queues)
        if self._part.is_out:
            return super().drain(node, waiting, max_bytes, may_drain, assign, now)
        able = {self._places[q.tp]: q for q in waiting if may_drain(q.batches[0])}
        if not able:
            return []
        rows = [[place, able[place].batches[0].size] for place in sorted(able)]
        try:
            match self._part.ask("drain", node, rows, max_bytes):
                case list(places) | tuple(places) if places and _are(places, able):
                    return [self._take(able[place], assign, now) for place in places]
                case answer:
                    expected = "at least one partition of the rows, each once"
                    raise self._part.blame("drain", (node, rows, max_bytes), answer, expected)
        except LearnerError as error:
            self._part.fail(error)
            return super().drain(node, waiting, max_bytes, may_drain, assign, now)


def _are(places: Iterable[object], queues: dict[int, PartitionQueue]) -> bool:
    """Return whether `places` names only partitions that have a batch, and each at most once."""
    found = [one for one in places if type(one) is int and one in queues]
    return found == list(places) and len(set(found)) == len(found)


def adapt(code: LearnerCode) -> Callable[..., RecordAccumulator]:
    """Return the function that replaces `RecordAccumulator` where a producer is built."""
    return partial(LearnerAccumulator, code)
