"""DeleteAcls (key 31): delete rules on who may do what (KIP-140)."""

from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.fields import field
from kafka_edu.protocol.schema import Message, Struct
from kafka_edu.protocol.types import Array, Int8, Int16, Int32, String


class DeleteAclsFilter(Struct):
    """A filter: all rules that match it are deleted."""

    resource_type_filter: int = field(
        Int8, "0+", "The kind of resource, by ResourceType.java; 1: any."
    )
    resource_name_filter: str | None = field(String, "0+", "The name; null: any.", nullable="0+")
    pattern_type_filter: int = field(
        Int8,
        "1+",
        "1 any, 2 every pattern that matches the name, 3 literal, 4 prefixed (KIP-290).",
        default=3,
    )
    principal_filter: str | None = field(String, "0+", "The principal; null: any.", nullable="0+")
    host_filter: str | None = field(String, "0+", "The host; null: any.", nullable="0+")
    operation: int = field(Int8, "0+", "The operation, by AclOperation.java; 1: any.")
    permission_type: int = field(Int8, "0+", "1 any, 2 deny, 3 allow.")


class DeleteAclsRequest(Message, key=ApiKey.DELETE_ACLS, valid="0-2", flexible="2+"):
    """The filters for the rules to delete (Kafka: DeleteAclsRequest.json)."""

    filters: list[DeleteAclsFilter] = field(
        Array(DeleteAclsFilter),
        "0+",
        "The filters; every rule that matches one of them is deleted.",
    )


class DeleteAclsMatchingAcl(Struct):
    """One rule that matched the filter, and whether it was deleted."""

    error_code: int = field(Int16, "0+", "The error, or 0.")
    error_message: str | None = field(String, "0+", "What went wrong, or null.", nullable="0+")
    resource_type: int = field(Int8, "0+", "The kind of resource, by ResourceType.java.")
    resource_name: str = field(String, "0+", "Its name.")
    pattern_type: int = field(
        Int8, "1+", "3 literal, 4 prefixed (KIP-290).", default=3, ignorable=True
    )
    principal: str = field(String, "0+", "The principal, `User:alice`.")
    host: str = field(String, "0+", "The host.")
    operation: int = field(Int8, "0+", "The operation, by AclOperation.java.")
    permission_type: int = field(Int8, "0+", "2 deny, 3 allow, by AclPermissionType.java.")


class DeleteAclsFilterResult(Struct):
    """The rules that matched one filter, or its error."""

    error_code: int = field(Int16, "0+", "The error, or 0.")
    error_message: str | None = field(String, "0+", "What went wrong, or null.", nullable="0+")
    matching_acls: list[DeleteAclsMatchingAcl] = field(
        Array(DeleteAclsMatchingAcl), "0+", "The rules that were deleted."
    )


class DeleteAclsResponse(Message, key=ApiKey.DELETE_ACLS, valid="0-2", flexible="2+"):
    """The rules that were deleted (Kafka: DeleteAclsResponse.json)."""

    throttle_time_ms: int = field(
        Int32,
        "0+",
        "How long the client must pause because it exceeded a quota, in ms (KIP-13).",
    )
    filter_results: list[DeleteAclsFilterResult] = field(
        Array(DeleteAclsFilterResult), "0+", "The results, in the order of the filters."
    )
