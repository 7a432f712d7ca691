"""CreateTopics (key 19): the controller creates topics (KIP-4)."""

from uuid import UUID

from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.fields import field
from kafka_edu.protocol.schema import Message, Struct
from kafka_edu.protocol.types import Array, Bool, Int8, Int16, Int32, String, Uuid


class CreatableReplicaAssignment(Struct):
    """The brokers of one partition."""

    partition_index: int = field(Int32, "0+", "The partition.")
    broker_ids: list[int] = field(Array(Int32), "0+", "Its brokers, the preferred leader first.")


class CreateableTopicConfig(Struct):
    """One config of a topic."""

    name: str = field(String, "0+", "The key.")
    value: str | None = field(String, "0+", "The value.", nullable="0+")


class CreatableTopic(Struct):
    """One topic to create."""

    name: str = field(String, "0+", "Its name: up to 249 of a-z A-Z 0-9 . _ -")
    num_partitions: int = field(
        Int32, "0+", "How many partitions; -1: as assigned, or num.partitions (KIP-464)."
    )
    replication_factor: int = field(
        Int16,
        "0+",
        "How many replicas each; -1: as assigned, or default.replication.factor (KIP-464).",
    )
    assignments: list[CreatableReplicaAssignment] = field(
        Array(CreatableReplicaAssignment),
        "0+",
        "Which brokers hold which partition; empty: the controller chooses.",
    )
    configs: list[CreateableTopicConfig] = field(
        Array(CreateableTopicConfig), "0+", "The topic's configs."
    )


class CreateTopicsRequest(Message, key=ApiKey.CREATE_TOPICS, valid="0-7", flexible="5+"):
    """Topics to create (Kafka: CreateTopicsRequest.json)."""

    topics: list[CreatableTopic] = field(Array(CreatableTopic), "0+", "The topics.")
    timeout_ms: int = field(
        Int32,
        "0+",
        "How long to wait until every partition has a leader that all brokers know, in ms; at 0 the"
        " topic is created all the same.",
        default=60000,
    )
    validate_only: bool = field(Bool, "1+", "Only check whether it could be done.")


class CreatableTopicConfigs(Struct):
    """One config of a new topic (KIP-525)."""

    name: str = field(String, "5+", "The key.")
    value: str | None = field(String, "5+", "The value.", nullable="5+")
    read_only: bool = field(Bool, "5+", "Whether it cannot be changed.")
    config_source: int = field(
        Int8,
        "5+",
        "Where the value comes from: 1 topic, 2 this broker's dynamic config, 3 all brokers', 4 the"
        " properties file, 5 the default.",
        default=-1,
    )
    is_sensitive: bool = field(Bool, "5+", "Whether the value is secret, and so not told.")


class CreatableTopicResult(Struct):
    """The result for one topic."""

    name: str = field(String, "0+", "The topic.")
    topic_id: UUID = field(Uuid, "7+", "Its id; zero if it has none (KIP-516).", ignorable=True)
    error_code: int = field(Int16, "0+", "The error, or 0.")
    error_message: str | None = field(
        String, "1+", "What went wrong, or null.", nullable="0+", ignorable=True
    )
    topic_config_error_code: int = field(
        Int16,
        "5+",
        "The error that kept the configs from being told, or 0 (KIP-525).",
        tag=0,
        ignorable=True,
    )
    num_partitions: int = field(
        Int32, "5+", "How many partitions it has (KIP-525).", default=-1, ignorable=True
    )
    replication_factor: int = field(
        Int16, "5+", "How many replicas each has (KIP-525).", default=-1, ignorable=True
    )
    configs: list[CreatableTopicConfigs] | None = field(
        Array(CreatableTopicConfigs),
        "5+",
        "Its configs, those by default too (KIP-525).",
        nullable="5+",
        ignorable=True,
    )


class CreateTopicsResponse(Message, key=ApiKey.CREATE_TOPICS, valid="0-7", flexible="5+"):
    """What came of each topic (Kafka: CreateTopicsResponse.json)."""

    throttle_time_ms: int = field(
        Int32,
        "2+",
        "How long the client must keep silent because it went over a quota, in ms (KIP-13,"
        " KIP-599).",
        ignorable=True,
    )
    topics: list[CreatableTopicResult] = field(Array(CreatableTopicResult), "0+", "The results.")
