"""The admin client's calls about configs: describe, alter and incremental_alter_configs.

Every broker knows the configs of a topic. A request for the configs of one broker goes to this
broker, because only this broker knows its properties file. The broker name "" means the defaults of
all brokers.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple

from kafka_edu.clients.admin.admin_call import (
    ANY_BROKER,
    AdminCall,
    Broker,
    Route,
    expect,
    failed,
)
from kafka_edu.clients.client_errors import ClientException
from kafka_edu.common.errors import Errors
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.messages.alter_configs import (
    AlterableConfig,
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResponse,
)
from kafka_edu.protocol.messages.describe_configs import (
    ConfigSource,
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    ResourceType,
)
from kafka_edu.protocol.messages.incremental_alter_configs import (
    AlterableConfig as IncrementalConfig,
)
from kafka_edu.protocol.messages.incremental_alter_configs import (
    AlterConfigsResource as IncrementalResource,
)
from kafka_edu.protocol.messages.incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
    OpType,
)
from kafka_edu.protocol.schema import Message

_NOT_SENT: Final = -1
"""The source of a config in version 0 of DescribeConfigs, which has no field for it."""


class ConfigResource(NamedTuple):
    """A topic or a broker that has configs (Kafka: ConfigResource.java)."""

    type: ResourceType
    name: str

    def __str__(self) -> str:
        return f"{self.type.name} {self.name}"


class ConfigSynonym(NamedTuple):
    name: str
    value: str | None
    source: ConfigSource


class ConfigEntry(NamedTuple):
    """One config (Kafka: ConfigEntry.java)."""

    name: str
    value: str | None
    """None if it is secret or not set."""
    source: ConfigSource
    read_only: bool
    sensitive: bool
    synonyms: tuple[ConfigSynonym, ...]
    """All sources that give a value. The first one is in force. Empty if they were not
    requested.
    """
    documentation: str | None


class AlterConfigOp(NamedTuple):
    """One change of a config."""

    name: str
    op: OpType
    value: str | None = None


def describe_configs(
    resources: Collection[ConfigResource], include_synonyms: bool, include_documentation: bool
) -> AdminCall[ConfigResource, dict[str, ConfigEntry]]:
    def read(
        _: object, answer: Message
    ) -> dict[ConfigResource, dict[str, ConfigEntry] | ClientException]:
        return {
            _resource(each.resource_type, each.resource_name): failed(
                each.error_code, each.error_message
            )
            or {
                config.name: _entry(config, each.resource_type)
                for config in sorted(each.configs, key=lambda config: config.name)
            }
            for each in expect(DescribeConfigsResponse, answer).results
        }

    return AdminCall(
        "describe_configs",
        (ApiKey.DESCRIBE_CONFIGS,),
        _routes(resources),
        lambda chosen, form: DescribeConfigsRequest(
            resources=[
                DescribeConfigsResource(
                    resource_type=kind, resource_name=name, configuration_keys=None
                )
                for kind, name in chosen
            ],
            include_synonyms=include_synonyms,
            include_documentation=include_documentation,
        ),
        read,
    )


def _entry(config: DescribeConfigsResourceResult, resource_type: int) -> ConfigEntry:
    if config.config_source != _NOT_SENT:
        source = _source(config.config_source)
    elif config.is_default:
        source = ConfigSource.DEFAULT
    elif resource_type == ResourceType.TOPIC:
        source = ConfigSource.TOPIC
    else:
        source = ConfigSource.STATIC_BROKER
    return ConfigEntry(
        config.name,
        config.value,
        source,
        config.read_only,
        config.is_sensitive,
        tuple(
            ConfigSynonym(each.name, each.value, _source(each.source)) for each in config.synonyms
        ),
        config.documentation or None,
    )


def _source(number: int) -> ConfigSource:
    return ConfigSource(number) if number in set(ConfigSource) else ConfigSource.UNKNOWN


def alter_configs(
    configs: Mapping[ConfigResource, Mapping[str, str]], validate_only: bool
) -> AdminCall[ConfigResource, None]:
    def write(chosen: Sequence[ConfigResource]) -> Message:
        return AlterConfigsRequest(
            resources=[
                AlterConfigsResource(
                    resource_type=resource.type,
                    resource_name=resource.name,
                    configs=[
                        AlterableConfig(name=name, value=value)
                        for name, value in configs[resource].items()
                    ],
                )
                for resource in chosen
            ],
            validate_only=validate_only,
        )

    return AdminCall(
        "alter_configs",
        (ApiKey.ALTER_CONFIGS,),
        _routes(configs),
        lambda chosen, form: write(chosen),
        lambda _, answer: _altered(expect(AlterConfigsResponse, answer)),
    )


def incremental_alter_configs(
    changes: Mapping[ConfigResource, Collection[AlterConfigOp]], validate_only: bool
) -> AdminCall[ConfigResource, None]:
    def write(chosen: Sequence[ConfigResource]) -> Message:
        return IncrementalAlterConfigsRequest(
            resources=[
                IncrementalResource(
                    resource_type=resource.type,
                    resource_name=resource.name,
                    configs=[
                        IncrementalConfig(name=name, config_operation=op, value=value)
                        for name, op, value in changes[resource]
                    ],
                )
                for resource in chosen
            ],
            validate_only=validate_only,
        )

    return AdminCall(
        "incremental_alter_configs",
        (ApiKey.INCREMENTAL_ALTER_CONFIGS,),
        _routes(changes),
        lambda chosen, form: write(chosen),
        lambda _, answer: _altered(expect(IncrementalAlterConfigsResponse, answer)),
    )


def _altered(
    answer: AlterConfigsResponse | IncrementalAlterConfigsResponse,
) -> dict[ConfigResource, ClientException | None]:
    return {
        _resource(each.resource_type, each.resource_name): failed(
            each.error_code, each.error_message
        )
        for each in answer.responses
    }


def _resource(kind: int, name: str) -> ConfigResource:
    return ConfigResource(ResourceType(kind), name)


def _routes(resources: Collection[ConfigResource]) -> dict[ConfigResource, Route]:
    """Return the route of each resource. Raises ClientException if the name of a broker is not a
    number.
    """
    return {resource: _route(resource) for resource in resources}


def _route(resource: ConfigResource) -> Route:
    if resource.type is ResourceType.TOPIC or not resource.name:
        return ANY_BROKER
    if not resource.name.isdecimal():
        raise ClientException(
            Errors.INVALID_REQUEST,
            f"The broker id {resource.name!r} is no number.",
            "Use a broker id such as '1', or '' for the default of all brokers.",
        )
    return Broker(int(resource.name))
