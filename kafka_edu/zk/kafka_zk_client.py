"""Read and write ZooKeeper in Kafka's terms, for brokers and the controller (Kafka:
KafkaZkClient.scala).

`ZkClient` knows only paths and bytes. This module is one level above it: its callers pass and get
brokers, topics and partitions.

Methods for the controller take `epoch_zk_version`, the version that /controller_epoch had after the
controller's election. They raise ControllerMovedError if another controller has been elected since
then (`ZkRequests.fenced`). A method for many partitions sends all its requests at once.
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from kafka_edu.cluster.broker import Broker
from kafka_edu.cluster.leader_and_isr import LeaderAndIsr, LeaderIsrAndControllerEpoch
from kafka_edu.common.time import Time
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.zk.zk_client import (
    CreateOp,
    DeleteOp,
    SessionState,
    SetDataOp,
    Stat,
    WatchedEvent,
    ZkClient,
    ZkError,
    ZkErrorCode,
)
from kafka_edu.zk.zk_data import (
    BrokerIdZNode,
    BrokerSequenceIdZNode,
    ClusterIdZNode,
    ConfigEntityChangeNotificationZNode,
    ConfigEntityZNode,
    ConsumerOffsetZNode,
    ControllerEpochZNode,
    ControllerZNode,
    DeleteTopicsTopicZNode,
    FeatureZNode,
    IsrChangeNotificationZNode,
    LogDirEventNotificationZNode,
    PreferredReplicaElectionZNode,
    ProducerIdBlock,
    ProducerIdBlockZNode,
    ProtocolVersion,
    ReassignPartitionsZNode,
    ReplicaAssignment,
    TopicAssignment,
    TopicPartitionStateZNode,
    TopicZNode,
    persistent_znodes,
)
from kafka_edu.zk.zk_path import validate_path
from kafka_edu.zk.zk_requests import ControllerMovedError, ZkRequests

MAX_PRODUCER_ID: Final = (1 << 63) - 1


class UpdateLeaderAndIsrResult(NamedTuple):
    """The results of a batch of state updates, by partition (Kafka: UpdateLeaderAndIsrResult)."""

    finished: dict[TopicPartition, LeaderAndIsr]
    """The states that were written. Each has the new version of its znode."""
    bad_version: list[TopicPartition]
    """Partitions whose znode has a different version than expected, for example because the leader
    has changed its ISR. The controller must read the state again and decide again.
    """
    failed: dict[TopicPartition, ZkError]


class KafkaZkClient:
    """Reads and writes Kafka's data in one session with ZooKeeper. Any task of its asyncio loop may
    use it.
    """

    def __init__(
        self,
        zk: ZkClient,
        time: Time,
        *,
        inter_broker_protocol: ProtocolVersion,
        max_in_flight: int,
    ) -> None:
        self._time = time
        self.inter_broker_protocol = inter_broker_protocol
        self._requests = ZkRequests(zk, time, max_in_flight)

    @property
    def session_id(self) -> int:
        return self._requests.session_id

    @property
    def watch_after_zxid(self) -> int:
        return self._requests.watch_after_zxid

    async def start(
        self,
        on_watch: Callable[[WatchedEvent], None],
        on_session: Callable[[SessionState], None],
        timeout_ms: float,
    ) -> None:
        """Connect to ZooKeeper. From then on, call `on_watch` for each watch that fires, and
        `on_session` for each change of the session. Raises ZkError(CONNECTION_LOSS) after
        `timeout_ms`.
        """
        await self._requests.start(on_watch, on_session, timeout_ms)

    async def close(self) -> None:
        """End the session. ZooKeeper then deletes this broker's ephemeral znodes at once."""
        await self._requests.close()

    # The cluster, its brokers and their ids.

    async def create_top_level_paths(self) -> None:
        """Create Kafka's persistent znodes that are missing. Each broker does this when it
        starts.
        """
        znodes = persistent_znodes(self.inter_broker_protocol)
        await asyncio.gather(*(self._requests.create(path, data) for path, data in znodes.items()))

    async def get_cluster_id(self) -> str | None:
        found = await self._requests.get(ClusterIdZNode.PATH)
        return ClusterIdZNode.decode(found[0]) if found else None

    async def create_or_get_cluster_id(self, proposed: str) -> str:
        """Return the cluster's id. If the cluster has no id, `proposed` becomes its id.

        An id has 22 characters of URL-safe base64. If several brokers propose an id, the first one
        wins.
        """
        if await self._requests.create(ClusterIdZNode.PATH, ClusterIdZNode.encode(proposed)):
            return proposed
        return await self.get_cluster_id() or proposed

    async def generate_broker_id(self, reserved_broker_max_id: int) -> int:
        """Return a new broker id, the next unused one above `reserved_broker_max_id`
        (reserved.broker.max.id, 1000): 1001, 1002 … (spec Z4).
        """
        await self._requests.create(BrokerSequenceIdZNode.PATH)
        stat = await self._requests.set(BrokerSequenceIdZNode.PATH, b"")
        return reserved_broker_max_id + stat.version

    async def register_broker(self, broker: Broker, wait_ms: float = 0) -> int:
        """Create the ephemeral znode /brokers/ids/<id>. Return its czxid, which is the broker's
        epoch.

        The znode may be left from an earlier session of this same client. Then it is deleted and
        created again (KAFKA-7165). If the znode belongs to another session, this method waits up to
        `wait_ms` for the end of that session, and then raises ZkError(NODE_EXISTS). Kafka raises
        the error at once. The wait helps a broker that was killed and started again, because its
        old session lasts until the session time-out.
        """
        path = BrokerIdZNode.path(broker.id)
        deadline = self._time.hi_res_clock_ms() + wait_ms
        while True:
            data = BrokerIdZNode.encode(
                broker, self._time.milliseconds(), self.inter_broker_protocol
            )
            try:
                return (await self._requests.create_ephemeral(path, data)).czxid
            except ZkError as error:
                if (
                    error.code is not ZkErrorCode.NODE_EXISTS
                    or self._time.hi_res_clock_ms() >= deadline
                ):
                    raise
            await self._time.sleep(100)

    async def update_broker_info(self, broker: Broker) -> None:
        """Write this broker's new listeners into its own znode.

        Raises ZkError(NO_NODE) if the session has expired and the broker is not yet registered
        again. The next registration then writes the new listeners.
        """
        await self._requests.set(
            BrokerIdZNode.path(broker.id),
            BrokerIdZNode.encode(broker, self._time.milliseconds(), self.inter_broker_protocol),
        )

    async def unregister_broker(self, broker_id: int) -> None:
        await self._requests.delete(BrokerIdZNode.path(broker_id))

    async def get_broker_ids(self, *, watch: bool = False) -> list[int]:
        """Return the ids of the live brokers, sorted. With `watch`, the next change of the list
        fires a watch.
        """
        return sorted(
            int(name)
            for name in await self._requests.children(BrokerIdZNode.PARENT, watch=watch)
            if name.isdecimal()
        )

    async def get_broker(self, broker_id: int, *, watch: bool = False) -> Broker | None:
        found = await self._requests.get(BrokerIdZNode.path(broker_id), watch=watch)
        return BrokerIdZNode.decode(broker_id, found[0], found[1].czxid) if found else None

    async def get_all_brokers_in_cluster(
        self, *, watch: bool = False, watch_each: bool = False
    ) -> dict[int, Broker]:
        """Return the live brokers by their ids. Each Broker has its epoch.

        `watch` sets a watch on the list of brokers. `watch_each` sets a watch on the znode of each
        broker.
        """
        paths = {
            broker_id: BrokerIdZNode.path(broker_id)
            for broker_id in await self.get_broker_ids(watch=watch)
        }
        found = await self._requests.get_all(paths, watch=watch_each)
        brokers = (
            (broker_id, BrokerIdZNode.decode(broker_id, data, stat.czxid))
            for broker_id, (data, stat) in found.items()
        )
        return {broker_id: broker for broker_id, broker in brokers if broker is not None}

    async def generate_producer_id_block(self, broker_id: int) -> ProducerIdBlock:
        """Reserve the next 1,000 producer ids for a broker, by compare-and-set (Kafka:
        ProducerIdManager).
        """
        while True:
            found = await self._requests.get(ProducerIdBlockZNode.PATH)
            last = ProducerIdBlockZNode.decode(found[0]) if found else None
            start = last.end + 1 if last else 0
            if start > MAX_PRODUCER_ID - ProducerIdBlockZNode.BLOCK_SIZE:
                raise OverflowError(
                    f"producer ids are exhausted: the last block ended at {start - 1}"
                )
            block = ProducerIdBlock(broker_id, start, start + ProducerIdBlockZNode.BLOCK_SIZE - 1)
            data = ProducerIdBlockZNode.encode(block)
            if found is None:
                if await self._requests.create(ProducerIdBlockZNode.PATH, data):
                    return block
            elif (
                await self._requests.conditional_set(
                    ProducerIdBlockZNode.PATH, data, found[1].version
                )
                is not None
            ):
                return block

    # The controller.

    async def watch_controller(self) -> tuple[int | None, int | None]:
        """Set a watch on /controller. Return the broker id in it and the session that owns it.

        The session is 0 if the znode is not ephemeral. Both values are None if the znode does not
        exist.
        """
        stat = await self._requests.exists(ControllerZNode.PATH, watch=True)
        return (await self.get_controller_id(), stat.ephemeral_owner) if stat else (None, None)

    async def get_controller_id(self) -> int | None:
        """Return the broker id in /controller. Return None if the znode does not exist or has no
        id.
        """
        found = await self._requests.get(ControllerZNode.PATH)
        return ControllerZNode.decode(found[0]) if found else None

    async def get_controller_owner(self) -> int | None:
        """Return the id of the session that created /controller, or None if the znode does not
        exist. The owner stays the same even if somebody writes into the znode by hand.
        """
        stat = await self._requests.exists(ControllerZNode.PATH)
        return stat.ephemeral_owner if stat else None

    async def get_controller_epoch(self) -> tuple[int, int] | None:
        """Return the controller epoch and the version of its znode, or None before the first
        controller.
        """
        found = await self._requests.get(ControllerEpochZNode.PATH)
        epoch = ControllerEpochZNode.decode(found[0]) if found else None
        return (epoch, found[1].version) if found and epoch is not None else None

    async def register_controller_and_increment_epoch(self, broker_id: int) -> tuple[int, int]:
        """Create the ephemeral /controller and increment /controller_epoch in one multi: both or
        neither. Return the new epoch and the new version of /controller_epoch.

        The very first controller has epoch 1. Raises ControllerMovedError if another broker was
        elected first.
        """
        current = await self.get_controller_epoch()
        if current is None:
            await self.create_controller_epoch()
            current = await self.get_controller_epoch()
            if current is None:
                raise ValueError("/controller_epoch does not hold a number")
        epoch, version = current[0] + 1, current[1]
        refused = await self.register_controller(broker_id, epoch, version)
        if refused is not None:
            raise ControllerMovedError(f"broker {broker_id} lost the election for epoch {epoch}")
        return epoch, version + 1

    async def create_controller_epoch(self) -> bool:
        """Create /controller_epoch, before the very first election. Return False if the znode
        exists already.
        """
        data = ControllerEpochZNode.encode(ControllerEpochZNode.INITIAL)
        return await self._requests.create(ControllerEpochZNode.PATH, data)

    async def register_controller(
        self, broker_id: int, epoch: int, version: int
    ) -> ZkErrorCode | None:
        """Create the ephemeral /controller and set /controller_epoch in one multi: both or neither.

        It succeeds only if /controller_epoch has `version` and /controller does not exist. Return
        None for success, otherwise NODE_EXISTS or BAD_VERSION.
        """
        ops = (
            CreateOp(
                ControllerZNode.PATH,
                ControllerZNode.encode(broker_id, self._time.milliseconds()),
                ephemeral=True,
            ),
            SetDataOp(ControllerEpochZNode.PATH, ControllerEpochZNode.encode(epoch), version),
        )
        try:
            await self._requests.multi(ops)
        except ZkError as error:
            if error.code not in (ZkErrorCode.NODE_EXISTS, ZkErrorCode.BAD_VERSION):
                raise
            mine = (
                await self.get_controller_owner() == self._requests.session_id
                and await self.get_controller_epoch() == (epoch, version + 1)
            )
            if not mine:  # otherwise our own first attempt succeeded, and its answer was lost
                return error.code
        return None

    async def delete_stray_controller(self, owner: int) -> None:
        """Delete a /controller znode that no acting controller owns, so that a new election begins.
        `owner` is the session that owned the znode when the caller last read it.

        The method reads the controller epoch, and then compares the owner again. The znode is
        deleted only if the epoch has not changed until then. So a controller that is elected in the
        meantime keeps its znode.
        """
        epoch = await self.get_controller_epoch()
        if await self.get_controller_owner() != owner:
            return
        if epoch is None:
            await self._requests.delete(ControllerZNode.PATH)
            return
        with contextlib.suppress(ControllerMovedError):
            await self.delete_controller(epoch[1])

    async def delete_controller(self, epoch_zk_version: int) -> None:
        """Delete /controller as the controller, so that a new election begins. Nothing is deleted
        if another controller has been elected in the meantime.
        """
        await self._requests.fenced_or_raise(
            {0: DeleteOp(ControllerZNode.PATH)}, epoch_zk_version, unless=ZkErrorCode.NO_NODE
        )

    # Topics and their assignment.

    async def get_all_topics_in_cluster(self, *, watch: bool = False) -> list[str]:
        return await self._requests.children(TopicZNode.PARENT, watch=watch)

    async def topic_exists(self, topic: str) -> bool:
        return await self._requests.exists(TopicZNode.path(topic)) is not None

    async def get_assignment_for_topics(
        self, topics: Iterable[str], *, watch: bool = False
    ) -> dict[str, TopicAssignment]:
        """Return the assignments in the topics' znodes, sorted by topic name. A topic without a
        znode is left out. `watch` sets a watch on each znode.
        """
        found = await self._requests.get_all(
            {topic: TopicZNode.path(topic) for topic in sorted(topics)}, watch=watch
        )
        return {topic: TopicZNode.decode(data) for topic, (data, _) in found.items()}

    async def create_topic_assignment(self, topic: str, assignment: TopicAssignment) -> None:
        """Create a topic's znode. This creates the topic, and the controller is notified. Raises
        ZkError(NODE_EXISTS) if the topic exists already.

        The caller must write the topic's configs first (`set_or_create_entity_configs`), because
        the first leader reads them.
        """
        data = TopicZNode.encode(assignment, self.inter_broker_protocol)
        await self._requests.create_new(TopicZNode.path(topic), data)

    async def set_topic_assignment(
        self, topic: str, assignment: TopicAssignment, epoch_zk_version: int | None = None
    ) -> None:
        """Replace the assignment of a topic, for example to add partitions.

        With `epoch_zk_version` the write is fenced: it fails if another controller has been
        elected.
        """
        path, data = (
            TopicZNode.path(topic),
            TopicZNode.encode(assignment, self.inter_broker_protocol),
        )
        if epoch_zk_version is None:
            await self._requests.set(path, data)
        else:
            await self._requests.fenced_or_raise(
                {0: SetDataOp(path, data)}, epoch_zk_version, unless=ZkErrorCode.OK
            )

    async def update_replica_assignments(
        self, changes: Mapping[TopicPartition, ReplicaAssignment], epoch_zk_version: int
    ) -> list[str]:
        """Change the assignments of some partitions as the controller. Return the topics that no
        longer exist.

        Each write checks the znode's version, so a partition that somebody adds at the same time is
        kept. Each attempt takes two rounds of requests for all topics together: one to read and one
        to write. A topic is tried again if somebody else has written its znode in between.
        """
        by_topic: dict[str, dict[int, ReplicaAssignment]] = {}
        for tp, assignment in changes.items():
            by_topic.setdefault(tp.topic, {})[tp.partition] = assignment
        gone: list[str] = []
        while by_topic:
            found = await self._requests.get_all(
                {topic: TopicZNode.path(topic) for topic in by_topic}
            )
            gone += [topic for topic in by_topic if topic not in found]
            ops = {}
            for topic, (data, stat) in found.items():
                current = TopicZNode.decode(data)
                changed = TopicAssignment(
                    current.topic_id, {**current.partitions, **by_topic[topic]}
                )
                ops[topic] = SetDataOp(
                    TopicZNode.path(topic),
                    TopicZNode.encode(changed, self.inter_broker_protocol),
                    stat.version,
                )
            answers = await self._requests.fenced(ops, epoch_zk_version)
            for answer in answers.values():
                if isinstance(answer, ZkError) and answer.code not in (
                    ZkErrorCode.BAD_VERSION,
                    ZkErrorCode.NO_NODE,
                ):
                    raise answer
            by_topic = {
                topic: by_topic[topic]
                for topic, answer in answers.items()
                if isinstance(answer, ZkError)
            }
        return gone

    async def delete_topic(self, topic: str, epoch_zk_version: int) -> None:
        """Delete a topic's znodes, then its configs, and finally the znode that requested its
        deletion.

        If the controller fails before the end, the znode with the request still exists. The next
        controller reads it and finishes the deletion.
        """
        await self._requests.delete_recursive(TopicZNode.path(topic), epoch_zk_version)
        config = DeleteOp(ConfigEntityZNode.path("topics", topic))
        await self._requests.fenced_or_raise(
            {topic: config}, epoch_zk_version, unless=ZkErrorCode.NO_NODE
        )
        await self.delete_topic_deletions([topic], epoch_zk_version)

    # Partition states.

    async def get_topic_partition_states(
        self, partitions: Iterable[TopicPartition], *, watch: bool = False
    ) -> dict[TopicPartition, LeaderIsrAndControllerEpoch]:
        """Return the partition states that exist, in the order of `partitions`. Each has the
        version of its znode. `watch` sets a watch on each znode.
        """
        found = await self._requests.get_all(
            {tp: TopicPartitionStateZNode.path(tp) for tp in partitions}, watch=watch
        )
        decoded = (
            (tp, TopicPartitionStateZNode.decode(data, stat.version))
            for tp, (data, stat) in found.items()
        )
        return {tp: state for tp, state in decoded if state is not None}

    async def create_topic_partition_states(
        self, states: Mapping[TopicPartition, LeaderIsrAndControllerEpoch], epoch_zk_version: int
    ) -> dict[TopicPartition, ZkError | None]:
        """Create the first state of each partition, and the znodes above it. Return for each
        partition an error, or None for success.

        All partitions together take three rounds of requests. NODE_EXISTS means that somebody else
        has created the state. NO_NODE means that the topic no longer exists. The first two rounds
        create the znodes above the states, if they do not exist.
        """
        topics = sorted({tp.topic for tp in states})
        await self._requests.fenced(
            {t: CreateOp(TopicPartitionStateZNode.partitions_path(t), None) for t in topics},
            epoch_zk_version,
        )
        await self._requests.fenced(
            {tp: CreateOp(TopicPartitionStateZNode.partition_path(tp), None) for tp in states},
            epoch_zk_version,
        )
        creates = {
            tp: CreateOp(TopicPartitionStateZNode.path(tp), TopicPartitionStateZNode.encode(state))
            for tp, state in states.items()
        }
        return {
            tp: r if isinstance(r, ZkError) else None
            for tp, r in (await self._requests.fenced(creates, epoch_zk_version)).items()
        }

    async def update_leader_and_isr(
        self,
        leader_and_isrs: Mapping[TopicPartition, LeaderAndIsr],
        controller_epoch: int,
        epoch_zk_version: int,
    ) -> UpdateLeaderAndIsrResult:
        """Write many partition states as the controller. A state is written only if its znode still
        has the version that was read.
        """
        ops = {
            tp: SetDataOp(
                TopicPartitionStateZNode.path(tp),
                TopicPartitionStateZNode.encode(
                    LeaderIsrAndControllerEpoch(state, controller_epoch)
                ),
                state.zk_version,
            )
            for tp, state in leader_and_isrs.items()
        }
        result = UpdateLeaderAndIsrResult({}, [], {})
        for tp, answer in (await self._requests.fenced(ops, epoch_zk_version)).items():
            if isinstance(answer, Stat):
                result.finished[tp] = leader_and_isrs[tp]._replace(zk_version=answer.version)
            elif isinstance(answer, ZkError) and answer.code is ZkErrorCode.BAD_VERSION:
                result.bad_version.append(tp)
            else:
                result.failed[tp] = (
                    answer
                    if isinstance(answer, ZkError)
                    else ZkError(ZkErrorCode.SYSTEM_ERROR, ops[tp].path)
                )
        return result

    async def conditional_update_partition_state(
        self, tp: TopicPartition, state: LeaderIsrAndControllerEpoch, expected_zk_version: int
    ) -> int | None:
        """Write the new ISR of a partition as its leader. Return the znode's new version. Return
        None if the controller or somebody else has written the znode in between (spec R2).
        """
        return await self._requests.conditional_set(
            TopicPartitionStateZNode.path(tp),
            TopicPartitionStateZNode.encode(state),
            expected_zk_version,
        )

    # Notifications from brokers to the controller.

    async def propagate_isr_changes(self, partitions: Iterable[TopicPartition]) -> None:
        """Notify the controller that the ISRs of `partitions` have changed. The controller then
        informs all brokers.
        """
        data = IsrChangeNotificationZNode.encode(partitions)
        await self._requests.create_sequential(IsrChangeNotificationZNode.path(), data)

    async def get_isr_change_notifications(self, *, watch: bool = False) -> list[str]:
        """Return the sequence numbers of the ISR notifications, the oldest first."""
        return await self._sequences(
            IsrChangeNotificationZNode.PARENT, IsrChangeNotificationZNode.PREFIX, watch
        )

    async def get_partitions_from_isr_change_notifications(
        self, sequences: Iterable[str]
    ) -> list[TopicPartition]:
        """Return all partitions that the given notifications name, sorted and without
        repetitions.
        """
        found = await self._requests.get_all(
            {sequence: IsrChangeNotificationZNode.path(sequence) for sequence in sequences}
        )
        return sorted(
            {tp for data, _ in found.values() for tp in IsrChangeNotificationZNode.decode(data)}
        )

    async def delete_isr_change_notifications(
        self, sequences: Iterable[str], epoch_zk_version: int
    ) -> None:
        ops = {
            sequence: DeleteOp(IsrChangeNotificationZNode.path(sequence)) for sequence in sequences
        }
        await self._requests.fenced_or_raise(ops, epoch_zk_version, unless=ZkErrorCode.NO_NODE)

    async def propagate_log_dir_event(self, broker_id: int) -> None:
        """Notify the controller that a log dir of `broker_id` has failed."""
        data = LogDirEventNotificationZNode.encode(broker_id)
        await self._requests.create_sequential(LogDirEventNotificationZNode.path(), data)

    async def get_log_dir_event_notifications(self, *, watch: bool = False) -> list[str]:
        return await self._sequences(
            LogDirEventNotificationZNode.PARENT, LogDirEventNotificationZNode.PREFIX, watch
        )

    async def get_brokers_from_log_dir_events(self, sequences: Iterable[str]) -> list[int]:
        found = await self._requests.get_all(
            {sequence: LogDirEventNotificationZNode.path(sequence) for sequence in sequences}
        )
        return sorted(
            {
                broker
                for data, _ in found.values()
                if (broker := LogDirEventNotificationZNode.decode(data)) is not None
            }
        )

    async def delete_log_dir_event_notifications(
        self, sequences: Iterable[str], epoch_zk_version: int
    ) -> None:
        ops = {
            sequence: DeleteOp(LogDirEventNotificationZNode.path(sequence))
            for sequence in sequences
        }
        await self._requests.fenced_or_raise(ops, epoch_zk_version, unless=ZkErrorCode.NO_NODE)

    async def _sequences(self, parent: str, prefix: str, watch: bool) -> list[str]:
        return [
            name.removeprefix(prefix)
            for name in await self._requests.children(parent, watch=watch)
            if name.startswith(prefix)
        ]

    # Configs.

    async def get_entity_configs(self, entity_type: str, name: str) -> dict[str, str]:
        """Return the config overrides of one topic, client, user or broker. The dict is empty if
        there are no overrides.
        """
        found = await self._requests.get(ConfigEntityZNode.path(entity_type, name))
        return ConfigEntityZNode.decode(found[0]) if found else {}

    async def get_entities(self, parent: str) -> list[str]:
        """Return the names of the entities that have configs below /config/<parent>, sorted.

        Examples of `parent` are `users` and `users/alice/clients`.
        """
        return await self._requests.children(ConfigEntityZNode.parent(parent))

    async def get_topic_configs(self, topics: Iterable[str]) -> dict[str, dict[str, str]]:
        """Return the config overrides of many topics, sorted by topic name. A topic without
        overrides has an empty dict.
        """
        names = sorted(topics)
        found = await self._requests.get_all(
            {topic: ConfigEntityZNode.path("topics", topic) for topic in names}
        )
        return {
            topic: ConfigEntityZNode.decode(found[topic][0]) if topic in found else {}
            for topic in names
        }

    async def set_or_create_entity_configs(
        self, entity_type: str, name: str, config: Mapping[str, str]
    ) -> None:
        await self._requests.set_or_create(
            ConfigEntityZNode.path(entity_type, name), ConfigEntityZNode.encode(config)
        )

    async def delete_entity_configs(self, entity_type: str, name: str) -> None:
        await self._requests.delete(ConfigEntityZNode.path(entity_type, name))

    async def create_config_change_notification(self, entity_path: str) -> None:
        """Notify all brokers that the configs of `entity_path` have changed, for example of
        `topics/web`.
        """
        data = ConfigEntityChangeNotificationZNode.encode(entity_path)
        await self._requests.create_sequential(ConfigEntityChangeNotificationZNode.path(), data)

    async def get_config_change_notifications(self, *, watch: bool = False) -> list[str]:
        """Return the sequence numbers of the config notifications, the oldest first."""
        return await self._sequences(
            ConfigEntityChangeNotificationZNode.PARENT,
            ConfigEntityChangeNotificationZNode.PREFIX,
            watch,
        )

    async def get_changed_entities(self, sequences: Sequence[str]) -> list[str]:
        """Return the entity paths in the given notifications, the oldest notification first."""
        found = await self._requests.get_all(
            {sequence: ConfigEntityChangeNotificationZNode.path(sequence) for sequence in sequences}
        )
        return [
            entity
            for data, _ in found.values()
            if (entity := ConfigEntityChangeNotificationZNode.decode(data)) is not None
        ]

    async def delete_old_config_change_notifications(
        self, sequences: Iterable[str], before_ms: int
    ) -> None:
        """Delete the notifications that were written before `before_ms`, a time of ZooKeeper's
        clock.

        `sequences` are sorted, the oldest first. If even the oldest is younger than `before_ms`,
        this takes only one read.
        """
        for sequence in sequences:
            path = ConfigEntityChangeNotificationZNode.path(sequence)
            found = await self._requests.get(path)
            if found is not None and found[1].ctime >= before_ms:
                return
            await self._requests.delete(path)

    async def get_finalized_features_epoch(self, *, watch: bool = False) -> int | None:
        """Return the version of the znode /feature, or None if it is missing or not enabled. With
        `watch`, the znode's next change, creation or deletion fires a watch.
        """
        if await self._requests.exists(FeatureZNode.PATH, watch=watch) is None:
            return None
        found = await self._requests.get(FeatureZNode.PATH)
        return found[1].version if found is not None and FeatureZNode.is_enabled(found[0]) else None

    # The offsets of consumer groups, where consumers before version 0.9 stored them.

    async def get_consumer_offset(self, group: str, tp: TopicPartition) -> int | None:
        """Return a consumer group's stored offset for a partition, or None if there is none.

        Raises ZkError(BAD_ARGUMENTS) if the group's name cannot be part of a path, for example if
        it is empty.
        """
        path = ConsumerOffsetZNode.path(group, tp)
        validate_path(path)
        found = await self._requests.get(path)
        return ConsumerOffsetZNode.decode(found[0]) if found else None

    async def set_or_create_consumer_offset(
        self, group: str, tp: TopicPartition, offset: int
    ) -> None:
        """Store a consumer group's offset for a partition. Raises ZkError(BAD_ARGUMENTS) for a bad
        group name, like `get_consumer_offset`.
        """
        path = ConsumerOffsetZNode.path(group, tp)
        validate_path(path)
        await self._requests.set_or_create(path, ConsumerOffsetZNode.encode(offset))

    # Requests to the controller.

    async def create_delete_topic_path(self, topic: str) -> None:
        """Request the deletion of a topic. Raises ZkError(NODE_EXISTS) if its deletion is already
        requested.
        """
        await self._requests.create_new(DeleteTopicsTopicZNode.path(topic))

    async def get_topic_deletions(self, *, watch: bool = False) -> list[str]:
        return await self._requests.children(DeleteTopicsTopicZNode.PARENT, watch=watch)

    async def delete_topic_deletions(self, topics: Iterable[str], epoch_zk_version: int) -> None:
        ops = {topic: DeleteOp(DeleteTopicsTopicZNode.path(topic)) for topic in topics}
        await self._requests.fenced_or_raise(ops, epoch_zk_version, unless=ZkErrorCode.NO_NODE)

    async def create_preferred_replica_election(self, partitions: Iterable[TopicPartition]) -> None:
        data = PreferredReplicaElectionZNode.encode(partitions)
        await self._requests.create_new(PreferredReplicaElectionZNode.PATH, data)

    async def get_preferred_replica_election(
        self, *, watch: bool = False
    ) -> list[TopicPartition] | None:
        """Return the partitions for which a preferred replica election is requested, or None if
        there is no request. With `watch`, the creation of a request fires a watch.
        """
        if watch:
            await self._requests.exists(PreferredReplicaElectionZNode.PATH, watch=True)
        found = await self._requests.get(PreferredReplicaElectionZNode.PATH)
        return PreferredReplicaElectionZNode.decode(found[0]) if found else None

    async def delete_preferred_replica_election(self, epoch_zk_version: int) -> None:
        await self._requests.fenced_or_raise(
            {0: DeleteOp(PreferredReplicaElectionZNode.PATH)},
            epoch_zk_version,
            unless=ZkErrorCode.NO_NODE,
        )

    async def create_partition_reassignment(
        self, reassignment: Mapping[TopicPartition, Sequence[int]]
    ) -> None:
        """Request that partitions move to other brokers. Raises ZkError(NODE_EXISTS) if an earlier
        request is not finished.
        """
        await self._requests.create_new(
            ReassignPartitionsZNode.PATH, ReassignPartitionsZNode.encode(reassignment)
        )

    async def get_partition_reassignment(
        self, *, watch: bool = False
    ) -> dict[TopicPartition, tuple[int, ...]] | None:
        """Return the requested replicas of each partition, or None if there is no request. With
        `watch`, the next creation, change or deletion of the request fires a watch.
        """
        if watch:
            await self._requests.exists(ReassignPartitionsZNode.PATH, watch=True)
        found = await self._requests.get(ReassignPartitionsZNode.PATH)
        return ReassignPartitionsZNode.decode(found[0]) if found else None

    async def remove_from_partition_reassignment(
        self, done: Callable[[TopicPartition, tuple[int, ...]], bool], epoch_zk_version: int
    ) -> dict[TopicPartition, tuple[int, ...]] | None:
        """Remove finished moves from the request, as the controller. `done` decides whether a move
        is finished. Return the moves that are left, or None if nothing was removed.

        If no moves are left, the request itself is deleted. Each write checks the znode's version,
        so a move that somebody adds by hand at the same time is kept.
        """
        while found := await self._requests.get(ReassignPartitionsZNode.PATH):
            ordered = ReassignPartitionsZNode.decode(found[0])
            left = {tp: replicas for tp, replicas in ordered.items() if not done(tp, replicas)}
            if left and len(left) == len(ordered):
                return None
            path, version = ReassignPartitionsZNode.PATH, found[1].version
            op = (
                SetDataOp(path, ReassignPartitionsZNode.encode(left), version)
                if left
                else DeleteOp(path, version)
            )
            answer = (await self._requests.fenced({0: op}, epoch_zk_version))[0]
            if not isinstance(answer, ZkError):
                return left
            if answer.code not in (ZkErrorCode.BAD_VERSION, ZkErrorCode.NO_NODE):
                raise answer
        return None
