"""SaslHandshake (key 17): the client chooses a SASL mechanism."""

from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.fields import field
from kafka_edu.protocol.schema import Message
from kafka_edu.protocol.types import Array, Int16, String


class SaslHandshakeRequest(Message, key=ApiKey.SASL_HANDSHAKE, valid="0-1", flexible="none"):
    """The mechanism that the client wants (Kafka: SaslHandshakeRequest.json)."""

    mechanism: str = field(String, "0+", "The mechanism that the client wants to use.")


class SaslHandshakeResponse(Message, key=ApiKey.SASL_HANDSHAKE, valid="0-1", flexible="none"):
    """Whether the broker supports the mechanism (Kafka: SaslHandshakeResponse.json)."""

    error_code: int = field(Int16, "0+", "The error, or 0.")
    mechanisms: list[str] = field(Array(String), "0+", "The mechanisms that the broker offers.")
