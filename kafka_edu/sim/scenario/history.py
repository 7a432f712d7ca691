"""The notes of a scenario's clients: what each of them did and saw.

The checker compares these notes with the logs of the brokers. A client notes an answer at the
moment in which its program gets it, so nothing that the brokers do later can change the notes.
"""

from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple

from kafka_edu.common.topic_partition import TopicPartition


class SentRecord(NamedTuple):
    """A record that a program gave to a producer. The record's value is `name`, which is different
    for each record. A tombstone has no value, so its name is in a header.
    """

    name: str
    producer: str
    tp: TopicPartition
    number: int
    """Its place among the records of this producer for this partition, from 0."""
    session: int
    """The number of the producer's id: it grows when the producer has to begin again."""
    key: str
    transaction: int
    """The number of its transaction in the history, or -1."""
    is_tombstone: bool = False


class Acked(NamedTuple):
    """A record's acknowledgement. The offset is -1 if the broker did not send it."""

    offset: int
    at_ms: int


class Outcome(StrEnum):
    """How a transaction ended, as its producer knows it."""

    OPEN = "open"
    COMMITTED = "committed"
    ABORTED = "aborted"
    UNKNOWN = "unknown"
    """The producer got an error, and then another id: the coordinator has decided alone."""


class Read(NamedTuple):
    """A record that a consumer's program got."""

    reader: str
    tp: TopicPartition
    offset: int
    name: str
    at_ms: int


class Commit(NamedTuple):
    """An offset that a member of a group has committed, and for which it got the answer."""

    group: str
    member: str
    tp: TopicPartition
    offset: int
    began_ms: int
    acked_ms: int


class Known(NamedTuple):
    """The committed offset that the group's coordinator gave to a member that asked for it."""

    group: str
    member: str
    tp: TopicPartition
    offset: int
    asked_ms: int


class Assigned(NamedTuple):
    """A partition that a member of a group got. The member begins to read at the committed
    offset.
    """

    group: str
    member: str
    tp: TopicPartition
    at_ms: int


class History:
    """The notes of all clients of one run."""

    def __init__(self) -> None:
        self.sent: dict[str, SentRecord] = {}
        self.acked: dict[str, Acked] = {}
        self.failed: dict[str, str] = {}
        """The error of each record that got one. Such a record may be stored nevertheless."""
        self.transactions: list[Outcome] = []
        self.transaction_began_ms: list[int] = []
        """When each of the `transactions` began."""
        self.transaction_asked_ms: list[float] = []
        """When the program asked for the end of each of the `transactions`: `inf` until then."""
        self.reads: list[Read] = []
        self.commits: list[Commit] = []
        self.known: list[Known] = []
        self.assigned: list[Assigned] = []
        self.new_sessions: list[str] = []
        """Why a producer had to begin again with a different id."""

    def transaction_records(self) -> Iterator[tuple[Outcome, list[SentRecord]]]:
        """Yield each transaction's outcome and its records."""
        records: list[list[SentRecord]] = [[] for _ in self.transactions]
        for record in self.sent.values():
            if record.transaction >= 0:
                records[record.transaction].append(record)
        yield from zip(self.transactions, records, strict=True)
