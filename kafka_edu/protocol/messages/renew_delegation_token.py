"""RenewDelegationToken (key 39): extend the lifetime of a token (KIP-48)."""

from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.fields import field
from kafka_edu.protocol.schema import Message
from kafka_edu.protocol.types import Bytes, Int16, Int32, Int64


class RenewDelegationTokenRequest(
    Message, key=ApiKey.RENEW_DELEGATION_TOKEN, valid="0-2", flexible="2+"
):
    """The token to renew, and for how long (Kafka: RenewDelegationTokenRequest.json)."""

    hmac: bytes = field(Bytes, "0+", "The token's HMAC, which identifies the token.")
    renew_period_ms: int = field(
        Int64, "0+", "The new lifetime from now on, in ms; -1: the broker's own limit."
    )


class RenewDelegationTokenResponse(
    Message, key=ApiKey.RENEW_DELEGATION_TOKEN, valid="0-2", flexible="2+"
):
    """The new time when the token expires (Kafka: RenewDelegationTokenResponse.json)."""

    error_code: int = field(Int16, "0+", "The error, or 0.")
    expiry_timestamp_ms: int = field(
        Int64, "0+", "When the token expires unless it is renewed, in ms since 1970."
    )
    throttle_time_ms: int = field(
        Int32,
        "0+",
        "How long the client must pause because it exceeded a quota, in ms (KIP-13).",
    )
