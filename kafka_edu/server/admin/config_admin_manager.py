"""Describe and alter the configs of topics, brokers and loggers (Kafka: ConfigAdminManager,
ZkAdminManager.alterConfigs; KIP-133, KIP-226, KIP-339, KIP-412).

The configs of a topic or a broker are written to /config/<type>/<name>. Then a notification is
written to /config/changes. The DynamicConfigManager of every broker reads the notification and
applies the change. The response is sent when the change is written. The change takes effect a
little later. Changes of loggers take effect at once, and only on this broker.
"""

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

from kafka_edu.cluster.metadata_cache import MetadataCache
from kafka_edu.common.config_def import ConfigDef, ConfigException, ConfigType
from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.topic import is_internal, validate_topic_name
from kafka_edu.log.log_config import TOPIC_CONFIG
from kafka_edu.protocol.messages.describe_configs import ConfigSource, ResourceType
from kafka_edu.protocol.messages.incremental_alter_configs import OpType
from kafka_edu.server.admin.broker_loggers import (
    LEVELS,
    ROOT,
    logger_levels,
    set_logger_level,
    unset_logger_level,
)
from kafka_edu.server.admin.config_helper import ConfigEntry, ConfigHelper
from kafka_edu.server.config.dynamic_broker_config import DEFAULT_ENTITY, DynamicBrokerConfig
from kafka_edu.server.config.kafka_config_keys import CONFIG_DEF
from kafka_edu.trace.events.server import EntityConfigWritten, LoggerLevelChanged
from kafka_edu.trace.tracer import Tracer
from kafka_edu.zk.kafka_zk_client import KafkaZkClient

log = logging.getLogger(__name__)

TOPICS, BROKERS = "topics", "brokers"
UNKNOWN_TYPE: Final = "Unexpected resource type UNKNOWN"


class ConfigOp(NamedTuple):
    name: str
    op: int
    """The number of the operation. It is an OpType if the broker knows the number."""
    value: str | None


class ConfigAdminManager:
    """Describes and changes configs. Only the broker's event loop may use it. Each method works on
    one resource. It raises KafkaException if this resource has an error.
    """

    def __init__(
        self,
        broker_id: int,
        zk: KafkaZkClient,
        cache: MetadataCache,
        dynamic: DynamicBrokerConfig,
        helper: ConfigHelper,
        trace: Tracer | None,
    ) -> None:
        self._broker_id = broker_id
        self._zk = zk
        self._cache = cache
        self._dynamic = dynamic
        self._helper = helper
        self._trace = trace

    async def describe(self, resource_type: int, name: str) -> list[ConfigEntry]:
        """Return all config entries of a resource. A broker can describe only itself. For a broker
        resource with an empty `name`, return the settings that apply to all brokers.
        """
        match resource_type:
            case ResourceType.TOPIC:
                validate_topic_name(name)
                if not self._cache.contains_topic(name):
                    raise KafkaException(Errors.UNKNOWN_TOPIC_OR_PARTITION)
                overrides = await self._zk.get_entity_configs(TOPICS, name)
                try:
                    return self._helper.topic_entries(overrides)
                except ConfigException as wrong:  # written into ZooKeeper by hand
                    raise KafkaException(Errors.INVALID_CONFIG, str(wrong)) from wrong
            case ResourceType.BROKER:
                own = self._is_own_broker(name, "expected {} or empty string, but received {}")
                return list(
                    self._helper.broker_entries() if own else self._helper.default_broker_entries()
                )
            case ResourceType.BROKER_LOGGER:
                if not name:
                    raise KafkaException(Errors.INVALID_REQUEST, "Broker id must not be empty")
                self._is_own_broker(name, "expected {} but received {}")
                source = ConfigSource.DYNAMIC_BROKER_LOGGER
                return [
                    ConfigEntry(logger, level, False, source, False, (), None, "")
                    for logger, level in logger_levels().items()
                ]
        raise KafkaException(Errors.INVALID_REQUEST, UNKNOWN_TYPE)

    async def alter(
        self,
        resource_type: int,
        name: str,
        configs: Sequence[tuple[str, str | None]],
        validate_only: bool,
    ) -> None:
        """Replace all configs of a resource with `configs`. If a key occurs twice, the last value
        counts.
        """
        if resource_type == ResourceType.BROKER_LOGGER:
            raise KafkaException(
                Errors.INVALID_REQUEST,
                "AlterConfigs is deprecated and does not support the resource type BROKER_LOGGER",
            )
        given: dict[str, str] = {}
        for key, value in configs:
            if value is None:
                raise KafkaException(
                    Errors.UNKNOWN_SERVER_ERROR, f"{key} has no value"
                )  # the code is Kafka's
            given[key] = value
        await self._write(resource_type, name, given, validate_only)

    async def incremental_alter(
        self, resource_type: int, name: str, ops: Sequence[ConfigOp], validate_only: bool
    ) -> None:
        """Change single configs of a resource: set or delete a config, or add or remove items of a
        list. Each key may occur once.
        """
        names = [op.name for op in ops]
        if duplicates := sorted({n for n in names if names.count(n) > 1}):
            raise KafkaException(
                Errors.INVALID_REQUEST,
                f"Error due to duplicate config keys : {','.join(duplicates)}",
            )
        if without_value := [
            f"{_op_name(op.op)}:{op.name}"
            for op in ops
            if op.op != OpType.DELETE and op.value is None
        ]:
            raise KafkaException(
                Errors.INVALID_REQUEST, f"Null value not supported for : {','.join(without_value)}"
            )
        match resource_type:
            case ResourceType.BROKER_LOGGER:
                self._is_own_broker(name)
                self._alter_loggers(name, ops, validate_only)
            case ResourceType.TOPIC:
                if not name:
                    raise KafkaException(
                        Errors.INVALID_REQUEST, "Default topic resources are not allowed."
                    )
                configs = _applied(
                    ops, await self._zk.get_entity_configs(TOPICS, name), TOPIC_CONFIG
                )
                await self._write(resource_type, name, configs, validate_only)
            case ResourceType.BROKER:
                configs = _applied(
                    ops,
                    await self._zk.get_entity_configs(BROKERS, self._broker_entity(name)),
                    CONFIG_DEF,
                )
                await self._write(resource_type, name, configs, validate_only)
            case _:
                raise KafkaException(Errors.INVALID_REQUEST, UNKNOWN_TYPE)

    async def _write(
        self, resource_type: int, name: str, configs: Mapping[str, str], validate_only: bool
    ) -> None:
        """Check the complete new configuration of a resource. Then write it, unless `validate_only`
        is True.
        """
        match resource_type:
            case ResourceType.TOPIC:
                if not self._cache.contains_topic(name):
                    raise KafkaException(
                        Errors.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist."
                    )
                if unknown := TOPIC_CONFIG.unknown(configs):
                    raise KafkaException(
                        Errors.INVALID_CONFIG, f"Unknown topic config name: {unknown[0]}"
                    )
                entity_type, entity = TOPICS, name
                defaults = self._dynamic.log_defaults
                check: Callable[[], object] = partial(defaults.with_overrides, configs)
            case ResourceType.BROKER:
                entity_type, entity = BROKERS, self._broker_entity(name)
                per_broker = entity != DEFAULT_ENTITY
                check = partial(self._dynamic.validate, configs, per_broker=per_broker)
            case _:
                raise KafkaException(Errors.INVALID_REQUEST, UNKNOWN_TYPE)
        try:
            check()
        except ConfigException as wrong:
            raise _invalid_value(ResourceType(resource_type), name, str(wrong)) from wrong
        if not validate_only:
            await self._change(entity_type, entity, configs)

    async def _change(self, entity_type: str, entity: str, configs: Mapping[str, str]) -> None:
        """Write the entity's configs to its znode, and then write the notification for
        all brokers.
        """
        if entity_type == TOPICS and not is_internal(entity):
            for met in TOPIC_CONFIG.gaps(configs):
                log.warning("topic %s: %s", entity, met)
        await self._zk.set_or_create_entity_configs(entity_type, entity, configs)
        await self._zk.create_config_change_notification(f"{entity_type}/{entity}")
        if self._trace:
            self._trace(
                EntityConfigWritten(
                    entity=f"{entity_type}/{entity}", configs=tuple(sorted(configs.items()))
                )
            )

    def _is_own_broker(self, name: str, otherwise: str = "expected {}, but received {}") -> bool:
        """Return True if `name` is this broker's id, or False if it is empty and means all brokers.
        Raises KafkaException for a different name.

        `otherwise` is the error message for the id of another broker. Its placeholders are this
        broker's id and the other id. Kafka has three different messages for this case.
        """
        if name and _broker_number(name) != self._broker_id:
            raise KafkaException(
                Errors.INVALID_REQUEST,
                f"Unexpected broker id, {otherwise.format(self._broker_id, name)}",
            )
        return bool(name)

    def _broker_entity(self, name: str) -> str:
        """Return the entity's name below /config/brokers: this broker's id, or `<default>`."""
        return str(self._broker_id) if self._is_own_broker(name) else DEFAULT_ENTITY

    def _alter_loggers(self, broker: str, ops: Collection[ConfigOp], validate_only: bool) -> None:
        """Change the levels of all named loggers. All operations are checked first. If one is
        wrong, nothing changes.
        """
        known = logger_levels()
        for op in ops:
            if op.op not in (OpType.SET, OpType.DELETE):
                raise KafkaException(
                    Errors.INVALID_REQUEST,
                    f"{_op_name(op.op)} operation is not allowed for the BROKER_LOGGER resource",
                )
            if op.name not in known:
                raise _invalid_value(
                    ResourceType.BROKER_LOGGER, broker, f"Logger {op.name} does not exist!"
                )
            if op.op == OpType.DELETE and op.name == ROOT:
                raise KafkaException(
                    Errors.INVALID_REQUEST,
                    "Removing the log level of the root logger is not allowed",
                )
            if op.op == OpType.SET and op.value not in LEVELS:
                why = (
                    f"Cannot set the log level of {op.name} to {op.value} as it is not a supported"
                    f" log level. Valid log levels are {', '.join(LEVELS)}"
                )
                raise _invalid_value(ResourceType.BROKER_LOGGER, broker, why)
        for op in () if validate_only else ops:
            level = op.value if op.op == OpType.SET and op.value is not None else ""
            if level:
                set_logger_level(op.name, level)
            else:
                unset_logger_level(op.name)
            if self._trace:
                self._trace(LoggerLevelChanged(logger=op.name, level=level))


def _invalid_value(resource_type: ResourceType, name: str, why: str) -> KafkaException:
    return KafkaException(
        Errors.INVALID_REQUEST,
        f"Invalid config value for resource ConfigResource(type={resource_type.name},"
        f" name='{name}'): {why}",
    )


def _op_name(op: int) -> str:
    """Return the operation's name as Kafka prints it, or `null` for an unknown number."""
    return OpType(op).name if op in set(OpType) else "null"


def _broker_number(name: str) -> int:
    try:
        return int(name)
    except ValueError:
        raise KafkaException(
            Errors.INVALID_REQUEST, f"Broker id must be an integer, but it is: {name}"
        ) from None


def _applied(
    ops: Sequence[ConfigOp], current: Mapping[str, str], config_def: ConfigDef
) -> dict[str, str]:
    """Return the configs that result when `ops` are applied to `current`. APPEND and SUBTRACT on a
    list that is not in `current` start from Kafka's default, not from this broker's value. A list
    may contain an item twice. SUBTRACT removes one occurrence of each item.
    """
    configs = dict(current)
    for name, op, value in ops:
        match op:
            case OpType.SET if value is not None:
                configs[name] = value
            case OpType.DELETE:
                configs.pop(name, None)
            case OpType.APPEND | OpType.SUBTRACT if value is not None:
                key = config_def.keys.get(name)
                if key is None:
                    raise KafkaException(
                        Errors.UNKNOWN_SERVER_ERROR, f"the key {name} is unknown"
                    )  # the code is Kafka's
                if key.type is not ConfigType.LIST:
                    raise KafkaException(
                        Errors.INVALID_REQUEST,
                        f"Config value {_op_name(op).lower()} is not allowed for config key:"
                        f" {name}",
                    )
                items = (
                    configs[name].split(",")
                    if name in configs
                    else config_def.default_text(name).split(",")
                )
                for item in value.split(","):
                    if op == OpType.APPEND:
                        items.append(item)
                    elif item in items:
                        items.remove(item)
                configs[name] = ",".join(items)
            case _:
                raise KafkaException(
                    Errors.UNKNOWN_SERVER_ERROR, f"there is no operation {op}"
                )  # the code is Kafka's
    return configs
