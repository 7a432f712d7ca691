"""The files of a new log are made in the first log dir that can take them."""

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.log.log_config import LogConfig
from kafka_edu.log.new_log import MadeLog, NewLog, Place, make_log, make_logs
from kafka_edu.sim.memory_file_system import MemoryFileSystem
from tests.defaults import PRODUCER_ID_EXPIRATION_MS
from tests.unit.log.test_log import NOW

A, B = TopicPartition("t", 0), TopicPartition("t", 1)


def place(tp: TopicPartition, *log_dirs: str) -> Place:
    return Place(NewLog(tp, LogConfig.parse({}), is_new=True), log_dirs)


def made(where: Place, disk: MemoryFileSystem) -> MadeLog:
    return make_log(where, disk, NOW, PRODUCER_ID_EXPIRATION_MS)


def disk_with(*log_dirs: str) -> MemoryFileSystem:
    disk = MemoryFileSystem()
    for log_dir in log_dirs:
        disk.make_dirs(log_dir)
    return disk


def test_a_new_log_has_an_empty_segment_with_its_indexes() -> None:
    disk = disk_with("/a")
    found = made(place(A, "/a"), disk)
    assert found.failures == []
    assert found.log is not None
    assert (found.log.log_dir, found.log.log_end_offset) == ("/a", 0)
    name = "0" * 20
    assert {f"{name}.log", f"{name}.index", f"{name}.timeindex"} <= set(disk.list("/a/t-0"))


def test_a_dir_that_refuses_the_folder_is_named_and_the_next_one_takes_it() -> None:
    disk = disk_with("/a", "/b")
    disk.break_folder("/a")
    found = made(place(A, "/a", "/b"), disk)
    assert found.log is not None
    assert found.log.log_dir == "/b"
    assert [log_dir for log_dir, _ in found.failures] == ["/a"]


def test_if_no_dir_takes_it_there_is_no_log() -> None:
    disk = disk_with("/a")
    disk.break_folder("/a")
    found = made(place(A, "/a"), disk)
    assert found.log is None
    assert [log_dir for log_dir, _ in found.failures] == ["/a"]


def test_a_dir_that_has_failed_is_not_tried_for_the_next_log() -> None:
    disk = disk_with("/a", "/b")
    disk.break_folder("/a")
    tried: list[tuple[str, ...]] = []

    def make(where: Place) -> MadeLog:
        tried.append(tuple(where.log_dirs))
        return made(where, disk)

    first, second = make_logs([place(A, "/a", "/b"), place(B, "/a", "/b")], make)
    assert tried == [("/a", "/b"), ("/b",)]
    assert [one.log is not None for one in (first, second)] == [True, True]
    assert second.failures == []
