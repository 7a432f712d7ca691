"""AlterIsr (key 56): a leader asks the controller to change the ISR (KIP-497)."""

from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.fields import field
from kafka_edu.protocol.schema import Message, Struct
from kafka_edu.protocol.types import Array, Int16, Int32, Int64, String


class AlterIsrRequestPartition(Struct):
    """One partition, and the ISR that its leader wants."""

    partition_index: int = field(Int32, "0+", "The partition.")
    leader_epoch: int = field(Int32, "0+", "The leader epoch.")
    new_isr: list[int] = field(Array(Int32), "0+", "The new in-sync replicas.")
    current_isr_version: int = field(Int32, "0+", "The version of the znode that holds the ISR.")


class AlterIsrRequestTopic(Struct):
    """The partitions of one topic."""

    name: str = field(String, "0+", "The topic.")
    partitions: list[AlterIsrRequestPartition] = field(
        Array(AlterIsrRequestPartition), "0+", "The partitions."
    )


class AlterIsrRequest(Message, key=ApiKey.ALTER_ISR, valid="0", flexible="0+"):
    """The ISRs that the leader wants (Kafka: AlterIsrRequest.json)."""

    broker_id: int = field(Int32, "0+", "The broker.")
    broker_epoch: int = field(Int64, "0+", "The epoch of that broker's registration.", default=-1)
    topics: list[AlterIsrRequestTopic] = field(Array(AlterIsrRequestTopic), "0+", "The topics.")


class AlterIsrResponsePartition(Struct):
    """The ISR of one partition after the request, or an error."""

    partition_index: int = field(Int32, "0+", "The partition.")
    error_code: int = field(Int16, "0+", "The error, or 0.")
    leader_id: int = field(Int32, "0+", "The leader.")
    leader_epoch: int = field(Int32, "0+", "The leader epoch.")
    isr: list[int] = field(Array(Int32), "0+", "The in-sync replicas.")
    current_isr_version: int = field(Int32, "0+", "The version of the znode that holds the ISR.")


class AlterIsrResponseTopic(Struct):
    """Results for one topic."""

    name: str = field(String, "0+", "The topic.")
    partitions: list[AlterIsrResponsePartition] = field(
        Array(AlterIsrResponsePartition), "0+", "The partitions."
    )


class AlterIsrResponse(Message, key=ApiKey.ALTER_ISR, valid="0", flexible="0+"):
    """The ISR of each partition after the request (Kafka: AlterIsrResponse.json)."""

    throttle_time_ms: int = field(
        Int32,
        "0+",
        "How long the client must pause because it exceeded a quota, in ms (KIP-13).",
    )
    error_code: int = field(Int16, "0+", "The error of the whole request, or 0.")
    topics: list[AlterIsrResponseTopic] = field(Array(AlterIsrResponseTopic), "0+", "The topics.")
