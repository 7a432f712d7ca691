"""No turn of the broker's loop is long, however many partitions a request of the controller brings.

The clock here stands still, except that each call to the disk and each change of a role takes time
on the loop. So the longest turn does not depend on the machine.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import pytest

from kafka_edu.cluster.metadata_cache import MetadataCache
from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.time import MockTime
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.common.turns import TURN_BUDGET_MS, at_once, in_turns
from kafka_edu.log.log_config import LogConfig
from kafka_edu.protocol.messages.leader_and_isr import (
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
)
from kafka_edu.protocol.messages.stop_replica import (
    StopReplicaPartitionState,
    StopReplicaRequest,
    StopReplicaTopicState,
)
from kafka_edu.replication.partition import Partition
from kafka_edu.server.apis.inter_broker import InterBrokerApi
from kafka_edu.server.config.part_configs import replication_config
from kafka_edu.server.config.topic_configs import TopicConfigs
from kafka_edu.sim.memory_file_system import MemoryFile, MemoryFileSystem
from kafka_edu.sim.stepped_cluster import ModelBroker
from tests.defaults import BROKER_DEFAULTS

T = TypeVar("T")
PARTITIONS = 256
DISK_MS = 3.0
ROLE_MS = 0.4
LONGEST_MS = TURN_BUDGET_MS + DISK_MS
DISK_CALLS = (
    (MemoryFileSystem, "open"),
    (MemoryFileSystem, "make_dirs"),
    (MemoryFileSystem, "list"),
    (MemoryFileSystem, "rename"),
    (MemoryFileSystem, "write_atomically"),
    (MemoryFile, "truncate"),
)


class Answered:
    """Stands in for an ApiCall."""

    version = 3

    def __init__(self) -> None:
        self.response: Any = None

    def respond(self, response: Any) -> None:
        self.response = response


class StillTime(MockTime):
    """A clock whose sleepers never wake up. So what must be removed later stays."""

    async def sleep(self, ms: float) -> None:
        await asyncio.get_running_loop().create_future()


class World:
    """One broker, whose clock advances with the work on its loop."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.time = StillTime()
        self._in_worker = False
        for cls, name in DISK_CALLS:
            monkeypatch.setattr(cls, name, self._costs(getattr(cls, name), DISK_MS))
        for name in ("make_leader", "make_follower", "delete"):
            monkeypatch.setattr(Partition, name, self._costs(getattr(Partition, name), ROLE_MS))
        self.broker = ModelBroker(1, self.time, replication_config(BROKER_DEFAULTS, 1), 1)
        self.logs = self.broker.logs
        self.logs._run_blocking = self.run_blocking
        self.api = InterBrokerApi(
            self.broker.manager.controller_orders,
            self.logs,
            MetadataCache(1),
            lambda *_: pytest.fail("no controlled shutdown"),
            lambda: -1,
            TopicConfigs(LogConfig.parse({}), self._no_overrides),
            lambda _: None,
            lambda _: None,
            asyncio.Lock(),
            self.time,
        )

    async def _no_overrides(self, topics: Any) -> dict[str, dict[str, str]]:
        return {topic: {} for topic in topics}

    def _costs(self, call: Any, ms: float) -> Any:
        def costly(*arguments: Any, **named: Any) -> Any:
            if not self._in_worker:
                self.time.advance(ms)
            return call(*arguments, **named)

        return costly

    async def run_blocking(self, call: Callable[[], T]) -> T:
        await asyncio.sleep(0)
        self._in_worker = True
        try:
            return call()
        finally:
            self._in_worker = False

    async def longest_turn_ms(self, work: Awaitable[None]) -> float:
        """Do `work`. Return the longest time for which the loop ran nothing else."""
        task = asyncio.ensure_future(work)
        longest, began = 0.0, self.time.nanoseconds()
        while not task.done():
            await asyncio.sleep(0)
            now = self.time.nanoseconds()
            longest, began = max(longest, (now - began) / 1e6), now
        await task
        return longest


def lead_and_follow() -> LeaderAndIsrRequest:
    states = [
        LeaderAndIsrPartitionState(
            topic_name="t",
            partition_index=number,
            controller_epoch=1,
            leader=1 + number % 2,
            leader_epoch=0,
            isr=[1, 2],
            zk_version=0,
            replicas=[1, 2],
            is_new=True,
        )
        for number in range(PARTITIONS)
    ]
    return LeaderAndIsrRequest(
        controller_id=1, controller_epoch=1, ungrouped_partition_states=states
    )


def stop_all() -> StopReplicaRequest:
    states = [
        StopReplicaPartitionState(partition_index=number, leader_epoch=-2, delete_partition=True)
        for number in range(PARTITIONS)
    ]
    return StopReplicaRequest(
        controller_id=1,
        controller_epoch=1,
        topic_states=[StopReplicaTopicState(topic_name="t", partition_states=states)],
    )


def test_a_topic_of_many_partitions_comes_and_goes_in_short_turns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scenario() -> None:
        world = World(monkeypatch)
        for _ in range(2):
            created, deleted = Answered(), Answered()
            await_lead = world.api.handle_leader_and_isr(created, lead_and_follow())  # type: ignore[arg-type]
            assert await world.longest_turn_ms(await_lead) <= LONGEST_MS
            assert len(world.logs.logs) == PARTITIONS
            assert {p.error_code for p in created.response.partition_errors} == {Errors.NONE}
            await_stop = world.api.handle_stop_replica(deleted, stop_all())  # type: ignore[arg-type]
            assert await world.longest_turn_ms(await_stop) <= LONGEST_MS
            assert world.logs.logs == {}
            assert {p.error_code for p in deleted.response.partition_errors} == {Errors.NONE}
        folders = world.broker.disk.list("/data")
        assert len([name for name in folders if name.endswith("-delete")]) == 2 * PARTITIONS

    asyncio.run(scenario())


def test_a_creator_who_is_cancelled_leaves_no_log_behind_that_nobody_closes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A stopping broker cancels its handlers. The worker's call cannot be cancelled."""

    async def scenario() -> None:
        world = World(monkeypatch)
        work = asyncio.create_task(
            world.api.handle_leader_and_isr(Answered(), lead_and_follow())  # type: ignore[arg-type]
        )
        while not world.logs._making:
            await asyncio.sleep(0)
        work.cancel()
        assert world.logs.logs == {}
        await world.logs.shutdown()
        disk = world.broker.disk
        folders = [name for name in disk.list("/data") if name.startswith("t-")]
        assert 0 < len(folders) < PARTITIONS
        for folder in folders:
            index = f"/data/{folder}/{0:020d}.index"
            assert len(disk.read(index)) == 0, "closed: cut to its entries"
        assert disk.exists("/data/.kafka_cleanshutdown")

    asyncio.run(scenario())


@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_a_dir_that_fails_while_logs_are_made_refuses_them_all(
    monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    async def scenario() -> None:
        world = World(monkeypatch)
        broken = OSError(5, "Input/output error")
        make_dirs = MemoryFileSystem.make_dirs

        def failing(disk: MemoryFileSystem, path: str) -> None:
            if when == "meanwhile" and path.endswith("t-20"):
                raise broken
            make_dirs(disk, path)

        monkeypatch.setattr(MemoryFileSystem, "make_dirs", failing)
        if when == "before":
            world.logs.handle_log_dir_failure("/data", broken)
        answer = Answered()
        await world.api.handle_leader_and_isr(answer, lead_and_follow())  # type: ignore[arg-type]
        assert {p.error_code for p in answer.response.partition_errors} == {
            Errors.KAFKA_STORAGE_ERROR
        }
        assert world.logs.logs == {}
        folders = [name for name in world.broker.disk.list("/data") if name.startswith("t-")]
        assert len(folders) == (0 if when == "before" else 20), "the rest was not tried"

    asyncio.run(scenario())


def test_work_in_turns_pauses_when_its_time_is_over_and_returns_its_result() -> None:
    time = MockTime()
    turns: list[int] = []

    def work() -> Any:
        for _ in range(10):
            time.advance(4)
            yield
        return "done"

    async def scenario() -> str:
        task = asyncio.create_task(in_turns(work(), time))
        while not task.done():
            before = time.milliseconds()
            await asyncio.sleep(0)
            turns.append(time.milliseconds() - before)
        return await task

    assert asyncio.run(scenario()) == "done"
    assert [turn for turn in turns if turn] == [16, 12, 12]
    assert at_once(work()) == "done"


def test_an_error_of_a_step_reaches_the_caller() -> None:
    def work() -> Any:
        yield
        raise KafkaException(Errors.STALE_BROKER_EPOCH)

    with pytest.raises(KafkaException):
        asyncio.run(in_turns(work(), MockTime()))
    with pytest.raises(KafkaException):
        at_once(work())


def test_a_deleted_log_holds_one_open_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python's mmap keeps a descriptor of its own. With two mappings for each log, 7,000 deleted
    logs once exhausted a limit of 20,000 open files, and the log dir failed.
    """

    async def scenario() -> None:
        world = World(monkeypatch)
        log = world.logs.get_or_create_log(TopicPartition("t", 0))
        segment = log.active_segment
        await world.logs.delete_logs([log.topic_partition])
        assert not segment.offset_index._loaded
        assert not segment.time_index._loaded

    asyncio.run(scenario())
