"""When the controller hears of changed ISRs: after 5 quiet seconds, or after a minute."""

import asyncio

from kafka_edu.cluster.leader_and_isr import LeaderIsrAndControllerEpoch
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.replication.isr import IsrProposal
from kafka_edu.replication.isr_writer import RETRY_MS, IsrChangePropagation, IsrWriter
from kafka_edu.sim.sim_loop import SimLoop, SimTime
from kafka_edu.sim.stepped_cluster import T
from kafka_edu.zk.zk_client import ZkError, ZkErrorCode
from tests.unit.replication.test_replica_fetcher_thread import PROPOSAL

A, B = TopicPartition("t", 0), TopicPartition("t", 1)


def test_told_when_nothing_has_changed_for_more_than_five_seconds() -> None:
    changes = IsrChangePropagation(0)
    changes.record(B, 1_000)
    changes.record(A, 2_000)
    assert changes.take_due(7_000) == []
    assert changes.take_due(7_001) == [A, B]
    assert changes.take_due(20_000) == []


def test_told_after_a_minute_even_if_changes_never_stop() -> None:
    changes = IsrChangePropagation(0)
    due: list[tuple[int, list[TopicPartition]]] = []
    for second in range(130):
        changes.record(A, second * 1_000)
        if told := changes.take_due(second * 1_000):
            due.append((second, told))
    assert due == [(61, [A]), (122, [A])]


def test_what_could_not_be_told_is_told_later() -> None:
    changes = IsrChangePropagation(0)
    changes.record(A, 0)
    due = changes.take_due(5_001)
    changes.put_back(due)
    assert changes.take_due(7_500) == [A]


class FlakyStore:
    """Fails `failures` times, then answers `version`."""

    def __init__(self, failures: int, version: int | None) -> None:
        self.failures = failures
        self.version = version
        self.calls = 0

    def _call(self) -> None:
        self.calls += 1
        if self.calls <= self.failures:
            raise ZkError(ZkErrorCode.CONNECTION_LOSS)

    async def conditional_update_partition_state(
        self, _: TopicPartition, __: LeaderIsrAndControllerEpoch, ___: int, /
    ) -> int | None:
        self._call()
        return self.version

    async def propagate_isr_changes(self, _: object, /) -> None:
        self._call()


class FakeIsrUpdates:
    """Notes ZooKeeper's answers. A proposal is wanted until the store has been called `n` times."""

    def __init__(self, store: FlakyStore, n: int) -> None:
        self.changes = IsrChangePropagation(0)
        self.answers: list[int | None] = []
        self._store = store
        self._n = n

    def still_wanted(self, _: IsrProposal) -> bool:
        return self._store.calls < self._n

    def written(self, _: IsrProposal, zk_version: int | None) -> None:
        self.answers.append(zk_version)


def test_a_lost_answer_is_asked_for_again_while_the_proposal_stands() -> None:
    for wanted_for, expected in ((10, [4]), (1, [])):
        loop = SimLoop()
        store = FlakyStore(2, 4)
        failed: list[str] = []
        updates = FakeIsrUpdates(store, wanted_for)
        writer = IsrWriter(
            store,
            updates,  # type: ignore[arg-type]  # all that the writer calls
            SimTime(loop),
            lambda name, _, failed=failed: failed.append(name),  # type: ignore[misc]
        )

        async def scenario(writer: IsrWriter = writer) -> None:
            writer.propose(PROPOSAL)
            await asyncio.sleep(3 * RETRY_MS / 1000)
            await writer.shutdown()

        loop.run_until_complete(scenario())
        assert updates.answers == expected
        assert failed == []


def test_changes_that_could_not_be_told_stay_due() -> None:
    loop = SimLoop()
    store = FlakyStore(1, 0)
    updates = FakeIsrUpdates(store, 1)
    writer = IsrWriter(store, updates, SimTime(loop), lambda _, __: None)  # type: ignore[arg-type]
    updates.changes.record(T, 0)

    async def scenario() -> list[list[TopicPartition]]:
        return [await writer.propagate(now_ms) for now_ms in (5_000, 5_001, 7_500, 10_000)]

    assert loop.run_until_complete(scenario()) == [[], [], [T], []]
