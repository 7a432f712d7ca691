"""Answer DescribeAcls, CreateAcls and DeleteAcls in a broker without an authorizer (Kafka:
AclApis.scala, and the checks in its request classes).

The answer for every filter and every rule is SECURITY_DISABLED. A request contains types, for
example of a resource, as numbers. A client's library writes 0 for a type that it does not know. If
a request contains a 0, the broker closes the connection, as in Kafka. Numbers above the defined
ones are also unknown, but Kafka accepts them, and so does this broker.
"""

from typing import Final

from kafka_edu.common.errors import Errors
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.messages.create_acls import (
    AclCreationResult,
    CreateAclsRequest,
    CreateAclsResponse,
)
from kafka_edu.protocol.messages.delete_acls import (
    DeleteAclsFilter,
    DeleteAclsFilterResult,
    DeleteAclsRequest,
    DeleteAclsResponse,
)
from kafka_edu.protocol.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse
from kafka_edu.server.api_call import ApiCall
from kafka_edu.server.kafka_apis import KafkaApis

UNKNOWN = 0
NO_AUTHORIZER: Final = "No Authorizer is configured on the broker"
"""Kafka's error message. DescribeAcls sends it without a full stop. CreateAcls and DeleteAcls add a
full stop.
"""


class AclsApi:
    def register(self, apis: KafkaApis) -> None:
        apis.serve(
            ApiKey.DESCRIBE_ACLS, DescribeAclsRequest, self.handle_describe, self._describe_error
        )
        apis.serve(ApiKey.CREATE_ACLS, CreateAclsRequest, self.handle_create, self._create_error)
        apis.serve(ApiKey.DELETE_ACLS, DeleteAclsRequest, self.handle_delete, self._delete_error)

    def handle_describe(self, call: ApiCall, request: DescribeAclsRequest) -> None:
        _disabled(call, NO_AUTHORIZER, has_unknown=_is_unknown(request))

    def handle_create(self, call: ApiCall, request: CreateAclsRequest) -> None:
        unknown = any(
            UNKNOWN in (c.resource_type, c.resource_pattern_type, c.operation, c.permission_type)
            for c in request.creations
        )
        _disabled(call, f"{NO_AUTHORIZER}.", has_unknown=unknown)

    def handle_delete(self, call: ApiCall, request: DeleteAclsRequest) -> None:
        _disabled(call, f"{NO_AUTHORIZER}.", has_unknown=any(map(_is_unknown, request.filters)))

    @staticmethod
    def _describe_error(
        _: DescribeAclsRequest, __: int, error: Errors, message: str
    ) -> DescribeAclsResponse:
        return DescribeAclsResponse(error_code=error, error_message=message)

    @staticmethod
    def _create_error(
        request: CreateAclsRequest, _: int, error: Errors, message: str
    ) -> CreateAclsResponse:
        return CreateAclsResponse(
            results=[
                AclCreationResult(error_code=error, error_message=message)
                for _ in request.creations
            ]
        )

    @staticmethod
    def _delete_error(
        request: DeleteAclsRequest, _: int, error: Errors, message: str
    ) -> DeleteAclsResponse:
        return DeleteAclsResponse(
            filter_results=[
                DeleteAclsFilterResult(error_code=error, error_message=message)
                for _ in request.filters
            ]
        )


def _is_unknown(wanted: DescribeAclsRequest | DeleteAclsFilter) -> bool:
    return UNKNOWN in (
        wanted.resource_type_filter,
        wanted.pattern_type_filter,
        wanted.operation,
        wanted.permission_type,
    )


def _disabled(call: ApiCall, message: str, *, has_unknown: bool) -> None:
    if has_unknown:
        call.close("an ACL or a filter with a type of 0, which is no type")
    else:
        call.respond_error(Errors.SECURITY_DISABLED, message)
