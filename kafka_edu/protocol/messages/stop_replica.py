"""StopReplica (key 5): the controller makes a broker stop replicas, and perhaps delete their
logs.
"""

from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.fields import field
from kafka_edu.protocol.schema import Message, Struct
from kafka_edu.protocol.types import Array, Bool, Int16, Int32, Int64, String


class StopReplicaPartitionV0(Struct):
    """One partition whose replica the broker must stop (version 0)."""

    topic_name: str = field(String, "0", "The topic.")
    partition_index: int = field(Int32, "0", "The partition.")


class StopReplicaTopicV1(Struct):
    """The partitions of one topic whose replicas the broker must stop (versions 1 and 2)."""

    name: str = field(String, "1-2", "The topic.")
    partition_indexes: list[int] = field(Array(Int32), "1-2", "The partitions.")


class StopReplicaPartitionState(Struct):
    """One partition whose replica must be stopped, and whether its log is deleted (KIP-570)."""

    partition_index: int = field(Int32, "3+", "The partition.")
    leader_epoch: int = field(
        Int32,
        "3+",
        "The request is refused if this is older than the replica's epoch; -1: do not check,"
        " -2: the topic is being deleted.",
        default=-1,
    )
    delete_partition: bool = field(Bool, "3+", "Whether to delete its log.")


class StopReplicaTopicState(Struct):
    """Partitions of one topic (KIP-570)."""

    topic_name: str = field(String, "3+", "The topic.")
    partition_states: list[StopReplicaPartitionState] = field(
        Array(StopReplicaPartitionState), "3+", "The partitions."
    )


class StopReplicaRequest(Message, key=ApiKey.STOP_REPLICA, valid="0-3", flexible="2+"):
    """Stop replicas on the receiving broker (Kafka: StopReplicaRequest.json; book §6.4).

    Version 0 lists partitions one by one. Versions 1 and 2 list them by topic. Version 3 gives each
    partition a leader epoch and a delete flag (KIP-570).
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
        "1+",
        "The czxid of the receiver's registration. It fences requests from before the"
        " receiver's restart (KIP-380).",
        default=-1,
        ignorable=True,
    )
    delete_partitions: bool = field(
        Bool, "0-2", "Whether to delete the logs of all partitions listed."
    )
    ungrouped_partitions: list[StopReplicaPartitionV0] = field(
        Array(StopReplicaPartitionV0), "0", "The partitions, one by one."
    )
    topics: list[StopReplicaTopicV1] = field(
        Array(StopReplicaTopicV1), "1-2", "The partitions, by topic."
    )
    topic_states: list[StopReplicaTopicState] = field(
        Array(StopReplicaTopicState),
        "3+",
        "The partitions, by topic, each with its leader epoch and delete flag (KIP-570).",
    )


class StopReplicaPartitionError(Struct):
    """The result for one partition."""

    topic_name: str = field(String, "0+", "The topic.")
    partition_index: int = field(Int32, "0+", "The partition.")
    error_code: int = field(Int16, "0+", "The error, or 0.")


class StopReplicaResponse(Message, key=ApiKey.STOP_REPLICA, valid="0-3", flexible="2+"):
    """The error of each partition, or 0 (Kafka: StopReplicaResponse.json)."""

    error_code: int = field(Int16, "0+", "An error of the whole request, or 0.")
    partition_errors: list[StopReplicaPartitionError] = field(
        Array(StopReplicaPartitionError), "0+", "The error of every partition, or 0."
    )
