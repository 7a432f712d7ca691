"""The recorded answers of Apache Kafka 2.8.2, byte by byte asked from this project's broker in
virtual time.
"""

import pytest

from tests.interop.answers import SimulatedBroker
from tests.interop.questions import MODULES, load
from tests.interop.questions.asking import GOLDEN, Asker, Replay, read_steps


@pytest.mark.parametrize("name", MODULES)
def test_the_broker_answers_as_apache_kafka_did(name: str) -> None:
    questions = load(name)
    broker = SimulatedBroker(questions.settings, is_beside_controller=questions.beside_controller)
    differences = list(Replay(broker).differences(read_steps(name)))
    broker.close()
    unknown = [str(each) for each in differences if each.step not in questions.different]
    assert not unknown, "\n".join(unknown)
    assert {each.step for each in differences} == set(questions.different), (
        "what does not differ any more is to be taken out of DIFFERENT"
    )


@pytest.mark.parametrize("name", MODULES)
def test_every_question_was_recorded(name: str) -> None:
    questions = load(name)
    broker = SimulatedBroker(questions.settings, is_beside_controller=questions.beside_controller)
    asker = Asker(broker)
    questions.ask_all(asker)
    broker.close()
    assert [step["step"] for step in asker.steps] == [step["step"] for step in read_steps(name)], (
        f"python -m tests.golden.record_answers {name}"
    )


def test_every_recording_is_replayed() -> None:
    assert {path.stem for path in GOLDEN.glob("*.jsonl")} == set(MODULES)
