"""AlterConfigs (key 33): replace all configs of a resource (KIP-133)."""

from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.fields import field
from kafka_edu.protocol.schema import Message, Struct
from kafka_edu.protocol.types import Array, Bool, Int8, Int16, Int32, String


class AlterableConfig(Struct):
    """The name and the new value of one config."""

    name: str = field(String, "0+", "The key.")
    value: str | None = field(String, "0+", "The value.", nullable="0+")


class AlterConfigsResource(Struct):
    """One resource and its new configs."""

    resource_type: int = field(Int8, "0+", "2 topic, 4 broker, 8 a broker's loggers.")
    resource_name: str = field(String, "0+", "Its name.")
    configs: list[AlterableConfig] = field(Array(AlterableConfig), "0+", "The configs.")


class AlterConfigsRequest(Message, key=ApiKey.ALTER_CONFIGS, valid="0-2", flexible="2+"):
    """The resources and their new configs (Kafka: AlterConfigsRequest.json)."""

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


class AlterConfigsResponse(Message, key=ApiKey.ALTER_CONFIGS, valid="0-2", flexible="2+"):
    """The result for each resource (Kafka: AlterConfigsResponse.json)."""

    throttle_time_ms: int = field(
        Int32,
        "0+",
        "How long the client must pause because it exceeded a quota, in ms (KIP-13).",
    )
    responses: list[AlterConfigsResourceResponse] = field(
        Array(AlterConfigsResourceResponse), "0+", "The results."
    )
