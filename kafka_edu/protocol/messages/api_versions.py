"""ApiVersions (key 18): which requests a broker knows, in which versions (KIP-35)."""

from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.fields import field
from kafka_edu.protocol.schema import Message, Struct
from kafka_edu.protocol.types import Array, Int16, Int32, Int64, String


class ApiVersionsRequest(Message, key=ApiKey.API_VERSIONS, valid="0-3", flexible="3+"):
    """The first request on a connection (Kafka: ApiVersionsRequest.json)."""

    client_software_name: str = field(
        String, "3+", "The client library's name, as `apache-kafka-java` (KIP-511).", ignorable=True
    )
    client_software_version: str = field(
        String, "3+", "The client library's version (KIP-511).", ignorable=True
    )


class ApiVersion(Struct):
    """One request that is served. Both ends are included."""

    api_key: int = field(Int16, "0+", "The key.")
    min_version: int = field(Int16, "0+", "The lowest version.")
    max_version: int = field(Int16, "0+", "The highest version.")


class SupportedFeatureKey(Struct):
    """A feature the broker knows (KIP-584)."""

    name: str = field(String, "3+", "Its name.")
    min_version: int = field(Int16, "3+", "The lowest version.")
    max_version: int = field(Int16, "3+", "The highest version.")


class FinalizedFeatureKey(Struct):
    """A feature all brokers agreed on (KIP-584)."""

    name: str = field(String, "3+", "Its name.")
    max_version_level: int = field(Int16, "3+", "The highest version.")
    min_version_level: int = field(Int16, "3+", "The lowest version.")


class ApiVersionsResponse(Message, key=ApiKey.API_VERSIONS, valid="0-3", flexible="3+"):
    """The versions the broker serves (Kafka: ApiVersionsResponse.json).

    An ApiVersions request of unknown version is answered in version 0 with UNSUPPORTED_VERSION. The
    response's header is never flexible, for the client cannot know yet what the broker speaks.
    """

    error_code: int = field(Int16, "0+", "The error, or 0.")
    api_keys: list[ApiVersion] = field(Array(ApiVersion), "0+", "What is served, by key.")
    throttle_time_ms: int = field(
        Int32,
        "1+",
        "How long the client must keep silent because it went over a quota, in ms (KIP-13).",
        ignorable=True,
    )
    supported_features: list[SupportedFeatureKey] = field(
        Array(SupportedFeatureKey), "3+", "Features the broker knows (KIP-584).", tag=0
    )
    finalized_features_epoch: int = field(
        Int64,
        "3+",
        "Counts the changes of the finalized features; -1: unknown (KIP-584).",
        default=-1,
        tag=1,
        ignorable=True,
    )
    finalized_features: list[FinalizedFeatureKey] = field(
        Array(FinalizedFeatureKey), "3+", "Features all brokers agreed on (KIP-584).", tag=2
    )
