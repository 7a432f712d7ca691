"""Replay the recordings against real processes: Apache Kafka must still answer as recorded
(tests/conformance/recordings), and so must a broker of this project.
"""

import pytest

from benchmarks.apache_kafka import PeerMissing
from tests.conformance.broker_processes import apache_broker, our_broker
from tests.conformance.brokers import ListeningBroker
from tests.conformance.cases import MODULES, load
from tests.conformance.replay import Replay, read_steps
from tests.interop.external_programs import missing


@pytest.mark.long  # the recordings were made so, and Apache Kafka 2.8.2 does not change
@pytest.mark.parametrize("name", MODULES)
def test_apache_kafka_answers_as_recorded(name: str) -> None:
    try:
        with apache_broker(load(name)) as port:
            differences = list(
                Replay(ListeningBroker("127.0.0.1", port)).differences(read_steps(name))
            )
    except PeerMissing as error:
        missing(str(error))
    assert not differences, "\n".join(map(str, differences))


@pytest.mark.interop
@pytest.mark.parametrize("name", MODULES)
def test_a_broker_process_answers_as_apache_kafka(name: str) -> None:
    cases = load(name)
    with our_broker(cases) as port:
        differences = list(Replay(ListeningBroker("127.0.0.1", port)).differences(read_steps(name)))
    assert {each.step for each in differences} == set(cases.different), "\n".join(
        map(str, differences)
    )
