"""What Apache Kafka was recorded to answer (tests/golden/answers) it still answers, and so does a
broker process of this project.
"""

import pytest

from benchmarks.apache_kafka import PeerMissing
from tests.interop.answers import ListeningBroker
from tests.interop.foreign import missing
from tests.interop.peers import apache_broker, our_broker
from tests.interop.questions import MODULES, load
from tests.interop.questions.asking import Replay, read_steps


@pytest.mark.timeout(240)
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


@pytest.mark.timeout(240)
@pytest.mark.parametrize("name", MODULES)
def test_a_broker_process_answers_as_apache_kafka(name: str) -> None:
    questions = load(name)
    with our_broker(questions) as port:
        differences = list(Replay(ListeningBroker("127.0.0.1", port)).differences(read_steps(name)))
    assert {each.step for each in differences} == set(questions.different), "\n".join(
        map(str, differences)
    )
