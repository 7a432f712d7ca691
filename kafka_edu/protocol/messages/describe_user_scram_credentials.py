"""DescribeUserScramCredentials (key 50): return which users have SCRAM passwords (KIP-554)."""

from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.fields import field
from kafka_edu.protocol.schema import Message, Struct
from kafka_edu.protocol.types import Array, Int8, Int16, Int32, String


class UserName(Struct):
    """The name of one user."""

    name: str = field(String, "0+", "The user.")


class DescribeUserScramCredentialsRequest(
    Message, key=ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, valid="0", flexible="0+"
):
    """The users to describe (Kafka: DescribeUserScramCredentialsRequest.json)."""

    users: list[UserName] | None = field(
        Array(UserName), "0+", "The users; null or empty: all.", nullable="0+"
    )


class CredentialInfo(Struct):
    """A SCRAM mechanism for which the user has a password, with its number of iterations."""

    mechanism: int = field(Int8, "0+", "1 SCRAM-SHA-256, 2 SCRAM-SHA-512.")
    iterations: int = field(Int32, "0+", "The number of times the password was hashed.")


class DescribeUserScramCredentialsResult(Struct):
    """The SCRAM mechanisms of one user, or an error."""

    user: str = field(String, "0+", "The user.")
    error_code: int = field(Int16, "0+", "The error, or 0.")
    error_message: str | None = field(String, "0+", "What went wrong, or null.", nullable="0+")
    credential_infos: list[CredentialInfo] = field(
        Array(CredentialInfo), "0+", "The mechanisms for which the user has a password."
    )


class DescribeUserScramCredentialsResponse(
    Message, key=ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, valid="0", flexible="0+"
):
    """The SCRAM mechanisms of each user (Kafka: DescribeUserScramCredentialsResponse.json)."""

    throttle_time_ms: int = field(
        Int32,
        "0+",
        "How long the client must pause because it exceeded a quota, in ms (KIP-13).",
    )
    error_code: int = field(Int16, "0+", "The error of the whole request, or 0.")
    error_message: str | None = field(String, "0+", "What went wrong, or null.", nullable="0+")
    results: list[DescribeUserScramCredentialsResult] = field(
        Array(DescribeUserScramCredentialsResult), "0+", "The results."
    )
