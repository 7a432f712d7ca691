"""Public tests of exercise 09-1. `kafka-edu lab check 09-1` runs them. The learner's class runs in
another process, and the fixture `learner` sends each call to it.
"""

from collections.abc import Iterable
from random import Random

from kafka_edu.learner.learner import Learner
from kafka_edu.log.log import Log

from ..look_up_rules import LookUpRun
from ..made_logs import append_at, empty_log, plain_batch, random_log


def look_up(learner: Learner, log: Log, offsets: Iterable[int]) -> None:
    """Let the learner's class look up these offsets. Raises Mismatch if a result is wrong."""
    for offset in offsets:
        LookUpRun(log, offset).judge(learner.make(offset, len(log.segments)))


def filled(batches: int, records: int, *, rolls: Iterable[int] = (), **config: int) -> Log:
    """Return a log of equal batches. A new segment begins before each batch of `rolls`."""
    log = empty_log(**config)
    for number in range(batches):
        if number in rolls:
            log.roll(0)
        append_at(log, number * records, plain_batch(records, 20))
    return log


def test_one_segment(learner: Learner) -> None:
    """a log of one segment, whose index has no entry"""
    look_up(learner, filled(3, 1), range(3))


def test_first_search(learner: Learner) -> None:
    """seven segments: the last offset of a segment, and the first offset of the next"""
    log = filled(7, 10, rolls=range(1, 7))
    look_up(learner, log, (0, 9, 10, 19, 20, 39, 40, 59, 60, 69))


def test_second_search(learner: Learner) -> None:
    """one segment, and an index with an entry for each batch"""
    log = filled(20, 5, index_interval_bytes=1)
    look_up(learner, log, range(0, 100, 3))
    look_up(learner, log, (4, 5, 9, 10, 94, 95, 99))


def test_115_from_80(learner: Learner) -> None:
    """the book's example: the index has 80, 120 and 200, and 115 is wanted"""
    log = empty_log(index_interval_bytes=80 * len(plain_batch(1, 20)) - 1)
    short = len(plain_batch(1, 20))
    for offset in range(230):
        append_at(log, offset, plain_batch(1, 20 + short if 80 <= offset < 120 else 20))
    assert [log.active_segment.offset_index.entry(n).offset for n in range(3)] == [80, 120, 200]
    look_up(learner, log, (115, 79, 80, 119, 120, 199, 201, 229))


def test_middle_of_a_batch(learner: Learner) -> None:
    """the wanted offset lies in the middle of a batch, or is its last one"""
    log = filled(12, 40, rolls=(5, 9), index_interval_bytes=100)
    look_up(learner, log, (39, 40, 41, 79, 199, 200, 239, 240, 359, 360, 470, 479))


def test_gaps(learner: Learner) -> None:
    """offsets are missing, also at the end of a segment, and a segment is empty"""
    log = empty_log(index_interval_bytes=50)
    append_at(log, 0, plain_batch(3, 9))
    append_at(log, 10, plain_batch(3, 9))
    log.roll(0, expected_offset=20)
    append_at(log, 25, plain_batch(2, 9))
    log.roll(0, expected_offset=40)
    append_at(log, 41, plain_batch(1, 9))
    look_up(learner, log, (0, 5, 9, 12, 13, 19, 20, 24, 25, 30, 39, 40, 41))


def test_nothing_there(learner: Learner) -> None:
    """no batch has the offset or a later one: the end of the log was compacted away"""
    log = empty_log()
    append_at(log, 0, plain_batch(3, 9))
    log.roll(0, expected_offset=50)
    look_up(learner, log, (1, 3, 49, 50))


def test_after_retention(learner: Learner) -> None:
    """the first segments are gone: the log begins at 500"""
    log = empty_log(index_interval_bytes=50)
    for number, offset in enumerate(range(500, 530, 3)):
        if number in (0, 4):
            log.roll(0, expected_offset=offset)
        append_at(log, offset, plain_batch(3, 9))
    log.maybe_increment_log_start_offset(500)
    log.delete_old_segments(0)
    assert log.segments.first_base == 500
    look_up(learner, log, range(500, 530))


def test_random(learner: Learner, seed: int) -> None:
    """offsets of a random log with many segments"""
    random = Random(f"look-up/{seed}")
    log = random_log(random)
    look_up(learner, log, random.sample(range(log.log_end_offset), 25))
    log = random_log(random, gaps=True)
    look_up(learner, log, random.sample(range(log.log_end_offset), 25))
