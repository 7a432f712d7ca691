"""DescribeConfigs, AlterConfigs and IncrementalAlterConfigs (Kafka:
KafkaApis.handleDescribeConfigsRequest …; KIP-133, KIP-226, KIP-339).

Each resource has its own error. For topics, the client can send the request to any broker. For the
configuration of a broker, the client must send the request to that broker. ConfigAdminManager does
the work.
"""

from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple, TypeVar

from kafka_edu.common.config_def import ConfigType
from kafka_edu.common.errors import Errors, KafkaException, message_beside
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.messages import alter_configs, incremental_alter_configs
from kafka_edu.protocol.messages.alter_configs import AlterConfigsRequest, AlterConfigsResponse
from kafka_edu.protocol.messages.describe_configs import (
    ConfigSource,
    DescribeConfigsRequest,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
    ResourceType,
)
from kafka_edu.protocol.messages.incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from kafka_edu.server.admin.config_admin_manager import ConfigAdminManager, ConfigOp
from kafka_edu.server.admin.config_helper import ConfigEntry
from kafka_edu.server.api_call import ApiCall
from kafka_edu.server.kafka_apis import KafkaApis

#: The number in the protocol for each type of a config (DescribeConfigsResponse.ConfigType). 0
#: means that the key is unknown.
TYPE_CODES: Final = {
    ConfigType.BOOLEAN: 1,
    ConfigType.STRING: 2,
    ConfigType.INT: 3,
    ConfigType.SHORT: 4,
    ConfigType.LONG: 5,
    ConfigType.DOUBLE: 6,
    ConfigType.LIST: 7,
    ConfigType.CLASS: 8,
    ConfigType.PASSWORD: 9,
}

R = TypeVar("R")


class _Resource(NamedTuple):
    type: int
    name: str


class ConfigsApi:
    def __init__(self, admin: ConfigAdminManager) -> None:
        self._admin = admin

    def register(self, apis: KafkaApis) -> None:
        apis.serve(
            ApiKey.DESCRIBE_CONFIGS,
            DescribeConfigsRequest,
            self.handle_describe,
            self._describe_error,
        )
        apis.serve(ApiKey.ALTER_CONFIGS, AlterConfigsRequest, self.handle_alter, self._alter_error)
        apis.serve(
            ApiKey.INCREMENTAL_ALTER_CONFIGS,
            IncrementalAlterConfigsRequest,
            self.handle_incremental_alter,
            self._incremental_error,
        )

    async def handle_describe(self, call: ApiCall, request: DescribeConfigsRequest) -> None:
        """Answer with the requested keys of each resource. If the list of keys is empty or null,
        answer with all keys.
        """
        if any(resource.resource_type not in set(ResourceType) for resource in request.resources):
            raise KafkaException(Errors.INVALID_REQUEST)
        results = []
        for resource in request.resources:
            result = DescribeConfigsResult(
                resource_type=resource.resource_type,
                resource_name=resource.resource_name,
                error_message="",
            )
            results.append(result)
            try:
                entries = await self._admin.describe(resource.resource_type, resource.resource_name)
            except KafkaException as refused:
                result.error_code, result.error_message = (
                    refused.error,
                    refused.response_message or "",
                )
                continue
            wanted = resource.configuration_keys
            chosen = [entry for entry in entries if not wanted or entry.name in wanted]
            result.configs = [
                _described(entry, request.include_synonyms, request.include_documentation)
                for entry in chosen
            ]
        call.respond(DescribeConfigsResponse(results=results))

    async def handle_alter(self, call: ApiCall, request: AlterConfigsRequest) -> None:
        """Replace the configuration of each resource. If the request contains a resource twice, the
        last entry counts.
        """
        given = {
            _Resource(r.resource_type, r.resource_name): [(c.name, c.value) for c in r.configs]
            for r in request.resources
        }
        responses = []
        for resource, configs in given.items():
            error, message = await _outcome(
                self._admin.alter(*resource, configs, request.validate_only)
            )
            responses.append(
                _altered(alter_configs.AlterConfigsResourceResponse, resource, error, message)
            )
        call.respond(AlterConfigsResponse(responses=responses))

    async def handle_incremental_alter(
        self, call: ApiCall, request: IncrementalAlterConfigsRequest
    ) -> None:
        """Change single keys of each resource. If the request contains a resource twice, the last
        entry counts.
        """
        given = {
            _Resource(r.resource_type, r.resource_name): [
                ConfigOp(c.name, c.config_operation, c.value) for c in r.configs
            ]
            for r in request.resources
        }
        responses = []
        for resource, ops in given.items():
            error, message = await _outcome(
                self._admin.incremental_alter(*resource, ops, request.validate_only)
            )
            responses.append(
                _altered(
                    incremental_alter_configs.AlterConfigsResourceResponse, resource, error, message
                )
            )
        call.respond(IncrementalAlterConfigsResponse(responses=responses))

    @staticmethod
    def _describe_error(
        request: DescribeConfigsRequest, _: int, error: Errors, message: str
    ) -> DescribeConfigsResponse:
        return DescribeConfigsResponse(
            results=[
                DescribeConfigsResult(
                    error_code=error,
                    error_message=message or error.message,
                    resource_type=r.resource_type,
                    resource_name=r.resource_name,
                )
                for r in request.resources
            ]
        )

    @staticmethod
    def _alter_error(
        request: AlterConfigsRequest, _: int, error: Errors, message: str
    ) -> AlterConfigsResponse:
        resources = [_Resource(r.resource_type, r.resource_name) for r in request.resources]
        return AlterConfigsResponse(
            responses=[
                _altered(
                    alter_configs.AlterConfigsResourceResponse,
                    r,
                    error,
                    message_beside(error, message),
                )
                for r in resources
            ]
        )

    @staticmethod
    def _incremental_error(
        request: IncrementalAlterConfigsRequest, _: int, error: Errors, message: str
    ) -> IncrementalAlterConfigsResponse:
        resources = [_Resource(r.resource_type, r.resource_name) for r in request.resources]
        return IncrementalAlterConfigsResponse(
            responses=[
                _altered(
                    incremental_alter_configs.AlterConfigsResourceResponse,
                    r,
                    error,
                    message_beside(error, message),
                )
                for r in resources
            ]
        )


async def _outcome(work: Awaitable[None]) -> tuple[Errors, str | None]:
    try:
        await work
    except KafkaException as refused:
        return refused.error, refused.response_message
    return Errors.NONE, None


def _altered(
    response: Callable[..., R], resource: _Resource, error: Errors, message: str | None
) -> R:
    """Return the result for one resource. `response` is the result's class, which differs between
    AlterConfigs and IncrementalAlterConfigs.
    """
    return response(
        error_code=error,
        error_message=message,
        resource_type=resource.type,
        resource_name=resource.name,
    )


def _documentation(entry: ConfigEntry, include: bool) -> str | None:
    """Return the documentation of a config key. Return None if it was not requested or does not
    exist. For the level of a logger return "", as Kafka does.
    """
    if entry.source is ConfigSource.DYNAMIC_BROKER_LOGGER:
        return ""
    return entry.doc or None if include else None


def _described(
    entry: ConfigEntry, include_synonyms: bool, include_documentation: bool
) -> DescribeConfigsResourceResult:
    synonyms = (
        [
            DescribeConfigsSynonym(name=s.name, value=s.value, source=s.source)
            for s in entry.synonyms
        ]
        if include_synonyms
        else []
    )
    return DescribeConfigsResourceResult(
        name=entry.name,
        value=entry.value,
        read_only=entry.read_only,
        config_source=entry.source,
        is_sensitive=entry.is_sensitive,
        synonyms=synonyms,
        config_type=TYPE_CODES[entry.type] if entry.type is not None else 0,
        documentation=_documentation(entry, include_documentation),
    )
