"""Read the JSON files of reassign-partitions.

One form lists the topics to move. The other form lists the new brokers of each partition.

    {"version":1,"topics":[{"topic":"web"}]}
    {"version":1,"partitions":[
        {"topic":"web","partition":0,"replicas":[2,0],"log_dirs":["any","/data/b"]}]}
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.tools.json_files import (
    as_integer,
    as_list,
    as_object,
    as_text,
    duplicates,
    parse_version_1,
    partition_of,
    text_field,
)
from kafka_edu.tools.options import java_integer
from kafka_edu.tools.tool import ToolError, command_failed
from kafka_edu.zk.zk_data import encode_json

ANY_LOG_DIR: Final = "any"


class Replica(NamedTuple):
    """A replica of a partition on one broker (Kafka: TopicPartitionReplica)."""

    topic: str
    partition: int
    broker_id: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}-{self.broker_id}"


class Proposal(NamedTuple):
    """A proposed assignment: the contents of a file, in the file's order."""

    entries: list[tuple[TopicPartition, tuple[int, ...]]]
    log_dirs: dict[Replica, str]
    """Replica → its log directory, if the file names one."""

    @property
    def partitions(self) -> dict[TopicPartition, tuple[int, ...]]:
        return dict(self.entries)

    @property
    def topics(self) -> list[str]:
        return list(dict.fromkeys(tp.topic for tp, _ in self.entries))


def parse_topics(text: str) -> list[str]:
    """Parse the names of the topics to move. Raises ToolError."""
    topics = [
        text_field(as_object(entry), "topic")
        for entry in as_list(parse_version_1(text).get("topics", []))
    ]
    if twice := duplicates(topics):
        raise command_failed(
            f"List of topics to reassign contains duplicate entries: {','.join(twice)}"
        )
    return topics


def parse_proposal(text: str) -> Proposal:
    """Parse a proposed assignment. Only its form is checked. Raises ToolError."""
    proposal = Proposal([], {})
    for entry in map(as_object, as_list(parse_version_1(text).get("partitions", []))):
        tp = partition_of(entry)
        if "replicas" not in entry:
            raise ToolError("java.util.NoSuchElementException", "key not found: replicas")
        replicas = tuple(as_integer(broker_id) for broker_id in as_list(entry["replicas"]))
        dirs = [
            as_text(log_dir)
            for log_dir in as_list(entry.get("log_dirs", [ANY_LOG_DIR] * len(replicas)))
        ]
        if len(dirs) != len(replicas):
            raise command_failed(
                f"Size of replicas list {_list(replicas)} is different from size of log dirs list"
                f" {_list(dirs)} for partition {tp.topic}-{tp.partition}"
            )
        proposal.entries.append((tp, replicas))
        named = zip(replicas, dirs, strict=True)
        proposal.log_dirs.update(
            {
                Replica(*tp, broker_id): log_dir
                for broker_id, log_dir in named
                if log_dir != ANY_LOG_DIR
            }
        )
    return proposal


def check_proposal(proposal: Proposal, when_empty: str) -> None:
    """Check for errors that can be found without a cluster. Raises ToolError."""
    if not proposal.entries:
        raise command_failed(when_empty)
    if not all(replicas for _, replicas in proposal.entries):
        raise command_failed("Partition replica list cannot be empty")
    if twice := duplicates(tp for tp, _ in proposal.entries):
        raise command_failed(
            "Partition reassignment contains duplicate topic partitions:"
            f" {','.join(map(str, twice))}"
        )
    wrong = [(tp, duplicates(replicas)) for tp, replicas in proposal.entries]
    listed = ". ".join(
        f"{tp} contains multiple entries for {','.join(map(str, brokers))}"
        for tp, brokers in wrong
        if brokers
    )
    if listed:
        raise command_failed(f"Partition replica lists may not contain duplicate entries: {listed}")


def parse_brokers(text: str) -> list[int]:
    """Parse broker ids such as `0,1,2`. Raises ToolError, NumberError."""
    brokers = [java_integer(part) for part in text.split(",")]
    if twice := duplicates(brokers):
        raise command_failed(f"Broker list contains duplicate entries: {','.join(map(str, twice))}")
    return brokers


def to_json(assignment: Mapping[TopicPartition, Sequence[int]]) -> str:
    """Format an assignment as JSON, sorted by topic and partition. Each log directory is "any"."""
    partitions = [
        {
            "topic": tp.topic,
            "partition": tp.partition,
            "replicas": list(replicas),
            "log_dirs": [ANY_LOG_DIR] * len(replicas),
        }
        for tp, replicas in sorted(assignment.items())
    ]
    return encode_json({"version": 1, "partitions": partitions}).decode()


def _list(values: Sequence[object]) -> str:
    """Format a list as Scala prints a list that it has parsed."""
    return f"Vector({', '.join(map(str, values))})"
