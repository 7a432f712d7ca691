"""A producer sends at a steady rate. The test gives the time, and nothing is really sent."""

from confluent_kafka import Producer

from kafka_edu.clients.paced_producer import PacedProducer


class Stage:
    def __init__(self, most_behind_s: float | None = None) -> None:
        self.numbers: list[int] = []
        self.room = 1_000
        """How many more records librdkafka's queue takes."""
        self.paced = PacedProducer(Producer({}), 10, self._send, "test", most_behind_s)

    def _send(self, number: int) -> bool:
        if not self.room:
            return False
        self.room -= 1
        self.numbers.append(number)
        return True


def test_records_are_sent_at_the_rate_whenever_the_turns_come() -> None:
    stage = Stage()
    for now in (50.0, 50.05, 50.25, 50.26, 51.0, 52.0):
        stage.paced.turn(now)
    assert stage.numbers == list(range(20))
    assert stage.paced.sent == 20


def test_a_full_queue_is_tried_again_with_the_same_number() -> None:
    stage = Stage()
    stage.paced.turn(0.0)
    stage.room = 3
    stage.paced.turn(1.0)
    assert stage.numbers == [0, 1, 2]
    stage.room = 1_000
    stage.paced.turn(1.0)
    assert stage.numbers == list(range(10))


def test_a_producer_makes_up_for_all_that_it_could_not_send() -> None:
    stage = Stage()
    stage.paced.turn(0.0)
    stage.paced.turn(60.0)
    assert stage.paced.sent == 600


def test_a_producer_may_give_up_what_is_too_late() -> None:
    stage = Stage(most_behind_s=1.0)
    stage.paced.turn(0.0)
    stage.paced.turn(1.0)
    assert stage.paced.sent == 10
    stage.paced.turn(60.0)
    assert stage.paced.sent == 10
    stage.paced.turn(60.5)
    assert stage.paced.sent == 15
