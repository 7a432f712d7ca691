"""Exercise 15-2 in a live broker: a learner's ReadCommitted says what readers of committed records
may see.

A transaction holds the last stable offset back while it is open, or while its marker is not
replicated yet. If there are such transactions, each call uses a new object of the learner's class.
Before the call, the object gets the offset at which each of these transactions was opened, and the
offset of its marker, if any, in the order of the log.

The learner's code is called for topics whose names begin with `lab-`. A wrong answer is used if
possible: readers then see records of open or aborted transactions, or wait too long. It is an error
in the learner's code if an offset lies above the high watermark, or if an aborted transaction is
named that is not in the index. The shipped rule then answers.
"""

from collections.abc import Callable, Mapping
from typing import Final

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.learner.lab_partitions import all_of_labs
from kafka_edu.learner.seams import LearnerCode, LearnerError
from kafka_edu.log.stable_rule import StableRule
from kafka_edu.log.transaction_index import AbortedTxn, TransactionIndex
from kafka_edu.trace.events.transaction import UnstableTransaction

MOST_TRANSACTIONS: Final = 50
"""With more transactions at once the shipped code answers, because each needs two calls."""
MOST_ABORTED: Final = 1_000
"""For an index with more transactions the shipped code answers: an answer may have 64 KiB."""


class LearnerStableRule(StableRule):
    """Calls the learner's object of one log."""

    __slots__ = ("_code",)

    def __init__(self, topic_partition: TopicPartition, code: LearnerCode) -> None:
        super().__init__(topic_partition)
        self._code = code

    def first_unstable(
        self,
        ongoing: Mapping[int, UnstableTransaction],
        unreplicated: Mapping[int, UnstableTransaction],
        high_watermark: int,
    ) -> int | None:
        ours = super().first_unstable(ongoing, unreplicated, high_watermark)
        many = len(ongoing) + len(unreplicated) > MOST_TRANSACTIONS
        if ours is None or many or self._code.retired:
            return ours
        try:
            learner = self._code.make()
            for offset, method, producer in _story(ongoing, unreplicated):
                self._code.ask(learner, method, producer, offset)
            answer = self._code.ask(learner, "last_stable", high_watermark)
            if type(answer) is not int or not 0 <= answer <= high_watermark:
                raise self._code.blame(
                    f"last_stable({high_watermark}) answered {answer!r}; expected an offset from 0"
                    f" to {high_watermark}"
                )
        except LearnerError as error:
            self._code.failed(error)
            return ours
        return None if answer == high_watermark else answer

    def overlapping(
        self, index: TransactionIndex, start: int, end: int
    ) -> tuple[list[AbortedTxn], bool]:
        ours, complete = super().overlapping(index, start, end)
        entries = {} if self._code.retired else {one[:2]: one for one in index.entries()}
        if not entries or len(entries) > MOST_ABORTED:
            return ours, complete
        rows = [list(one[:3]) for one in entries.values()]
        try:
            answer = self._code.ask(self._code.make(), "aborted", rows, start, end)
            found = _entries(answer, entries)
            if found is not None:
                return found, complete
            raise self._code.blame(
                f"aborted({rows}, {start}, {end}) answered {answer!r}; expected a list of"
                " (producer, first offset) of these transactions"
            )
        except LearnerError as error:
            self._code.failed(error)
            return ours, complete


def _entries(
    answer: object, entries: Mapping[tuple[int, int], AbortedTxn]
) -> list[AbortedTxn] | None:
    """Return the entries that an answer names; None if the answer is not a list of pairs that name
    entries.
    """
    found = []
    for one in answer if isinstance(answer, tuple) else (None,):
        match one:
            case (int(producer), int(first)) if (producer, first) in entries:
                found.append(entries[producer, first])
            case _:
                return None
    return found


def _story(
    ongoing: Mapping[int, UnstableTransaction], unreplicated: Mapping[int, UnstableTransaction]
) -> list[tuple[int, str, int]]:
    """Return (offset, method, producer) of each event that the learner has to know, by offset."""
    decided = unreplicated.values()
    opened = [
        (one.first_offset, "opened", one.producer_id) for one in (*ongoing.values(), *decided)
    ]
    ended = [(one.marker_offset, "ended", one.producer_id) for one in decided]
    return sorted((*opened, *ended))


def adapt(code: LearnerCode) -> Callable[[TopicPartition], StableRule]:
    """Return the function that replaces `StableRule` in a broker."""

    def make(topic_partition: TopicPartition) -> StableRule:
        if not all_of_labs([topic_partition]):
            return StableRule(topic_partition)
        return LearnerStableRule(topic_partition, code)

    return make
