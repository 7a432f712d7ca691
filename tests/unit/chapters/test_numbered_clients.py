"""The producers of the fault demos: the value of each record names its producer, partition and
number. The tests also check when a producer sends which record.
"""

import threading

import pytest
from confluent_kafka import KafkaError, KafkaException

from chapters.demo_parts.numbered_clients import (
    ClientGaveUp,
    ConfluentProducer,
    NumberedProducer,
    Place,
)
from tests.waiting import PATIENCE_S


def test_a_record_says_what_it_is() -> None:
    assert Place.parse(Place("kafka-python", 3, 7).value(40)) == ("kafka-python", 3, 7)
    assert len(Place("p", 0, 7).value(40)) == 40


class SlowlyAcked(NumberedProducer):
    """A producer that gets its first acknowledgements in the second poll. `before_the_first_ack`
    has the records that were sent until then.
    """

    name = "slow"

    def __init__(self) -> None:
        super().__init__(3, 1_000_000, 40)
        self.produced: list[Place] = []
        self.before_the_first_ack: list[Place] = []
        self.went_on = threading.Event()
        self._polled = 0

    def _produce(self, place: Place, value: bytes) -> bool:
        assert Place.parse(value) == place
        self.produced.append(place)
        if self.acked:
            self.went_on.set()
        return True

    def _poll(self) -> None:
        self._polled += 1
        if self._polled == 2:
            self.before_the_first_ack = list(self.produced)
            for place in self.produced:
                self._on_ack(place, 0)

    def _flush(self) -> None: ...


def test_the_first_record_of_each_partition_goes_alone() -> None:
    producer = SlowlyAcked()
    producer.start()
    assert producer.went_on.wait(PATIENCE_S)
    producer.finish()
    assert producer.before_the_first_ack == [("slow", 0, 0), ("slow", 1, 0), ("slow", 2, 0)]
    assert producer.produced[3:6] == [("slow", 0, 1), ("slow", 1, 1), ("slow", 2, 1)]


class Full(NumberedProducer):
    """A client that refuses each record once, because it has no room, and ends at the eighth
    attempt.
    """

    name = "full"

    def __init__(self) -> None:
        super().__init__(3, 1_000_000, 40)
        self.tried: list[Place] = []

    def _produce(self, place: Place, value: bytes) -> bool:
        self.tried.append(place)
        if len(self.tried) == 8:
            raise KafkaException(KafkaError(KafkaError._FATAL, "it is over"))
        if len(self.tried) % 2:
            return False
        self._on_ack(place, 0)
        return True

    def _poll(self) -> None: ...

    def _flush(self) -> None: ...


def test_a_record_for_which_there_is_no_room_is_tried_again() -> None:
    producer = Full()
    producer._run()
    assert producer.tried[:6:2] == producer.tried[1:6:2] == [("full", p, 0) for p in (0, 1, 2)]
    assert producer.sent == len(producer.acked) == 3


def test_a_client_that_ends_by_itself_is_reported_to_the_demo() -> None:
    """Without the report, the user would see only a traceback of the client's thread, and the demo
    would wait for ever.
    """
    producer = Full()
    producer.start()
    with pytest.raises(ClientGaveUp, match=r"full gave up: .*it is over"):
        producer.finish()


class EndsInFlush:
    """Behaves like confluent-kafka's Producer after a fatal error of librdkafka."""

    def poll(self, _: float) -> None: ...

    def produce(self, *_: object, **__: object) -> None:
        raise BufferError

    def flush(self, _: float) -> None:
        raise SystemError("flush returned NULL without setting an exception")


def test_a_fatal_error_in_flush_is_the_clients_end_and_no_traceback(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    producer = ConfluentProducer("127.0.0.1:1", "t", 1, 1, 40)
    monkeypatch.setattr(producer, "_client", EndsInFlush())
    producer.start()
    with pytest.raises(ClientGaveUp, match="confluent-kafka gave up: the line with FATAL"):
        producer.finish()
