"""CreateAcls (key 30): add rules on who may do what (KIP-140)."""

from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.fields import field
from kafka_edu.protocol.schema import Message, Struct
from kafka_edu.protocol.types import Array, Int8, Int16, Int32, String


class AclCreation(Struct):
    """One rule to add: it allows or denies a principal an operation on a resource."""

    resource_type: int = field(Int8, "0+", "The kind of resource, by ResourceType.java.")
    resource_name: str = field(String, "0+", "Its name.")
    resource_pattern_type: int = field(Int8, "1+", "3 literal, 4 prefixed (KIP-290).", default=3)
    principal: str = field(String, "0+", "The principal, `User:alice`.")
    host: str = field(String, "0+", "The host.")
    operation: int = field(Int8, "0+", "The operation, by AclOperation.java.")
    permission_type: int = field(Int8, "0+", "2 deny, 3 allow, by AclPermissionType.java.")


class CreateAclsRequest(Message, key=ApiKey.CREATE_ACLS, valid="0-2", flexible="2+"):
    """The rules to add (Kafka: CreateAclsRequest.json)."""

    creations: list[AclCreation] = field(Array(AclCreation), "0+", "The rules to add.")


class AclCreationResult(Struct):
    """The result for one rule."""

    error_code: int = field(Int16, "0+", "The error, or 0.")
    error_message: str | None = field(String, "0+", "What went wrong, or null.", nullable="0+")


class CreateAclsResponse(Message, key=ApiKey.CREATE_ACLS, valid="0-2", flexible="2+"):
    """The result for each rule (Kafka: CreateAclsResponse.json)."""

    throttle_time_ms: int = field(
        Int32,
        "0+",
        "How long the client must pause because it exceeded a quota, in ms (KIP-13).",
    )
    results: list[AclCreationResult] = field(Array(AclCreationResult), "0+", "The results.")
