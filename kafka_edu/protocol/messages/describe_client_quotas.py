"""DescribeClientQuotas (key 48): return the quotas of users and clients (KIP-546)."""

from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.fields import field
from kafka_edu.protocol.schema import Message, Struct
from kafka_edu.protocol.types import Array, Bool, Float64, Int8, Int16, Int32, String


class ComponentData(Struct):
    """A condition for one type of entity (user, client-id or ip) and its name."""

    entity_type: str = field(String, "0+", "`user`, `client-id` or `ip`.")
    match_type: int = field(Int8, "0+", "0 this name, 1 the default, 2 any.")
    match: str | None = field(String, "0+", "The name; null unless match_type is 0.", nullable="0+")


class DescribeClientQuotasRequest(
    Message, key=ApiKey.DESCRIBE_CLIENT_QUOTAS, valid="0-1", flexible="1+"
):
    """The conditions that the entities must meet (Kafka: DescribeClientQuotasRequest.json)."""

    components: list[ComponentData] = field(
        Array(ComponentData), "0+", "The filters; an entity must match all of them."
    )
    strict: bool = field(Bool, "0+", "True: only entities that have exactly these entity types.")


class EntityData(Struct):
    """One part of the entity to which a quota applies: its type (user, client-id or ip) and its
    name.
    """

    entity_type: str = field(String, "0+", "`user`, `client-id` or `ip`.")
    entity_name: str | None = field(
        String, "0+", "The name; null: the default for this type of entity.", nullable="0+"
    )


class ValueData(Struct):
    """The name and the value of one quota."""

    key: str = field(
        String,
        "0+",
        "The quota: `producer_byte_rate`, `consumer_byte_rate`, `request_percentage` …",
    )
    value: float = field(Float64, "0+", "The value.")


class DescribeClientQuotasResponseEntry(Struct):
    """One entity and its quotas."""

    entity: list[EntityData] = field(
        Array(EntityData), "0+", "The owner of the quota: a user, a client id, or both."
    )
    values: list[ValueData] = field(Array(ValueData), "0+", "Its quotas.")


class DescribeClientQuotasResponse(
    Message, key=ApiKey.DESCRIBE_CLIENT_QUOTAS, valid="0-1", flexible="1+"
):
    """The quotas of the entities that meet the conditions.

    (Kafka: DescribeClientQuotasResponse.json.)
    """

    throttle_time_ms: int = field(
        Int32,
        "0+",
        "How long the client must pause because it exceeded a quota, in ms (KIP-13).",
    )
    error_code: int = field(Int16, "0+", "The error, or 0.")
    error_message: str | None = field(String, "0+", "What went wrong, or null.", nullable="0+")
    entries: list[DescribeClientQuotasResponseEntry] | None = field(
        Array(DescribeClientQuotasResponseEntry), "0+", "The entities with quotas.", nullable="0+"
    )
