import os
from pathlib import Path

import pytest

from kafka_edu.common.files import OsFileSystem
from kafka_edu.common.time import MockTime
from kafka_edu.log.log_dirs import LogDirInUseError, LogDirs
from kafka_edu.sim.memory_file_system import MemoryFileSystem
from kafka_edu.trace.event import Source
from kafka_edu.trace.events.log import LogDirLocked
from kafka_edu.trace.ring_sink import RingSink
from kafka_edu.trace.tracer import Tracer


def test_every_dir_is_created_and_locked_and_a_bad_one_is_set_aside() -> None:
    disk = MemoryFileSystem()
    disk.open("/bad").append([b"a file where a folder should be"])
    trace, ring = Tracer(Source.of_broker(1), MockTime()), RingSink()
    trace.add_sink(ring)
    dirs = LogDirs(("/a", "/bad", "/b"), disk, trace)
    dirs.open()
    assert dirs.live == ["/a", "/b"]
    assert list(dirs.failed) == ["/bad"]
    assert dirs.failures().startswith("/bad: ")
    assert [envelope.event for envelope in ring.events] == [
        LogDirLocked(log_dir="/a"),
        LogDirLocked(log_dir="/b"),
    ]


def test_a_dir_in_use_is_named_with_its_holder_and_no_other_dir_stays_locked(
    tmp_path: Path,
) -> None:
    first, second = str(tmp_path / "first"), str(tmp_path / "second")
    running = LogDirs([second], OsFileSystem())
    running.open()
    with pytest.raises(LogDirInUseError) as refused:
        LogDirs([first, second], OsFileSystem()).open()
    assert (
        str(refused.value)
        == f"Failed to acquire lock on file .lock in {second}. A Kafka instance in another process"
        f" or thread is using this directory. The lock is held by process {os.getpid()}. Stop"
        " that broker first, or give this one other log.dirs."
    )
    LogDirs([first], OsFileSystem()).open()


def test_one_dir_named_twice_is_in_use() -> None:
    with pytest.raises(LogDirInUseError):
        LogDirs(["/a", "/a"], MemoryFileSystem()).open()


def test_a_dir_that_fails_later_and_the_end_release_the_locks() -> None:
    disk = MemoryFileSystem()
    dirs = LogDirs(["/a", "/b"], disk)
    dirs.open()
    dirs.fail("/a", OSError("gone"))
    dirs.fail("/a", OSError("gone again"))
    assert (dirs.live, str(dirs.failed["/a"])) == (["/b"], "gone")
    disk.lock("/a/.lock").release()
    dirs.release_all()
    disk.lock("/b/.lock").release()
