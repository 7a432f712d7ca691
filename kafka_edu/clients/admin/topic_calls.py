"""The admin client's calls about topics: list, describe, create, delete, and add partitions."""

from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple
from uuid import UUID

from kafka_edu.clients.admin.admin_call import (
    ANY_BROKER,
    CONTROLLER,
    AdminCall,
    Form,
    expect,
    failed,
    need_version,
)
from kafka_edu.clients.admin.cluster_calls import CLUSTER, nodes_of
from kafka_edu.clients.admin.node import Node
from kafka_edu.clients.client_errors import ClientException, UnsupportedVersionException
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from kafka_edu.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from kafka_edu.protocol.messages.delete_topics import (
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from kafka_edu.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from kafka_edu.protocol.schema import Message

MOST_REPLICAS: Final = 3
"""The largest number of replicas that kafka-edu itself chooses for a topic."""
DEFAULT: Final = -1
"""Use the number of partitions or replicas in the brokers' settings (KIP-464)."""
_NO_ID: Final = UUID(int=0)
_FIRST_WITH_DEFAULTS: Final = 4
_FIRST_WITHOUT_CREATION: Final = 4
_FIRST_WITH_STATES: Final = 6
"""The first version of DeleteTopics in which a struct names each topic."""


class TopicListing(NamedTuple):
    name: str
    topic_id: UUID | None
    """None if the broker is older than 2.8."""
    internal: bool


class TopicPartitionInfo(NamedTuple):
    """One partition (Kafka: TopicPartitionInfo.java)."""

    partition: int
    leader: Node | None
    replicas: tuple[Node, ...]
    isr: tuple[Node, ...]
    offline_replicas: tuple[Node, ...] = ()
    """Replicas on dead brokers or failed disks. Kafka's class does not have them. Needs version 5
    of Metadata.
    """


class TopicDescription(NamedTuple):
    name: str
    topic_id: UUID | None
    internal: bool
    partitions: tuple[TopicPartitionInfo, ...]
    """The partitions, in the order of their numbers."""


class NewTopic(NamedTuple):
    """A topic to create. With `assignments`, do not set `num_partitions` and
    `replication_factor`.
    """

    name: str
    num_partitions: int = DEFAULT
    replication_factor: int = DEFAULT
    assignments: Mapping[int, Sequence[int]] | None = None
    """Partition → its brokers, the preferred leader first."""
    configs: Mapping[str, str] | None = None


def usual_replicas(brokers: int) -> int:
    """Return the number of replicas of a topic for which nobody has chosen a number: 3, or fewer if
    the cluster has fewer brokers.
    """
    return min(MOST_REPLICAS, brokers)


class CreatedTopic(NamedTuple):
    """The controller's description of a new topic. Older brokers send no details: -1 and None."""

    topic_id: UUID | None
    num_partitions: int
    replication_factor: int


class NewPartitions(NamedTuple):
    """The new number of partitions, and optionally the brokers of each added partition."""

    total_count: int
    assignments: Sequence[Sequence[int]] | None = None


def list_topics(list_internal: bool) -> AdminCall[str, dict[str, TopicListing]]:
    def read(_: object, answer: Message) -> dict[str, dict[str, TopicListing] | ClientException]:
        topics = {
            topic.name: TopicListing(topic.name, _id(topic.topic_id), topic.is_internal)
            for topic in sorted(
                expect(MetadataResponse, answer).topics, key=lambda topic: topic.name
            )
            if list_internal or not topic.is_internal
        }
        return {CLUSTER: topics}

    def write(_: object, form: Form) -> Message:
        need_version(form, _FIRST_WITHOUT_CREATION, "a question that creates no topic")
        return MetadataRequest(topics=None, allow_auto_topic_creation=False)

    return AdminCall("list_topics", (ApiKey.METADATA,), {CLUSTER: ANY_BROKER}, write, read)


def describe_topics(topics: Collection[str]) -> AdminCall[str, TopicDescription]:
    def read(_: object, answer: Message) -> dict[str, TopicDescription | ClientException]:
        metadata = expect(MetadataResponse, answer)
        nodes = {node.id: node for node in nodes_of(metadata)}

        def known(ids: Sequence[int]) -> tuple[Node, ...]:
            """Return the brokers with these ids. A broker that is not alive gets no address, as in
            Kafka.
            """
            return tuple(nodes.get(each, Node(each, "", -1)) for each in ids)

        found: dict[str, TopicDescription | ClientException] = {}
        for topic in metadata.topics:
            partitions = tuple(
                TopicPartitionInfo(
                    each.partition_index,
                    nodes.get(each.leader_id),
                    known(each.replica_nodes),
                    known(each.isr_nodes),
                    known(each.offline_replicas),
                )
                for each in sorted(topic.partitions, key=lambda each: each.partition_index)
            )
            found[topic.name] = failed(topic.error_code) or TopicDescription(
                topic.name, _id(topic.topic_id), topic.is_internal, partitions
            )
        return found

    return AdminCall(
        "describe_topics",
        (ApiKey.METADATA,),
        dict.fromkeys(topics, ANY_BROKER),
        lambda names, form: MetadataRequest(
            topics=[MetadataRequestTopic(name=name) for name in names],
            allow_auto_topic_creation=False,
        ),
        read,
    )


def create_topics(
    topics: Collection[NewTopic], validate_only: bool
) -> AdminCall[str, CreatedTopic]:
    wanted = {topic.name: topic for topic in topics}

    def write(names: Sequence[str], form: Form) -> Message:
        chosen = [wanted[name] for name in names]
        if form.version < _FIRST_WITH_DEFAULTS and any(
            topic.assignments is None
            and DEFAULT in (topic.num_partitions, topic.replication_factor)
            for topic in chosen
        ):
            raise UnsupportedVersionException(
                "Creating topics with default partitions/replication factor are only supported in"
                f" CreateTopicRequest version {_FIRST_WITH_DEFAULTS}+. The broker knows"
                f" {form.version}.",
                "Give num_partitions and replication_factor.",
            )
        return CreateTopicsRequest(
            topics=[_creatable(topic) for topic in chosen],
            timeout_ms=form.timeout_ms,
            validate_only=validate_only,
        )

    def read(_: object, answer: Message) -> dict[str, CreatedTopic | ClientException]:
        return {
            topic.name: failed(topic.error_code, topic.error_message)
            or CreatedTopic(_id(topic.topic_id), topic.num_partitions, topic.replication_factor)
            for topic in expect(CreateTopicsResponse, answer).topics
        }

    return AdminCall(
        "create_topics",
        (ApiKey.CREATE_TOPICS,),
        dict.fromkeys(wanted, CONTROLLER),
        write,
        read,
    )


def _creatable(topic: NewTopic) -> CreatableTopic:
    return CreatableTopic(
        name=topic.name,
        num_partitions=topic.num_partitions,
        replication_factor=topic.replication_factor,
        assignments=[
            CreatableReplicaAssignment(partition_index=partition, broker_ids=list(brokers))
            for partition, brokers in (topic.assignments or {}).items()
        ],
        configs=[
            CreateableTopicConfig(name=name, value=value)
            for name, value in (topic.configs or {}).items()
        ],
    )


def delete_topics(topics: Collection[str]) -> AdminCall[str, None]:
    def write(names: Sequence[str], form: Form) -> Message:
        if form.version < _FIRST_WITH_STATES:
            return DeleteTopicsRequest(topic_names=list(names), timeout_ms=form.timeout_ms)
        return DeleteTopicsRequest(
            topics=[DeleteTopicState(name=name) for name in names], timeout_ms=form.timeout_ms
        )

    def read(_: object, answer: Message) -> dict[str, ClientException | None]:
        return {
            topic.name: failed(topic.error_code, topic.error_message)
            for topic in expect(DeleteTopicsResponse, answer).responses
            if topic.name is not None
        }

    return AdminCall(
        "delete_topics", (ApiKey.DELETE_TOPICS,), dict.fromkeys(topics, CONTROLLER), write, read
    )


def create_partitions(
    new_partitions: Mapping[str, NewPartitions], validate_only: bool
) -> AdminCall[str, None]:
    def topic(name: str) -> CreatePartitionsTopic:
        count, assignments = new_partitions[name]
        return CreatePartitionsTopic(
            name=name,
            count=count,
            assignments=None
            if assignments is None
            else [CreatePartitionsAssignment(broker_ids=list(ids)) for ids in assignments],
        )

    def read(_: object, answer: Message) -> dict[str, ClientException | None]:
        return {
            each.name: failed(each.error_code, each.error_message)
            for each in expect(CreatePartitionsResponse, answer).results
        }

    return AdminCall(
        "create_partitions",
        (ApiKey.CREATE_PARTITIONS,),
        dict.fromkeys(new_partitions, CONTROLLER),
        lambda names, form: CreatePartitionsRequest(
            topics=[topic(name) for name in names],
            timeout_ms=form.timeout_ms,
            validate_only=validate_only,
        ),
        read,
    )


def _id(topic_id: UUID) -> UUID | None:
    return None if topic_id == _NO_ID else topic_id
