from kafka_edu.common.time import MockTime
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.log.log import Log
from kafka_edu.log.log_config import LogConfig
from kafka_edu.log.log_loader import load_log
from kafka_edu.record.legacy import build_message_set
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import build_batch
from kafka_edu.sim.memory_file_system import MemoryFileSystem
from kafka_edu.trace.event import Event, Level, Source
from kafka_edu.trace.events.log import (
    BatchValidated,
    DuplicateBatch,
    LeaderEpochAssigned,
    LogFlushed,
    LogStartOffsetIncremented,
    LogTruncated,
    SegmentAppended,
    SegmentDeleted,
    SegmentRead,
    SegmentRolled,
)
from kafka_edu.trace.ring_sink import RingSink
from kafka_edu.trace.tracer import Tracer
from tests.defaults import PRODUCER_ID_EXPIRATION_MS

NOW = 1_600_000_000_000


def watched(level: Level = Level.STATE) -> tuple[Log, RingSink]:
    config = LogConfig.parse(
        {
            "segment.bytes": "400",
            "segment.index.bytes": "480",
            "index.interval.bytes": "100",
            "retention.ms": "10",
        }
    )
    log, _ = load_log(
        TopicPartition("t", 1),
        "/d",
        "/d/t-1",
        MemoryFileSystem(),
        config,
        now_ms=NOW,
        max_producer_id_expiration_ms=PRODUCER_ID_EXPIRATION_MS,
    )
    trace, ring = Tracer(Source.of_broker(0), MockTime()), RingSink(level=level)
    trace.add_sink(ring)
    log.watch(trace)
    return log, ring


def batch(sequence: int = -1) -> bytes:
    producer = 5 if sequence >= 0 else -1
    return build_batch(
        [Record(0, NOW, b"k", b"v" * 20)],
        producer_id=producer,
        producer_epoch=min(sequence, 0),
        base_sequence=sequence,
    )


def told(ring: RingSink) -> list[Event]:
    events = [e.event for e in ring.events]
    ring.events.clear()
    return events


def test_each_change_is_told_once_by_its_door() -> None:
    log, ring = watched()
    size = len(batch())
    for _ in range(5):
        log.append_as_leader(batch(), 3, NOW)
    assert told(ring) == [
        LeaderEpochAssigned(topic="t", partition=1, leader_epoch=3, start_offset=0),
        SegmentRolled(
            topic="t",
            partition=1,
            base_offset=4,
            reason="size",
            closed_base_offset=0,
            closed_bytes=4 * size,
        ),
    ]
    log.append_as_leader(batch(0), 3, NOW)
    log.append_as_leader(batch(0), 3, NOW)
    assert told(ring) == [
        DuplicateBatch(
            topic="t", partition=1, producer_id=5, producer_epoch=0, base_sequence=0, first_offset=5
        )
    ]
    log.flush(NOW)
    assert told(ring) == [LogFlushed(topic="t", partition=1, recovery_point=6)]
    log.update_high_watermark(5)
    log.delete_old_segments(NOW + 11)
    assert told(ring) == [
        SegmentDeleted(
            topic="t", partition=1, base_offset=0, size=4 * size, reason="retention by time"
        ),
        LogStartOffsetIncremented(topic="t", partition=1, from_offset=0, to_offset=4),
    ]
    log.truncate_to(5, NOW)
    assert told(ring) == [
        LogTruncated(topic="t", partition=1, from_offset=6, to_offset=5, bytes=size, fully=False)
    ]
    log.truncate_to(5, NOW)
    log.maybe_increment_log_start_offset(4)
    log.maybe_assign_epoch_start_offset(3, 5)
    assert told(ring) == [], "no change, no event"


def test_hops_are_told_only_to_those_who_want_them() -> None:
    quiet, ring = watched()
    quiet.append_as_leader(batch(), 0, NOW)
    quiet.read(0, 1000)
    assert told(ring) == [
        LeaderEpochAssigned(topic="t", partition=1, leader_epoch=0, start_offset=0)
    ]
    log, ring = watched(Level.HOPS)
    size = len(batch())
    log.append_as_leader(batch(), 0, NOW)
    log.append_as_leader(batch(), 0, NOW)
    log.append_as_leader(batch(), 0, NOW)
    assert told(ring)[1:] == [
        BatchValidated(topic="t", partition=1, records=1, size=size, rebuilt=False),
        SegmentAppended(
            topic="t",
            partition=1,
            first_offset=0,
            last_offset=0,
            segment_base_offset=0,
            position=0,
            size=size,
            indexed=False,
        ),
        BatchValidated(topic="t", partition=1, records=1, size=size, rebuilt=False),
        SegmentAppended(
            topic="t",
            partition=1,
            first_offset=1,
            last_offset=1,
            segment_base_offset=0,
            position=size,
            size=size,
            indexed=False,
        ),
        BatchValidated(topic="t", partition=1, records=1, size=size, rebuilt=False),
        SegmentAppended(
            topic="t",
            partition=1,
            first_offset=2,
            last_offset=2,
            segment_base_offset=0,
            position=2 * size,
            size=size,
            indexed=True,
        ),
    ]
    log.read(1, 1000)
    assert told(ring) == [
        SegmentRead(
            topic="t",
            partition=1,
            start_offset=1,
            segment_base_offset=0,
            position=size,
            size=2 * size,
        )
    ]
    log.append_as_leader(build_message_set([Record(0, NOW, None, b"v")], 1), 0, NOW)
    assert isinstance(rebuilt := told(ring)[0], BatchValidated)
    assert rebuilt.rebuilt
