"""Look up the end offset of a partition, although the brokers may not know the partition yet."""

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException

from chapters.ch10_replication.one_partition import log_end_offset


class Answers(Consumer):
    """A consumer that gets these answers, one after the other."""

    answers: list[int | KafkaError]

    def get_watermark_offsets(self, *args: object, **kwargs: object) -> tuple[int, int]:  # type: ignore[override]  # confluent's stub names each argument
        answer = self.answers.pop(0)
        if isinstance(answer, KafkaError):
            raise KafkaException(answer)
        return 0, answer


def consumer_that_gets(*answers: int | KafkaError) -> Answers:
    consumer = Answers({"group.id": "unused"})
    consumer.answers = list(answers)
    return consumer


def test_a_broker_that_does_not_know_the_partition_yet_is_asked_again() -> None:
    consumer = consumer_that_gets(
        KafkaError(KafkaError._UNKNOWN_PARTITION), KafkaError(KafkaError.LEADER_NOT_AVAILABLE), 7
    )
    assert log_end_offset(consumer, "t") == 7
    assert not consumer.answers


def test_an_error_that_stays_is_raised_at_once() -> None:
    with pytest.raises(KafkaException):
        log_end_offset(
            consumer_that_gets(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED), 7), "t"
        )
