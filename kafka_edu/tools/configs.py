"""Describe or change the configs of topics, clients, users and brokers (Kafka: kafka-configs.sh,
ConfigCommand.scala).

With --zookeeper it writes Kafka's znodes itself and notifies all brokers. Configs of a running
broker are changed with --bootstrap-server, because the broker checks them.
"""

import asyncio
import re
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.tools.options import (
    OptionError,
    OptionParser,
    OptionSet,
    UsageError,
    check_invalid,
    check_required,
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

PURPOSE: Final = "Add/Remove entity config for a topic, client, user or broker"
_TYPES: Final = ("topics", "clients", "users", "brokers")
_BOOTSTRAP_ONLY: Final = (
    "Broker configuraton updates using ZooKeeper are supported for bootstrapping before brokers are"
    " started to enable encrypted password configs to be stored in ZooKeeper."
)
#: A comma, or an equals sign, outside square brackets.
_OUTSIDE_BRACKETS: Final = r"(?=[^\]]*(?:\[|$))"


class ConfigOptions:
    """The command line of the tool, and which options fit together."""

    def __init__(self) -> None:
        self.parser = parser = OptionParser()
        self.zookeeper = parser.text(
            "zookeeper", "REQUIRED, except for brokers: ZooKeeper's host:port, or several.", "urls"
        )
        self.bootstrap_server = parser.text(
            "bootstrap-server",
            "The brokers to ask, for the configs of brokers.",
            "server to connect to",
        )
        self.command_config = parser.text(
            "command-config",
            "A file of the client's properties, with --bootstrap-server.",
            "command config property file",
        )
        self.alter = parser.flag("alter", "Change the configs.")
        self.describe = parser.flag("describe", "Show the configs.")
        self.entity_type = parser.text(
            "entity-type", "topics, clients, users or brokers; users and clients may go together."
        )
        self.entity_name = parser.text("entity-name", "Which topic, client id, user or broker id.")
        self.entity_default = parser.flag(
            "entity-default",
            "The defaults of all clients, users or brokers that have no configs of their own.",
        )
        self.add_config = parser.text("add-config", _add_help)
        self.delete_config = parser.text("delete-config", "Keys to remove: 'k1,k2'.", separator=",")
        parser.flag("help", "Show these options.")
        parser.flag("force", "Do not ask for a confirmation.")

    def check(self, given: OptionSet) -> None:
        """Check the command line. Raises UsageError, ToolError(IllegalArgumentException)."""
        if given.has(self.alter) == given.has(self.describe):
            raise UsageError("Command must include exactly one action: --describe, --alter")
        check_invalid(given, self.describe, (self.add_config, self.delete_config))
        types = given.values(self.entity_type)
        if given.has(self.bootstrap_server) == given.has(self.zookeeper):
            raise illegal_argument(
                "Only one of --bootstrap-server or --zookeeper must be specified"
            )
        if {"clients", "topics", "users"} & set(types):
            check_required(given, self.zookeeper, self.entity_type)
        if given.has(self.alter):
            self._check_alter(given, types)
        for kind in types:
            if kind not in _TYPES:
                raise illegal_argument(
                    f"Invalid entity-type {kind}, --entity-type must be one of"
                    f" List({', '.join(_TYPES)})"
                )
        if not types:
            raise illegal_argument("At least one --entity-type must be specified")
        if len(types) > 1 and set(types) != {"users", "clients"}:
            raise illegal_argument(
                "Only 'users' and 'clients' entity types may be specified together"
            )

    def _check_alter(self, given: OptionSet, types: Sequence[str]) -> None:
        if {"users", "clients", "brokers"} & set(types):
            if not given.has(self.entity_name) and not given.has(self.entity_default):
                raise illegal_argument(
                    "--entity-name or --entity-default must be specified with --alter of users,"
                    " clients or brokers"
                )
        elif not given.has(self.entity_name):
            raise illegal_argument(
                f"--entity-name must be specified with --alter of Buffer({', '.join(types)})"
            )
        if not given.has(self.add_config) and not given.has(self.delete_config):
            raise illegal_argument(
                "At least one of --add-config or --delete-config must be specified with --alter"
            )

    def names(self, given: OptionSet) -> list[str]:
        """Return the --entity-name values in order, with "" for each --entity-default."""
        named = iter(given.values(self.entity_name))
        return [
            next(named) if name == "entity-name" else ""
            for name in given.order
            if name in ("entity-name", "entity-default")
        ]


def _add_help() -> str:
    from kafka_edu.log.log_config import TOPIC_CONFIG
    from kafka_edu.server.config.dynamic_broker_config import DYNAMIC, DYNAMIC_ONLY
    from kafka_edu.server.config.dynamic_config import CLIENT_CONFIG, USER_CONFIG

    keys = {
        "topics": [key.name for key in TOPIC_CONFIG],
        "brokers": sorted({*DYNAMIC, *DYNAMIC_ONLY}),
        "users": [key.name for key in USER_CONFIG],
        "clients": [key.name for key in CLIENT_CONFIG],
    }
    listed = "".join(
        f"For entity-type '{kind}':\n" + "".join(f"\t{name}\n" for name in names)
        for kind, names in keys.items()
    )
    return (
        "The configs to set: 'k1=v1,k2=[v1,v2],k3=v3', with brackets around a value that holds"
        f" commas.\n{listed}"
    )


def configs_to_add(given: OptionSet, o: ConfigOptions) -> dict[str, str]:
    """Return the checked configs of --add-config. Raises ToolError."""
    configs: dict[str, str] = {}
    if not given.has(o.add_config):
        return configs
    for text in re.split("," + _OUTSIDE_BRACKETS, given.one(o.add_config)):
        pair = re.split(r"\s*=\s*" + _OUTSIDE_BRACKETS, text)
        if len(pair) != 2:
            raise illegal_argument(
                "requirement failed: Invalid entity config: all configs to be added must be in the"
                ' format "key=val".'
            )
        configs[pair[0].strip()] = re.sub(r"\[?\]?", "", pair[1]).strip()
    if "message.format.version" in configs:
        print(
            f"WARNING: The configuration message.format.version={configs['message.format.version']}"
            " is specified. This configuration will be ignored if the version is newer than the"
            " inter.broker.protocol.version specified in the broker."
        )
    return configs


class ConfigCommand:
    """One call of the tool with --zookeeper."""

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
    """Return the settings that have no effect on brokers of this project."""
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
    """Refuse configs of a running broker, which are changed through the broker.

    Three of them may be set in ZooKeeper alone. Raises ToolError.
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
    """Check the configs by the rules of their kind, then write them.

    Raises KafkaException, ConfigException, AdminOperationError, ToolError.
    """
    from random import SystemRandom

    from kafka_edu.server.admin.admin_zk_client import AdminZkClient
    from kafka_edu.server.config.dynamic_broker_config import DEFAULT_ENTITY
    from kafka_edu.server.config.dynamic_config import (
        BROKER_CONFIG,
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
        validate_dynamic_config(BROKER_CONFIG, configs, custom=True)
    elif kind == "clients" or name == DEFAULT_ENTITY or "/clients" in name:
        validate_dynamic_config(CLIENT_CONFIG, configs)
    else:
        validate_dynamic_config(USER_CONFIG, configs)
    await admin.change_entity_config(kind, name, configs)


def main(words: Sequence[str]) -> int:
    """Return the exit code: 1 for every failure, with the reason on standard error."""
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
    """Return whether Kafka says only what is wrong, and not where it was found."""
    if isinstance(error, KafkaException):
        return error.error is Errors.INVALID_CONFIG
    return isinstance(error, ToolError) and error.java_class == "java.lang.IllegalArgumentException"


configs = ToolCommand("configs", main, PURPOSE)
