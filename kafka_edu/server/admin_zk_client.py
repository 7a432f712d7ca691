"""What an administrator changes in ZooKeeper directly, with Kafka's checks and Kafka's words (Kafka: AdminZkClient.scala, AdminUtils.scala).

The tools that take --zookeeper use it, as 2.0's do, while brokers may or may not run: the controller sees the znodes change, or finds them changed
when it starts. An AdminManager does the same for requests, from the broker's metadata cache.
"""

from collections.abc import Collection, Mapping, Sequence
from enum import Enum
from random import Random

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.topic import colliding_topics, validate_topic_name
from kafka_edu.controller.replica_assignment import assign_replicas_to_brokers
from kafka_edu.log.log_config import TOPIC_CONFIG, LogConfig
from kafka_edu.zk.kafka_zk_client import KafkaZkClient
from kafka_edu.zk.zk_client import ZkError, ZkErrorCode
from kafka_edu.zk.zk_data import ReplicaAssignment, TopicAssignment

Assignment = Mapping[int, Sequence[int]]


class AdminOperationError(Exception):
    """What cannot be done as things stand (Kafka: AdminOperationException)."""


class RackAwareMode(Enum):
    """Whether replicas are spread over racks. ENFORCED refuses when only some brokers tell theirs."""

    ENFORCED = "enforced"
    DISABLED = "disabled"


class AdminZkClient:
    """One session's administrator. `random` draws where the replicas of a new topic begin."""

    def __init__(self, zk: KafkaZkClient, random: Random) -> None:
        self._zk = zk
        self._random = random

    async def create_topic(self, topic: str, partitions: int, replication_factor: int, configs: Mapping[str, str], rack_aware: RackAwareMode) -> None:
        """Assign replicas and create. Raises KafkaException, AdminOperationError."""
        racks = await self.get_broker_racks(rack_aware)
        await self.create_topic_with_assignment(topic, assign_replicas_to_brokers(racks, partitions, replication_factor, self._random), configs)

    async def create_topic_with_assignment(self, topic: str, assignment: Assignment, configs: Mapping[str, str]) -> None:
        """Check all, then write configs and assignment, the assignment last; the controller gives the topic its id.

        Brokers that do not exist may be assigned, as in Kafka.
        """
        validate_topic_name(topic)
        await self._check_new_name(topic)
        if len({len(replicas) for replicas in assignment.values()}) != 1:
            raise KafkaException(Errors.INVALID_REPLICA_ASSIGNMENT, "All partitions should have the same number of replicas")
        if any(len(set(replicas)) < len(replicas) for replicas in assignment.values()):
            raise KafkaException(Errors.INVALID_REPLICA_ASSIGNMENT, f"Duplicate replica assignment found: {assignment}")
        validate_topic_configs(configs)
        await self._zk.set_or_create_entity_configs("topics", topic, configs)
        try:
            await self._zk.create_topic_assignment(topic, TopicAssignment.of(assignment))
        except ZkError as error:
            if error.code is ZkErrorCode.NODE_EXISTS:
                raise _exists(topic) from error
            raise AdminOperationError(str(error)) from error

    async def _check_new_name(self, topic: str) -> None:
        existing = await self._zk.get_all_topics_in_cluster()
        if topic in existing:
            raise _exists(topic)
        if collisions := colliding_topics(topic, existing):
            raise KafkaException(Errors.INVALID_TOPIC_EXCEPTION, f"Topic '{topic}' collides with existing topics: {', '.join(collisions)}")

    async def add_partitions(self, topic: str, partitions: int, assigned: Assignment | None = None) -> None:
        """Extend the topic to `partitions`; `assigned` are the new ones' brokers, if not chosen here. Raises KafkaException, AdminOperationError."""
        current = (await self._zk.get_assignment_for_topics([topic])).get(topic)
        if current is None:
            raise KafkaException(Errors.INVALID_TOPIC_EXCEPTION, f"The topic {topic} does not exist")
        if 0 not in current.partitions:
            raise AdminOperationError(f"Unexpected existing replica assignment for topic '{topic}', partition id 0 is missing.")
        known = len(current.partitions)
        if partitions <= known:
            raise KafkaException(
                Errors.INVALID_PARTITIONS,
                "The number of partitions for a topic can only be increased. "
                f"Topic {topic} currently has {known} partitions, {partitions} would not be an increase.",
            )
        racks = await self.get_broker_racks(RackAwareMode.ENFORCED)
        first = current.partitions[0].replicas
        if assigned is None:
            start = next((index for index, broker_id in enumerate(sorted(racks)) if broker_id >= first[0]), 0)
            assigned = assign_replicas_to_brokers(
                racks, partitions - known, len(first), self._random, fixed_start_index=start, start_partition_id=known
            )
        else:
            _check_assignment(assigned, len(first), racks)
        added = {number: ReplicaAssignment(tuple(replicas)) for number, replicas in assigned.items()}
        await self._zk.set_topic_assignment(topic, current._replace(partitions={**current.partitions, **added}))

    async def get_broker_racks(self, rack_aware: RackAwareMode) -> dict[int, str | None]:
        """The live brokers and their racks. Raises AdminOperationError if racks count and only some brokers tell theirs."""
        racks = {broker.id: broker.rack for broker in (await self._zk.get_all_brokers_in_cluster()).values()}
        if rack_aware is RackAwareMode.DISABLED:
            return dict.fromkeys(racks)
        if any(racks.values()) and not all(racks.values()):
            raise AdminOperationError(
                "Not all brokers have rack information. Add --disable-rack-aware in command line to make replica assignment without rack information."
            )
        return racks

    async def change_topic_config(self, topic: str, configs: Mapping[str, str]) -> None:
        """Replace the topic's overrides, and tell all brokers. Raises KafkaException, ConfigException, AdminOperationError."""
        validate_topic_name(topic)
        if not await self._zk.topic_exists(topic):
            raise AdminOperationError(f'Topic "{topic}" does not exist.')
        validate_topic_configs(configs)
        await self.change_entity_config("topics", topic, configs)

    async def change_entity_config(self, entity_type: str, name: str, configs: Mapping[str, str]) -> None:
        """Door: write what has been checked, and tell all brokers."""
        await self._zk.set_or_create_entity_configs(entity_type, name, configs)
        await self._zk.create_config_change_notification(f"{entity_type}/{name}")


def validate_topic_configs(configs: Mapping[str, str]) -> None:
    """Raises KafkaException(INVALID_CONFIG) for a key that no topic has, ConfigException for a wrong value."""
    validate_topic_config_names(configs)
    LogConfig.parse(configs)


def validate_topic_config_names(names: Collection[str]) -> None:
    for name in TOPIC_CONFIG.unknown(names):
        raise KafkaException(Errors.INVALID_CONFIG, f"Unknown topic config name: {name}")


def _exists(topic: str) -> KafkaException:
    return KafkaException(Errors.TOPIC_ALREADY_EXISTS, f"Topic '{topic}' already exists.")


def _check_assignment(assigned: Assignment, replication_factor: int, live: Collection[int]) -> None:
    """A manual assignment of new partitions, unlike that of a new topic, names live brokers only."""
    for partition, replicas in assigned.items():
        listed = ", ".join(map(str, replicas))
        if len(set(replicas)) < len(replicas):
            raise KafkaException(
                Errors.INVALID_REPLICA_ASSIGNMENT, f"Duplicate brokers not allowed in replica assignment: {listed} for partition id {partition}."
            )
        if not set(replicas) <= set(live):
            raise KafkaException(
                Errors.BROKER_NOT_AVAILABLE,
                f"Some brokers specified for partition id {partition} are not available. "
                f"Specified brokers: {listed}, available brokers: {', '.join(map(str, live))}.",
            )
    wrong = {partition: len(replicas) for partition, replicas in sorted(assigned.items()) if len(replicas) != replication_factor}
    if wrong:
        raise KafkaException(
            Errors.INVALID_REPLICA_ASSIGNMENT,
            f"Inconsistent replication factor between partitions, partition 0 has {replication_factor} while partitions "
            f"[{', '.join(map(str, wrong))}] have replication factors [{', '.join(map(str, wrong.values()))}], respectively.",
        )
