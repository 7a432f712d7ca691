"""UpdateFeatures (key 57): change the versions of features for the whole cluster (KIP-584)."""

from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.fields import field
from kafka_edu.protocol.schema import Message, Struct
from kafka_edu.protocol.types import Array, Bool, Int16, Int32, String


class FeatureUpdateKey(Struct):
    """One feature, and its new highest version."""

    feature: str = field(String, "0+", "The feature.")
    max_version_level: int = field(
        Int16, "0+", "The highest version from now on; below 1: remove the feature."
    )
    allow_downgrade: bool = field(Bool, "0+", "Whether the version may become lower.")


class UpdateFeaturesRequest(Message, key=ApiKey.UPDATE_FEATURES, valid="0", flexible="0+"):
    """The features to change (Kafka: UpdateFeaturesRequest.json)."""

    timeout_ms: int = field(
        Int32, "0+", "How long the broker may take to answer, in ms.", default=60000
    )
    feature_updates: list[FeatureUpdateKey] = field(Array(FeatureUpdateKey), "0+", "The changes.")


class UpdatableFeatureResult(Struct):
    """The result for one feature."""

    feature: str = field(String, "0+", "The feature.")
    error_code: int = field(Int16, "0+", "The error, or 0.")
    error_message: str | None = field(String, "0+", "What went wrong, or null.", nullable="0+")


class UpdateFeaturesResponse(Message, key=ApiKey.UPDATE_FEATURES, valid="0", flexible="0+"):
    """The result for each feature (Kafka: UpdateFeaturesResponse.json)."""

    throttle_time_ms: int = field(
        Int32,
        "0+",
        "How long the client must pause because it exceeded a quota, in ms (KIP-13).",
    )
    error_code: int = field(Int16, "0+", "The error of the whole request, or 0.")
    error_message: str | None = field(String, "0+", "What went wrong, or null.", nullable="0+")
    results: list[UpdatableFeatureResult] = field(
        Array(UpdatableFeatureResult), "0+", "The results."
    )
