"""A model of the brokers that Kafka had before it had a controller: every broker watches everything
itself (book 000 §6.4.1; 003).

    在 Kafka 的早期版本中，并没有采用 Kafka Controller 这样一个概念来对分区和副本的状态进行管理，而是依赖于 ZooKeeper

`kafka-edu demo watches` uses this model. It works on Kafka's own znodes. Every broker watches
/brokers/ids, /brokers/topics, each topic's assignment and each partition's state. It needs all
these znodes, because it may become any partition's leader, and because clients may request the
leaders from any broker.

Each broker decides from what it has read whether it must act. The first replica in AR that is alive
and in sync writes itself into the partition's state as the leader, by compare-and-set. A leader
removes dead followers from its ISR. So each change has only one writer, and no write fails because
of another writer. In the old Kafka several brokers could try the same write, which costs more than
this model. Reads and writes are pipelined, as in this project's brokers.
"""  # noqa: E501

import asyncio
from collections.abc import Callable, Iterable

from kafka_edu.cluster.broker import Broker
from kafka_edu.cluster.leader_and_isr import LeaderAndIsr, LeaderIsrAndControllerEpoch
from kafka_edu.common.time import Time
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.controller.leader_election import ElectionStrategy, elect
from kafka_edu.zk.zk_client import WatchedEvent, ZkClient
from kafka_edu.zk.zk_data import BrokerIdZNode, TopicPartitionStateZNode, TopicZNode
from kafka_edu.zk.zk_requests import ZkRequests

NO_CONTROLLER_EPOCH = 0


class HerdBroker:
    """One broker that watches ZooKeeper and reacts to what it reads. A single task handles all
    notifications that have come since its last turn.
    """

    def __init__(
        self,
        broker: Broker,
        client: ZkClient,
        time: Time,
        max_in_flight: int,
        on_learnt: Callable[[], None],
    ) -> None:
        """`on_learnt` is called whenever this broker gets new information about a partition."""
        self._broker = broker
        self._time = time
        self._zk = ZkRequests(client, time, max_in_flight)
        self._on_learnt = on_learnt
        self._changed_paths: dict[str, None] = {}
        self._filled = asyncio.Event()
        self._live: set[int] = set()
        self._assignments: dict[TopicPartition, tuple[int, ...]] = {}
        self._states: dict[TopicPartition, LeaderAndIsr | None] = {}
        self.task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Register this broker in ZooKeeper, and start to read and watch everything."""
        await self._zk.start(self._on_watch, lambda _: None, 10_000)
        await self._zk.create(TopicZNode.PARENT)
        data = BrokerIdZNode.encode(self._broker, self._time.milliseconds(), (2, 0))
        await self._zk.create(BrokerIdZNode.PARENT)
        await self._zk.create_ephemeral(BrokerIdZNode.path(self._broker.id), data)
        self._tell(BrokerIdZNode.PARENT, TopicZNode.PARENT)
        self.task = asyncio.create_task(self._run(), name="herd-broker")

    def leader_of(self, tp: TopicPartition) -> int | None:
        """Return the id of the partition's leader that this broker knows, or None."""
        state = self._states.get(tp)
        return state.leader if state else None

    def _on_watch(self, watched: WatchedEvent) -> None:
        self._tell(watched.path)

    def _tell(self, *paths: str) -> None:
        self._changed_paths.update(dict.fromkeys(paths))
        self._filled.set()

    async def _run(self) -> None:
        while True:
            await self._filled.wait()
            self._filled.clear()
            changed, self._changed_paths = self._changed_paths, {}
            await self._act(await self._look(changed))

    async def _look(self, changed: Iterable[str]) -> set[TopicPartition]:
        """Read the znodes in `changed`, and watch them again. Return the partitions for which this
        broker may have to act.
        """
        paths = set(changed)
        concerned: set[TopicPartition] = set()
        topics = {
            path.rpartition("/")[2]
            for path in paths
            if path.startswith(f"{TopicZNode.PARENT}/") and path.count("/") == 3
        }
        if TopicZNode.PARENT in paths:
            known = {tp.topic for tp in self._assignments}
            topics |= set(await self._zk.children(TopicZNode.PARENT, watch=True)) - known
        for topic, (data, _) in (
            await self._zk.get_all(
                {topic: TopicZNode.path(topic) for topic in sorted(topics)}, watch=True
            )
        ).items():
            for number, assignment in TopicZNode.decode(data).partitions.items():
                tp = TopicPartition(topic, number)
                self._assignments[tp] = assignment.replicas
                concerned.add(tp)
        concerned.update(
            found
            for path in paths
            if (found := TopicPartitionStateZNode.partition_of(path)) is not None
        )
        if concerned:
            await self._read_states(sorted(concerned))
        if BrokerIdZNode.PARENT in paths:
            self._live = {
                int(name) for name in await self._zk.children(BrokerIdZNode.PARENT, watch=True)
            }
            concerned |= self._assignments.keys()
        return concerned

    async def _read_states(self, partitions: list[TopicPartition]) -> None:
        found = await self._zk.get_all(
            {tp: TopicPartitionStateZNode.path(tp) for tp in partitions}, watch=True
        )
        missing = [
            tp for tp in partitions if tp not in found
        ]  # reading a znode that is missing leaves no watch
        await asyncio.gather(
            *(self._zk.exists(TopicPartitionStateZNode.path(tp), watch=True) for tp in missing)
        )
        for tp in partitions:
            data_and_stat = found.get(tp)
            state = (
                TopicPartitionStateZNode.decode(data_and_stat[0], data_and_stat[1].version)
                if data_and_stat
                else None
            )
            self._states[tp] = state.leader_and_isr if state else None
        self._on_learnt()

    async def _act(self, concerned: set[TopicPartition]) -> None:
        creations: dict[TopicPartition, LeaderAndIsr] = {}
        changes: dict[TopicPartition, LeaderAndIsr] = {}
        for tp in sorted(concerned):
            state = self._states.get(tp)
            live = [replica for replica in self._assignments.get(tp, ()) if replica in self._live]
            if state is None:
                if live[:1] == [self._broker.id]:
                    creations[tp] = LeaderAndIsr(self._broker.id, 0, tuple(live), 0)
            elif state.leader not in self._live:
                new = elect(ElectionStrategy.OFFLINE_PARTITION, state, self._assignments[tp], live)
                if new is not None and new.leader == self._broker.id:
                    changes[tp] = new
            elif state.leader == self._broker.id and (dead := set(state.isr) - self._live):
                changes[tp] = state._replace(
                    isr=tuple(replica for replica in state.isr if replica not in dead)
                )
        await asyncio.gather(
            *(
                self._zk.create(TopicPartitionStateZNode.path(tp), _encoded(new))
                for tp, new in creations.items()
            )
        )
        await asyncio.gather(
            *(
                self._zk.conditional_set(
                    TopicPartitionStateZNode.path(tp), _encoded(new), new.zk_version
                )
                for tp, new in changes.items()
            )
        )


def _encoded(state: LeaderAndIsr) -> bytes:
    return TopicPartitionStateZNode.encode(LeaderIsrAndControllerEpoch(state, NO_CONTROLLER_EPOCH))
