"""A learner's SequenceCheck: its answers are carried out. Where it fails, our own code answers.

The producers' state is that of the broker. The learner's object hears of each batch before it is
asked about the next one.
"""

from collections.abc import Callable
from random import Random

import pytest

from exercises.ch15_exactly_once.sequence_rules import PRODUCER, Producer, header_of
from exercises.runner.manifest import find_exercise
from kafka_edu.common.errors import KafkaException
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.learner.learner_sequence_check import MOST_PRODUCERS, adapt
from kafka_edu.learner.seams import FAILURES_ALLOWED, SEAMS, LearnerCode, LearnerError
from kafka_edu.log import producer_state_manager
from kafka_edu.log.producer_state_entry import ProducerStateEntry
from kafka_edu.log.sequence_check import SequenceCheck

from .conftest import Load

LAB = TopicPartition("lab-151", 0)
Made = tuple[SequenceCheck, list[LearnerError], LearnerCode]
Make = Callable[[str], Made]
RIGHT = find_exercise("15-1").solution.read_text(encoding="utf-8")


@pytest.fixture
def make(load: Load) -> Make:
    def go(text: str) -> Made:
        code, errors = load("15-1", text)
        return adapt(code)(LAB), errors, code

    return go


def checks(answer: str) -> str:
    """A class that always gives this answer."""
    return (
        f"class SequenceCheck:\n    def check(self, *_):\n        return {answer}\n"
        "    def written(self, *_):\n        pass\n    def fence(self, *_):\n        pass\n"
    )


def ask(check: SequenceCheck, producer: Producer, epoch: int, first: int, count: int) -> object:
    """Return the answer of a check, in the form of the exercise."""
    try:
        found = check.check(producer.entry, header_of(epoch, first, count))
    except KafkaException as error:
        return error.error.name
    return "write" if found is None else ("duplicate", found.first_offset)


def three_written() -> Producer:
    """A producer with two batches: sequence numbers 0 to 2 at offset 40, and 3 at offset 43."""
    producer = Producer(40)
    producer.written(0, 0, 3)
    producer.written(0, 3, 1)
    return producer


def test_the_seam_is_where_the_log_looks() -> None:
    assert SEAMS["15-1"].module == producer_state_manager.__name__
    assert vars(producer_state_manager)[SEAMS["15-1"].name] is SequenceCheck


def test_other_topics_keep_the_shipped_check(load: Load) -> None:
    code, _ = load("15-1", checks("'write'"))
    assert type(adapt(code)(TopicPartition("web", 0))) is SequenceCheck
    assert type(adapt(code)(LAB)) is not SequenceCheck


def test_the_reference_answers_as_ours_does(make: Make) -> None:
    check, errors, _ = make(RIGHT)
    random, producer = Random(7), Producer(5)
    epoch, following = 0, 2**31 - 9
    for _ in range(200):
        count = random.randint(1, 3)
        asked = epoch, (following + random.choice((0, 0, 0, -count, 1))) % 2**31, count
        expected = producer.check(*asked)
        assert ask(check, producer, *asked) == expected
        if expected == "write":
            producer.written(*asked)
            following = (asked[1] + count) % 2**31
        match random.random():
            case luck if luck < 0.05:
                epoch, following = epoch + 1, 0
                producer.fence(epoch)
            case luck if luck < 0.1 and producer.entry is not None and producer.entry.batches:
                producer.entry.batches.pop()  # the log was truncated
                last = producer.entry.last_sequence
                following = (last + 1) % 2**31
            case luck if luck < 0.13:
                producer.entry = None  # its state has expired
            case luck if luck < 0.2:
                for _ in range(6):  # another broker led meanwhile
                    producer.written(epoch, following, 1)
                    following = (following + 1) % 2**31
    assert errors == []


def test_a_log_that_was_truncated_into_an_older_epoch(make: Make) -> None:
    check, errors, _ = make(RIGHT)
    producer = three_written()
    assert ask(check, producer, 0, 4, 1) == "write"
    old = producer.entry
    producer.entry = ProducerStateEntry(PRODUCER)
    producer.written(3, 0, 2)
    assert ask(check, producer, 0, 4, 1) == "INVALID_PRODUCER_EPOCH"
    producer.entry = old
    assert ask(check, producer, 0, 3, 1) == ("duplicate", 43)
    assert ask(check, producer, 0, 4, 1) == "write"
    assert errors == []


def test_a_wrong_but_possible_answer_is_carried_out(make: Make) -> None:
    producer = three_written()
    check, errors, _ = make(checks("'write'"))
    assert ask(check, producer, 0, 9, 1) == "write"
    check, more, _ = make(checks("('duplicate', 40)"))
    assert ask(check, producer, 0, 3, 1) == ("duplicate", 40)
    check, others, _ = make(checks("'INVALID_PRODUCER_EPOCH'"))
    assert ask(check, producer, 0, 9, 1) == "INVALID_PRODUCER_EPOCH"
    assert errors == more == others == []


@pytest.mark.parametrize("refusal", ["INVALID_PRODUCER_EPOCH", "OUT_OF_ORDER_SEQUENCE_NUMBER"])
def test_a_check_that_refuses_everything_is_named_and_ours_takes_over(
    make: Make, refusal: str
) -> None:
    check, errors, code = make(checks(repr(refusal)))
    producer = Producer()
    for first in range(FAILURES_ALLOWED + 5):
        assert ask(check, producer, 0, first, 1) == "write"
        producer.written(0, first, 1)
    assert ask(check, producer, 0, 7, 1) == ("duplicate", 7)
    assert len(errors) == FAILURES_ALLOWED
    assert code.retired
    assert errors[0].message == (
        f"check(0, 0, 1) answered {refusal!r}; expected 'write' or a duplicate, because the batch"
        " is in order"
    )


@pytest.mark.parametrize(
    "answer", ["None", "True", "'yes'", "('duplicate', 41)", "('duplicate', None)", "('write',)"]
)
def test_an_impossible_answer_is_an_error_and_ours_answers(make: Make, answer: str) -> None:
    check, errors, _ = make(checks(answer))
    assert ask(check, three_written(), 0, 3, 1) == ("duplicate", 43)
    assert "check(0, 3, 1) answered" in errors[0].message


@pytest.mark.parametrize("method", ["check", "written", "fence", "__init__"])
def test_code_that_raises_is_an_error_and_ours_answers(make: Make, method: str) -> None:
    text = checks("'write'").replace(
        f"def {method}(self, *_):\n", f"def {method}(self, *_):\n        1 / 0\n"
    )
    if method == "__init__":
        text += "    def __init__(self):\n        1 / 0\n"
    check, errors, _ = make(text)
    producer = three_written()
    if method == "fence":
        producer.fence(1)
    assert ask(check, producer, 0, 9, 1) in (
        "OUT_OF_ORDER_SEQUENCE_NUMBER",
        "INVALID_PRODUCER_EPOCH",
    )
    assert "division by zero" in errors[0].message


def test_an_endless_check_ends_and_ours_answers(make: Make) -> None:
    text = checks("'write'").replace("return", "while True: pass\n        return")
    check, errors, _ = make(text)
    assert ask(check, three_written(), 0, 9, 1) == "OUT_OF_ORDER_SEQUENCE_NUMBER"
    assert len(errors) == 1


def test_of_many_producers_the_oldest_objects_are_forgotten(make: Make) -> None:
    check, errors, _ = make(RIGHT)
    producers = [Producer(10 * number) for number in range(MOST_PRODUCERS + 3)]
    for turn in range(2):
        for number, producer in enumerate(producers):
            header = header_of(0, turn, 1)._replace(producer_id=number)
            assert check.check(producer.entry, header) is None
            producer.written(0, turn, 1)
    header = header_of(0, 1, 1)._replace(producer_id=0)
    found = check.check(producers[0].entry, header)
    assert found is not None
    assert found.first_offset == 1
    assert errors == []
