"""DescribeConfigs (key 32): return the configs of topics and brokers (KIP-133)."""

from enum import IntEnum

from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.fields import field
from kafka_edu.protocol.schema import Message, Struct
from kafka_edu.protocol.types import Array, Bool, Int8, Int16, Int32, String


class ResourceType(IntEnum):
    """The types of resources; each value is the type's number on the wire (ConfigResource.Type)."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8


class ConfigSource(IntEnum):
    """Where the value of a config comes from; each member's value is its number on the wire
    (DescribeConfigsResponse.ConfigSource).
    """

    UNKNOWN = 0
    TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5
    DYNAMIC_BROKER_LOGGER = 6


class DescribeConfigsResource(Struct):
    """One resource (a topic or a broker), and the names of the wanted configs; null means all."""

    resource_type: int = field(Int8, "0+", "2 topic, 4 broker, 8 a broker's loggers.")
    resource_name: str = field(String, "0+", "Its name.")
    configuration_keys: list[str] | None = field(
        Array(String), "0+", "The keys to return; null: all.", nullable="0+"
    )


class DescribeConfigsRequest(Message, key=ApiKey.DESCRIBE_CONFIGS, valid="0-4", flexible="4+"):
    """The resources to describe (Kafka: DescribeConfigsRequest.json)."""

    resources: list[DescribeConfigsResource] = field(
        Array(DescribeConfigsResource), "0+", "The resources."
    )
    include_synonyms: bool = field(
        Bool, "1+", "Whether to return the other sources of each value (KIP-226).", ignorable=True
    )
    include_documentation: bool = field(
        Bool, "3+", "Whether to return what each key means (KIP-569).", ignorable=True
    )


class DescribeConfigsSynonym(Struct):
    """A value that another source gives to the same config."""

    name: str = field(String, "1+", "The key.", ignorable=True)
    value: str | None = field(String, "1+", "The value.", nullable="0+", ignorable=True)
    source: int = field(
        Int8, "1+", "The source of the value, with the numbers of `config_source`.", ignorable=True
    )


class DescribeConfigsResourceResult(Struct):
    """One config: its value, the source of the value, and its properties."""

    name: str = field(String, "0+", "The key.")
    value: str | None = field(
        String, "0+", "The value; null if it is secret or not set.", nullable="0+"
    )
    read_only: bool = field(Bool, "0+", "Whether the config cannot be changed.")
    is_default: bool = field(Bool, "0", "Whether it is the default.", ignorable=True)
    config_source: int = field(
        Int8,
        "1+",
        "The source of the value, as in CreateTopics; 6: this broker's loggers (KIP-226).",
        default=-1,
        ignorable=True,
    )
    is_sensitive: bool = field(
        Bool, "0+", "Whether the value is secret; a secret value is not returned."
    )
    synonyms: list[DescribeConfigsSynonym] = field(
        Array(DescribeConfigsSynonym),
        "1+",
        "All sources of the config; the first one is in force (KIP-226).",
        ignorable=True,
    )
    config_type: int = field(
        Int8,
        "3+",
        "1 boolean, 2 string, 3 int, 4 short, 5 long, 6 double, 7 list, 8 class, 9 password"
        " (KIP-569).",
        ignorable=True,
    )
    documentation: str | None = field(
        String, "3+", "What the key means (KIP-569).", nullable="0+", ignorable=True
    )


class DescribeConfigsResult(Struct):
    """One resource and its configs, or its error."""

    error_code: int = field(Int16, "0+", "The error, or 0.")
    error_message: str | None = field(String, "0+", "What went wrong, or null.", nullable="0+")
    resource_type: int = field(Int8, "0+", "2 topic, 4 broker, 8 a broker's loggers.")
    resource_name: str = field(String, "0+", "Its name.")
    configs: list[DescribeConfigsResourceResult] = field(
        Array(DescribeConfigsResourceResult), "0+", "The configs."
    )


class DescribeConfigsResponse(Message, key=ApiKey.DESCRIBE_CONFIGS, valid="0-4", flexible="4+"):
    """The configs of each resource (Kafka: DescribeConfigsResponse.json)."""

    throttle_time_ms: int = field(
        Int32,
        "0+",
        "How long the client must pause because it exceeded a quota, in ms (KIP-13).",
    )
    results: list[DescribeConfigsResult] = field(Array(DescribeConfigsResult), "0+", "The results.")
