from kafka_edu.log.leader_epoch_file_cache import LeaderEpochFileCache
from kafka_edu.sim.memory_file_system import MemoryFile, MemoryFileSystem

PATH = "/leader-epoch-checkpoint"


def cache(*entries: tuple[int, int]) -> LeaderEpochFileCache:
    made = LeaderEpochFileCache(PATH, MemoryFileSystem())
    for epoch, start in entries:
        made.assign(epoch, start)
    return made


def test_the_seed_s_epochs_0_from_0_and_1_from_120() -> None:
    epochs = cache((0, 0), (1, 120))
    assert epochs.end_offset_for(0, 200) == (0, 120)
    assert epochs.end_offset_for(1, 200) == (1, 200)
    assert epochs.end_offset_for(2, 200) == (-1, -1), "newer than any"
    assert epochs.end_offset_for(-1, 200) == (-1, -1)
    assert [epochs.epoch_for_offset(o) for o in (0, 119, 120, 500)] == [0, 0, 1, 1]


def test_an_epoch_between_is_answered_by_the_one_below_it() -> None:
    epochs = cache((2, 10), (5, 30), (9, 40))
    assert epochs.end_offset_for(7, 99) == (5, 40)
    assert epochs.end_offset_for(5, 99) == (5, 40)
    assert epochs.end_offset_for(1, 99) == (1, 10), "older than all known"


def test_an_entry_that_contradicts_older_ones_replaces_them() -> None:
    epochs = cache((0, 0), (1, 10), (2, 20))
    epochs.assign(2, 25)
    assert epochs.entries[-1] == (2, 20), "the first word counts"
    epochs.assign(3, 10)
    assert epochs.entries == [(0, 0), (3, 10)]
    epochs.assign(2, 50)
    assert epochs.entries == [(0, 0), (2, 50)]


def test_truncation_at_both_ends() -> None:
    epochs = cache((0, 0), (1, 10), (2, 20))
    epochs.truncate_from_end(20)
    assert epochs.entries == [(0, 0), (1, 10)]
    epochs.truncate_from_end(11)
    assert epochs.latest_epoch == 1
    epochs.assign(4, 30)
    epochs.truncate_from_start(15)
    assert epochs.entries == [(1, 15), (4, 30)]
    epochs.truncate_from_start(30)
    assert epochs.entries == [(4, 30)]
    epochs.truncate_from_start(50)
    assert epochs.entries == [(4, 50)]
    epochs.clear_and_flush()
    assert epochs.latest_epoch == -1


def test_the_file_is_kafka_s_and_is_read_again() -> None:
    file_system = MemoryFileSystem()
    epochs = LeaderEpochFileCache(PATH, file_system)
    epochs.assign(0, 0)
    epochs.assign(3, 17)
    assert file_system.read(PATH) == b"0\n2\n0 0\n3 17\n"
    assert LeaderEpochFileCache(PATH, file_system).entries == [(0, 0), (3, 17)]
    flushes = file_system.flushes
    epochs.flush()
    assert (flushes, file_system.flushes) == (0, 1), "only when it is asked for"


def test_the_file_of_an_epoch_without_records_may_wait() -> None:
    file_system = MemoryFileSystem()
    epochs = LeaderEpochFileCache(PATH, file_system)
    epochs.assign(0, 0)
    epochs.assign(1, 7, later=True)
    assert (epochs.latest_epoch, epochs.unwritten) == (1, True)
    assert file_system.read(PATH) == b"0\n1\n0 0\n"
    epochs.assign(1, 7)
    assert epochs.unwritten, "nothing new was said"
    epochs.write()
    assert not epochs.unwritten
    assert file_system.read(PATH) == b"0\n2\n0 0\n1 7\n"
    epochs.assign(2, 9, later=True)
    epochs.truncate_from_end(7)
    assert file_system.read(PATH) == b"0\n1\n0 0\n", (
        "what is cut is written at once, and what waited with it"
    )


class CountingFileSystem(MemoryFileSystem):
    opened = 0

    def open(self, path: str, *, create: bool = True) -> MemoryFile:
        self.opened += 1
        return super().open(path, create=create)


def test_the_file_is_forced_once_a_change_and_holds_against_a_power_failure() -> None:
    file_system = CountingFileSystem()
    epochs = LeaderEpochFileCache(PATH, file_system)
    epochs.flush()
    assert file_system.opened == 0, "there is nothing to force"
    epochs.assign(3, 5, later=True)
    epochs.flush()
    opened = file_system.opened
    epochs.flush()
    assert file_system.opened == opened > 0, "nothing has changed since"
    file_system.lose_power()
    assert LeaderEpochFileCache(PATH, file_system).entries == [(3, 5)]


def test_a_closed_file_is_not_touched_any_more() -> None:
    file_system = MemoryFileSystem()
    epochs = LeaderEpochFileCache(PATH, file_system)
    epochs.assign(3, 5, later=True)
    epochs.close()
    epochs.write()
    epochs.flush()
    assert not file_system.exists(PATH)
