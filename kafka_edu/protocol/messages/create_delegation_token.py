"""CreateDelegationToken (key 38): a token to authenticate by (KIP-48)."""

from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.fields import field
from kafka_edu.protocol.schema import Message, Struct
from kafka_edu.protocol.types import Array, Bytes, Int16, Int32, Int64, String


class CreatableRenewers(Struct):
    """Somebody who may renew the token."""

    principal_type: str = field(String, "0+", "The kind of principal: `User`.")
    principal_name: str = field(String, "0+", "Its name.")


class CreateDelegationTokenRequest(
    Message, key=ApiKey.CREATE_DELEGATION_TOKEN, valid="0-2", flexible="2+"
):
    """A token to make (Kafka: CreateDelegationTokenRequest.json)."""

    renewers: list[CreatableRenewers] = field(
        Array(CreatableRenewers), "0+", "Who else may renew it."
    )
    max_lifetime_ms: int = field(
        Int64, "0+", "How long it lives at most, in ms; -1: as the broker says."
    )


class CreateDelegationTokenResponse(
    Message, key=ApiKey.CREATE_DELEGATION_TOKEN, valid="0-2", flexible="2+"
):
    """The token (Kafka: CreateDelegationTokenResponse.json)."""

    error_code: int = field(Int16, "0+", "The error, or 0.")
    principal_type: str = field(String, "0+", "The kind of principal: `User`.")
    principal_name: str = field(String, "0+", "Its name.")
    issue_timestamp_ms: int = field(Int64, "0+", "When it was made, in ms since 1970.")
    expiry_timestamp_ms: int = field(
        Int64, "0+", "When it ends unless it is renewed, in ms since 1970."
    )
    max_timestamp_ms: int = field(Int64, "0+", "Until when it can be renewed, in ms since 1970.")
    token_id: str = field(String, "0+", "The token's id.")
    hmac: bytes = field(Bytes, "0+", "The token's HMAC, by which it is known.")
    throttle_time_ms: int = field(
        Int32,
        "0+",
        "How long the client must keep silent because it went over a quota, in ms (KIP-13).",
    )
