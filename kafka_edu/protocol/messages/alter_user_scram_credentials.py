"""AlterUserScramCredentials (key 51): create, change and delete SCRAM passwords (KIP-554)."""

from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.fields import field
from kafka_edu.protocol.schema import Message, Struct
from kafka_edu.protocol.types import Array, Bytes, Int8, Int16, Int32, String


class ScramCredentialDeletion(Struct):
    """One password to delete, named by its user and SCRAM mechanism."""

    name: str = field(String, "0+", "The user.")
    mechanism: int = field(Int8, "0+", "1 SCRAM-SHA-256, 2 SCRAM-SHA-512.")


class ScramCredentialUpsertion(Struct):
    """One password to create or change, as salt and salted hash."""

    name: str = field(String, "0+", "The user.")
    mechanism: int = field(Int8, "0+", "1 SCRAM-SHA-256, 2 SCRAM-SHA-512.")
    iterations: int = field(Int32, "0+", "The number of times the password was hashed.")
    salt: bytes = field(Bytes, "0+", "Random bytes that the client chose.")
    salted_password: bytes = field(
        Bytes, "0+", "The password, salted and hashed `iterations` times."
    )


class AlterUserScramCredentialsRequest(
    Message, key=ApiKey.ALTER_USER_SCRAM_CREDENTIALS, valid="0", flexible="0+"
):
    """The passwords to delete and to write (Kafka: AlterUserScramCredentialsRequest.json)."""

    deletions: list[ScramCredentialDeletion] = field(
        Array(ScramCredentialDeletion), "0+", "The passwords to delete."
    )
    upsertions: list[ScramCredentialUpsertion] = field(
        Array(ScramCredentialUpsertion), "0+", "The passwords to write."
    )


class AlterUserScramCredentialsResult(Struct):
    """The result for one user."""

    user: str = field(String, "0+", "The user.")
    error_code: int = field(Int16, "0+", "The error, or 0.")
    error_message: str | None = field(String, "0+", "What went wrong, or null.", nullable="0+")


class AlterUserScramCredentialsResponse(
    Message, key=ApiKey.ALTER_USER_SCRAM_CREDENTIALS, valid="0", flexible="0+"
):
    """The result for each user (Kafka: AlterUserScramCredentialsResponse.json)."""

    throttle_time_ms: int = field(
        Int32,
        "0+",
        "How long the client must pause because it exceeded a quota, in ms (KIP-13).",
    )
    results: list[AlterUserScramCredentialsResult] = field(
        Array(AlterUserScramCredentialsResult), "0+", "The results."
    )
