"""ExpireDelegationToken (key 40): make a delegation token expire, now or later (KIP-48)."""

from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.fields import field
from kafka_edu.protocol.schema import Message
from kafka_edu.protocol.types import Bytes, Int16, Int32, Int64


class ExpireDelegationTokenRequest(
    Message, key=ApiKey.EXPIRE_DELEGATION_TOKEN, valid="0-2", flexible="2+"
):
    """The token, and when it expires (Kafka: ExpireDelegationTokenRequest.json)."""

    hmac: bytes = field(Bytes, "0+", "The token's HMAC, which identifies the token.")
    expiry_time_period_ms: int = field(
        Int64, "0+", "The time after which the token expires, in ms; negative: at once."
    )


class ExpireDelegationTokenResponse(
    Message, key=ApiKey.EXPIRE_DELEGATION_TOKEN, valid="0-2", flexible="2+"
):
    """The time when the token expires (Kafka: ExpireDelegationTokenResponse.json)."""

    error_code: int = field(Int16, "0+", "The error, or 0.")
    expiry_timestamp_ms: int = field(
        Int64, "0+", "When the token expires unless it is renewed, in ms since 1970."
    )
    throttle_time_ms: int = field(
        Int32,
        "0+",
        "How long the client must pause because it exceeded a quota, in ms (KIP-13).",
    )
