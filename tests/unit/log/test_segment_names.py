"""Segments that have each other's names get their right names back, whenever the broker is
killed.
"""

import pytest

from kafka_edu.log.log_repairs import SEGMENT_RENAMED
from kafka_edu.log.segment_names import RENAMED_SUFFIX, restore_names
from kafka_edu.sim.memory_file_system import MemoryFileSystem
from tests.unit.log.test_log_loader import FIRST, SECOND, D, load, stored, written
from tests.unit.log.test_log_repairs import THIRD, told

BASES = (0, 14, 28)


def mixed_up() -> MemoryFileSystem:
    """Return the disk of a log in which each segment has the name of the next one, and the last
    segment has the name of the first.
    """
    disk, _ = written(clean=True)
    for path in (FIRST, SECOND, THIRD):
        disk.rename(f"{path}.log", f"{path}.was")
    for was, now in ((FIRST, SECOND), (SECOND, THIRD), (THIRD, FIRST)):
        disk.rename(f"{was}.was", f"{now}.log")
    return disk


@pytest.mark.parametrize("clean", [True, False])
def test_three_segments_in_a_ring(clean: bool) -> None:
    log, events = load(mixed_up(), clean=clean)
    assert stored(log) == list(range(40))
    assert sorted(told(events)) == [
        (SEGMENT_RENAMED, "00000000000000000000.log", 0, 28, -1),
        (SEGMENT_RENAMED, "00000000000000000014.log", 0, 0, -1),
        (SEGMENT_RENAMED, "00000000000000000028.log", 0, 14, -1),
    ]


@pytest.mark.parametrize("renames", range(6))
def test_a_kill_in_between_is_finished_at_the_next_start(
    renames: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = mixed_up()
    rename, left = disk.rename, [None] * renames

    class Killed(Exception):
        pass

    def some(old: str, new: str) -> None:
        if not left:
            raise Killed
        left.pop()
        rename(old, new)

    with monkeypatch.context() as patch:
        patch.setattr(disk, "rename", some)
        with pytest.raises(Killed):
            restore_names(disk, D, BASES)
    log, _ = load(disk, clean=True)
    assert stored(log) == list(range(40))
    assert not [name for name in disk.list(D) if name.endswith(RENAMED_SUFFIX)]


def test_a_segment_without_a_counterpart_keeps_its_name() -> None:
    disk, _ = written(clean=True)
    disk.remove(f"{SECOND}.log")
    disk.rename(f"{THIRD}.log", f"{SECOND}.log")
    assert restore_names(disk, D, (0, 14)) == ()
