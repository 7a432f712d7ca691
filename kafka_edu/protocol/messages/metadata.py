"""Metadata (key 3): return the leaders of partitions and the addresses of brokers."""

from uuid import UUID

from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.fields import field
from kafka_edu.protocol.schema import Message, Struct
from kafka_edu.protocol.types import Array, Bool, Int16, Int32, String, Uuid


class MetadataRequestTopic(Struct):
    """One topic to describe, given by its name or its id."""

    topic_id: UUID = field(
        Uuid, "10+", "The topic's id; zero if `name` names the topic (KIP-516).", ignorable=True
    )
    name: str | None = field(
        String,
        "0+",
        "The topic's name; null if `topic_id` names the topic, which 2.8 does not serve yet.",
        nullable="10+",
    )


class MetadataRequest(Message, key=ApiKey.METADATA, valid="0-11", flexible="9+"):
    """The topics to describe; any broker can answer (Kafka: MetadataRequest.json; book §6.5.2).

    In version 0, an empty list of topics means all topics. From version 1 on, null means all
    topics, and an empty list means none.
    """

    topics: list[MetadataRequestTopic] | None = field(
        Array(MetadataRequestTopic), "0+", "The topics; null means all.", nullable="1+"
    )
    allow_auto_topic_creation: bool = field(
        Bool,
        "4+",
        "Whether the broker may create unknown topics, if its config also allows it.",
        default=True,
    )
    include_cluster_authorized_operations: bool = field(
        Bool, "8-10", "Whether to return what the client may do to the cluster (KIP-430)."
    )
    include_topic_authorized_operations: bool = field(
        Bool, "8+", "Whether to return what the client may do to each topic (KIP-430)."
    )


class MetadataResponseBroker(Struct):
    """One broker, with its address at the listener through which the request came."""

    node_id: int = field(Int32, "0+", "The broker id.")
    host: str = field(String, "0+", "The advertised host.")
    port: int = field(Int32, "0+", "The advertised port.")
    rack: str | None = field(
        String,
        "1+",
        "The broker's rack, or null (KIP-36).",
        nullable="1+",
        default=None,
        ignorable=True,
    )


class MetadataResponsePartition(Struct):
    """One partition: its leader, replicas and ISR, or its error."""

    error_code: int = field(Int16, "0+", "The error, or 0; LEADER_NOT_AVAILABLE without a leader.")
    partition_index: int = field(Int32, "0+", "The partition.")
    leader_id: int = field(Int32, "0+", "The leader's broker id; -1 if there is none.")
    leader_epoch: int = field(
        Int32,
        "7+",
        "Grows by one with each election. With it, clients recognise old metadata (KIP-320).",
        default=-1,
        ignorable=True,
    )
    replica_nodes: list[int] = field(
        Array(Int32), "0+", "The brokers that hold a replica: AR, the preferred leader first."
    )
    isr_nodes: list[int] = field(Array(Int32), "0+", "The replicas in sync: ISR.")
    offline_replicas: list[int] = field(
        Array(Int32),
        "5+",
        "Replicas whose broker is not alive or whose disk failed (KIP-112).",
        ignorable=True,
    )


class MetadataResponseTopic(Struct):
    """One topic and its partitions, or its error."""

    error_code: int = field(
        Int16, "0+", "The error, or 0; LEADER_NOT_AVAILABLE while it is being created."
    )
    name: str = field(String, "0+", "The topic.")
    topic_id: UUID = field(
        Uuid, "10+", "The topic's id; zero if it has none (KIP-516).", ignorable=True
    )
    is_internal: bool = field(
        Bool,
        "1+",
        "Whether the topic is one of Kafka's own, such as __consumer_offsets.",
        ignorable=True,
    )
    partitions: list[MetadataResponsePartition] = field(
        Array(MetadataResponsePartition), "0+", "Its partitions."
    )
    topic_authorized_operations: int = field(
        Int32,
        "8+",
        "A bit for each operation that the client may do to the topic; the lowest int32: not"
        " requested (KIP-430).",
        default=-0x80000000,
    )


class MetadataResponse(Message, key=ApiKey.METADATA, valid="0-11", flexible="9+"):
    """Brokers, controller and partitions (Kafka: MetadataResponse.json)."""

    throttle_time_ms: int = field(
        Int32,
        "3+",
        "How long the client must pause because it exceeded a quota, in ms (KIP-13).",
        ignorable=True,
    )
    brokers: list[MetadataResponseBroker] = field(
        Array(MetadataResponseBroker), "0+", "The brokers that are alive."
    )
    cluster_id: str | None = field(
        String,
        "2+",
        "The cluster's id, from /cluster/id (KIP-78).",
        nullable="2+",
        default=None,
        ignorable=True,
    )
    controller_id: int = field(
        Int32, "1+", "The controller's broker id; -1 if there is none.", default=-1, ignorable=True
    )
    topics: list[MetadataResponseTopic] = field(Array(MetadataResponseTopic), "0+", "The topics.")
    cluster_authorized_operations: int = field(
        Int32,
        "8-10",
        "A bit for each operation that the client may do to the cluster; the lowest int32:"
        " not requested (KIP-430).",
        default=-0x80000000,
    )
