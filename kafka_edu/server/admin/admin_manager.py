"""Create, extend and delete topics (Kafka: AdminManager.scala, AdminZkClient.scala).

The manager checks a request and writes znodes. The controller watches these znodes and does the
rest. To create a topic, the manager writes two znodes. The first is /config/topics/<topic> with the
topic's configs, because the first leader reads them. The second is /brokers/topics/<topic> with the
assignment. From then on the topic exists. The controller handles this as the event TopicChange. The
response is sent after the controller's UpdateMetadata request has arrived at this broker.

To add partitions, the manager writes a new assignment into the same znode. The controller handles
this as the event PartitionModifications. To delete a topic, the manager creates a znode below
/admin/delete_topics. The controller handles this as the event TopicDeletion.
"""

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from random import Random
from typing import Final, NamedTuple
from uuid import UUID

from kafka_edu.cluster.metadata_cache import MetadataCache
from kafka_edu.common.config_def import ConfigException
from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.topic import (
    GROUP_METADATA_TOPIC_NAME,
    TRANSACTION_STATE_TOPIC_NAME,
    is_internal,
)
from kafka_edu.controller.replica_assignment import assign_replicas_to_brokers
from kafka_edu.log.log_config import TOPIC_CONFIG
from kafka_edu.protocol.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)
from kafka_edu.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
)
from kafka_edu.purgatory.delayed_operation import DelayedOperation
from kafka_edu.purgatory.delayed_operation_purgatory import DelayedOperationPurgatory
from kafka_edu.server.admin.admin_zk_client import (
    Assignment,
    check_new_topic,
    new_partitions,
    topic_exists,
    with_partitions,
)
from kafka_edu.server.admin.config_helper import ConfigHelper
from kafka_edu.server.admin.delayed_create_topics import DelayedCreateTopics
from kafka_edu.server.admin.delayed_delete_topics import DelayedDeleteTopics
from kafka_edu.trace.events.server import PartitionsCreated, TopicCreated, TopicDeletionOrdered
from kafka_edu.trace.tracer import Tracer
from kafka_edu.zk.kafka_zk_client import KafkaZkClient
from kafka_edu.zk.zk_client import ZkError, ZkErrorCode
from kafka_edu.zk.zk_data import TopicAssignment

log = logging.getLogger(__name__)

UNSPECIFIED: Final = -1


class InternalTopic(NamedTuple):
    """The settings that one internal topic gets when it is created.

    They come from the broker's configuration.
    """

    partitions: int
    replication_factor: int
    configs: Mapping[str, str]


class TopicDefaults(NamedTuple):
    """The default numbers of partitions and replicas, for a topic whose creator does not give
    them.
    """

    partitions: int
    """The value of num.partitions."""
    replication_factor: int
    """The value of default.replication.factor."""
    internal: Mapping[str, InternalTopic]


class AdminManager:
    """Checks requests about topics and writes their znodes. Only the broker's event loop may use
    it. `with_topic_ids` is True if new topics get an id (inter.broker.protocol.version 2.8,
    KIP-516).
    """

    def __init__(
        self,
        zk: KafkaZkClient,
        cache: MetadataCache,
        configs: ConfigHelper,
        purgatory: DelayedOperationPurgatory[DelayedOperation],
        random: Random,
        trace: Tracer | None,
        *,
        defaults: TopicDefaults,
        with_topic_ids: bool,
    ) -> None:
        self._zk = zk
        self._cache = cache
        self._configs = configs
        self._purgatory = purgatory
        self._random = random
        self._trace = trace
        self._defaults = defaults
        self._with_topic_ids = with_topic_ids

    async def create_topics(
        self,
        timeout_ms: int,
        validate_only: bool,
        topics: Sequence[CreatableTopic],
        respond: Callable[[list[CreatableTopicResult]], None],
        on_failure: Callable[[Exception], None] | None = None,
    ) -> None:
        """Create `topics`. Their names must differ. Call `respond` when the new topics have
        leaders, or after `timeout_ms`.

        An error of one topic does not affect the other topics. If `timeout_ms` is 0, all topics are
        created, but the response says REQUEST_TIMED_OUT for each of them, as in Kafka.
        """
        results: list[CreatableTopicResult] = []
        created: dict[str, CreatableTopicResult] = {}
        for topic in topics:
            result = CreatableTopicResult(name=topic.name, error_message=None, configs=[])
            results.append(result)
            try:
                assignment, overrides = await self._check(topic)
                if not validate_only:
                    result.topic_id = await self._create(
                        topic.name, assignment, overrides, automatic=False
                    )
                    created[topic.name] = result
            except KafkaException as refused:
                result.error_code, result.error_message = refused.error, refused.response_message
            else:
                result.num_partitions = len(assignment)
                result.replication_factor = len(next(iter(assignment.values())))
                result.configs = self._response_configs(overrides)

        def when_done(errors: dict[str, Errors]) -> None:
            respond(
                [
                    (
                        _without_details(result, errors[result.name])
                        if errors.get(result.name)
                        else result
                    )
                    for result in results
                ]
            )

        if not created:
            respond(results)
        elif timeout_ms <= 0:
            when_done(dict.fromkeys(created, Errors.REQUEST_TIMED_OUT))
        else:
            partitions = {name: result.num_partitions for name, result in created.items()}
            operation = DelayedCreateTopics(timeout_ms, partitions, self._cache, when_done)
            operation.on_failure = on_failure
            self._purgatory.try_complete_else_watch(operation, tuple(partitions))

    async def delete_topics(
        self,
        timeout_ms: int,
        topics: Collection[str],
        respond: Callable[[dict[str, Errors]], None],
        on_failure: Callable[[Exception], None] | None = None,
    ) -> None:
        """Start the deletion of `topics`. Call `respond` when this broker's metadata no longer has
        them, or after `timeout_ms`.

        If the deletion of a topic has been requested before, the new request changes nothing. If
        `timeout_ms` is 0, all topics are deleted, but the response says REQUEST_TIMED_OUT for each
        of them, as in Kafka.
        """
        errors = dict.fromkeys(topics, Errors.NONE)
        for topic in topics:
            try:
                await self._zk.create_delete_topic_path(topic)
            except ZkError as error:
                if error.code is not ZkErrorCode.NODE_EXISTS:
                    errors[topic] = Errors.UNKNOWN_SERVER_ERROR
                    continue
            else:
                if self._trace:
                    self._trace(TopicDeletionOrdered(topic=topic))
        ordered = [topic for topic, error in errors.items() if error is Errors.NONE]
        if not ordered:
            respond(errors)
        elif timeout_ms <= 0:
            respond(errors | dict.fromkeys(ordered, Errors.REQUEST_TIMED_OUT))
        else:
            operation = DelayedDeleteTopics(
                timeout_ms, ordered, self._cache, lambda results: respond(errors | results)
            )
            operation.on_failure = on_failure
            self._purgatory.try_complete_else_watch(operation, tuple(ordered))

    async def create_partitions(
        self,
        timeout_ms: int,
        validate_only: bool,
        topics: Sequence[CreatePartitionsTopic],
        respond: Callable[[list[CreatePartitionsTopicResult]], None],
        on_failure: Callable[[Exception], None] | None = None,
    ) -> None:
        """Add partitions to `topics`. Their names must differ. Call `respond` when the new
        partitions have leaders, or after `timeout_ms`.
        """
        results = []
        extended: dict[str, int] = {}
        for topic in topics:
            result = CreatePartitionsTopicResult(name=topic.name)
            results.append(result)
            try:
                current, added = await self._check_new_partitions(topic)
                if not validate_only:
                    await self._add_partitions(topic.name, current, added)
                    extended[topic.name] = topic.count
            except KafkaException as refused:
                result.error_code, result.error_message = refused.error, refused.response_message

        def when_done(errors: dict[str, Errors]) -> None:
            for result in results:
                result.error_code = errors.get(result.name, result.error_code)
            respond(results)

        if not extended:
            respond(results)
        elif timeout_ms <= 0:
            when_done(dict.fromkeys(extended, Errors.REQUEST_TIMED_OUT))
        else:
            operation = DelayedCreateTopics(timeout_ms, extended, self._cache, when_done)
            operation.on_failure = on_failure
            self._purgatory.try_complete_else_watch(operation, tuple(extended))

    async def create_automatically(self, topic: str) -> Errors:
        """Create a topic that a client's request named, with the broker's defaults. Return
        LEADER_NOT_AVAILABLE if the topic exists now. The client then retries.
        """
        internal = self._defaults.internal.get(topic)
        partitions = internal.partitions if internal else self._defaults.partitions
        replication_factor = (
            internal.replication_factor if internal else self._defaults.replication_factor
        )
        overrides = dict(internal.configs) if internal else {}
        try:
            assignment = self._assign(partitions, replication_factor)
            await self._validate(topic, assignment, overrides)
            await self._create(topic, assignment, overrides, automatic=True)
        except KafkaException as refused:
            return (
                Errors.LEADER_NOT_AVAILABLE
                if refused.error is Errors.TOPIC_ALREADY_EXISTS
                else refused.error
            )
        return Errors.LEADER_NOT_AVAILABLE

    def try_complete_delayed_topic_operations(self, topics: Sequence[str]) -> None:
        """Check again whether waiting requests for `topics` are complete, because an UpdateMetadata
        request named these topics.
        """
        for topic in topics:
            self._purgatory.check_and_complete(topic)

    async def _check(
        self, topic: CreatableTopic
    ) -> tuple[dict[int, tuple[int, ...]], dict[str, str]]:
        """Return the assignment and the configs of the new topic. Raises KafkaException if the
        request for the topic is wrong.
        """
        if self._cache.contains_topic(topic.name):
            raise topic_exists(topic.name)
        overrides: dict[str, str] = {}
        for config in topic.configs:
            if config.value is None:
                raise KafkaException(
                    Errors.INVALID_REQUEST, f"a topic's config cannot be null: {config.name}"
                )
            overrides[config.name] = config.value
        if topic.assignments:
            if topic.num_partitions != UNSPECIFIED or topic.replication_factor != UNSPECIFIED:
                raise KafkaException(
                    Errors.INVALID_REQUEST,
                    "Both numPartitions or replicationFactor and replicasAssignments were set."
                    " Both cannot be used at the same time.",
                )
            assignment = {a.partition_index: tuple(a.broker_ids) for a in topic.assignments}
        else:
            partitions = (
                self._defaults.partitions
                if topic.num_partitions == UNSPECIFIED
                else topic.num_partitions
            )
            unspecified = topic.replication_factor == UNSPECIFIED
            assignment = self._assign(
                partitions,
                self._defaults.replication_factor if unspecified else topic.replication_factor,
            )
        await self._validate(topic.name, assignment, overrides)
        return assignment, overrides

    def _assign(self, partitions: int, replication_factor: int) -> dict[int, tuple[int, ...]]:
        return assign_replicas_to_brokers(
            self._racks(), partitions, replication_factor, self._random
        )

    def _racks(self) -> dict[int, str | None]:
        return {broker.id: broker.rack for broker in self._cache.get_alive_brokers()}

    async def _validate(
        self, topic: str, assignment: Mapping[int, tuple[int, ...]], overrides: Mapping[str, str]
    ) -> None:
        """Check the name, the assignment and the configs of a new topic. Raises KafkaException if
        one of them is wrong.
        """
        check_new_topic(topic, await self._zk.get_all_topics_in_cluster(), assignment)
        try:
            self._configs.check_topic_configs(overrides)
        except ConfigException as wrong:
            raise KafkaException(Errors.INVALID_CONFIG, str(wrong)) from wrong

    async def _check_new_partitions(
        self, topic: CreatePartitionsTopic
    ) -> tuple[TopicAssignment, Assignment]:
        """Return the topic's current assignment, and the assignment of the new partitions. Raises
        KafkaException if the request is wrong.
        """
        if not topic.name:
            raise KafkaException(
                Errors.UNKNOWN_SERVER_ERROR, "a topic's name cannot be empty"
            )  # the code is Kafka's
        current = (await self._zk.get_assignment_for_topics([topic.name])).get(topic.name)
        if current is None:
            raise KafkaException(
                Errors.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{topic.name}' does not exist."
            )
        if any(assignment.is_being_reassigned for assignment in current.partitions.values()):
            raise KafkaException(
                Errors.REASSIGNMENT_IN_PROGRESS,
                f"A partition reassignment is in progress for the topic '{topic.name}'.",
            )
        known = len(current.partitions)
        if topic.count < known:
            raise KafkaException(
                Errors.INVALID_PARTITIONS,
                f"Topic currently has {known} partitions, which is higher than the requested"
                f" {topic.count}.",
            )
        if topic.count == known:
            raise KafkaException(
                Errors.INVALID_PARTITIONS, f"Topic already has {known} partitions."
            )
        assigned = None
        if topic.assignments is not None:
            self._refuse_unknown_brokers(topic.assignments)
            assigned = {
                len(current.partitions) + index: tuple(given.broker_ids)
                for index, given in enumerate(topic.assignments)
            }
        return current, new_partitions(
            topic.name, current, topic.count, assigned, self._racks(), self._random
        )

    def _refuse_unknown_brokers(self, assignments: Sequence[CreatePartitionsAssignment]) -> None:
        """Raise INVALID_REPLICA_ASSIGNMENT if the assignments name brokers that are not alive."""
        unknown = {broker for given in assignments for broker in given.broker_ids} - set(
            self._racks()
        )
        if unknown:
            raise KafkaException(
                Errors.INVALID_REPLICA_ASSIGNMENT,
                f"Unknown broker(s) in replica assignment: {', '.join(map(str, sorted(unknown)))}.",
            )

    async def _add_partitions(
        self, topic: str, current: TopicAssignment, added: Assignment
    ) -> None:
        """Write an assignment to ZooKeeper that contains the current partitions and the
        added ones.
        """
        try:
            await self._zk.set_topic_assignment(topic, with_partitions(current, added))
        except ZkError as error:
            raise KafkaException(Errors.UNKNOWN_SERVER_ERROR, f"ZooKeeper: {error}") from error
        if self._trace:
            self._trace(
                PartitionsCreated(
                    topic=topic,
                    first=len(current.partitions),
                    assignment=tuple(tuple(replicas) for _, replicas in sorted(added.items())),
                )
            )

    async def _create(
        self,
        topic: str,
        assignment: dict[int, tuple[int, ...]],
        overrides: Mapping[str, str],
        *,
        automatic: bool,
    ) -> UUID:
        """Write the topic's two znodes. Return the topic's id, or an id of zeros if topics have no
        ids.
        """
        topic_id = (
            UUID(int=self._random.getrandbits(128), version=4) if self._with_topic_ids else None
        )
        try:
            await self._zk.set_or_create_entity_configs("topics", topic, overrides)
            await self._zk.create_topic_assignment(topic, TopicAssignment.of(assignment, topic_id))
        except ZkError as error:
            if error.code is ZkErrorCode.NODE_EXISTS:
                raise topic_exists(topic) from error
            raise KafkaException(Errors.UNKNOWN_SERVER_ERROR, f"ZooKeeper: {error}") from error
        if not is_internal(topic):
            for met in TOPIC_CONFIG.gaps(overrides):
                log.warning("topic %s: %s", topic, met)
        if self._trace:
            self._trace(
                TopicCreated(
                    topic=topic,
                    assignment=tuple(replicas for _, replicas in sorted(assignment.items())),
                    automatic=automatic,
                )
            )
        return topic_id or UUID(int=0)

    def _response_configs(self, overrides: Mapping[str, str]) -> list[CreatableTopicConfigs]:
        """Return each config key of a new topic with its value and the source of the value, for a
        CreateTopics response of v5 (KIP-525).
        """
        return [
            CreatableTopicConfigs(
                name=entry.name,
                value=entry.value,
                read_only=entry.read_only,
                config_source=entry.source,
            )
            for entry in self._configs.topic_entries(overrides)
        ]


def _without_details(result: CreatableTopicResult, error: Errors) -> CreatableTopicResult:
    """Return the result of a topic that is not ready at the time-out. It holds the error and no
    other details.
    """
    return CreatableTopicResult(name=result.name, error_code=error, error_message=None, configs=[])


def internal_topics(
    offsets: tuple[int, int, int], transactions: tuple[int, int, int], transactions_min_isr: int
) -> dict[str, InternalTopic]:
    """Return the settings of both internal topics, by topic name. `offsets` and `transactions` are
    each (partitions, replicas, segment bytes).
    """
    return {
        GROUP_METADATA_TOPIC_NAME: InternalTopic(
            offsets[0],
            offsets[1],
            {
                "cleanup.policy": "compact",
                "compression.type": "producer",
                "segment.bytes": str(offsets[2]),
            },
        ),
        TRANSACTION_STATE_TOPIC_NAME: InternalTopic(
            transactions[0],
            transactions[1],
            {
                "cleanup.policy": "compact",
                "compression.type": "uncompressed",
                "min.insync.replicas": str(transactions_min_isr),
                "segment.bytes": str(transactions[2]),
                "unclean.leader.election.enable": "false",
            },
        ),
    }
