"""AlterUserScramCredentials (key 51): SCRAM passwords are written and deleted (KIP-554)."""

from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.fields import field
from kafka_edu.protocol.schema import Message, Struct
from kafka_edu.protocol.types import Array, Bytes, Int8, Int16, Int32, String


class ScramCredentialDeletion(Struct):
    """One password to delete."""

    name: str = field(String, "0+", "The user.")
    mechanism: int = field(Int8, "0+", "1 SCRAM-SHA-256, 2 SCRAM-SHA-512.")


class ScramCredentialUpsertion(Struct):
    """One password to write."""

    name: str = field(String, "0+", "The user.")
    mechanism: int = field(Int8, "0+", "1 SCRAM-SHA-256, 2 SCRAM-SHA-512.")
    iterations: int = field(Int32, "0+", "How often the password was hashed.")
    salt: bytes = field(Bytes, "0+", "Random bytes, made by the client.")
    salted_password: bytes = field(
        Bytes, "0+", "The password, salted and hashed `iterations` times."
    )


class AlterUserScramCredentialsRequest(
    Message, key=ApiKey.ALTER_USER_SCRAM_CREDENTIALS, valid="0", flexible="0+"
):
    """The changes (Kafka: AlterUserScramCredentialsRequest.json)."""

    deletions: list[ScramCredentialDeletion] = field(
        Array(ScramCredentialDeletion), "0+", "Which to delete."
    )
    upsertions: list[ScramCredentialUpsertion] = field(
        Array(ScramCredentialUpsertion), "0+", "Which to write."
    )


class AlterUserScramCredentialsResult(Struct):
    """The result for one user."""

    user: str = field(String, "0+", "The user.")
    error_code: int = field(Int16, "0+", "The error, or 0.")
    error_message: str | None = field(String, "0+", "What went wrong, or null.", nullable="0+")


class AlterUserScramCredentialsResponse(
    Message, key=ApiKey.ALTER_USER_SCRAM_CREDENTIALS, valid="0", flexible="0+"
):
    """What came of each user (Kafka: AlterUserScramCredentialsResponse.json)."""

    throttle_time_ms: int = field(
        Int32,
        "0+",
        "How long the client must keep silent because it went over a quota, in ms (KIP-13).",
    )
    results: list[AlterUserScramCredentialsResult] = field(
        Array(AlterUserScramCredentialsResult), "0+", "The results."
    )
