"""ApiVersions (key 18): list the requests that a broker supports, with their versions (KIP-35)."""

from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.fields import field
from kafka_edu.protocol.schema import Message, Struct
from kafka_edu.protocol.types import Array, Int16, Int32, Int64, String


class ApiVersionsRequest(Message, key=ApiKey.API_VERSIONS, valid="0-3", flexible="3+"):
    """The first request on a connection (Kafka: ApiVersionsRequest.json)."""

    client_software_name: str = field(
        String,
        "3+",
        "The name of the client library, such as `apache-kafka-java` (KIP-511).",
        ignorable=True,
    )
    client_software_version: str = field(
        String, "3+", "The version of the client library (KIP-511).", ignorable=True
    )


class ApiVersion(Struct):
    """An API key that the broker serves, with its lowest and highest version."""

    api_key: int = field(Int16, "0+", "The key.")
    min_version: int = field(Int16, "0+", "The lowest version.")
    max_version: int = field(Int16, "0+", "The highest version.")


class SupportedFeatureKey(Struct):
    """A feature that the broker supports (KIP-584)."""

    name: str = field(String, "3+", "Its name.")
    min_version: int = field(Int16, "3+", "The lowest version.")
    max_version: int = field(Int16, "3+", "The highest version.")


class FinalizedFeatureKey(Struct):
    """A feature that all brokers have agreed on (KIP-584)."""

    name: str = field(String, "3+", "Its name.")
    max_version_level: int = field(Int16, "3+", "The highest version.")
    min_version_level: int = field(Int16, "3+", "The lowest version.")


class ApiVersionsResponse(Message, key=ApiKey.API_VERSIONS, valid="0-3", flexible="3+"):
    """The versions that the broker serves (Kafka: ApiVersionsResponse.json).

    If the broker does not know the version of the ApiVersions request, the response has version 0
    and the error UNSUPPORTED_VERSION. The header of the response is never flexible, because the
    client cannot know yet which versions the broker supports.
    """

    error_code: int = field(Int16, "0+", "The error, or 0.")
    api_keys: list[ApiVersion] = field(
        Array(ApiVersion), "0+", "The API keys that the broker serves, with their versions."
    )
    throttle_time_ms: int = field(
        Int32,
        "1+",
        "How long the client must pause because it exceeded a quota, in ms (KIP-13).",
        ignorable=True,
    )
    supported_features: list[SupportedFeatureKey] = field(
        Array(SupportedFeatureKey), "3+", "Features that the broker supports (KIP-584).", tag=0
    )
    finalized_features_epoch: int = field(
        Int64,
        "3+",
        "The number of changes to the finalized features so far; -1: unknown (KIP-584).",
        default=-1,
        tag=1,
        ignorable=True,
    )
    finalized_features: list[FinalizedFeatureKey] = field(
        Array(FinalizedFeatureKey),
        "3+",
        "Features that all brokers have agreed on (KIP-584).",
        tag=2,
    )
