"""The records of the fault demos' producers: a record says by its value what it is; and when they
write what.
"""

import threading

from chapters.demo_parts.numbered_clients import NumberedProducer, Place
from tests.waiting import PATIENCE_S


def test_a_record_says_what_it_is() -> None:
    assert Place.parse(Place("kafka-python", 3, 7).value(40)) == ("kafka-python", 3, 7)
    assert len(Place("p", 0, 7).value(40)) == 40


class SlowlyAcked(NumberedProducer):
    """Nothing is acked before it has been polled twice; what was sent until then is kept apart."""

    name = "slow"

    def __init__(self) -> None:
        super().__init__(3, 1_000_000, 40)
        self.produced: list[Place] = []
        self.before_the_first_ack: list[Place] = []
        self.went_on = threading.Event()
        self._polled = 0

    def _produce(self, place: Place, value: bytes) -> None:
        assert Place.parse(value) == place
        self.produced.append(place)
        if self.acked:
            self.went_on.set()

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
