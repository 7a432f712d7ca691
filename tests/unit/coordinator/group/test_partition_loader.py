"""A partition is loaded and unloaded in the background.

Requests may come meanwhile, leadership may be lost meanwhile, and a log may be unreadable.
"""

import asyncio
import functools
import logging
from collections.abc import Awaitable, Callable

import pytest

from kafka_edu.common.errors import Errors
from kafka_edu.common.topic import GROUP_METADATA_TOPIC_NAME
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.coordinator.group.group_coordinator import Member
from kafka_edu.coordinator.group.group_state import GroupState
from kafka_edu.coordinator.group.offset_and_metadata import OffsetAndMetadata
from kafka_edu.coordinator.group.partition_loader import GROUPS_AT_A_TIME, PartitionLoader
from kafka_edu.log.append_origin import AppendOrigin
from kafka_edu.log.log import Log
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import build_batch
from kafka_edu.sim.memory_file_system import MemoryFileSystem
from kafka_edu.sim.stepped_cluster import LOG_DIR, log_config, open_log_manager
from kafka_edu.trace.events.group import GroupsLoaded, GroupsLoading, GroupsUnloaded
from tests.unit.coordinator.group.group_world import GROUP, World

T0 = TopicPartition("t", 0)
NOW = 1_600_000_000_000
PRODUCER = 5


class Loading:
    """A coordinator that owns no partition yet, a real log, and the loader between them."""

    def __init__(self) -> None:
        self.world = World(seed=2)
        self.world.manager.unload(0)
        disk = MemoryFileSystem()
        disk.make_dirs(LOG_DIR)
        tp = TopicPartition(GROUP_METADATA_TOPIC_NAME, 0)
        self.log: Log | None = open_log_manager(disk, self.world.time).get_or_create_log(
            tp, log_config(), is_new=True
        )
        world = self.world
        self.loader = PartitionLoader(
            world.manager, world.coordinator, lambda _: self.log, world.time, 1 << 20, world.trace
        )

    def write(self, earlier: World) -> None:
        """Append what another coordinator has written."""
        assert self.log is not None
        for batch in earlier.log.batches:
            self.log.append_as_leader(batch, 0, NOW, origin=AppendOrigin.COORDINATOR)

    async def work(self) -> None:
        """Let the loader's task do all its work."""
        task = asyncio.ensure_future(self.loader.run())
        for _ in range(200):
            await asyncio.sleep(0)
        assert not task.done(), task
        task.cancel()

    def committed(self) -> int | Errors:
        error, found = self.world.coordinator.handle_fetch_offsets(
            GROUP, [T0], require_stable=False
        )
        value = found[T0][1] if error is Errors.NONE else None
        return error if error is not Errors.NONE else -1 if value is None else value.offset


def in_loop(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    @functools.wraps(test)
    def run(**fixtures: object) -> None:
        async def main() -> None:
            await test(**fixtures)

        asyncio.run(main())

    return run


@in_loop
async def test_groups_answer_when_their_partition_is_read() -> None:
    loading = Loading()
    earlier = World()
    earlier.stable("a")
    earlier.commit({T0: 9}, "a", generation=1)
    loading.write(earlier)
    assert loading.committed() is Errors.NOT_COORDINATOR
    loading.loader.on_election(0, 4)
    assert loading.committed() is Errors.COORDINATOR_LOAD_IN_PROGRESS
    await loading.work()
    assert loading.committed() == 9
    assert loading.world.group.state is GroupState.STABLE
    assert [type(event) for event in loading.world.events(GroupsLoading, GroupsLoaded)] == [
        GroupsLoading,
        GroupsLoaded,
    ]


@in_loop
async def test_a_partition_that_is_lost_while_it_is_read_is_not_owned() -> None:
    loading = Loading()
    earlier = World()
    earlier.commit({T0: 9})
    loading.write(earlier)
    loading.loader.on_election(0, 4)
    loading.loader.on_resignation(0, 5)
    await loading.work()
    assert loading.committed() is Errors.NOT_COORDINATOR
    loading.loader.on_election(0, 6)
    await loading.work()
    assert loading.committed() == 9


@in_loop
async def test_the_end_of_a_transaction_waits_until_its_partition_is_read() -> None:
    loading = Loading()
    earlier = World()
    value = {T0: OffsetAndMetadata(7)}
    earlier.coordinator.handle_txn_commit_offsets(
        GROUP, PRODUCER, 0, Member(), value, lambda _: None
    )
    loading.write(earlier)
    loading.loader.on_election(0, 4)
    loading.loader.complete_transaction(PRODUCER, frozenset({0}), True)
    await loading.work()
    assert loading.committed() == 7


@in_loop
async def test_waiters_are_notified_when_the_partition_is_lost_and_it_is_read_again_later() -> None:
    loading = Loading()
    earlier = World()
    earlier.stable("a")
    loading.write(earlier)
    loading.loader.on_election(0, 4)
    await loading.work()
    waiting = loading.world.join("b")
    assert waiting.waits
    loading.loader.on_resignation(0, 5)
    loading.loader.on_election(0, 6)
    await loading.work()
    assert waiting.now.error is Errors.NOT_COORDINATOR
    assert loading.world.group.generation_id == 1
    assert len(loading.world.events(GroupsUnloaded)) == 1


@in_loop
async def test_a_log_that_cannot_be_read_leaves_its_groups_elsewhere() -> None:
    loading = Loading()
    assert loading.log is not None
    broken = build_batch([Record(0, NOW, b"\0\1\0\5short", b"")])
    loading.log.append_as_leader(broken, 0, NOW, origin=AppendOrigin.COORDINATOR)
    loading.loader.on_election(0, 4)
    await loading.work()
    assert loading.committed() is Errors.NOT_COORDINATOR


@in_loop
async def test_a_replica_that_is_gone_when_its_turn_comes_is_not_read() -> None:
    loading = Loading()
    loading.log = None
    loading.loader.on_election(0, 4)
    await loading.work()
    assert loading.committed() is Errors.COORDINATOR_LOAD_IN_PROGRESS, (
        "until the controller says who leads"
    )


@in_loop
async def test_many_groups_are_taken_up_and_cleaned_up_in_turns(
    caplog: pytest.LogCaptureFixture,
) -> None:
    loading = Loading()
    earlier = World()
    count = 2 * GROUPS_AT_A_TIME + 1
    for i in range(count):
        value = {T0: OffsetAndMetadata(i, commit_timestamp=earlier.time.milliseconds())}
        earlier.coordinator.handle_commit_offsets(f"g{i}", Member(), value, lambda _: None)
    loading.write(earlier)
    loading.loader.on_election(0, 4)
    await loading.work()
    assert len(loading.world.coordinator.handle_list_groups(())[1]) == count
    loading.world.time.advance(7 * 24 * 3_600_000)
    with caplog.at_level(logging.INFO):
        await loading.loader.cleanup_expired()
        await loading.loader.cleanup_expired()
    assert loading.world.coordinator.handle_list_groups(())[1] == []
    assert caplog.messages == [f"Removed {count} expired offsets in 0 milliseconds."]
