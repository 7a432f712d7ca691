"""DescribeCluster (key 60): return the brokers and the controller (KIP-700)."""

from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.fields import field
from kafka_edu.protocol.schema import Message, Struct
from kafka_edu.protocol.types import Array, Bool, Int16, Int32, String


class DescribeClusterRequest(Message, key=ApiKey.DESCRIBE_CLUSTER, valid="0", flexible="0+"):
    """A request for the brokers and the controller (Kafka: DescribeClusterRequest.json)."""

    include_cluster_authorized_operations: bool = field(
        Bool, "0+", "Whether to return what the client may do with the cluster (KIP-430)."
    )


class DescribeClusterBroker(Struct):
    """One broker: its id, address and rack."""

    broker_id: int = field(Int32, "0+", "The broker.")
    host: str = field(String, "0+", "The host.")
    port: int = field(Int32, "0+", "The port.")
    rack: str | None = field(String, "0+", "Its rack, or null.", nullable="0+", default=None)


class DescribeClusterResponse(Message, key=ApiKey.DESCRIBE_CLUSTER, valid="0", flexible="0+"):
    """The brokers and the controller (Kafka: DescribeClusterResponse.json)."""

    throttle_time_ms: int = field(
        Int32,
        "0+",
        "How long the client must pause because it exceeded a quota, in ms (KIP-13).",
    )
    error_code: int = field(Int16, "0+", "The error, or 0.")
    error_message: str | None = field(
        String, "0+", "What went wrong, or null.", nullable="0+", default=None
    )
    cluster_id: str = field(String, "0+", "The cluster's id.")
    controller_id: int = field(
        Int32, "0+", "The controller's broker id; -1 if there is none.", default=-1
    )
    brokers: list[DescribeClusterBroker] = field(
        Array(DescribeClusterBroker), "0+", "The brokers that are alive."
    )
    cluster_authorized_operations: int = field(
        Int32,
        "0+",
        "A bit for each allowed AclOperation; the lowest int32: not requested (KIP-430).",
        default=-2147483648,
    )
