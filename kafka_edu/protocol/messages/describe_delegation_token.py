"""DescribeDelegationToken (key 41): return the delegation tokens of some owners (KIP-48)."""

from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.fields import field
from kafka_edu.protocol.schema import Message, Struct
from kafka_edu.protocol.types import Array, Bytes, Int16, Int32, Int64, String


class DescribeDelegationTokenOwner(Struct):
    """A principal whose tokens are wanted."""

    principal_type: str = field(String, "0+", "The kind of principal: `User`.")
    principal_name: str = field(String, "0+", "Its name.")


class DescribeDelegationTokenRequest(
    Message, key=ApiKey.DESCRIBE_DELEGATION_TOKEN, valid="0-2", flexible="2+"
):
    """The owners whose tokens are wanted (Kafka: DescribeDelegationTokenRequest.json)."""

    owners: list[DescribeDelegationTokenOwner] | None = field(
        Array(DescribeDelegationTokenOwner),
        "0+",
        "The owners of the tokens to return; null: all owners.",
        nullable="0+",
    )


class DescribedDelegationTokenRenewer(Struct):
    """A principal that may renew the token."""

    principal_type: str = field(String, "0+", "The kind of principal: `User`.")
    principal_name: str = field(String, "0+", "Its name.")


class DescribedDelegationToken(Struct):
    """One token: its owner, its times and its secret."""

    principal_type: str = field(String, "0+", "The kind of principal: `User`.")
    principal_name: str = field(String, "0+", "Its name.")
    issue_timestamp: int = field(Int64, "0+", "When the token was created, in ms since 1970.")
    expiry_timestamp: int = field(
        Int64, "0+", "When the token expires unless it is renewed, in ms since 1970."
    )
    max_timestamp: int = field(
        Int64, "0+", "The latest time to which the token can be renewed, in ms since 1970."
    )
    token_id: str = field(String, "0+", "The token's id.")
    hmac: bytes = field(Bytes, "0+", "The token's HMAC, which identifies the token.")
    renewers: list[DescribedDelegationTokenRenewer] = field(
        Array(DescribedDelegationTokenRenewer),
        "0+",
        "The other principals that may renew the token.",
    )


class DescribeDelegationTokenResponse(
    Message, key=ApiKey.DESCRIBE_DELEGATION_TOKEN, valid="0-2", flexible="2+"
):
    """The tokens of these owners (Kafka: DescribeDelegationTokenResponse.json)."""

    error_code: int = field(Int16, "0+", "The error, or 0.")
    tokens: list[DescribedDelegationToken] = field(
        Array(DescribedDelegationToken), "0+", "The tokens."
    )
    throttle_time_ms: int = field(
        Int32,
        "0+",
        "How long the client must pause because it exceeded a quota, in ms (KIP-13).",
    )
