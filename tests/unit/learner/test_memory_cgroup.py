"""The cgroup that limits a jail's memory, on made-up file systems of cgroup versions 1 and 2."""

from pathlib import Path

import pytest

from kafka_edu.learner.memory_cgroup import MemoryCgroup, NoCgroupError, remove_left_behind


def mounts(folder: Path, *lines: str) -> Path:
    """Write a list of mounts. In each line, TOP stands for the folder of the cgroups."""
    file = folder / "mounts"
    top = folder / "cgroup"
    top.mkdir(exist_ok=True)
    file.write_text("".join(line.replace("TOP", str(top)) + "\n" for line in lines))
    return file


ROOT_MOUNT = "/dev/vda / ext4 rw,relatime 0 0"
VERSION_1 = "cgroup TOP cgroup rw,relatime,memory 0 0"
VERSION_2 = "cgroup2 TOP cgroup2 rw,nosuid 0 0"


def test_version_1(tmp_path: Path) -> None:
    cpu = "cgroup /sys/fs/cgroup/cpu cgroup rw,relatime,cpu 0 0"
    cgroup = MemoryCgroup("7", 2 << 30, mounts(tmp_path, ROOT_MOUNT, cpu, VERSION_1))
    assert cgroup.folder == tmp_path / "cgroup" / "kafka-edu-grade-7"
    assert (cgroup.folder / "memory.limit_in_bytes").read_text() == "2147483648"
    assert (cgroup.folder / "memory.memsw.limit_in_bytes").read_text() == "2147483648"
    assert cgroup.processes == cgroup.folder / "cgroup.procs"
    assert not cgroup.has_killed()
    (cgroup.folder / "memory.oom_control").write_text("oom_kill_disable 0\noom_kill 2\n")
    assert cgroup.has_killed()


def test_version_2_switches_the_controller_on(tmp_path: Path) -> None:
    table = mounts(tmp_path, ROOT_MOUNT, VERSION_2)
    (tmp_path / "cgroup" / "cgroup.controllers").write_text("cpu memory pids\n")
    control = tmp_path / "cgroup" / "cgroup.subtree_control"
    control.write_text("cpu\n")
    cgroup = MemoryCgroup("7", 1 << 20, table)
    assert control.read_text() == "+memory"
    assert (cgroup.folder / "memory.max").read_text() == "1048576"
    assert (cgroup.folder / "memory.swap.max").read_text() == "0"
    (cgroup.folder / "memory.events").write_text("low 0\nhigh 0\nmax 9\noom 1\noom_kill 0\n")
    assert not cgroup.has_killed()
    (cgroup.folder / "memory.events").write_text("low 0\nhigh 0\nmax 9\noom 1\noom_kill 1\n")
    assert cgroup.has_killed()


def test_a_version_2_without_the_controller_is_none(tmp_path: Path) -> None:
    table = mounts(tmp_path, ROOT_MOUNT, VERSION_2)
    (tmp_path / "cgroup" / "cgroup.controllers").write_text("hugetlb\n")
    with pytest.raises(NoCgroupError, match="no cgroups with the controller `memory`"):
        MemoryCgroup("7", 1 << 20, table)


def test_a_folder_that_cannot_be_made_is_a_reason(tmp_path: Path) -> None:
    table = mounts(tmp_path, VERSION_1)
    (tmp_path / "cgroup").rmdir()
    (tmp_path / "cgroup").write_text("a file")
    with pytest.raises(NoCgroupError, match=r"kafka-edu-grade-7 cannot be made"):
        MemoryCgroup("7", 1 << 20, table)


def test_what_was_left_behind_is_removed(tmp_path: Path) -> None:
    table = mounts(tmp_path, VERSION_1)
    empty, other = (tmp_path / "cgroup" / name for name in ("kafka-edu-grade-1", "system"))
    empty.mkdir()
    other.mkdir()
    remove_left_behind(table)
    assert not empty.exists()
    assert other.exists()
    remove_left_behind(tmp_path / "nothing")


def test_removing_twice_does_nothing(tmp_path: Path) -> None:
    cgroup = MemoryCgroup("7", 1 << 20, mounts(tmp_path, VERSION_1))
    for file in cgroup.folder.iterdir():  # in a file system of cgroups they go with the folder
        file.unlink()
    cgroup.remove()
    cgroup.remove()
    assert not cgroup.folder.exists()
