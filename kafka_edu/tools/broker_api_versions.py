"""Show the APIs and versions that each broker supports (Kafka: kafka-broker-api-versions.sh).

(Kafka: BrokerApiVersionsCommand.scala)
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final

from kafka_edu.tools.options import OptionParser, check_required
from kafka_edu.tools.tool import ToolCommand, java_class, properties_of, run_tool

PURPOSE: Final = "This tool helps to retrieve broker version information."
#: How long the brokers may take to answer, in ms.
TIMEOUT_MS: Final = 5_000


def versions_text(served: Mapping[int, tuple[int, int]]) -> str:
    """Format a broker's API versions as Kafka's NodeApiVersions does: by key, known keys first."""
    from kafka_edu.protocol.api_keys import ApiKey
    from kafka_edu.protocol.messages.registry import REGISTRY

    known = [
        _known(
            key,
            _name(key.name),
            served.get(key),
            REGISTRY[key].min_version,
            REGISTRY[key].max_version,
        )
        for key in ApiKey
        if key in REGISTRY
    ]
    unknown = [
        f"UNKNOWN({key}): {_range(*served[key])}" for key in sorted(served) if key not in REGISTRY
    ]
    return "(\n\t" + ",\n\t".join([line for line in known if line] + unknown) + "\n)"


def _known(key: int, name: str, served: tuple[int, int] | None, least: int, most: int) -> str:
    if served is None:
        return f"{name}({key}): UNSUPPORTED" if key <= LAST_OF_2_0 else ""
    usable = min(most, served[1])
    return (
        f"{name}({key}): {_range(*served)} [usable:"
        f" {usable if usable >= max(least, served[0]) else 'NONE'}]"
    )


#: The highest API key of Kafka 2.0. If a broker lacks a key up to this one, the tool reports that
#: key as UNSUPPORTED. A broker does not have to know later keys.
LAST_OF_2_0: Final = 42


def _name(key: str) -> str:
    return key.title().replace("_", "")


def _range(least: int, most: int) -> str:
    return str(least) if least == most else f"{least} to {most}"


async def _show(servers: str, properties: Mapping[str, str]) -> None:
    from kafka_edu.tools.admin_client import open_admin

    async with open_admin(servers, properties, "admin") as admin:
        nodes = (await admin.describe_cluster()).nodes
        served = await admin.describe_api_versions(
            [node.id for node in nodes], timeout_ms=TIMEOUT_MS
        )
    for node in nodes:
        error = served.errors.get(node.id)
        text = (
            versions_text(served[node.id])
            if error is None
            else f"ERROR: {java_class(error)}: {error.message}"
        )
        print(f"{node} -> {text}")


def main(words: Sequence[str]) -> int:
    parser = OptionParser()
    command_config = parser.text(
        "command-config", "A file of the client's properties.", "command config property file"
    )
    bootstrap_server = parser.text(
        "bootstrap-server",
        "REQUIRED: The broker to ask first.",
        "server(s) to use for bootstrapping",
    )

    def run() -> int:
        given = parser.parse(words)
        check_required(given, bootstrap_server)
        properties = properties_of(given, command_config)
        asyncio.run(_show(given.one(bootstrap_server), properties))
        return 0

    return run_tool(parser, words, run, PURPOSE)


broker_api_versions = ToolCommand("broker-api-versions", main, PURPOSE)
