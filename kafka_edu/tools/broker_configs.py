"""Read and change configs of running brokers, by requests to brokers, for the tool `configs`.

(Kafka: ConfigCommand.processBrokerConfig; KIP-226)
"""

from collections.abc import Mapping
from typing import Final

from kafka_edu.clients.admin.admin import Admin
from kafka_edu.clients.admin.config_calls import ConfigEntry, ConfigResource
from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.protocol.messages.describe_configs import ConfigSource, ResourceType
from kafka_edu.server.config.settings_check import check_settings, only_for_one_broker
from kafka_edu.tools.admin_client import open_admin
from kafka_edu.tools.config_options import ConfigOptions, configs_to_add
from kafka_edu.tools.options import OptionSet
from kafka_edu.tools.tool import (
    ToolError,
    illegal_argument,
    java_class,
    warn_of_gaps,
)

#: The source of a config's value, in the words of Kafka's tool (ConfigEntry.ConfigSource).
SOURCES: Final[Mapping[int, str]] = {
    ConfigSource.TOPIC: "DYNAMIC_TOPIC_CONFIG",
    ConfigSource.DYNAMIC_BROKER: "DYNAMIC_BROKER_CONFIG",
    ConfigSource.DYNAMIC_DEFAULT_BROKER: "DYNAMIC_DEFAULT_BROKER_CONFIG",
    ConfigSource.STATIC_BROKER: "STATIC_BROKER_CONFIG",
    ConfigSource.DEFAULT: "DEFAULT_CONFIG",
}


async def run_broker_configs(
    o: ConfigOptions, given: OptionSet, properties: Mapping[str, str]
) -> None:
    """Show or change the configs. Raises ToolError, KafkaException, OSError."""
    if not given.has(o.entity_name) and not given.has(o.entity_default):
        raise illegal_argument(
            "At least one of --entity-name or --entity-default must be specified with"
            " --bootstrap-server"
        )
    types = given.values(o.entity_type)
    if len(types) != 1:
        raise illegal_argument(
            "Exactly one --entity-type must be specified with --bootstrap-server"
        )
    if types[0] != "brokers":
        raise illegal_argument(
            f"--zookeeper option must be specified for entity-type Buffer({types[0]})"
        )
    name = given.value(o.entity_name) or ""
    async with open_admin(given.one(o.bootstrap_server), properties) as admin:
        await _check_broker(admin, name)
        if given.has(o.alter):
            await _alter(admin, o, given, name)
        else:
            await _describe(admin, name)


async def _describe(admin: Admin, name: str) -> None:
    entries = await _dynamic_entries(admin, name, synonyms=True)
    print(
        f"Configs for broker {name} are:"
        if name
        else "Default config for brokers in the cluster are:"
    )
    for entry in entries:
        synonyms = ", ".join(
            f"{SOURCES.get(each.source, 'UNKNOWN')}:{each.name}={_shown(each.value)}"
            for each in entry.synonyms
        )
        print(
            f"  {entry.name}={_shown(entry.value)}"
            f" sensitive={'true' if entry.sensitive else 'false'} synonyms={{{synonyms}}}"
        )


def _shown(value: str | None) -> str:
    return "null" if value is None else value


async def _alter(admin: Admin, o: ConfigOptions, given: OptionSet, name: str) -> None:
    """Change one broker's dynamic configs.

    AlterConfigs replaces all dynamic configs, so the present ones are read first.
    """
    added = configs_to_add(given, o)
    deleted = [key.strip() for key in given.values(o.delete_config)]
    old = {entry.name: entry.value for entry in await _dynamic_entries(admin, name, synonyms=False)}
    if missing := [key for key in deleted if key not in old]:
        raise KafkaException(Errors.INVALID_CONFIG, f"Invalid config(s): {','.join(missing)}")
    new = {key: value for key, value in (old | added).items() if key not in deleted}
    if secret := [key for key, value in new.items() if value is None]:
        raise KafkaException(
            Errors.INVALID_CONFIG,
            "All sensitive broker config entries must be specified for --alter, missing entries:"
            f" Set({', '.join(secret)})",
        )
    resource = ConfigResource(ResourceType.BROKER, name)
    values = {key: value for key, value in new.items() if value is not None}
    refused = (await admin.alter_configs({resource: values})).errors.get(resource)
    if refused:
        raise ToolError(
            "java.util.concurrent.ExecutionException", f"{java_class(refused)}: {refused.message}"
        )
    findings = [*check_settings(added), *(() if name else only_for_one_broker(added))]
    warn_of_gaps(finding.text for finding in findings)
    print(
        f"Completed updating config for broker: {name}."
        if name
        else "Completed updating default config for brokers in the cluster,"
    )


async def _dynamic_entries(admin: Admin, name: str, *, synonyms: bool) -> list[ConfigEntry]:
    """Return the broker's own dynamic configs. For an empty name, return those of all brokers."""
    resource = ConfigResource(ResourceType.BROKER, name)
    entries = (await admin.describe_configs([resource], include_synonyms=synonyms))[resource]
    source = ConfigSource.DYNAMIC_BROKER if name else ConfigSource.DYNAMIC_DEFAULT_BROKER
    return [entry for entry in entries.values() if entry.source is source]


async def _check_broker(admin: Admin, name: str) -> None:
    """Check that the broker is alive. Raises ToolError for a name that is not a number."""
    if not name:
        return
    if not name.isdecimal():
        raise illegal_argument(f'For input string: "{name}"')
    if int(name) not in {node.id for node in (await admin.describe_cluster()).nodes}:
        raise KafkaException(
            Errors.BROKER_NOT_AVAILABLE, f"there is no broker {name} in the cluster"
        )
