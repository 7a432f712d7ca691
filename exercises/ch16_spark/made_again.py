"""Topics of a real broker that are deleted and made again, for exercise 16-12s."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from kafka_edu.clients.admin.topic_calls import NewTopic
from kafka_edu.clients.blocking import Admin
from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.supervisor.cluster import Cluster, ClusterError, running_cluster
from kafka_edu.zk.zk_data import encode_uuid

from .topic_writer import Record, write

PARTITIONS: Final = 2
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
        with self._open_admin() as admin:
            self._make(admin)

    def _open_admin(self) -> Admin:
        return Admin({"bootstrap.servers": self.servers})

    @property
    def options(self) -> dict[str, str]:
        """The options of a source that reads the topic."""
        return {
            "kafka.bootstrap.servers": self.servers,
            "subscribe": self.name,
            "startingOffsets": "earliest",
        }

    def _make(self, admin: Admin) -> None:
        """Make the topic. Try again while the broker still has an old topic of this name.

        Raises ClusterError.
        """
        for _ in range(TRIES):
            made = admin.create_topics([NewTopic(self.name, PARTITIONS, 1)])
            if not made.errors:
                topic_id = made[self.name].topic_id
                assert topic_id is not None  # our brokers have ids
                self.id = encode_uuid(topic_id)
                return
            error = made.errors[self.name]
            if error.error is not Errors.TOPIC_ALREADY_EXISTS:
                break
        raise ClusterError(f"topic {self.name} cannot be made: {error}") from error

    def make_again(self) -> None:
        """Delete the topic and make it again. Raises ClusterError."""
        with self._open_admin() as admin:
            admin.delete_topics([self.name]).all()
            self._make(admin)

    def write(self, values: Sequence[str]) -> None:
        """Write records. The partitions take turns. Raises ClusterError."""
        write(
            self.servers,
            self.name,
            (Record(value, partition=number % PARTITIONS) for number, value in enumerate(values)),
        )
        self.values += values

    def delete_before(self, offset: int) -> None:
        """Delete the records of all partitions before an offset, as retention does."""
        before = {TopicPartition(self.name, number): offset for number in range(PARTITIONS)}
        with self._open_admin() as admin:
            admin.delete_records(before).all()


@contextmanager
def one_broker() -> Iterator[Cluster]:
    """Run a cluster of one broker. Raises ClusterError."""
    with running_cluster("lab-16-12s", brokers=1) as cluster:
        yield cluster
