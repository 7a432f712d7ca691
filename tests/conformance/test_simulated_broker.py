"""Replay the requests recorded from Apache Kafka 2.8.2, byte by byte, against this project's broker
in virtual time, and compare the answers.
"""

import pytest

from tests.conformance.brokers import SimulatedBroker
from tests.conformance.cases import MODULES, load
from tests.conformance.replay import RECORDINGS, Asker, Replay, read_steps


@pytest.mark.parametrize("name", MODULES)
def test_the_broker_answers_as_apache_kafka_did(name: str) -> None:
    cases = load(name)
    broker = SimulatedBroker(cases.settings, is_beside_controller=cases.beside_controller)
    differences = list(Replay(broker).differences(read_steps(name)))
    broker.close()
    unknown = [str(each) for each in differences if each.step not in cases.different]
    assert not unknown, "\n".join(unknown)
    assert {each.step for each in differences} == set(cases.different), (
        "remove from DIFFERENT the steps that no longer differ"
    )


@pytest.mark.parametrize("name", MODULES)
def test_every_question_was_recorded(name: str) -> None:
    cases = load(name)
    broker = SimulatedBroker(cases.settings, is_beside_controller=cases.beside_controller)
    asker = Asker(broker)
    cases.ask_all(asker)
    broker.close()
    assert [step["step"] for step in asker.steps] == [step["step"] for step in read_steps(name)], (
        f"record the answers again: python -m tests.conformance.record {name}"
    )


def test_every_recording_is_replayed() -> None:
    assert {path.stem for path in RECORDINGS.glob("*.jsonl")} == set(MODULES)
