"""Write the records of an exercise to a topic."""

from collections.abc import Iterable
from typing import NamedTuple

from kafka_edu.clients.blocking import Producer
from kafka_edu.clients.client_errors import ClientException
from kafka_edu.supervisor.cluster import ClusterError


class Record(NamedTuple):
    """A record to write. Without a partition, the key chooses the partition. Without a timestamp,
    it has the current time.
    """

    value: str
    key: str | None = None
    partition: int | None = None
    timestamp_ms: int | None = None


def write(servers: str, topic: str, records: Iterable[Record]) -> None:
    """Write the records in their order, with acks=all. Raises ClusterError."""
    try:
        with Producer({"bootstrap.servers": servers, "acks": "all"}) as producer:
            sent = [
                producer.send(topic, value, key, partition=partition, timestamp_ms=timestamp_ms)
                for value, key, partition, timestamp_ms in records
            ]
            for one in sent:
                one.result()
    except ClientException as error:
        raise ClusterError(f"topic {topic} could not be filled: {error}") from error
