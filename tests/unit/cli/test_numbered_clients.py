"""What `demo kills` calls lost, stored twice and out of order."""

from kafka_edu.cli.numbered_clients import UNKNOWN_OFFSET, Found, Place, compare


def place(number: int, partition: int = 0, producer: str = "p") -> Place:
    return Place(producer, partition, number)


def test_a_record_says_what_it_is() -> None:
    assert Place.parse(place(7, 3, "kafka-python").value(40)) == ("kafka-python", 3, 7)
    assert len(place(7).value(40)) == 40


def test_all_there_in_order() -> None:
    read = [(place(0), 0), (place(0, producer="q"), 1), (place(1), 2), (place(0, 1), 0), (place(1, producer="q"), 3)]
    acked = dict(read[:4])
    assert compare(acked, read) == Found(5, 0, 0, 0, 1)


def test_a_gap_is_no_disorder_when_nobody_was_told_of_it() -> None:
    assert compare({place(0): 0, place(2): 1}, [(place(0), 0), (place(2), 1)]) == Found(2, 0, 0, 0, 0)


def test_lost() -> None:
    assert compare({place(0): 0, place(1): 1}, [(place(0), 0)]).lost == 1
    assert compare({place(0): 4}, [(place(0), 0)]).lost == 1, "it lies somewhere else than the ack said"


def test_an_ack_without_an_offset_is_kept_by_being_there() -> None:
    assert compare({place(0): UNKNOWN_OFFSET}, [(place(0), 5)]).lost == 0
    assert compare({place(0): UNKNOWN_OFFSET}, [(place(1), 5)]).lost == 1


def test_stored_twice() -> None:
    assert compare({place(0): 0}, [(place(0), 0), (place(1), 1), (place(0), 2)]) == Found(3, 0, 1, 0, 1)


def test_out_of_order() -> None:
    assert compare({}, [(place(1), 0), (place(0), 1), (place(2), 2)]) == Found(3, 0, 0, 1, 3)
