"""Public tests of exercise 01-4. They compare the learner's answers with real bytes."""

import pytest

from kafka_edu.learner.learner import Learner

from ...runner.mismatch import Mismatch
from .material import Plan, parts_of, plan, right_answers


class Compared:
    """The learner's answers, compared with the lengths of real bytes."""

    def __init__(self, learner: Learner, material: int) -> None:
        self.plan: Plan = plan(material)
        self.right = right_answers(material)
        self._parts = parts_of(self.plan)
        self._answers = learner.make()

    def agrees(self, name: str, why: str, mistakes: dict[int, str]) -> None:
        """Raise Mismatch unless the answer is the length of the real bytes. `mistakes` maps some
        wrong answers to a sentence about what was forgotten.
        """
        came = self._answers.call("get", name)
        if came is None:
            raise AssertionError(
                f'the answer "{name}" is not written yet: it returns None; questions.md has the'
                " question"
            )
        expected = self.right[name]
        if came == expected:
            return
        if isinstance(came, int) and came in mistakes:
            why = mistakes[came]
        lines = [f"{part.size:>8,}  {part.what}" for part in self._parts[name]]
        raise Mismatch(name, expected, came, why, drawing=(*lines, f"{expected:>8,}  bytes in all"))


@pytest.fixture
def compared(learner: Learner, material: int) -> Compared:
    """The learner's answers, compared with the bytes made for this learner."""
    return Compared(learner, material)


def test_batch_of_one(compared: Compared) -> None:
    """the size of a batch of one record"""
    right, value_bytes = compared.right["batch_of_one"], compared.plan.value_bytes
    compared.agrees(
        "batch_of_one",
        "a batch is a header of 61 bytes and its records",
        {
            right - 61: "the header of the batch, 61 bytes, is missing",
            61 + value_bytes: "a record is more than its value",
            right - 1: "one byte is missing. A varint of one byte reaches up to 63, because zigzag"
            " doubles every number; null has a length, too, and so has the record itself",
            right - 2: "two bytes are missing. A varint of one byte reaches up to 63, because"
            " zigzag doubles every number; null has a length, too",
        },
    )


def test_batch_of_all(compared: Compared) -> None:
    """the size of a batch of all records"""
    right, records = compared.right["batch_of_all"], compared.plan.records
    one = compared.right["batch_of_one"]
    compared.agrees(
        "batch_of_all",
        "there is one header, and the records differ only in their offset delta",
        {
            right - (min(records, 128) - 64): "a varint of one byte reaches up to 63, because"
            " zigzag doubles every number",
            records * one: "the batch has one header of 61 bytes, not one for each record",
            61 + records * (one - 61): "an offset delta of 64 or more takes two bytes",
        },
    )


def test_produce(compared: Compared) -> None:
    """the size of a Produce request with the batch of all records"""
    right = compared.right["produce"]
    compared.agrees(
        "produce",
        "the size, the header and the body are on the wire, and so are the lengths and counts",
        {
            right - 4: "4 bytes are missing: the size itself, a count, or the length of the records"
            " is on the wire, too",
            right - 2: "2 bytes are missing: the transactional_id is null, and null is a length of"
            " -1",
            right - len(compared.plan.client) - 2: "the client id is missing",
        },
    )


def test_fetch_full(compared: Compared) -> None:
    """the size of a full fetch"""
    right, partitions = compared.right["fetch_full"], compared.plan.partitions
    compared.agrees(
        "fetch_full",
        "each partition has 24 bytes: its number, two offsets and a limit",
        {
            right - 8 * partitions: "a follower sends the start of its log with each partition, too"
            " (log_start_offset, 8 bytes, since version 5)",
            right + 4 * partitions: "a partition has 24 bytes in version 8: the leader epoch came"
            " with version 9",
            right - 4: "4 bytes are missing: an array has a count, also if it is empty",
        },
    )


def test_fetch_nothing(compared: Compared) -> None:
    """the size of a fetch when nothing has changed"""
    right = compared.right["fetch_nothing"]
    compared.agrees(
        "fetch_nothing",
        "it names no partition, but it is a whole Fetch with a session id and an epoch",
        {
            right - 8: "two arrays are empty, and the count of an empty array takes 4 bytes",
            right - 4: "an empty array has a count, too: 4 bytes",
            right + len(compared.plan.topic) + 6: "no topic is named at all",
        },
    )


def test_fetch_changes(compared: Compared) -> None:
    """the size of a fetch with some partitions moved and others forgotten"""
    right, numbers = compared.right["fetch_changes"], compared.plan
    compared.agrees(
        "fetch_changes",
        "the moved partitions are sent as in a full fetch, and the forgotten ones by number",
        {
            right + 20 * numbers.forgotten: "of a forgotten partition only the number is sent: 4"
            " bytes",
            right - len(numbers.topic) - 6: "the forgotten partitions are listed by topic, too: the"
            " name and a count stand there once more",
        },
    )
