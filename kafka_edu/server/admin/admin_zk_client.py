"""Change topics and configs directly in ZooKeeper, with Kafka's checks and Kafka's messages (Kafka:
AdminZkClient.scala, AdminUtils.scala).

Tools with the option --zookeeper use this module, as in Kafka 2.0. They also work while no broker
runs. The controller notices the changed znodes, or reads them when it starts. The functions below
the class make the checks. AdminManager makes the same checks for requests. It uses the broker's
metadata cache instead of ZooKeeper.
"""

from collections.abc import Collection, Mapping, Sequence
from enum import Enum
from random import Random

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.topic import colliding_topics, validate_topic_name
from kafka_edu.controller.replica_assignment import assign_replicas_to_brokers
from kafka_edu.log.log_config import TOPIC_CONFIG, LogConfig
from kafka_edu.server.config.entity_configs import EntityConfigs
from kafka_edu.zk.kafka_zk_client import KafkaZkClient
from kafka_edu.zk.zk_client import ZkError, ZkErrorCode
from kafka_edu.zk.zk_data import ReplicaAssignment, TopicAssignment

Assignment = Mapping[int, Sequence[int]]


class AdminOperationError(Exception):
    """The cluster's current state does not allow the change (Kafka: AdminOperationException)."""


class RackAwareMode(Enum):
    """Whether the replicas of a partition are spread over racks. With ENFORCED the assignment is
    refused if only some of the brokers have a rack.
    """

    ENFORCED = "enforced"
    DISABLED = "disabled"


class AdminZkClient:
    """Changes topics and configs over one ZooKeeper session. `random` chooses the broker that gets
    the first replica of a new topic.
    """

    def __init__(self, zk: KafkaZkClient, random: Random) -> None:
        self._zk = zk
        self._random = random

    async def create_topic(
        self,
        topic: str,
        partitions: int,
        replication_factor: int,
        configs: Mapping[str, str],
        rack_aware: RackAwareMode,
    ) -> None:
        """Choose brokers for the replicas, then create the topic. Raises KafkaException for wrong
        arguments, AdminOperationError if the brokers' racks do not allow it.
        """
        racks = await self.get_broker_racks(rack_aware)
        await self.create_topic_with_assignment(
            topic,
            assign_replicas_to_brokers(racks, partitions, replication_factor, self._random),
            configs,
        )

    async def create_topic_with_assignment(
        self, topic: str, assignment: Assignment, configs: Mapping[str, str]
    ) -> None:
        """Check everything, then write the configs, and after them the assignment. The controller
        gives the topic its id.
        """
        check_new_topic(topic, await self._zk.get_all_topics_in_cluster(), assignment)
        validate_topic_configs(configs)
        await self._zk.set_or_create_entity_configs("topics", topic, configs)
        try:
            await self._zk.create_topic_assignment(topic, TopicAssignment.of(assignment))
        except ZkError as error:
            if error.code is ZkErrorCode.NODE_EXISTS:
                raise topic_exists(topic) from error
            raise AdminOperationError(str(error)) from error

    async def add_partitions(
        self, topic: str, partitions: int, assigned: Assignment | None = None
    ) -> None:
        """Extend the topic to `partitions` partitions in all. `assigned` holds the brokers of the
        new partitions. Without it, this method chooses the brokers. Raises KafkaException,
        AdminOperationError.
        """
        current = (await self._zk.get_assignment_for_topics([topic])).get(topic)
        if current is None:
            raise KafkaException(
                Errors.INVALID_TOPIC_EXCEPTION, f"The topic {topic} does not exist"
            )
        if 0 not in current.partitions:
            raise AdminOperationError(
                f"Unexpected existing replica assignment for topic '{topic}', partition id 0 is"
                " missing."
            )
        racks = await self.get_broker_racks(RackAwareMode.ENFORCED)
        added = new_partitions(topic, current, partitions, assigned, racks, self._random)
        await self._zk.set_topic_assignment(topic, with_partitions(current, added))

    async def get_broker_racks(
        self, rack_aware: RackAwareMode, among: Collection[int] | None = None
    ) -> dict[int, str | None]:
        """Return the racks of the live brokers by broker id. If `among` is given, return only
        brokers in `among`. Raises AdminOperationError if `rack_aware` is ENFORCED and only some
        brokers have a rack.
        """
        brokers = (await self._zk.get_all_brokers_in_cluster()).values()
        racks = {
            broker.id: broker.rack for broker in brokers if among is None or broker.id in among
        }
        if rack_aware is RackAwareMode.DISABLED:
            return dict.fromkeys(racks)
        if any(racks.values()) and not all(racks.values()):
            raise AdminOperationError(
                "Not all brokers have rack information. Add --disable-rack-aware in command line to"
                " make replica assignment without rack information."
            )
        return racks

    async def change_topic_config(self, topic: str, configs: Mapping[str, str]) -> None:
        """Replace the topic's overrides and notify all brokers. Raises KafkaException or
        ConfigException for wrong overrides, AdminOperationError if the topic does not exist.
        """
        validate_topic_name(topic)
        if not await self._zk.topic_exists(topic):
            raise AdminOperationError(f'Topic "{topic}" does not exist.')
        validate_topic_configs(configs)
        await self.change_entity_config("topics", topic, configs)

    async def change_entity_config(
        self, entity_type: str, name: str, configs: Mapping[str, str]
    ) -> None:
        """Write configs that the caller has checked, and notify all brokers."""
        await EntityConfigs(self._zk, None).change(entity_type, name, configs, {})


def validate_topic_configs(configs: Mapping[str, str]) -> None:
    """Check a topic's overrides. Raises KafkaException(INVALID_CONFIG) for an unknown key,
    ConfigException for a wrong value.
    """
    validate_topic_config_names(configs)
    LogConfig.parse(configs)


def validate_topic_config_names(names: Collection[str]) -> None:
    for name in TOPIC_CONFIG.unknown(names):
        raise KafkaException(Errors.INVALID_CONFIG, f"Unknown topic config name: {name}")


def topic_exists(topic: str) -> KafkaException:
    return KafkaException(Errors.TOPIC_ALREADY_EXISTS, f"Topic '{topic}' already exists.")


def check_new_topic(topic: str, existing: Collection[str], assignment: Assignment) -> None:
    """Check the name and the assignment of a new topic (Kafka: validateTopicCreate). The assignment
    may name brokers that do not exist, as in Kafka. Raises KafkaException if a check fails.
    """
    validate_topic_name(topic)
    if topic in existing:
        raise topic_exists(topic)
    if collisions := colliding_topics(topic, existing):
        raise KafkaException(
            Errors.INVALID_TOPIC_EXCEPTION,
            f"Topic '{topic}' collides with existing topics: {', '.join(collisions)}",
        )
    if len({len(replicas) for replicas in assignment.values()}) != 1:
        raise KafkaException(
            Errors.INVALID_REPLICA_ASSIGNMENT,
            "All partitions should have the same number of replicas",
        )
    if any(len(set(replicas)) < len(replicas) for replicas in assignment.values()):
        listed = ", ".join(
            f"{partition} -> {list(replicas)}" for partition, replicas in assignment.items()
        )
        raise KafkaException(
            Errors.INVALID_REPLICA_ASSIGNMENT, f"Duplicate replica assignment found: {listed}"
        )
    if sorted(assignment) != list(range(len(assignment))):
        raise KafkaException(
            Errors.INVALID_REPLICA_ASSIGNMENT,
            "partitions should be a consecutive 0-based integer sequence",
        )


def new_partitions(
    topic: str,
    current: TopicAssignment,
    partitions: int,
    assigned: Assignment | None,
    racks: Mapping[int, str | None],
    random: Random,
) -> Assignment:
    """Return the brokers of each partition that is added to `topic`. These are the brokers in
    `assigned`, if it is given. Raises KafkaException if the arguments are wrong.
    """
    known = len(current.partitions)
    if partitions <= known:
        raise KafkaException(
            Errors.INVALID_PARTITIONS,
            f"The number of partitions for a topic can only be increased. Topic {topic} currently"
            f" has {known} partitions, {partitions} would not be an increase.",
        )
    first = current.partitions[0].replicas
    if assigned is None:
        start = next(
            (index for index, broker_id in enumerate(sorted(racks)) if broker_id >= first[0]), 0
        )
        return assign_replicas_to_brokers(
            racks,
            partitions - known,
            len(first),
            random,
            fixed_start_index=start,
            start_partition_id=known,
        )
    if reason := _wrong_assignment(assigned, partitions - known, len(first), racks):
        raise KafkaException(Errors.INVALID_REPLICA_ASSIGNMENT, reason)
    return assigned


def with_partitions(current: TopicAssignment, added: Assignment) -> TopicAssignment:
    """Return an assignment with all partitions of `current` and of `added`."""
    new = {number: ReplicaAssignment(tuple(replicas)) for number, replicas in added.items()}
    return current._replace(partitions={**current.partitions, **new})


def _wrong_assignment(
    assigned: Assignment, count: int, replication_factor: int, live: Collection[int]
) -> str:
    """Return the reason why a manual assignment of new partitions is not possible, or "" if it is
    possible. All brokers in it must be alive. For the assignment of a new topic this is not
    required.
    """
    if len(assigned) != count:
        return (
            f"Increasing the number of partitions by {count} but {len(assigned)} assignments"
            " provided."
        )
    for partition, replicas in assigned.items():
        listed = ", ".join(map(str, replicas))
        if not replicas:
            return f"Cannot have replication factor of 0 for partition id {partition}."
        if len(set(replicas)) < len(replicas):
            return (
                f"Duplicate brokers not allowed in replica assignment: {listed} for partition id"
                f" {partition}."
            )
        if not set(replicas) <= set(live):
            return (
                f"Some brokers specified for partition id {partition} are not available. "
                f"Specified brokers: {listed}, available brokers: {', '.join(map(str, live))}."
            )
    wrong = {
        partition: len(replicas)
        for partition, replicas in sorted(assigned.items())
        if len(replicas) != replication_factor
    }
    if not wrong:
        return ""
    return (
        f"Inconsistent replication factor between partitions, partition 0 has {replication_factor}"
        f" while partitions [{', '.join(map(str, wrong))}] have replication factors"
        f" [{', '.join(map(str, wrong.values()))}], respectively."
    )
