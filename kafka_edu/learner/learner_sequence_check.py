"""Exercise 15-1 in a live broker: a learner's SequenceCheck decides whether a producer's batch is
written.

The learner keeps the last batches itself. Before each call, its object gets the batches that were
written since the last call. If these batches do not continue the batches that the object knows,
because the log was truncated or opened, a new object gets all batches that the broker remembers.

The learner's code is called for topics whose names begin with `lab-`. A batch that should be
refused is written if the learner says so. It is an error in the learner's code to refuse a batch
that is in order, or to name an offset at which the broker remembers no batch. The shipped check
then answers.
"""

from collections.abc import Callable, Iterable
from typing import Final

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.learner.lab_partitions import all_of_labs
from kafka_edu.learner.learner import LearnerObject
from kafka_edu.learner.seams import LearnerCode, LearnerError
from kafka_edu.log.producer_state_entry import BatchMetadata, ProducerStateEntry
from kafka_edu.log.sequence_check import SequenceCheck
from kafka_edu.record.record_batch import BatchHeader

MOST_PRODUCERS: Final = 100
"""The maximum number of objects (one for each producer) kept for a log. The others are made
again.
"""
REFUSALS: Final = {
    error.name: error
    for error in (Errors.INVALID_PRODUCER_EPOCH, Errors.OUT_OF_ORDER_SEQUENCE_NUMBER)
}


class _Known:
    """The object of the learner's class for one producer, and the state that was given to this
    object.
    """

    def __init__(self, learner: LearnerObject) -> None:
        self.learner = learner
        self.epoch: int | None = None
        self.last: BatchMetadata | None = None


class LearnerSequenceCheck(SequenceCheck):
    """Calls the learner's objects for the producers of one log."""

    __slots__ = ("_code", "_known")

    def __init__(self, topic_partition: TopicPartition, code: LearnerCode) -> None:
        super().__init__(topic_partition)
        self._code = code
        self._known: dict[int, _Known] = {}

    def check(self, entry: ProducerStateEntry | None, header: BatchHeader) -> BatchMetadata | None:
        if self._code.retired:
            return super().check(entry, header)
        try:
            answer = self._ask(entry, header)
            return self._carry_out(answer, entry, header)
        except LearnerError as error:
            self._code.failed(error)
            self._known.pop(header.producer_id, None)
            return super().check(entry, header)

    def _carry_out(
        self, answer: object, entry: ProducerStateEntry | None, header: BatchHeader
    ) -> BatchMetadata | None:
        """Return what `check` returns for the learner's answer, or raise the error that it names.

        Raises LearnerError if the answer cannot be used.
        """
        batches = () if entry is None else tuple(entry.batches)
        match answer:
            case "write":
                return None
            case ("duplicate", int(offset)):
                for batch in batches:
                    if batch.first_offset == offset:
                        return batch
                offsets = ", ".join(str(batch.first_offset) for batch in batches) or "none"
                raise self._blame(header, answer, f"the offset of a known batch: {offsets}")
            case str(name) if name in REFUSALS:
                try:
                    super().check(entry, header)
                except KafkaException as refused:
                    if refused.error.name == name:
                        raise
                    raise KafkaException(REFUSALS[name], str(refused)) from None
                expected = "'write' or a duplicate, because the batch is in order"
                raise self._blame(header, answer, expected)
        raise self._blame(
            header, answer, "'write', ('duplicate', offset) or the name of one of the two errors"
        )

    def _ask(self, entry: ProducerStateEntry | None, header: BatchHeader) -> object:
        """Return the learner's answer. Raises LearnerError."""
        known = self._known.pop(header.producer_id, None)
        if known is None or not _continues(known, entry):
            known = _Known(self._code.make())
        if entry is not None:
            self._tell(known, entry)
        if len(self._known) >= MOST_PRODUCERS:
            del self._known[next(iter(self._known))]
        self._known[header.producer_id] = known
        count = header.last_offset_delta + 1
        asked = header.producer_epoch, header.base_sequence, count
        return self._code.ask(known.learner, "check", *asked)

    def _tell(self, known: _Known, entry: ProducerStateEntry) -> None:
        """Give the learner's object the batches, or the epoch, that it does not know yet."""
        epoch = entry.producer_epoch
        for batch in _later(known.last, entry.batches):
            count = batch.offset_delta + 1
            written = epoch, batch.first_sequence, count, batch.first_offset
            self._code.ask(known.learner, "written", *written)
        if not entry.batches and known.epoch != epoch:
            self._code.ask(known.learner, "fence", epoch)
        known.epoch = epoch
        known.last = entry.batches[-1] if entry.batches else None

    def _blame(self, header: BatchHeader, answer: object, expected: str) -> LearnerError:
        count = header.last_offset_delta + 1
        return self._code.blame(
            f"check({header.producer_epoch}, {header.base_sequence}, {count}) answered {answer!r};"
            f" expected {expected}"
        )


def _continues(known: _Known, entry: ProducerStateEntry | None) -> bool:
    """Return whether the broker's state of a producer continues what the learner's object knows."""
    if entry is None:
        return known.epoch is None
    if known.epoch is None or known.last is None:
        return known.epoch is None or entry.producer_epoch >= known.epoch
    if entry.producer_epoch != known.epoch:
        oldest = next(iter(entry.batches), None)
        behind = oldest is None or oldest.first_offset > known.last.last_offset
        return entry.producer_epoch > known.epoch and behind
    return known.last in entry.batches


def _later(last: BatchMetadata | None, batches: Iterable[BatchMetadata]) -> Iterable[BatchMetadata]:
    """Return the batches after the batch `last`."""
    return [one for one in batches if last is None or one.last_offset > last.last_offset]


def adapt(code: LearnerCode) -> Callable[[TopicPartition], SequenceCheck]:
    """Return the function that replaces `SequenceCheck` in a broker."""

    def make(topic_partition: TopicPartition) -> SequenceCheck:
        if not all_of_labs([topic_partition]):
            return SequenceCheck(topic_partition)
        return LearnerSequenceCheck(topic_partition, code)

    return make
