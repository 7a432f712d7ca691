"""DescribeDelegationToken (key 41): the tokens of owners (KIP-48)."""

from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.fields import field
from kafka_edu.protocol.schema import Message, Struct
from kafka_edu.protocol.types import Array, Bytes, Int16, Int32, Int64, String


class DescribeDelegationTokenOwner(Struct):
    """An owner of tokens."""

    principal_type: str = field(String, "0+", "The kind of principal: `User`.")
    principal_name: str = field(String, "0+", "Its name.")


class DescribeDelegationTokenRequest(
    Message, key=ApiKey.DESCRIBE_DELEGATION_TOKEN, valid="0-2", flexible="2+"
):
    """Whose tokens (Kafka: DescribeDelegationTokenRequest.json)."""

    owners: list[DescribeDelegationTokenOwner] | None = field(
        Array(DescribeDelegationTokenOwner), "0+", "Whose tokens; null: all.", nullable="0+"
    )


class DescribedDelegationTokenRenewer(Struct):
    """Somebody who may renew the token."""

    principal_type: str = field(String, "0+", "The kind of principal: `User`.")
    principal_name: str = field(String, "0+", "Its name.")


class DescribedDelegationToken(Struct):
    """One token."""

    principal_type: str = field(String, "0+", "The kind of principal: `User`.")
    principal_name: str = field(String, "0+", "Its name.")
    issue_timestamp: int = field(Int64, "0+", "When it was made, in ms since 1970.")
    expiry_timestamp: int = field(
        Int64, "0+", "When it ends unless it is renewed, in ms since 1970."
    )
    max_timestamp: int = field(Int64, "0+", "Until when it can be renewed, in ms since 1970.")
    token_id: str = field(String, "0+", "The token's id.")
    hmac: bytes = field(Bytes, "0+", "The token's HMAC, by which it is known.")
    renewers: list[DescribedDelegationTokenRenewer] = field(
        Array(DescribedDelegationTokenRenewer), "0+", "Who else may renew it."
    )


class DescribeDelegationTokenResponse(
    Message, key=ApiKey.DESCRIBE_DELEGATION_TOKEN, valid="0-2", flexible="2+"
):
    """The tokens (Kafka: DescribeDelegationTokenResponse.json)."""

    error_code: int = field(Int16, "0+", "The error, or 0.")
    tokens: list[DescribedDelegationToken] = field(
        Array(DescribedDelegationToken), "0+", "The tokens."
    )
    throttle_time_ms: int = field(
        Int32,
        "0+",
        "How long the client must keep silent because it went over a quota, in ms (KIP-13).",
    )
