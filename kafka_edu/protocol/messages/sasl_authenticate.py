"""SaslAuthenticate (key 36): exchange the messages of a SASL mechanism (KIP-152)."""

from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.fields import field
from kafka_edu.protocol.schema import Message
from kafka_edu.protocol.types import Bytes, Int16, Int64, String


class SaslAuthenticateRequest(Message, key=ApiKey.SASL_AUTHENTICATE, valid="0-2", flexible="2+"):
    """The next SASL message from the client (Kafka: SaslAuthenticateRequest.json)."""

    auth_bytes: bytes = field(Bytes, "0+", "The next message of the mechanism, in its own format.")


class SaslAuthenticateResponse(Message, key=ApiKey.SASL_AUTHENTICATE, valid="0-2", flexible="2+"):
    """The next SASL message from the broker (Kafka: SaslAuthenticateResponse.json)."""

    error_code: int = field(Int16, "0+", "The error, or 0.")
    error_message: str | None = field(String, "0+", "What went wrong, or null.", nullable="0+")
    auth_bytes: bytes = field(Bytes, "0+", "The next message of the mechanism, in its own format.")
    session_lifetime_ms: int = field(
        Int64,
        "1+",
        "The time after which the client must authenticate again, in ms; 0: never (KIP-368).",
        ignorable=True,
    )
