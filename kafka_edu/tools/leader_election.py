"""Elect preferred leaders, or unclean ones (Kafka: kafka-leader-election.sh).

The tool sends ElectLeaders to the controller and prints the result for each partition. (Kafka:
LeaderElectionCommand.scala, since 2.4; KIP-460)
"""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.tools.election_file import EXAMPLE, LEADER_2_8, parse_partitions
from kafka_edu.tools.options import Option, OptionParser, OptionSet, UsageError
from kafka_edu.tools.tool import (
    ToolCommand,
    ToolError,
    command_failed,
    java_class,
    properties_of,
    run_tool,
    text_of,
)

PURPOSE: Final = (
    "This tool attempts to elect a new leader for a set of topic partitions. "
    "The type of elections supported are preferred replicas and unclean replicas."
)
_TYPES: Final = ("PREFERRED", "UNCLEAN")

Outcomes = Mapping[TopicPartition, KafkaException | None]
"""The error of each partition. None means that the election succeeded."""


def _election_type(text: str) -> str:
    if text.upper() not in _TYPES:
        raise ValueError(text)
    return text.upper()


class LeaderElectionOptions:
    """The tool's command-line options, and the rules about which options may be combined."""

    def __init__(self) -> None:
        self.parser = parser = OptionParser()
        self.bootstrap_server = parser.text(
            "bootstrap-server", "REQUIRED: The broker to ask first.", "host:port"
        )
        self.admin_config = parser.text(
            "admin.config", "A file of the client's properties.", "config file"
        )
        self.json_file = parser.text(
            "path-to-json-file",
            f"A file that says which partitions are meant, as in\n{EXAMPLE}\nOr --topic, or"
            " --all-topic-partitions.",
            "Path to JSON file",
        )
        self.topic = parser.text(
            "topic", "The topic of the one partition that is meant.", "topic name"
        )
        self.partition = parser.integer("partition", "That partition's number.", "partition id")
        self.all = parser.flag(
            "all-topic-partitions", "Elect for all partitions that need such an election."
        )
        self.type: Option[str] = parser.choice(
            "election-type",
            "REQUIRED: preferred: if a replica other than the first leads, the first takes over."
            " unclean: if no replica leads, any live replica becomes leader, and records may be"
            " lost.",
            _election_type,
            "[PREFERRED,UNCLEAN]",
            "election type",
        )
        parser.flag("help", "Show these options.")
        self.version = parser.flag("version", "Show the version of Kafka that this is like.")

    def check(self, given: OptionSet) -> None:
        """Check the command line. Raises ToolError."""
        missing = [
            option.name for option in (self.bootstrap_server, self.type) if not given.has(option)
        ]
        if given.has(self.type):
            given.value(self.type)
        if missing:
            raise command_failed(f"Missing required option(s): {', '.join(missing)}")
        which = self.topic, self.all, self.json_file
        if sum(map(given.has, which)) != 1:
            raise command_failed(
                "One and only one of the following options is required:"
                f" {', '.join(option.name for option in which)}"
            )
        if given.has(self.topic) and not given.has(self.partition):
            raise command_failed("Missing required option(s): partition")
        if given.has(self.partition) and not given.has(self.topic):
            raise command_failed("Option partition is only allowed if topic is used")

    def partitions(self, given: OptionSet) -> list[TopicPartition] | None:
        """Return the partitions for which to elect a leader. None means all partitions. Raises
        ToolError.
        """
        if given.has(self.topic):
            return [TopicPartition(given.one(self.topic), given.one(self.partition))]
        path = given.value(self.json_file)
        if path is None:
            return None
        try:
            text = Path(path).read_text(encoding="utf-8", errors="replace")
        except OSError:
            raise ToolError("java.io.IOException", f"Unable to read file {path}") from None
        return parse_partitions(text, LEADER_2_8)


async def elect(
    servers: str,
    properties: Mapping[str, str],
    election_type: str,
    partitions: Sequence[TopicPartition] | None,
) -> Outcomes:
    """Let the controller elect leaders, and return the outcomes.

    Raises AdminTimeoutError if no broker answers, KafkaException if the whole request is refused.
    """
    from kafka_edu.clients.admin.partition_calls import ElectionType
    from kafka_edu.tools.admin_client import open_admin

    async with open_admin(servers, properties) as admin:
        results = await admin.elect_leaders(ElectionType[election_type], partitions)
    return results.values | results.errors


def say(outcomes: Outcomes, election_type: str) -> None:
    """Print the result of each partition. Raises ToolError if an election has failed."""
    elected = [str(tp) for tp, error in outcomes.items() if error is None]
    not_needed = [
        str(tp)
        for tp, error in outcomes.items()
        if error is not None and error.error is Errors.ELECTION_NOT_NEEDED
    ]
    failed = {
        tp: error
        for tp, error in outcomes.items()
        if error is not None and error.error is not Errors.ELECTION_NOT_NEEDED
    }
    if elected:
        print(
            f"Successfully completed leader election ({election_type}) for partitions"
            f" {', '.join(elected)}"
        )
    if not_needed:
        print(f"Valid replica already elected for partitions {', '.join(not_needed)}")
    for tp, error in failed.items():
        print(
            f"Error completing leader election ({election_type}) for partition: {tp}:"
            f" {java_class(error)}: {text_of(error)}"
        )
    if failed:
        suppressed = "".join(
            f"\n\tSuppressed: {java_class(error)}: {text_of(error)}" for error in failed.values()
        )
        raise command_failed(f"{len(failed)} replica(s) could not be elected{suppressed}")


def main(words: Sequence[str]) -> int:
    options = LeaderElectionOptions()

    def run() -> int:
        if not words:
            raise UsageError(PURPOSE)
        given = options.parser.parse(words)
        if given.has(options.version):
            print("2.8.2")
            return 0
        options.check(given)
        partitions, election_type = options.partitions(given), given.one(options.type)
        properties = properties_of(given, options.admin_config)
        try:
            outcomes = asyncio.run(
                elect(given.one(options.bootstrap_server), properties, election_type, partitions)
            )
        except KafkaException as error:
            if error.error is not Errors.REQUEST_TIMED_OUT:
                raise
            print("Timeout waiting for election results")
            raise command_failed("Timeout waiting for election results") from None
        say(outcomes, election_type)
        return 0

    return run_tool(options.parser, words, run, PURPOSE)


leader_election = ToolCommand("leader-election", main, PURPOSE)
