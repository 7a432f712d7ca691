import random
from pathlib import Path

import pytest

from kafka_edu.common.files import FileSystem, OsFileSystem
from kafka_edu.sim.memory_file_system import MemoryFileSystem, SimulatedCrash


@pytest.fixture(params=["machine", "memory"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[FileSystem, str]:
    if request.param == "machine":
        return OsFileSystem(), str(tmp_path)
    file_system = MemoryFileSystem()
    file_system.make_dirs("/x")
    return file_system, "/x"


def test_it_behaves_as_the_machine_s(disk: tuple[FileSystem, str]) -> None:
    files, root = disk
    file = files.open(f"{root}/a")
    assert file.append([b"one", memoryview(b"two")]) == 0
    assert file.append([b"three"]) == 6
    assert (file.size(), file.pread(5, 4), file.pread(100, 8)) == (11, b"wothr", b"ree")
    file.pwrite(b"XY", 10)
    assert file.pread(100, 8) == b"reXY"
    file.truncate(4)
    file.truncate(8)
    assert file.pread(100, 0) == b"onet\0\0\0\0"
    assert file.append([b"!"]) == 8
    other = files.open(f"{root}/a", create=False)
    assert other.pread(9, 0) == b"onet\0\0\0\0!"
    file.flush()
    file.close()
    with pytest.raises(FileNotFoundError):
        files.open(f"{root}/none", create=False)
    with pytest.raises(FileNotFoundError):
        files.read(f"{root}/none")


def test_a_mapping_is_the_file(disk: tuple[FileSystem, str]) -> None:
    files, root = disk
    file = files.open(f"{root}/a")
    file.append([b"abc"])
    file.truncate(4096)
    mapped = file.map(4096)
    mapped[1:3] = b"XY"
    assert file.pread(4, 0) == b"aXY\0"
    mapped.release() if isinstance(mapped, memoryview) else mapped.close()
    file.truncate(2)
    assert files.read(f"{root}/a") == b"aX"
    file.truncate(100)
    again = file.map(100)
    assert bytes(again[:4]) == b"aX\0\0"
    again.release() if isinstance(again, memoryview) else again.close()


def test_folders(disk: tuple[FileSystem, str]) -> None:
    files, root = disk
    files.make_dirs(f"{root}/d/e")
    files.make_dirs(f"{root}/d/e")
    files.write_atomically(f"{root}/d/f", b"1")
    files.write_atomically(f"{root}/d/f", b"22", sync=False)
    files.open(f"{root}/d/e/g").append([b"3"])
    assert files.list(f"{root}/d") == ["e", "f"]
    assert (
        files.is_dir(f"{root}/d/e"),
        files.is_dir(f"{root}/d/f"),
        files.exists(f"{root}/d/f"),
    ) == (True, False, True)
    files.rename(f"{root}/d", f"{root}/n")
    assert files.read(f"{root}/n/f") == b"22"
    assert files.read(f"{root}/n/e/g") == b"3"
    files.rename(f"{root}/n/f", f"{root}/n/h")
    files.remove(f"{root}/n/h")
    files.remove(f"{root}/n/h")
    assert files.list(f"{root}/n") == ["e"]
    files.remove_tree(f"{root}/n")
    assert not files.exists(f"{root}/n")
    with pytest.raises(FileNotFoundError):
        files.list(f"{root}/n")


def test_a_crash_cuts_the_write_and_everything_after_it() -> None:
    disk = MemoryFileSystem()
    file = disk.open("/a")
    file.append([b"12345"])
    disk.crash_after(3)
    with pytest.raises(SimulatedCrash):
        file.append([b"abc", b"def"])
    for call in (
        lambda: file.append([b"x"]),
        file.flush,
        lambda: disk.remove("/a"),
        lambda: disk.open("/b"),
        lambda: disk.rename("/a", "/b"),
    ):
        with pytest.raises(SimulatedCrash):
            call()
    assert disk.crashed
    disk.restart()
    assert disk.read("/a") == b"12345abc"


def test_a_crash_in_an_atomic_write_leaves_the_old_content() -> None:
    disk = MemoryFileSystem()
    disk.write_atomically("/c", b"old")
    disk.crash_after(2)
    with pytest.raises(SimulatedCrash):
        disk.write_atomically("/c", b"newer")
    disk.restart()
    assert disk.read("/c") == b"old"


def test_power_takes_what_was_not_flushed() -> None:
    disk = MemoryFileSystem()
    file = disk.open("/a")
    file.append([b"12345"])
    file.flush()
    file.append([b"67890"])
    file.pwrite(b"x", 0)
    disk.lose_power(random.Random(4))
    found = disk.read("/a")
    assert found.startswith(b"12345")
    assert b"1234567890".startswith(found)
    disk.lose_power()
    assert disk.read("/a") == b"12345"
    outcomes = set()
    for seed in range(30):
        disk = MemoryFileSystem()
        disk.open("/a").append([b"abc"])
        disk.lose_power(random.Random(seed))
        outcomes.add(disk.read("/a"))
    assert outcomes == {b"", b"a", b"ab", b"abc"}


def test_a_full_disk_takes_part_of_a_write() -> None:
    disk = MemoryFileSystem(capacity=10)
    file = disk.open("/a")
    file.append([b"123456"])
    with pytest.raises(OSError, match="space"):
        file.append([b"abcdef"])
    assert file.size() == 10
    file.pwrite(b"zz", 0)
    assert disk.used() == 10


def test_a_long_empty_file_costs_nothing() -> None:
    disk = MemoryFileSystem()
    disk.open("/a").truncate(2**40)
    assert disk.open("/a").size() == 2**40
    assert disk.used() == 0
