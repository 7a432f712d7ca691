"""Which offset becomes the recovery point. The tests of the log check what follows from this."""

from kafka_edu.log.recovery_rule import RecoveryRule

RULE = RecoveryRule()


def test_a_flush_moves_the_point_up_but_not_behind_the_log() -> None:
    assert RULE.after_flush(10, 30, 35) == 30
    assert RULE.after_flush(30, 20, 35) == 30
    assert RULE.after_flush(10, 30, 25) == 25


def test_truncation_moves_it_down_and_deletion_up() -> None:
    assert (RULE.after_truncation(30, 22), RULE.after_truncation(30, 40)) == (22, 30)
    assert (RULE.after_deletion(30, 22), RULE.after_deletion(30, 40)) == (30, 40)


def test_a_log_that_was_opened() -> None:
    assert RULE.at_start(10, 0, 40, clean=True) == 40
    assert [RULE.at_start(point, 5, 40, clean=False) for point in (0, 10, 50)] == [5, 10, 40]


def test_segments_to_read() -> None:
    assert RULE.to_read([0, 10, 20], 15, clean=False) == [10, 20]
    assert RULE.to_read([0, 10, 20], 20, clean=False) == [20]
    assert RULE.to_read([0, 10, 20], 99, clean=False) == [20]
    assert RULE.to_read([], 0, clean=False) == RULE.to_read([0, 10], 0, clean=True) == []
