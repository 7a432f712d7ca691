"""A log remembers the last batches of each producer."""

from kafka_edu.common.errors import Errors
from tests.unit.log.test_producer_state_manager import MAX, open_log, refused, send


def test_the_last_five_batches_are_known_again() -> None:
    log = open_log()
    for i in range(6):
        assert send(log, 2 * i, count=2) == (2 * i, 2 * i + 1)
    for i in range(1, 6):
        assert send(log, 2 * i, count=2) == (
            2 * i,
            2 * i + 1,
        ), "answered with the first copy's offsets"
    assert log.log_end_offset == 12
    assert refused(log, 0, count=2) is Errors.OUT_OF_ORDER_SEQUENCE_NUMBER, (
        "a duplicate older than five batches"
    )
    assert refused(log, 10, count=1) is Errors.OUT_OF_ORDER_SEQUENCE_NUMBER, (
        "half of a batch is no duplicate"
    )


def test_sequences_wrap_between_and_inside_batches() -> None:
    log = open_log()
    send(log, MAX)
    assert send(log, 0) == (1, 1)
    other = open_log()
    send(other, MAX - 1, count=4)
    assert send(other, MAX - 1, count=4) == (0, 3), "known again across the wrap"
    assert send(other, 2) == (4, 4)
