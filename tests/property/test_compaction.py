"""The four guarantees of compaction (book 002, section 3.3; Kafka's documentation), for any
sequence of writes, rolls and passes:

1. A reader that keeps up with the head of the log sees every record.
2. Records keep their order.
3. An offset never changes: it is the place of its record for ever.
4. A reader that begins at the start sees at least the last value of each key.
"""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafka_edu.log.cleaner.cleaner import Cleaner, no_throttle
from kafka_edu.log.cleaner.log_cleaner_manager import LogCleanerManager
from kafka_edu.log.cleaner.offset_map import SLOT_BYTES
from kafka_edu.log.log import Log
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import build_batch
from tests.unit.log.cleaner.world import NOW, Disk, compacted, job_of, put_in_place, rows

KEYS = st.sampled_from("abcde")
VALUES = st.one_of(st.none(), st.text("xyz", max_size=40))
BATCH = st.lists(st.tuples(KEYS, VALUES), min_size=1, max_size=6)
WRITE = st.tuples(st.just("write"), BATCH)
ROLL = st.tuples(st.just("roll"), st.none())
PASS = st.tuples(st.just("clean"), st.integers(3, 12))
"""With the slots of the offset map: a small map ends a pass early."""
Rows = list[tuple[int, str | None, str | None]]


def append(log: Log, batch: list[tuple[str, str | None]]) -> Rows:
    """Write one batch. Return its records with their offsets."""
    records = [
        Record(i, NOW, key.encode(), None if value is None else value.encode())
        for i, (key, value) in enumerate(batch)
    ]
    first = log.append_as_leader(build_batch(records), 0, NOW).first_offset
    log.update_high_watermark(log.log_end_offset)
    return [(first + i, key, value) for i, (key, value) in enumerate(batch)]


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.one_of(WRITE, ROLL, PASS), max_size=40))
def test_the_four_guarantees(acts: list[tuple[str, object]]) -> None:
    disk = Disk()
    log = compacted(disk, segment_bytes="400")
    manager = LogCleanerManager({})
    written: Rows = []
    for act, what in acts:
        if act == "write":
            assert isinstance(what, list)
            new = append(log, what)
            written += new
            assert rows(log)[-len(new) :] == new, "1: a reader at the head sees every record"
        elif act == "roll":
            log.roll(NOW)
        else:
            assert isinstance(what, int)
            before = rows(log)
            found = manager.look_at(log, NOW)
            if found.segments and found.dirty_bytes:
                result = Cleaner(job_of(found, what * SLOT_BYTES), disk, no_throttle).clean()
                put_in_place(log, disk, result)
                manager.done(log.topic_partition, result.end_offset)
            after = rows(log)
            assert set(after) <= set(before), "3: no record gets another offset"
            dirty = {row for row in before if row[0] >= found.first_uncleanable}
            assert dirty <= set(after), "1: what a pass may not read stays"
    left = rows(log)
    assert [offset for offset, _, _ in left] == sorted({offset for offset, _, _ in left}), "2"
    assert set(left) <= set(written), "3"
    last = {key: (offset, value) for offset, key, value in written}
    seen = {key: (offset, value) for offset, key, value in left}
    for key, (offset, value) in last.items():
        if value is not None or key in seen:
            assert seen[key] == (offset, value), "4: the last value of each key is there"
