"""Public tests of exercise 16-16. They compare the learner's answers with a stream that is run,
killed and started again.
"""

import pytest

from kafka_edu.learner.learner import Learner

from ...runner.mismatch import Mismatch
from .material import Plan, plan, right_answers


class Compared:
    """The learner's answers, compared with the right ones."""

    def __init__(self, learner: Learner, material: int) -> None:
        self.plan: Plan = plan(material)
        self.all = self.plan.records + self.plan.more
        self._right = right_answers(material)
        self._answers = learner.make()

    def agrees(self, name: str, why: str, mistakes: dict[int, str]) -> None:
        """Raise Mismatch unless the answer is right. `mistakes` maps some wrong answers to a
        sentence about what was forgotten.
        """
        came = self._answers.call("get", name)
        if came is None:
            raise AssertionError(
                f'the answer "{name}" is not written yet: it returns None; questions.md has the'
                " question"
            )
        if came == self._right[name]:
            return
        if isinstance(came, int) and came in mistakes:
            why = mistakes[came]
        raise Mismatch(name, self._right[name], came, why)


@pytest.fixture
def compared(learner: Learner, material: int) -> Compared:
    """The learner's answers, compared with a stream that has this learner's numbers."""
    return Compared(learner, material)


def test_not_planned(compared: Compared) -> None:
    """the end of a batch that was not planned yet"""
    one = compared.plan
    compared.agrees(
        "not_planned",
        "nothing of batch 2 is in the checkpoint, so it is planned after the restart, with the new"
        " limit",
        {3 * one.limit: "the old limit was in the memory of the driver, which is gone"},
    )


def test_planned(compared: Compared) -> None:
    """the end of a batch that was planned"""
    one = compared.plan
    compared.agrees(
        "planned",
        "offsets/2 has the end of batch 2. It is run as it was planned, even if the limit is"
        " different now",
        {2 * one.limit + one.new_limit: "the new limit counts from batch 3 on"},
    )


def test_last_batch(compared: Compared) -> None:
    """the number of the last batch"""
    one = compared.plan
    left = compared.all - 3 * one.limit
    compared.agrees(
        "last_batch",
        "batch 2 ends where it was planned; the batches after it have the new limit, and the last"
        " one reads what is left",
        {
            2 + left // one.new_limit: "the last batch reads what is left, also if that is less"
            " than the limit",
            3 + -(-left // one.new_limit): "batches are counted from 0",
        },
    )


def test_appended(compared: Compared) -> None:
    """rows in a sink that appends"""
    one = compared.plan
    compared.agrees(
        "appended",
        "the whole batch comes again, next to the rows of the first try",
        {
            compared.all: "the rows of the first try are still there",
            compared.all + one.limit: "only a part of the batch was written by the first try",
        },
    )


def test_overwritten(compared: Compared) -> None:
    """rows in a sink that overwrites the folder of the batch"""
    one = compared.plan
    compared.agrees(
        "overwritten",
        "the second try has the same number and the same rows, and replaces the first one",
        {compared.all + one.part: "mode overwrite removes the rows of the first try"},
    )


def test_skipped(compared: Compared) -> None:
    """rows in a sink that skips a batch whose folder exists"""
    one = compared.plan
    compared.agrees(
        "skipped",
        "the folder exists with a part of the batch, and the rest never comes",
        {
            compared.all: "the folder is there before it is complete",
            compared.all - one.limit: "the part that was written stays",
        },
    )


def test_uncommitted(compared: Compared) -> None:
    """records that read_uncommitted counts"""
    compared.agrees(
        "uncommitted",
        "the records of an aborted transaction stay in the log, and read_uncommitted returns them",
        {compared.all: "an abort removes nothing from the log"},
    )


def test_committed(compared: Compared) -> None:
    """records that read_committed counts"""
    one = compared.plan
    compared.agrees(
        "committed",
        "read_committed leaves the records of aborted transactions out, so each record is there"
        " once",
        {compared.all + one.part: "read_committed does not return records that were aborted"},
    )
