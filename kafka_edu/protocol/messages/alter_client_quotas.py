"""AlterClientQuotas (key 49): change the quotas of users and clients (KIP-546)."""

from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.fields import field
from kafka_edu.protocol.schema import Message, Struct
from kafka_edu.protocol.types import Array, Bool, Float64, Int16, Int32, String


class EntityData(Struct):
    """One part of the entity to which a quota applies: its type (user, client-id or ip) and its
    name.
    """

    entity_type: str = field(String, "0+", "`user`, `client-id` or `ip`.")
    entity_name: str | None = field(
        String, "0+", "The name; null: the default for this type of entity.", nullable="0+"
    )


class OpData(Struct):
    """A change of one quota: its new value, or its removal."""

    key: str = field(
        String,
        "0+",
        "The quota: `producer_byte_rate`, `consumer_byte_rate`, `request_percentage` …",
    )
    value: float = field(Float64, "0+", "The value.")
    remove: bool = field(Bool, "0+", "True: remove the quota; `value` is then ignored.")


class AlterClientQuotasRequestEntry(Struct):
    """One entity, and the changes of its quotas."""

    entity: list[EntityData] = field(
        Array(EntityData), "0+", "The owner of the quota: a user, a client id, or both."
    )
    ops: list[OpData] = field(Array(OpData), "0+", "The changes.")


class AlterClientQuotasRequest(Message, key=ApiKey.ALTER_CLIENT_QUOTAS, valid="0-1", flexible="1+"):
    """The quotas to change (Kafka: AlterClientQuotasRequest.json)."""

    entries: list[AlterClientQuotasRequestEntry] = field(
        Array(AlterClientQuotasRequestEntry), "0+", "The entities to change."
    )
    validate_only: bool = field(Bool, "0+", "True: only check the request and change nothing.")


class AlterClientQuotasResponseEntry(Struct):
    """The result for one entity."""

    error_code: int = field(Int16, "0+", "The error, or 0.")
    error_message: str | None = field(String, "0+", "What went wrong, or null.", nullable="0+")
    entity: list[EntityData] = field(
        Array(EntityData), "0+", "The owner of the quota: a user, a client id, or both."
    )


class AlterClientQuotasResponse(
    Message, key=ApiKey.ALTER_CLIENT_QUOTAS, valid="0-1", flexible="1+"
):
    """The result for each entity (Kafka: AlterClientQuotasResponse.json)."""

    throttle_time_ms: int = field(
        Int32,
        "0+",
        "How long the client must pause because it exceeded a quota, in ms (KIP-13).",
    )
    entries: list[AlterClientQuotasResponseEntry] = field(
        Array(AlterClientQuotasResponseEntry), "0+", "The results."
    )
