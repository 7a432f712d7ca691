"""What a start finds in a log dir, before it opens a log."""

import pytest

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.log.log_dir_scan import LogDirScan, scan_log_dir
from kafka_edu.log.log_file_names import CLEAN_SHUTDOWN_FILE, delete_dir_name, future_dir_name
from kafka_edu.log.offset_checkpoint_file import OffsetCheckpointFile
from kafka_edu.sim.memory_file_system import MemoryFileSystem

TP = TopicPartition("t", 0)


def scan(disk: MemoryFileSystem) -> LogDirScan:
    points, starts = (OffsetCheckpointFile(f"/a/{name}", disk) for name in ("points", "starts"))
    return scan_log_dir("/a", disk, points, starts)


def test_a_dir_that_is_missing_is_made() -> None:
    disk = MemoryFileSystem()
    found = scan(disk)
    assert (found.log_dir, found.clean, dict(found.logs), list(found.doomed)) == (
        "/a",
        False,
        {},
        [],
    )
    assert disk.is_dir("/a")


def test_each_kind_of_folder_is_told_from_the_others_and_from_files() -> None:
    disk = MemoryFileSystem()
    future, deleted = future_dir_name(TP, 7), delete_dir_name(TP, 8)
    for folder in ("t-0", future, deleted, "lost+found"):
        disk.make_dirs(f"/a/{folder}")
    for file in ("u-0", CLEAN_SHUTDOWN_FILE):
        disk.write_atomically(f"/a/{file}", b"")
    found = scan(disk)
    assert found.logs == {TP: "/a/t-0"}
    assert found.future_logs == {TP: f"/a/{future}"}
    assert list(found.doomed) == [deleted]
    assert found.clean


@pytest.mark.parametrize("torn", ["points", "starts"])
def test_a_checkpoint_that_cannot_be_read_counts_as_empty_and_the_other_is_read(torn: str) -> None:
    disk = MemoryFileSystem()
    disk.make_dirs("/a")
    for name in ("points", "starts"):
        disk.write_atomically(f"/a/{name}", b"0\n2\nt 0" if name == torn else b"0\n1\nt 0 9\n")
    found = scan(disk)
    offsets = {"points": found.recovery_points, "starts": found.start_offsets}
    assert offsets.pop(torn) == {}
    assert list(offsets.values()) == [{TP: 9}]
    (told,) = found.unreadable
    assert (told.log_dir, told.file) == ("/a", torn)
