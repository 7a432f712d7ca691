"""A learner's Commits in a live consumer: its offsets are committed. After an error in the
learner's code, ours goes on.
"""

from collections.abc import Callable, Sequence
from random import Random

import pytest

from exercises.ch14_offsets.commit_rules import INTERVAL_MS, CommitWorld, Offsets, RightCommits
from exercises.runner.manifest import find_exercise
from kafka_edu.clients.consumer import record_progress
from kafka_edu.clients.consumer.record_progress import RecordProgress
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.learner import learner_progress
from kafka_edu.learner.seams import SEAMS, LearnerError

from .conftest import Load

A, B = TopicPartition("web", 0), TopicPartition("web", 1)
FURTHER = "        return found\n\n    def due"


class Named:
    """A RecordProgress whose partitions are texts, as in the rules of the exercise."""

    def __init__(self, progress: RecordProgress) -> None:
        self._progress = progress
        self._right = RightCommits(INTERVAL_MS)

    def assigned(self, partitions: Sequence[str]) -> None:
        self._right.assigned(partitions)
        self._progress.assigned([TopicPartition.parse(one) for one in partitions])

    def polled(self, partition: str, offsets: Sequence[int]) -> None:
        self._right.polled(partition, offsets)
        self._progress.polled(TopicPartition.parse(partition), offsets)

    def done(self, partition: str, offset: int) -> None:
        self._right.done(partition, offset)
        self._progress.done(TopicPartition.parse(partition), offset)

    def due(self, now_ms: int) -> Offsets:
        return self._same(self._right.due(now_ms), self._progress.due(now_ms))

    def answered(self, stored: bool) -> None:
        self._right.answered(stored)
        self._progress.answered(stored)

    def revoked(self, partitions: Sequence[str]) -> Offsets:
        expected = self._right.revoked(partitions)
        return self._same(
            expected, self._progress.revoked([TopicPartition.parse(one) for one in partitions])
        )

    def lost(self, partitions: Sequence[str]) -> None:
        self._right.lost(partitions)
        self._progress.lost([TopicPartition.parse(one) for one in partitions])

    @staticmethod
    def _same(expected: Offsets, came: dict[TopicPartition, int]) -> Offsets:
        assert {str(tp): offset for tp, offset in came.items()} == expected
        return expected


Make = Callable[..., tuple[RecordProgress, list[LearnerError]]]


@pytest.fixture
def progress(load: Load) -> Make:
    """Return a function that makes a RecordProgress with the reference solution. An edit may change
    the solution.
    """

    def make(old: str = "", new: str = "") -> tuple[RecordProgress, list[LearnerError]]:
        text = find_exercise("14-1").solution.read_text(encoding="utf-8")
        assert old in text
        code, errors = load("14-1", text.replace(old, new, 1) if old else text)
        return learner_progress.adapt(code)(INTERVAL_MS), errors

    return make


def working(made: RecordProgress) -> RecordProgress:
    made.assigned([A, B])
    made.polled(A, [3, 4, 5])
    made.polled(B, [0, 1])
    made.due(0)
    made.done(A, 3)
    made.done(A, 5)
    return made


def test_the_seam_is_where_the_program_looks() -> None:
    assert SEAMS["14-1"].module == record_progress.__name__
    assert vars(record_progress)[SEAMS["14-1"].name] is RecordProgress


@pytest.mark.parametrize("seed", range(12))
def test_the_shipped_class_keeps_the_rules(seed: int) -> None:
    members = [Named(RecordProgress(INTERVAL_MS)) for _ in range(4)]
    CommitWorld(members, Random(seed), 3, 40).run(300)


@pytest.mark.parametrize("seed", range(2))
def test_the_reference_keeps_the_rules(progress: Make, seed: int) -> None:
    made = [progress() for _ in range(3)]
    CommitWorld([Named(one) for one, _ in made], Random(seed), 3, 40).run(150)
    assert [errors for _, errors in made if errors] == []


def test_a_wrong_offset_is_committed(progress: Make) -> None:
    made, errors = progress("offset = min(", "offset = max(self.behind[partition], 0) or min(")
    working(made)
    assert made.due(INTERVAL_MS) == {A: 6, B: 2}
    made.answered(True)
    assert made.revoked([A, B]) == {}
    assert errors == []


def test_a_commit_that_ours_would_not_send_has_its_answer_too(progress: Make) -> None:
    made, errors = progress("offset > self.stored[partition]", "True")
    made.assigned([A])
    made.polled(A, [7])
    made.due(0)
    assert made.due(INTERVAL_MS) == {A: 7}
    made.answered(True)
    assert made.due(2 * INTERVAL_MS) == {A: 7}
    made.answered(False)
    assert errors == []


@pytest.mark.parametrize(
    "answer",
    ["None", "{'web-9': 1}", "{'web-0': -1}", "{'web-0': 2**63}", "{'web-0': 'x'}", "[1]", "1 / 0"],
)
def test_an_impossible_answer_is_an_error_and_ours_goes_on(progress: Make, answer: str) -> None:
    made, errors = progress(FURTHER, f"        return {answer}\n\n    def due")
    working(made)
    assert made.due(INTERVAL_MS) == {A: 4}
    made.answered(False)
    assert made.revoked([A]) == {A: 4}
    assert len(errors) == 1
    made.lost([B])
    assert made.due(9 * INTERVAL_MS) == {}


def test_ours_goes_on_after_an_error_in_a_note(progress: Make) -> None:
    made, errors = progress("self.waiting[partition].pop(offset, None)", "raise KeyError(offset)")
    working(made)
    assert made.due(INTERVAL_MS) == {A: 4}
    assert len(errors) == 1
