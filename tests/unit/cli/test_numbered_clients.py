"""What the producers of the fault demos write: a record says by its value what it is."""

from kafka_edu.cli.numbered_clients import Place


def test_a_record_says_what_it_is() -> None:
    assert Place.parse(Place("kafka-python", 3, 7).value(40)) == ("kafka-python", 3, 7)
    assert len(Place("p", 0, 7).value(40)) == 40
