"""One broker to ask, of each make, ready and empty."""

import contextlib
from collections.abc import Iterator, Mapping
from typing import Final

from benchmarks.apache_kafka import SMALL, apache_kafka, kafka_jars
from kafka_edu.cli.supervisor import running_cluster

#: The cleaner's buffer does not fit into a small heap otherwise.
OF_A_SMALL_HEAP: Final = {"log.cleaner.dedupe.buffer.size": "4194304"}


@contextlib.contextmanager
def apache_broker(settings: Mapping[str, str]) -> Iterator[int]:
    """The port of an Apache Kafka 2.8.2 broker with id 0. Raises PeerMissing."""
    properties = [f"{key}={value}" for key, value in (settings | OF_A_SMALL_HEAP).items()]
    with apache_kafka(kafka_jars(), 1, properties, java=SMALL) as kafka:
        yield kafka.ports[0]


@contextlib.contextmanager
def our_broker(settings: Mapping[str, str]) -> Iterator[int]:
    """The port of a broker process of this project, with id 0."""
    with running_cluster("answers", brokers=1, props=dict(settings)) as cluster:
        yield cluster.port(0)
