import pickle

import pytest

from kafka_edu.common.errors import Errors, KafkaException

#: The codes that a client of 2.8 may retry, according to Kafka 2.8.2's class hierarchy.
RETRIABLE_CODES = {
    2,
    3,
    5,
    6,
    7,
    9,
    13,
    14,
    15,
    16,
    19,
    20,
    41,
    56,
    70,
    71,
    72,
    74,
    75,
    78,
    80,
    83,
    84,
    88,
    89,
    100,
}


def test_the_table_has_every_code_from_unknown_to_the_last_of_2_8_once() -> None:
    assert [int(error) for error in Errors] == list(range(-1, 105))


def test_retriable_codes_are_kafkas() -> None:
    assert {int(error) for error in Errors if error.retriable} == RETRIABLE_CODES


def test_every_code_has_a_sentence_of_its_own() -> None:
    messages = [error.message for error in Errors]
    assert len(set(messages)) == len(messages)
    assert all(message.endswith(".") for message in messages)


def test_a_code_is_looked_up_by_number() -> None:
    assert Errors(3) is Errors.UNKNOWN_TOPIC_OR_PARTITION
    assert Errors.of(45) is Errors.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert Errors.of(30_000) is Errors.UNKNOWN_SERVER_ERROR
    with pytest.raises(ValueError, match="30000"):
        Errors(30_000)


def test_members_survive_pickling() -> None:
    assert pickle.loads(pickle.dumps(Errors.NOT_CONTROLLER)) is Errors.NOT_CONTROLLER


def test_an_exception_tells_its_code_and_its_own_or_the_tables_sentence() -> None:
    assert (
        str(KafkaException(Errors.NOT_CONTROLLER))
        == "NOT_CONTROLLER: This broker is not the controller."
    )
    own = KafkaException(Errors.INVALID_CONFIG, "segment.bytes: 3 is below 14")
    assert (own.error, own.message) == (Errors.INVALID_CONFIG, "segment.bytes: 3 is below 14")
