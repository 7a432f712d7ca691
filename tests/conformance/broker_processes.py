"""Start one empty broker, Apache Kafka's or ours, and return the port to send the requests to. For
some cases a second broker runs next to it as the controller.
"""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Final

from benchmarks.apache_kafka import SMALL, apache_kafka, kafka_jars
from kafka_edu.supervisor.cluster import running_cluster
from tests.conformance.brokers import ListeningBroker, beside_controller
from tests.conformance.cases import Cases

#: The cleaner's default buffer does not fit into a small heap.
OF_A_SMALL_HEAP: Final = {"log.cleaner.dedupe.buffer.size": "4194304"}


@contextlib.contextmanager
def apache_broker(cases: Cases) -> Iterator[int]:
    """Yield the port of the Apache Kafka 2.8.2 broker under test. Raises PeerMissing."""
    properties = [f"{key}={value}" for key, value in {**cases.settings, **OF_A_SMALL_HEAP}.items()]
    with apache_kafka(kafka_jars(), _brokers(cases), properties, java=SMALL) as kafka:
        yield _port(kafka.ports)


@contextlib.contextmanager
def our_broker(cases: Cases) -> Iterator[int]:
    """Yield the port of the broker under test: a process of this project."""
    brokers = _brokers(cases)
    with running_cluster("answers", brokers=brokers, props=dict(cases.settings)) as cluster:
        yield _port([cluster.port(broker) for broker in range(brokers)])


def _brokers(cases: Cases) -> int:
    return 2 if cases.beside_controller else 1


def _port(ports: Sequence[int]) -> int:
    """Return the port of the only broker, or of the one that is not the controller."""
    return ports[
        0 if len(ports) == 1 else beside_controller(ListeningBroker("127.0.0.1", ports[0]))
    ]
