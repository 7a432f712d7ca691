"""IncrementalAlterConfigs (key 44): change single configs of a resource (KIP-339)."""

from enum import IntEnum

from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.fields import field
from kafka_edu.protocol.schema import Message, Struct
from kafka_edu.protocol.types import Array, Bool, Int8, Int16, Int32, String


class OpType(IntEnum):
    """The operations on a config; each value is the operation's number on the wire
    (AlterConfigOp.OpType).
    """

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class AlterableConfig(Struct):
    """One config: its name, the operation on it, and the operation's value."""

    name: str = field(String, "0+", "The key.")
    config_operation: int = field(
        Int8, "0+", "0 set, 1 delete, 2 append to a list, 3 subtract from a list (KIP-339)."
    )
    value: str | None = field(String, "0+", "The value.", nullable="0+")


class AlterConfigsResource(Struct):
    """One resource, and the changes of its configs."""

    resource_type: int = field(Int8, "0+", "2 topic, 4 broker, 8 a broker's loggers.")
    resource_name: str = field(String, "0+", "Its name.")
    configs: list[AlterableConfig] = field(Array(AlterableConfig), "0+", "The configs.")


class IncrementalAlterConfigsRequest(
    Message, key=ApiKey.INCREMENTAL_ALTER_CONFIGS, valid="0-1", flexible="1+"
):
    """The changes of each resource (Kafka: IncrementalAlterConfigsRequest.json)."""

    resources: list[AlterConfigsResource] = field(
        Array(AlterConfigsResource), "0+", "The resources."
    )
    validate_only: bool = field(Bool, "0+", "True: only check the request and change nothing.")


class AlterConfigsResourceResponse(Struct):
    """The result for one resource."""

    error_code: int = field(Int16, "0+", "The error, or 0.")
    error_message: str | None = field(String, "0+", "What went wrong, or null.", nullable="0+")
    resource_type: int = field(Int8, "0+", "2 topic, 4 broker, 8 a broker's loggers.")
    resource_name: str = field(String, "0+", "Its name.")


class IncrementalAlterConfigsResponse(
    Message, key=ApiKey.INCREMENTAL_ALTER_CONFIGS, valid="0-1", flexible="1+"
):
    """The result for each resource (Kafka: IncrementalAlterConfigsResponse.json)."""

    throttle_time_ms: int = field(
        Int32,
        "0+",
        "How long the client must pause because it exceeded a quota, in ms (KIP-13).",
    )
    responses: list[AlterConfigsResourceResponse] = field(
        Array(AlterConfigsResourceResponse), "0+", "The results."
    )
