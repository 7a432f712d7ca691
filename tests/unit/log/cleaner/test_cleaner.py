"""One pass over the frozen segments of a log."""

import pytest

from kafka_edu.log.cleaner.clean_job import Lost
from kafka_edu.log.cleaner.cleaner import Cleaner, Throttle, no_throttle
from kafka_edu.log.cleaner.offset_map import SLOT_BYTES
from kafka_edu.record.control_record import ControlRecordType
from kafka_edu.record.record_batch import parse_header
from tests.unit.log.cleaner.world import (
    NOW,
    Disk,
    clean,
    cleaned_rows,
    compacted,
    job_of,
    keys,
    put_in_place,
    rows,
    write,
)
from tests.unit.log.test_producer_state_manager import end, send


def test_of_each_key_the_last_value_stays_at_its_offset() -> None:
    disk = Disk()
    log = compacted(disk)
    write(log, ("a", "1"), ("b", "1"), ("a", "2"))
    log.roll(NOW)
    write(log, ("c", "1"), ("b", "2"))
    log.roll(NOW)
    write(log, ("a", "3"))
    _, result = clean(log, disk)
    assert result.end_offset == 5, "the active segment is not read"
    (group,) = result.groups
    assert (group.bases, group.records_before) == ((0, 3), 5)
    assert group.lost == Lost(superseded=2)
    assert cleaned_rows(disk, 0) == [(2, "a", "2"), (3, "c", "1"), (4, "b", "2")]
    assert group.bytes_after < group.bytes_before


def test_tombstones_stay_until_their_segment_is_delete_retention_ms_older_than_the_clean_part() -> (
    None
):
    """As in Kafka 2.8, the age of the segment counts. A tombstone has no age of its own."""
    disk = Disk()
    large = "x" * 300
    log = compacted(disk, delete_retention_ms="1000", segment_bytes="500")
    write(log, ("a", "1"), ("b", large))
    log.roll(NOW)
    write(log, ("a", None), ("c", large))
    log.roll(NOW)
    _, first = clean(log, disk)
    assert [group.lost for group in first.groups] == [Lost(superseded=1), Lost()]
    put_in_place(log, disk, first)
    disk.clock_ms = NOW + 5_000
    write(log, ("d", large))
    log.roll(NOW)
    _, second = clean(log, disk, first_dirty=4)
    assert [group.lost for group in second.groups] == [Lost(), Lost(), Lost()]
    put_in_place(log, disk, second)
    write(log, ("e", large))
    log.roll(NOW)
    _, third = clean(log, disk, first_dirty=5)
    assert [group.lost.tombstones for group in third.groups] == [0, 1, 0, 0]
    put_in_place(log, disk, third)
    assert keys(rows(log)) == ["b", "c", "d", "e"]


def test_a_map_without_room_ends_the_pass_early_and_what_lies_behind_stays() -> None:
    disk = Disk()
    log = compacted(disk)
    for number in range(6):
        write(log, (f"k{number}", "1"))
    write(log, ("k0", "2"))
    log.roll(NOW)
    _, result = clean(log, disk, map_bytes=4 * SLOT_BYTES)
    assert result.end_offset == 3, "three keys have room"
    assert len(cleaned_rows(disk, 0)) == 7, "that k0 comes again is not known yet"


def test_groups_fit_into_one_segment() -> None:
    disk = Disk()
    log = compacted(disk, segment_bytes="400")
    for number in range(4):
        write(log, (f"k{number}", "x" * 100))
        log.roll(NOW)
    _, result = clean(log, disk)
    assert [group.bases for group in result.groups] == [(0, 1), (2, 3)]


def test_the_last_batch_of_a_producer_stays_without_records() -> None:
    disk = Disk()
    log = compacted(disk)
    write(log, ("a", "1"), producer_id=9, producer_epoch=0, base_sequence=0)
    write(log, ("a", "2"), producer_id=9, producer_epoch=0, base_sequence=1)
    log.roll(NOW)
    write(log, ("a", "3"))
    log.roll(NOW)
    _, result = clean(log, disk)
    assert cleaned_rows(disk, 0) == [(2, "a", "3")]
    header = parse_header(disk.read(f"/d/t-0/{0:020d}.log.cleaned"))
    assert (header.base_offset, header.last_sequence, header.records_count) == (1, 1, 0)
    assert result.groups[0].lost == Lost(superseded=2)


def test_aborted_records_go_at_once_and_committed_ones_count() -> None:
    disk = Disk()
    log = compacted(disk)
    write(log, ("a", "1"))
    send(log, 0, producer=5, transactional=True)
    end(log, 5, ControlRecordType.ABORT)
    log.update_high_watermark(log.log_end_offset)
    log.roll(NOW)
    _, result = clean(log, disk)
    assert result.groups[0].lost.aborted >= 1
    assert result.groups[0].lost.markers == 0, "the marker is as young as a tombstone may be"
    assert cleaned_rows(disk, 0)[0] == (0, "a", "1")


def test_a_record_without_a_key_goes() -> None:
    disk = Disk()
    log = compacted(disk, cleanup_policy="delete")
    write(log, (None, "1"), ("a", "1"))
    log.roll(NOW)
    _, result = clean(log, disk)
    assert result.groups[0].lost == Lost(without_key=1)
    assert cleaned_rows(disk, 0) == [(1, "a", "1")]


def test_a_flipped_bit_is_reported_and_nothing_is_left() -> None:
    disk = Disk()
    log = compacted(disk)
    write(log, ("a", "1"))
    log.roll(NOW)
    file = disk.open(f"/d/t-0/{0:020d}.log")
    file.pwrite(b"\xff", 65)
    job, result = clean(log, disk)
    assert "corrupt" in result.corrupt.lower()
    assert (result.end_offset, result.groups) == (job.first_dirty, ())
    assert not [name for name in disk.list("/d/t-0") if name.endswith(".cleaned")]


def test_an_index_of_transactions_that_cannot_be_read_is_reported() -> None:
    disk = Disk()
    log = compacted(disk)
    write(log, ("a", "1"))
    log.roll(NOW)
    disk.open(f"/d/t-0/{0:020d}.txnindex").append((b"\x00\x07" + bytes(32),))
    _, result = clean(log, disk)
    assert result.corrupt != ""
    assert result.groups == ()


def test_a_full_disk_leaves_nothing_behind() -> None:
    disk = Disk()
    log = compacted(disk)
    write(log, ("a", "1" * 300), ("b", "2" * 300))
    log.roll(NOW)
    manager_job, _ = clean(log, disk)
    for name in disk.list("/d/t-0"):
        if name.endswith(".cleaned"):
            disk.remove(f"/d/t-0/{name}")
    disk.capacity = disk.used() + 50
    with pytest.raises(OSError, match="space"):
        Cleaner(manager_job, disk, no_throttle).clean()
    assert not [name for name in disk.list("/d/t-0") if name.endswith(".cleaned")]


def test_what_an_earlier_pass_left_behind_does_not_matter() -> None:
    disk = Disk()
    log = compacted(disk, index_interval_bytes="0")
    for number in range(5):
        write(log, (f"k{number}", "1"))
    log.roll(NOW)
    _, first = clean(log, disk)
    kept = cleaned_rows(disk, 0)
    _, again = clean(log, disk)
    assert (again, cleaned_rows(disk, 0)) == (first, kept)


def test_the_throttle_sleeps_when_bytes_come_too_fast() -> None:
    now = [0.0]
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        now[0] += seconds

    throttle = Throttle(1000.0, lambda: now[0], sleep)
    throttle.took(500)
    now[0] += 2.0
    throttle.took(500)
    throttle.took(3000)
    assert slept == [0.5, pytest.approx(1.5)]


def test_a_job_without_segments_does_nothing() -> None:
    from kafka_edu.log.cleaner.log_cleaner_manager import LogCleanerManager

    disk = Disk()
    log = compacted(disk)
    write(log, ("a", "1"))
    result = Cleaner(job_of(LogCleanerManager({}).look_at(log, NOW)), disk, no_throttle).clean()
    assert (result.end_offset, result.groups) == (0, ())
