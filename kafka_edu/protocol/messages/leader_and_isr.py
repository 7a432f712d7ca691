"""LeaderAndIsr (key 4): the controller makes a broker leader or follower of partitions."""

from uuid import UUID

from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.fields import field
from kafka_edu.protocol.schema import Message, Struct
from kafka_edu.protocol.types import Array, Bool, Int8, Int16, Int32, Int64, String, Uuid


class LeaderAndIsrPartitionState(Struct):
    """The controller's decision for one partition. It has the content of the partition's state
    znode.
    """

    topic_name: str = field(
        String,
        "0-1",
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
    leader_epoch: int = field(
        Int32, "0+", "Grows by one with each election; an older epoch is refused."
    )
    isr: list[int] = field(Array(Int32), "0+", "The replicas in sync.")
    zk_version: int = field(
        Int32, "0+", "The version of the state znode. The leader needs it to change the ISR."
    )
    replicas: list[int] = field(Array(Int32), "0+", "All replicas: AR, the preferred leader first.")
    adding_replicas: list[int] = field(
        Array(Int32), "3+", "The replicas that a reassignment is adding (KIP-455).", ignorable=True
    )
    removing_replicas: list[int] = field(
        Array(Int32),
        "3+",
        "The replicas that a reassignment is removing (KIP-455).",
        ignorable=True,
    )
    is_new: bool = field(
        Bool,
        "1+",
        "Whether the partition was just created. If so, the broker may create its log even"
        " while a log dir is offline (KIP-112).",
        ignorable=True,
    )


class LeaderAndIsrTopicState(Struct):
    """The partitions of one topic (KIP-380)."""

    topic_name: str = field(String, "2+", "The topic.")
    topic_id: UUID = field(
        Uuid, "5+", "The topic's id; zero if it has none (KIP-516).", ignorable=True
    )
    partition_states: list[LeaderAndIsrPartitionState] = field(
        Array(LeaderAndIsrPartitionState), "2+", "Its partitions."
    )


class LeaderAndIsrLiveLeader(Struct):
    """A leader's address at the listener for brokers."""

    broker_id: int = field(Int32, "0+", "The broker id.")
    host_name: str = field(String, "0+", "Its host.")
    port: int = field(Int32, "0+", "Its port.")


class LeaderAndIsrRequest(Message, key=ApiKey.LEADER_AND_ISR, valid="0-5", flexible="4+"):
    """Make the receiving broker leader or follower of partitions.

    (Kafka: LeaderAndIsrRequest.json; book §6.4.) Versions 0 and 1 list partitions one by one; later
    versions group them by topic (KIP-380).
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
        "2+",
        "The czxid of the receiver's registration. It fences requests from before the"
        " receiver's restart (KIP-380).",
        default=-1,
        ignorable=True,
    )
    type: int = field(
        Int8,
        "5+",
        "0 unknown, 1 incremental, 2 full: all replicas of the broker are listed (KIP-516).",
    )
    ungrouped_partition_states: list[LeaderAndIsrPartitionState] = field(
        Array(LeaderAndIsrPartitionState), "0-1", "The partitions, one by one."
    )
    topic_states: list[LeaderAndIsrTopicState] = field(
        Array(LeaderAndIsrTopicState), "2+", "The partitions, by topic (KIP-380)."
    )
    live_leaders: list[LeaderAndIsrLiveLeader] = field(
        Array(LeaderAndIsrLiveLeader), "0+", "The addresses of the leaders that the request names."
    )


class LeaderAndIsrPartitionError(Struct):
    """The result for one partition."""

    topic_name: str = field(
        String, "0-4", "The topic, in versions that do not group results by topic.", ignorable=True
    )
    partition_index: int = field(Int32, "0+", "The partition.")
    error_code: int = field(Int16, "0+", "The error, or 0.")


class LeaderAndIsrTopicError(Struct):
    """Results for one topic (KIP-516)."""

    topic_id: UUID = field(Uuid, "5+", "The topic's id.")
    partition_errors: list[LeaderAndIsrPartitionError] = field(
        Array(LeaderAndIsrPartitionError), "5+", "The results, by partition."
    )


class LeaderAndIsrResponse(Message, key=ApiKey.LEADER_AND_ISR, valid="0-5", flexible="4+"):
    """The error of each partition, or 0 (Kafka: LeaderAndIsrResponse.json)."""

    error_code: int = field(Int16, "0+", "An error of the whole request, or 0.")
    partition_errors: list[LeaderAndIsrPartitionError] = field(
        Array(LeaderAndIsrPartitionError), "0-4", "The error of every partition, or 0; one by one."
    )
    topics: list[LeaderAndIsrTopicError] = field(
        Array(LeaderAndIsrTopicError),
        "5+",
        "The error of every partition, or 0; by topic id (KIP-516).",
    )
