"""Exercise 12-4 in a live producer: a learner's Callbacks decides which callbacks are called.

The shipped accumulator divides the batches, and the shipped batch calls the callbacks. The learner
sees only numbers. Each producer numbers its records that have a callback, in the order in which the
records' batches first end or are divided.

A wrong answer is used: a callback is then never called, or twice, or with a different offset. It is
an error in the learner's code if an answer names a record that the producer does not know, or a
place below 0. The shipped rules then take over. They can do so because the shipped code keeps the
callbacks of each batch too.
"""

from collections.abc import Callable
from functools import partial

from kafka_edu.clients.producer.producer_batch import ProducerBatch, Thunk
from kafka_edu.clients.producer.record_accumulator import BufferPool, RecordAccumulator
from kafka_edu.learner.learner_part import LearnerPart
from kafka_edu.learner.seams import LearnerCode, LearnerError
from kafka_edu.record.compression import CompressionType
from kafka_edu.trace.tracer import Tracer


class CallbackAccumulator(RecordAccumulator):
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
        self._part = LearnerPart(code)
        self._records = 0
        self._thunks: dict[int, Thunk] = {}
        """Record → its callback, for the unfinished records that the learner knows."""
        self._known_records: dict[int, list[int]] = {}
        """Number of a batch → its records, for the batches that the learner knows."""

    def split(self, batch: ProducerBatch, now: float) -> list[ProducerBatch]:
        """Divide a batch, and inform the learner which records each part has."""
        self._tell_records(batch)
        left = self._known_records.pop(batch.number)
        parts = super().split(batch, now)
        for part in parts:
            count = len(part.thunks)
            self._known_records[part.number], left = left[:count], left[count:]
        self._part.tell("divided", batch.number, [[part.number, part.count] for part in parts])
        return parts

    def release(self, batch: ProducerBatch) -> None:
        """Let the learner choose the callbacks, which the batch calls right after this."""
        super().release(batch)
        self._tell_records(batch)
        mine = self._known_records.pop(batch.number)
        if not self._part.is_out:
            try:
                batch.thunks = self._chosen(batch)
            except LearnerError as error:
                self._part.fail(error)
        for record in mine:
            self._thunks.pop(record, None)

    def _chosen(self, batch: ProducerBatch) -> list[Thunk]:
        """Return the callbacks that the learner's answer names. Raises LearnerError."""
        answer = self._part.ask("ended", batch.number)
        expected = "a list of (place in the batch, record that was added)"
        if not isinstance(answer, list | tuple):
            raise self._part.blame("ended", (batch.number,), answer, expected)
        found: list[Thunk] = []
        for one in answer:
            match one:
                case (int(place), int(record)) if place >= 0 and record in self._thunks:
                    found.append(self._thunks[record]._replace(at=place))
                case _:
                    raise self._part.blame("ended", (batch.number,), answer, expected)
        return found

    def _tell_records(self, batch: ProducerBatch) -> None:
        """Inform the learner which records of a batch have a callback, unless it knows them
        already.

        The batch is closed, so no more records are added to it.
        """
        if batch.number in self._known_records:
            return
        records = self._known_records[batch.number] = []
        for thunk in batch.thunks:
            self._records += 1
            self._thunks[self._records] = thunk
            records.append(self._records)
            self._part.tell("added", batch.number, thunk.at, self._records)


def adapt(code: LearnerCode) -> Callable[..., RecordAccumulator]:
    """Return the function that replaces `RecordAccumulator` where a producer is built."""
    return partial(CallbackAccumulator, code)
