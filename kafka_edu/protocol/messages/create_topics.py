"""CreateTopics (key 19): create topics; handled by the controller (KIP-4)."""

from uuid import UUID

from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.fields import field
from kafka_edu.protocol.schema import Message, Struct
from kafka_edu.protocol.types import Array, Bool, Int8, Int16, Int32, String, Uuid


class CreatableReplicaAssignment(Struct):
    """The ids of the brokers that get the replicas of one partition."""

    partition_index: int = field(Int32, "0+", "The partition.")
    broker_ids: list[int] = field(Array(Int32), "0+", "Its brokers, the preferred leader first.")


class CreateableTopicConfig(Struct):
    """The name and the value of one config of a new topic."""

    name: str = field(String, "0+", "The key.")
    value: str | None = field(String, "0+", "The value.", nullable="0+")


class CreatableTopic(Struct):
    """One topic to create."""

    name: str = field(
        String, "0+", "The name of the topic: up to 249 characters of a-z A-Z 0-9 . _ -"
    )
    num_partitions: int = field(
        Int32,
        "0+",
        "The number of partitions; -1: as in `assignments`, or num.partitions (KIP-464).",
    )
    replication_factor: int = field(
        Int16,
        "0+",
        "The replicas of each partition; -1: as in `assignments`, or"
        " default.replication.factor (KIP-464).",
    )
    assignments: list[CreatableReplicaAssignment] = field(
        Array(CreatableReplicaAssignment),
        "0+",
        "The brokers of each partition; empty: the controller chooses.",
    )
    configs: list[CreateableTopicConfig] = field(
        Array(CreateableTopicConfig), "0+", "The topic's configs."
    )


class CreateTopicsRequest(Message, key=ApiKey.CREATE_TOPICS, valid="0-7", flexible="5+"):
    """The topics to create (Kafka: CreateTopicsRequest.json)."""

    topics: list[CreatableTopic] = field(Array(CreatableTopic), "0+", "The topics.")
    timeout_ms: int = field(
        Int32,
        "0+",
        "How long to wait until every partition has a leader that all brokers know, in ms."
        " With 0 the topic is still created.",
        default=60000,
    )
    validate_only: bool = field(Bool, "1+", "True: only check the request and change nothing.")


class CreatableTopicConfigs(Struct):
    """One config of a new topic (KIP-525)."""

    name: str = field(String, "5+", "The key.")
    value: str | None = field(String, "5+", "The value.", nullable="5+")
    read_only: bool = field(Bool, "5+", "Whether the config cannot be changed.")
    config_source: int = field(
        Int8,
        "5+",
        "The source of the value: 1 topic, 2 dynamic config of this broker, 3 dynamic config"
        " of all brokers, 4 the properties file, 5 the default.",
        default=-1,
    )
    is_sensitive: bool = field(
        Bool, "5+", "Whether the value is secret; a secret value is not returned."
    )


class CreatableTopicResult(Struct):
    """The result for one topic."""

    name: str = field(String, "0+", "The topic.")
    topic_id: UUID = field(
        Uuid, "7+", "The topic's id; zero if it has none (KIP-516).", ignorable=True
    )
    error_code: int = field(Int16, "0+", "The error, or 0.")
    error_message: str | None = field(
        String, "1+", "What went wrong, or null.", nullable="0+", ignorable=True
    )
    topic_config_error_code: int = field(
        Int16,
        "5+",
        "The error because of which the configs are missing here, or 0 (KIP-525).",
        tag=0,
        ignorable=True,
    )
    num_partitions: int = field(
        Int32, "5+", "The number of partitions (KIP-525).", default=-1, ignorable=True
    )
    replication_factor: int = field(
        Int16,
        "5+",
        "The number of replicas of each partition (KIP-525).",
        default=-1,
        ignorable=True,
    )
    configs: list[CreatableTopicConfigs] | None = field(
        Array(CreatableTopicConfigs),
        "5+",
        "The configs of the topic, including defaults (KIP-525).",
        nullable="5+",
        ignorable=True,
    )


class CreateTopicsResponse(Message, key=ApiKey.CREATE_TOPICS, valid="0-7", flexible="5+"):
    """The result for each topic (Kafka: CreateTopicsResponse.json)."""

    throttle_time_ms: int = field(
        Int32,
        "2+",
        "How long the client must pause because it exceeded a quota, in ms (KIP-13, KIP-599).",
        ignorable=True,
    )
    topics: list[CreatableTopicResult] = field(Array(CreatableTopicResult), "0+", "The results.")
