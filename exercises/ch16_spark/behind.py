"""For exercise 16-17s: a topic of a real broker that gets more partitions, and the files that a job
has written.
"""

from collections.abc import Iterable
from typing import NamedTuple

from kafka_edu.clients.admin.new_topic import make_topic
from kafka_edu.clients.admin.topic_calls import NewPartitions
from kafka_edu.clients.blocking import Admin
from kafka_edu.clients.client_errors import ClientException
from kafka_edu.supervisor.cluster import ClusterError

from ..runner.spark_learner import LeftFile
from .topic_writer import Record, write


class GrowingTopic:
    """A topic that begins with one partition."""

    def __init__(self, servers: str, name: str) -> None:
        self._servers = servers
        self.name = name
        self.ends = [0]
        """How many records each partition has."""
        make_topic(servers, name, 1, 1)

    @property
    def options(self) -> dict[str, str]:
        """The options of a source that reads the topic."""
        return {
            "kafka.bootstrap.servers": self._servers,
            "subscribe": self.name,
            "startingOffsets": "earliest",
        }

    def write(self, records: int) -> None:
        """Write records. The partitions take turns. Raises ClusterError."""
        made = []
        for number in range(records):
            partition = number % len(self.ends)
            value = value_of(partition, self.ends[partition])
            made.append(Record(value, partition=partition))
            self.ends[partition] += 1
        write(self._servers, self.name, made)

    def grow(self, partitions: int) -> None:
        """Give the topic more partitions. Raises ClusterError."""
        try:
            with Admin({"bootstrap.servers": self._servers}) as admin:
                admin.create_partitions({self.name: NewPartitions(partitions)}).all()
        except ClientException as error:
            raise ClusterError(f"topic {self.name} cannot be changed: {error}") from error
        self.ends += [0] * (partitions - len(self.ends))

    def places(self) -> set[tuple[int, int]]:
        """Return (partition, offset) of all records."""
        return {(number, at) for number, end in enumerate(self.ends) for at in range(end)}


def value_of(partition: int, offset: int) -> str:
    """Return the value of a record."""
    return f"{partition}/{offset}"


class File(NamedTuple):
    """A file of Parquet that a job has written: the records of one task of a micro-batch."""

    name: str
    """batch=…, and the name of the file."""
    places: tuple[tuple[int, int], ...]
    """(partition, offset) of its records, sorted."""
    values_are_right: bool

    @property
    def batch(self) -> str:
        return self.name.partition("/")[0]

    @property
    def without_gap(self) -> bool:
        """Whether the records are consecutive and of one partition: then one task has read them."""
        first, last = self.places[0], self.places[-1]
        return first[0] == last[0] and last[1] - first[1] + 1 == len(self.places)


def files_of(left: Iterable[LeftFile]) -> list[File]:
    """Return the files with records in the folders `batch=…`. A missing column raises KeyError."""
    found = []
    for file in left:
        folder = file.path.rpartition("/")[0]
        if not folder.startswith("batch=") or "/" in folder:
            continue
        partitions, offsets, values = map(file.column, ("partition", "offset", "value"))
        places = tuple(
            (partition, offset)
            for partition, offset in zip(partitions, offsets, strict=True)
            if isinstance(partition, int) and isinstance(offset, int)
        )
        if places:
            right = values == [value_of(*place) for place in places]
            found.append(File(file.path, tuple(sorted(places)), right))
    return found
