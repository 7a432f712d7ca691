"""Topics of a real broker that are deleted and made again, for exercise 16-12s."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from confluent_kafka import (
    KafkaError,
    KafkaException,
    Producer,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from kafka_edu.supervisor.cluster import Cluster, ClusterError, running_cluster

PARTITIONS: Final = 2
PATIENCE_S: Final = 120.0
TRIES: Final = 20_000


class Topic:
    """A topic of one broker. It can be deleted and made again under the same name."""

    def __init__(self, servers: str, name: str) -> None:
        self.servers = servers
        self.name = name
        self.id = ""
        """The id that the broker gave to the topic, as `kafka-topics.sh --describe` prints it."""
        self.values: list[str] = []
        """The values of all records that were ever written, also before it was made again."""
        self._admin = AdminClient({"bootstrap.servers": servers, "log_level": 0})
        self.make()

    @property
    def options(self) -> dict[str, str]:
        """The options of a source that reads the topic."""
        return {
            "kafka.bootstrap.servers": self.servers,
            "subscribe": self.name,
            "startingOffsets": "earliest",
        }

    def make(self) -> None:
        """Make the topic. A broker refuses that until a topic of this name is gone: try again.

        Raises ClusterError.
        """
        for _ in range(TRIES):
            new = NewTopic(self.name, PARTITIONS, 1)
            try:
                self._admin.create_topics([new])[self.name].result(PATIENCE_S)
            except KafkaException as error:
                if error.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS:
                    continue
                raise ClusterError(f"topic {self.name} cannot be made: {error}") from error
            break
        found = self._admin.describe_topics(TopicCollection([self.name]))[self.name]
        self.id = str(found.result(PATIENCE_S).topic_id).replace("/", "_").replace("+", "-")

    def make_again(self) -> None:
        """Delete the topic and make it again. Raises ClusterError."""
        self._admin.delete_topics([self.name], operation_timeout=PATIENCE_S)[self.name].result(
            PATIENCE_S
        )
        self.make()

    def write(self, values: Sequence[str]) -> None:
        """Write records. The partitions take turns. Raises ClusterError."""
        producer = Producer({"bootstrap.servers": self.servers, "acks": "all", "log_level": 0})
        for number, value in enumerate(values):
            producer.produce(self.name, value.encode(), partition=number % PARTITIONS)
        if producer.flush(PATIENCE_S):
            raise ClusterError(f"topic {self.name} could not be filled")
        self.values += values

    def delete_before(self, offset: int) -> None:
        """Delete the records of all partitions before an offset, as retention does."""
        ends = [TopicPartition(self.name, number, offset) for number in range(PARTITIONS)]
        for deleted in self._admin.delete_records(ends).values():
            deleted.result(PATIENCE_S)


@contextmanager
def one_broker() -> Iterator[Cluster]:
    """Run a cluster of one broker. Raises ClusterError."""
    with running_cluster("lab-16-12s", brokers=1) as cluster:
        yield cluster
