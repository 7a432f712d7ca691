"""UpdateMetadata (key 6): the controller sends all brokers the metadata that clients ask them
for.
"""

from uuid import UUID

from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.fields import field
from kafka_edu.protocol.schema import Message, Struct
from kafka_edu.protocol.types import Array, Int16, Int32, Int64, String, Uuid


class UpdateMetadataPartitionState(Struct):
    """The state of one partition, as the controller knows it."""

    topic_name: str = field(
        String,
        "0-4",
        "The topic, in versions that do not group partitions by topic.",
        ignorable=True,
    )
    partition_index: int = field(Int32, "0+", "The partition.")
    controller_epoch: int = field(
        Int32, "0+", "The epoch of the controller that last wrote the state."
    )
    leader: int = field(
        Int32, "0+", "The leader's broker id; -1: no leader, -2: the topic is being deleted."
    )
    leader_epoch: int = field(Int32, "0+", "Grows by one with each election.")
    isr: list[int] = field(Array(Int32), "0+", "The replicas in sync.")
    zk_version: int = field(Int32, "0+", "The version of the state znode.")
    replicas: list[int] = field(Array(Int32), "0+", "All replicas: AR, the preferred leader first.")
    offline_replicas: list[int] = field(
        Array(Int32),
        "4+",
        "Replicas whose broker is not alive or whose disk failed (KIP-112).",
        ignorable=True,
    )


class UpdateMetadataTopicState(Struct):
    """The partitions of one topic (KIP-380)."""

    topic_name: str = field(String, "5+", "The topic.")
    topic_id: UUID = field(
        Uuid, "7+", "The topic's id; zero if it has none (KIP-516).", ignorable=True
    )
    partition_states: list[UpdateMetadataPartitionState] = field(
        Array(UpdateMetadataPartitionState), "5+", "Its partitions."
    )


class UpdateMetadataEndpoint(Struct):
    """The address of one listener of a broker, as the broker advertises it."""

    port: int = field(Int32, "1+", "The port.")
    host: str = field(String, "1+", "The host.")
    listener: str = field(String, "3+", "The listener's name (KIP-103).", ignorable=True)
    security_protocol: int = field(Int16, "1+", "0 PLAINTEXT, 1 SSL, 2 SASL_PLAINTEXT, 3 SASL_SSL.")


class UpdateMetadataBroker(Struct):
    """One live broker and its listeners."""

    id: int = field(Int32, "0+", "The broker id.")
    v0_host: str = field(
        String, "0", "The host, in version 0, when a broker had only one listener.", ignorable=True
    )
    v0_port: int = field(Int32, "0", "The port, in version 0.", ignorable=True)
    endpoints: list[UpdateMetadataEndpoint] = field(
        Array(UpdateMetadataEndpoint), "1+", "Its listeners.", ignorable=True
    )
    rack: str | None = field(
        String, "2+", "Its rack, or null (KIP-36).", nullable="0+", ignorable=True
    )


class UpdateMetadataRequest(Message, key=ApiKey.UPDATE_METADATA, valid="0-7", flexible="6+"):
    """The brokers and the changed partitions, for the receiver's metadata cache.

    (Kafka: UpdateMetadataRequest.json; book §6.4.) Up to version 4, partitions are listed one by
    one; later versions group them by topic (KIP-380). The request always lists all live brokers.
    """

    controller_id: int = field(Int32, "0+", "The broker id of the controller that sends this.")
    controller_epoch: int = field(
        Int32,
        "0+",
        "The controller's epoch. It fences a controller that lost its office and does not"
        " know it yet.",
    )
    broker_epoch: int = field(
        Int64,
        "5+",
        "The czxid of the receiver's registration. It fences requests from before the"
        " receiver's restart (KIP-380).",
        default=-1,
        ignorable=True,
    )
    ungrouped_partition_states: list[UpdateMetadataPartitionState] = field(
        Array(UpdateMetadataPartitionState), "0-4", "The partitions that changed, one by one."
    )
    topic_states: list[UpdateMetadataTopicState] = field(
        Array(UpdateMetadataTopicState), "5+", "The partitions that changed, by topic (KIP-380)."
    )
    live_brokers: list[UpdateMetadataBroker] = field(
        Array(UpdateMetadataBroker), "0+", "All brokers that are alive, each with its listeners."
    )


class UpdateMetadataResponse(Message, key=ApiKey.UPDATE_METADATA, valid="0-7", flexible="6+"):
    """Whether the broker accepted the request (Kafka: UpdateMetadataResponse.json)."""

    error_code: int = field(Int16, "0+", "The error, or 0.")
