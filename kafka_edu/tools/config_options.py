"""The command-line options of kafka-configs (Kafka: ConfigCommand.ConfigCommandOptions)."""

import re
from collections.abc import Sequence
from typing import Final

from kafka_edu.tools.options import (
    OptionParser,
    OptionSet,
    UsageError,
    check_invalid,
    check_required,
)
from kafka_edu.tools.tool import (
    illegal_argument,
)

PURPOSE: Final = "Add/Remove entity config for a topic, client, user or broker"
_TYPES: Final = ("topics", "clients", "users", "brokers")
_BOOTSTRAP_ONLY: Final = (
    "Broker configuraton updates using ZooKeeper are supported for bootstrapping before brokers are"
    " started to enable encrypted password configs to be stored in ZooKeeper."
)
#: The end of a regular expression for a comma or `=`. With it, the expression matches only outside
#: brackets [ ].
_OUTSIDE_BRACKETS: Final = r"(?=[^\]]*(?:\[|$))"


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


class ConfigOptions:
    """The tool's command-line options, and the rules about which options may be combined."""

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
        """Return the values of --entity-name in their order, with "" for each --entity-default."""
        named = iter(given.values(self.entity_name))
        return [
            next(named) if name == "entity-name" else ""
            for name in given.order
            if name in ("entity-name", "entity-default")
        ]


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
