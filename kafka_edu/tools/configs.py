"""Show or change the configs of topics, clients, users and brokers (Kafka: kafka-configs.sh).

With --zookeeper the tool writes Kafka's znodes itself, and notifies all brokers. Configs of a
running broker are changed with --bootstrap-server, because the broker must check them. (Kafka:
ConfigCommand.scala)
"""

import asyncio
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.tools.config_options import (
    _BOOTSTRAP_ONLY,
    PURPOSE,
    ConfigOptions,
    configs_to_add,
)
from kafka_edu.tools.options import (
    OptionError,
    OptionSet,
    UsageError,
)
from kafka_edu.tools.tool import (
    ToolCommand,
    ToolError,
    failures,
    illegal_argument,
    java_class,
    properties_of,
    run_tool,
    text_of,
    warn_of_gaps,
)

if TYPE_CHECKING:
    from kafka_edu.tools.config_entity import ConfigEntity
    from kafka_edu.zk.kafka_zk_client import KafkaZkClient


class ConfigCommand:
    """One run of the tool with --zookeeper."""

    def __init__(self, options: ConfigOptions, given: OptionSet) -> None:
        self._options = options
        self._given = given

    async def run(self) -> None:
        from kafka_edu.tools.config_entity import parse_entity
        from kafka_edu.tools.zookeeper import zookeeper

        o, given = self._options, self._given
        async with zookeeper(given.one(o.zookeeper)) as zk:
            entity = parse_entity(
                given.values(o.entity_type), o.names(given), is_alter=given.has(o.alter)
            )
            if given.has(o.alter):
                await self._alter(zk, entity)
            else:
                await self._describe(zk, entity)

    async def _alter(self, zk: "KafkaZkClient", entity: "ConfigEntity") -> None:
        added = configs_to_add(self._given, self._options)
        deleted = [name.strip() for name in self._given.values(self._options.delete_config)]
        if entity.root.type == "users":
            from kafka_edu.tools.scram_credentials import with_scram_credentials

            added = with_scram_credentials(entity.full_name, added)
        elif entity.root.type == "brokers":
            await _check_broker_configs(zk, entity.full_name, added)
        configs = await zk.get_entity_configs(entity.root.type, entity.full_name)
        if missing := [name for name in deleted if name not in configs]:
            raise KafkaException(Errors.INVALID_CONFIG, f"Invalid config(s): {','.join(missing)}")
        configs |= added
        for name in deleted:
            configs.pop(name, None)
        await _change(zk, entity, configs)
        warn_of_gaps(_without_effect(entity, added))
        print(f"Completed Updating config for entity: {entity}.")

    async def _describe(self, zk: "KafkaZkClient", entity: "ConfigEntity") -> None:
        all_users = (
            entity.root.type == "users" and entity.root.name is None and entity.child is None
        )
        for each in await entity.all(zk):
            configs = await zk.get_entity_configs(each.root.type, each.full_name)
            if configs or not all_users:
                print(
                    f"Configs for {each} are"
                    f" {','.join(f'{key}={value}' for key, value in configs.items())}"
                )


def _without_effect(entity: "ConfigEntity", added: Mapping[str, str]) -> list[object]:
    """Return those of the added settings that have no effect on this project's brokers."""
    from kafka_edu.common.topic import is_internal
    from kafka_edu.log.log_config import TOPIC_CONFIG
    from kafka_edu.server.config.dynamic_config import CLIENT_CONFIG, USER_CONFIG
    from kafka_edu.server.config.settings_check import check_settings

    match entity.root.type:
        case "brokers":
            return [finding.text for finding in check_settings(added)]
        case "topics":
            return [] if is_internal(entity.full_name) else [*TOPIC_CONFIG.gaps(added)]
        case "users":
            return [*USER_CONFIG.gaps(added)]
        case _:
            return [*CLIENT_CONFIG.gaps(added)]


async def _check_broker_configs(zk: "KafkaZkClient", name: str, added: Mapping[str, str]) -> None:
    """Refuse configs of a running broker, because only a request to the broker can change them.

    Three of these configs may be set in ZooKeeper without a broker. Raises ToolError.
    """
    from kafka_edu.common.config_def import ConfigType
    from kafka_edu.server.config.dynamic_broker_config import DEFAULT_ENTITY, DYNAMIC, DYNAMIC_ONLY
    from kafka_edu.server.config.kafka_config_keys import CONFIG_DEF

    checked = [key for key in added if key not in DYNAMIC_ONLY]
    if not checked:
        return
    must = (
        "requirement failed: --bootstrap-server option must be specified to update broker configs"
        f" Set({', '.join(checked)})."
    )
    if name == DEFAULT_ENTITY:
        if await zk.get_broker_ids():
            raise illegal_argument(
                f"{must} for default cluster if any broker is running. {_BOOTSTRAP_ONLY}"
            )
    elif await zk.get_broker(_broker_id(name)) is not None:
        raise illegal_argument(f"{must} when broker {name} is running. {_BOOTSTRAP_ONLY}")
    if passwords := [
        key
        for key in checked
        if key in CONFIG_DEF and CONFIG_DEF.keys[key].type is ConfigType.PASSWORD
    ]:
        raise illegal_argument(
            "requirement failed: password.encoder.secret must be specified to update"
            f" Set({', '.join(passwords)})."
        )
    if fixed := [key for key in checked if key in CONFIG_DEF and key not in DYNAMIC]:
        raise ToolError(
            "org.apache.kafka.common.config.ConfigException",
            f"Cannot update these configs dynamically: Set({', '.join(fixed)})",
        )


def _broker_id(name: str) -> int:
    try:
        return int(name)
    except ValueError:
        raise illegal_argument(
            f"Error parsing broker {name}. The broker's Entity Name must be a single integer value"
        ) from None


async def _change(zk: "KafkaZkClient", entity: "ConfigEntity", configs: Mapping[str, str]) -> None:
    """Check the configs by the rules of the entity's type, and write them.

    Raises KafkaException, ConfigException, AdminOperationError, ToolError.
    """
    from random import SystemRandom

    from kafka_edu.server.admin.admin_zk_client import AdminZkClient
    from kafka_edu.server.config.config_gaps import DYNAMIC_ONLY_CONFIG
    from kafka_edu.server.config.dynamic_broker_config import DEFAULT_ENTITY
    from kafka_edu.server.config.dynamic_config import (
        CLIENT_CONFIG,
        USER_CONFIG,
        validate_dynamic_config,
    )

    admin = AdminZkClient(zk, SystemRandom())
    kind, name = entity.root.type, entity.full_name
    if kind == "topics":
        await admin.change_topic_config(name, configs)
        return
    if kind == "brokers":
        if name != DEFAULT_ENTITY:
            _broker_id(name)
        validate_dynamic_config(DYNAMIC_ONLY_CONFIG, configs, custom=True)
    elif kind == "clients" or name == DEFAULT_ENTITY or "/clients" in name:
        validate_dynamic_config(CLIENT_CONFIG, configs)
    else:
        validate_dynamic_config(USER_CONFIG, configs)
    await admin.change_entity_config(kind, name, configs)


def main(words: Sequence[str]) -> int:
    """Run the tool. Return 0, or 1 for every failure, with the reason on standard error."""
    options = ConfigOptions()

    def run() -> int:
        try:
            given = options.parser.parse(words)
            if not words:
                raise UsageError(PURPOSE)
            options.check(given)
            if given.has(options.zookeeper):
                asyncio.run(ConfigCommand(options, given).run())
            else:
                from kafka_edu.tools.broker_configs import run_broker_configs

                asyncio.run(
                    run_broker_configs(options, given, properties_of(given, options.command_config))
                )
        except OptionError as wrong:
            sys.stderr.write(f"{wrong}\n")
        except failures() as error:
            if _is_the_users(error):
                sys.stderr.write(f"{text_of(error)}\n")
            else:
                sys.stderr.write(
                    "Error while executing config command with args"
                    f" '{' '.join(words)}'\n{java_class(error)}: {text_of(error)}\n"
                )
        else:
            return 0
        return 1

    return run_tool(options.parser, words, run, PURPOSE)


def _is_the_users(error: Exception) -> bool:
    """Return whether the user caused the error. If so, Kafka's tool prints no stack trace."""
    if isinstance(error, KafkaException):
        return error.error is Errors.INVALID_CONFIG
    return isinstance(error, ToolError) and error.java_class == "java.lang.IllegalArgumentException"


configs = ToolCommand("configs", main, PURPOSE)
