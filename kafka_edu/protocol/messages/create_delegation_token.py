"""CreateDelegationToken (key 38): create a token for authentication (KIP-48)."""

from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.fields import field
from kafka_edu.protocol.schema import Message, Struct
from kafka_edu.protocol.types import Array, Bytes, Int16, Int32, Int64, String


class CreatableRenewers(Struct):
    """A principal that may renew the token."""

    principal_type: str = field(String, "0+", "The kind of principal: `User`.")
    principal_name: str = field(String, "0+", "Its name.")


class CreateDelegationTokenRequest(
    Message, key=ApiKey.CREATE_DELEGATION_TOKEN, valid="0-2", flexible="2+"
):
    """The owner and the lifetime of the new token (Kafka: CreateDelegationTokenRequest.json)."""

    renewers: list[CreatableRenewers] = field(
        Array(CreatableRenewers), "0+", "The other principals that may renew the token."
    )
    max_lifetime_ms: int = field(
        Int64, "0+", "The longest lifetime of the token, in ms; -1: the broker's own limit."
    )


class CreateDelegationTokenResponse(
    Message, key=ApiKey.CREATE_DELEGATION_TOKEN, valid="0-2", flexible="2+"
):
    """The new token (Kafka: CreateDelegationTokenResponse.json)."""

    error_code: int = field(Int16, "0+", "The error, or 0.")
    principal_type: str = field(String, "0+", "The kind of principal: `User`.")
    principal_name: str = field(String, "0+", "Its name.")
    issue_timestamp_ms: int = field(Int64, "0+", "When the token was created, in ms since 1970.")
    expiry_timestamp_ms: int = field(
        Int64, "0+", "When the token expires unless it is renewed, in ms since 1970."
    )
    max_timestamp_ms: int = field(
        Int64, "0+", "The latest time to which the token can be renewed, in ms since 1970."
    )
    token_id: str = field(String, "0+", "The token's id.")
    hmac: bytes = field(Bytes, "0+", "The token's HMAC, which identifies the token.")
    throttle_time_ms: int = field(
        Int32,
        "0+",
        "How long the client must pause because it exceeded a quota, in ms (KIP-13).",
    )
