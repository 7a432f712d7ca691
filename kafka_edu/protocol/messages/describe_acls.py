"""DescribeAcls (key 29): return the rules on who may do what (KIP-140)."""

from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.fields import field
from kafka_edu.protocol.schema import Message, Struct
from kafka_edu.protocol.types import Array, Int8, Int16, Int32, String


class DescribeAclsRequest(Message, key=ApiKey.DESCRIBE_ACLS, valid="0-2", flexible="2+"):
    """The filter for the rules to return (Kafka: DescribeAclsRequest.json)."""

    resource_type_filter: int = field(
        Int8, "0+", "The kind of resource, by ResourceType.java; 1: any."
    )
    resource_name_filter: str | None = field(String, "0+", "The name; null: any.", nullable="0+")
    pattern_type_filter: int = field(
        Int8,
        "1+",
        "1 any, 2 every pattern that matches the name, 3 literal, 4 prefixed (KIP-290).",
        default=3,
        ignorable=True,
    )
    principal_filter: str | None = field(String, "0+", "The principal; null: any.", nullable="0+")
    host_filter: str | None = field(String, "0+", "The host; null: any.", nullable="0+")
    operation: int = field(Int8, "0+", "The operation, by AclOperation.java; 1: any.")
    permission_type: int = field(Int8, "0+", "1 any, 2 deny, 3 allow.")


class AclDescription(Struct):
    """One rule: it allows or denies a principal an operation from a host."""

    principal: str = field(String, "0+", "The principal, `User:alice`.")
    host: str = field(String, "0+", "The host.")
    operation: int = field(Int8, "0+", "The operation, by AclOperation.java.")
    permission_type: int = field(Int8, "0+", "2 deny, 3 allow, by AclPermissionType.java.")


class DescribeAclsResource(Struct):
    """One resource and its rules."""

    resource_type: int = field(Int8, "0+", "The kind of resource, by ResourceType.java.")
    resource_name: str = field(String, "0+", "Its name.")
    pattern_type: int = field(
        Int8, "1+", "3 literal, 4 prefixed (KIP-290).", default=3, ignorable=True
    )
    acls: list[AclDescription] = field(Array(AclDescription), "0+", "The rules.")


class DescribeAclsResponse(Message, key=ApiKey.DESCRIBE_ACLS, valid="0-2", flexible="2+"):
    """The rules that match the filter (Kafka: DescribeAclsResponse.json)."""

    throttle_time_ms: int = field(
        Int32,
        "0+",
        "How long the client must pause because it exceeded a quota, in ms (KIP-13).",
    )
    error_code: int = field(Int16, "0+", "The error, or 0.")
    error_message: str | None = field(String, "0+", "What went wrong, or null.", nullable="0+")
    resources: list[DescribeAclsResource] = field(
        Array(DescribeAclsResource), "0+", "Resources with rules that match."
    )
