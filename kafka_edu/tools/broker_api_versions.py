"""Show the APIs and versions that each broker supports (Kafka: kafka-broker-api-versions.sh).

(Kafka: BrokerApiVersionsCommand.scala)
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final

from kafka_edu.tools.options import OptionParser, check_required
from kafka_edu.tools.tool import ToolCommand, properties_of, run_tool

PURPOSE: Final = "This tool helps to retrieve broker version information."


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
#: key as UNSUPPORTED. A broker need not know later keys.
LAST_OF_2_0: Final = 42


def _name(key: str) -> str:
    return key.title().replace("_", "")


def _range(least: int, most: int) -> str:
    return str(least) if least == most else f"{least} to {most}"


async def _show(servers: str, client_id: str) -> None:
    from kafka_edu.tools.tool import connect_brokers

    async with connect_brokers(servers, client_id) as brokers:
        for _, node in sorted(brokers.nodes.items()):
            try:
                told = versions_text(await brokers.api_versions(node))
            except OSError as error:
                told = f"ERROR: org.apache.kafka.common.errors.DisconnectException: {error}"
            print(f"{node} -> {told}")


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
        asyncio.run(_show(given.one(bootstrap_server), properties.get("client.id", "admin")))
        return 0

    return run_tool(parser, words, run, PURPOSE)


broker_api_versions = ToolCommand("broker-api-versions", main, PURPOSE)
