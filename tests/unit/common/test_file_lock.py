"""The lock of a file between real processes: who gets it, who is named, and when the kernel
releases it.
"""

import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_edu.common.files import FileLockedError, OsFileSystem
from kafka_edu.sim.memory_file_system import MemoryFileSystem

#: Locks its argument, says so, and waits for the end of its input.
OURS = (
    "import sys; from kafka_edu.common.files import OsFileSystem; lock ="
    " OsFileSystem().lock(sys.argv[1]); print('locked', flush=True); sys.stdin.read()"
)
#: The lock that Java's FileChannel.tryLock takes, without a word in the file.
JAVAS = (
    "import fcntl, sys; f = open(sys.argv[1], 'r+'); fcntl.lockf(f, fcntl.LOCK_EX | fcntl.LOCK_NB);"
    " print('locked', flush=True); sys.stdin.read()"
)


class Holders:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.running: list[subprocess.Popen[bytes]] = []

    def start(self, code: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-c", code, str(self.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.running.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == b"locked\n"
        return process


@pytest.fixture
def holders(tmp_path: Path) -> Iterator[Holders]:
    holders = Holders(tmp_path / ".lock")
    yield holders
    for process in holders.running:
        process.kill()
        process.communicate()


def test_a_second_process_is_refused_touches_nothing_and_names_the_holder(holders: Holders) -> None:
    holder = holders.start(OURS)
    before = holders.path.stat(), holders.path.read_bytes()
    with pytest.raises(FileLockedError) as refused:
        OsFileSystem().lock(str(holders.path))
    assert refused.value.pid == holder.pid
    assert (holders.path.stat().st_mtime_ns, holders.path.read_bytes()) == (
        before[0].st_mtime_ns,
        before[1],
    )


def test_kill_frees_the_lock_at_once_and_a_stopped_process_keeps_it(holders: Holders) -> None:
    holder = holders.start(OURS)
    os.kill(holder.pid, signal.SIGSTOP)
    os.waitpid(holder.pid, os.WUNTRACED)
    with pytest.raises(FileLockedError):
        OsFileSystem().lock(str(holders.path))
    holder.kill()
    holder.wait()
    OsFileSystem().lock(str(holders.path)).release()


def test_one_process_cannot_lock_twice_and_loses_no_lock_by_closing_the_file(
    tmp_path: Path,
) -> None:
    """With a traditional record lock this test would fail: that lock belongs to the process, and is
    lost when the process closes any descriptor of the file.
    """
    path = tmp_path / ".lock"
    lock = OsFileSystem().lock(str(path))
    path.read_bytes()
    with pytest.raises(FileLockedError) as refused:
        OsFileSystem().lock(str(path))
    assert refused.value.pid == os.getpid()
    lock.release()
    lock.release()
    OsFileSystem().lock(str(path)).release()


@pytest.mark.skipif(
    sys.platform != "linux",
    reason="the kernel names the holder of a traditional lock only when it is asked by F_OFD_GETLK",
)
def test_a_java_broker_and_ours_exclude_each_other(holders: Holders) -> None:
    holders.path.write_text("1\n")  # written by a broker of ours that is dead by now
    java = holders.start(JAVAS)
    with pytest.raises(FileLockedError) as refused:
        OsFileSystem().lock(str(holders.path))
    assert refused.value.pid == java.pid, "the kernel knows better than the file"
    java.kill()
    java.wait()
    lock = OsFileSystem().lock(str(holders.path))
    with holders.path.open("r+") as file, pytest.raises(BlockingIOError):
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    lock.release()


def test_a_file_that_cannot_be_created_is_an_error_of_the_disk(tmp_path: Path) -> None:
    (tmp_path / "dir").write_text("a file where a folder should be")
    with pytest.raises(NotADirectoryError):
        OsFileSystem().lock(str(tmp_path / "dir" / ".lock"))


def test_the_simulated_disk_locks_until_its_process_dies() -> None:
    disk = MemoryFileSystem()
    disk.make_dirs("/a")
    first = disk.lock("/a/.lock")
    with pytest.raises(FileLockedError):
        disk.lock("/a/.lock")
    disk.release_locks()
    second = disk.lock("/a/.lock")
    first.release()  # of a dead process: it has nothing to release
    with pytest.raises(FileLockedError):
        disk.lock("/a/.lock")
    second.release()
    disk.lock("/a/.lock")
