"""The result of a read: its error, its offsets, its version."""

from kafka_edu.common.errors import Errors
from kafka_edu.replication.log_read_result import NO_VERSION, UNKNOWN_METADATA, failed_read
from kafka_edu.sim.stepped_cluster import SteppedCluster


def test_a_consumers_read_has_the_ends_as_they_were_before_it() -> None:
    cluster = SteppedCluster()
    cluster.elect(0, (0, 1))
    cluster.produce("a", "b", acks=1)
    (before,) = cluster.consume()
    assert (before.size_in_bytes, before.high_watermark, before.log_end_offset) == (0, 0, 2)
    cluster.fetch(1)
    cluster.fetch(1)
    (after,) = cluster.consume()
    assert after.size_in_bytes > 0
    assert (after.high_watermark, after.log_start_offset) == (2, 0)
    assert after.error is Errors.NONE
    empty = after.without_records()
    assert (empty.size_in_bytes, empty.records) == (0, b"")
    assert (empty.high_watermark, empty.log_end_offset) == (2, 2)


def test_a_read_that_failed_has_no_place_and_is_read_again_every_time() -> None:
    read = failed_read(Errors.OFFSET_OUT_OF_RANGE)
    assert read.error is Errors.OFFSET_OUT_OF_RANGE
    assert (read.size_in_bytes, read.high_watermark, read.log_end_offset) == (0, -1, -1)
    assert read.fetch_offset_metadata == UNKNOWN_METADATA
    assert read.version == NO_VERSION
