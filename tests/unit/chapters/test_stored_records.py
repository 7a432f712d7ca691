"""How the fault demos decide whether a record is lost, stored twice, sent again or out of order."""

from collections.abc import Iterable
from pathlib import Path

import pytest
from kafka import TopicPartition

from chapters.demo_parts import stored_records
from chapters.demo_parts.numbered_clients import UNKNOWN_OFFSET, Place
from chapters.demo_parts.stored_records import (
    Found,
    ProducerIdAndEpoch,
    Stored,
    compare,
    producers_by_offset,
    read_all,
)
from kafka_edu.cli.progress import Progress, Standstill
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import build_batch
from kafka_edu.supervisor.cluster import Cluster

FIRST, SECOND = ProducerIdAndEpoch(7, 0), ProducerIdAndEpoch(7, 1)


def place(number: int, partition: int = 0, producer: str = "p") -> Place:
    return Place(producer, partition, number)


def stored(
    number: int,
    offset: int,
    epoch: ProducerIdAndEpoch = FIRST,
    partition: int = 0,
    producer: str = "p",
) -> Stored:
    return Stored(place(number, partition, producer), offset, epoch)


def test_all_there_in_order() -> None:
    records = [
        stored(0, 0),
        stored(0, 1, producer="q"),
        stored(1, 2),
        stored(0, 0, partition=1),
        stored(1, 3, producer="q"),
    ]
    acked = {record.place: record.offset for record in records[:4]}
    assert compare(acked, records) == Found(
        5, lost=0, duplicates=0, sent_anew=0, out_of_order=0, unacked_but_stored=1
    )


def test_a_gap_is_no_disorder_when_nobody_was_told_of_it() -> None:
    assert compare({place(0): 0, place(2): 1}, [stored(0, 0), stored(2, 1)]) == Found(
        2, 0, 0, 0, 0, 0
    )


def test_lost() -> None:
    assert compare({place(0): 0, place(1): 1}, [stored(0, 0)]).lost == 1
    assert compare({place(0): 4}, [stored(0, 0)]).lost == 1, (
        "it lies somewhere else than the ack said"
    )


def test_an_ack_without_an_offset_is_kept_by_being_there() -> None:
    assert compare({place(0): UNKNOWN_OFFSET}, [stored(0, 5)]).lost == 0
    assert compare({place(0): UNKNOWN_OFFSET}, [stored(1, 5)]).lost == 1


def test_stored_twice_by_the_cluster() -> None:
    found = compare({place(0): 0}, [stored(0, 0), stored(1, 1), stored(0, 2)])
    assert found == Found(
        3, lost=0, duplicates=1, sent_anew=0, out_of_order=0, unacked_but_stored=1
    )


def test_stored_twice_because_the_client_sent_it_anew() -> None:
    records = [stored(0, 0), stored(1, 1), stored(0, 2, SECOND), stored(1, 3, SECOND)]
    assert compare({place(0): 2, place(1): 3}, records) == Found(
        4, lost=0, duplicates=0, sent_anew=2, out_of_order=0, unacked_but_stored=0
    )
    again = [*records, stored(1, 4, SECOND), stored(0, 5, FIRST)]
    assert compare({}, again).duplicates == 2, "each of these was there under that epoch"


def test_out_of_order() -> None:
    assert compare({}, [stored(1, 0), stored(0, 1), stored(2, 2)]) == Found(
        3, 0, 0, 0, out_of_order=1, unacked_but_stored=3
    )


def test_whose_sequence_each_offset_belongs_to(tmp_path: Path) -> None:
    def batch(base: int, count: int, epoch: ProducerIdAndEpoch) -> bytes:
        records = [Record(base + i, 0, None, b"v") for i in range(count)]
        return build_batch(
            records,
            producer_id=epoch.producer_id,
            producer_epoch=epoch.producer_epoch,
            base_sequence=0,
        )

    (tmp_path / "00000000000000000000.log").write_bytes(batch(0, 2, FIRST) + batch(2, 1, SECOND))
    (tmp_path / "00000000000000000003.log").write_bytes(batch(3, 1, SECOND))
    assert producers_by_offset(tmp_path) == {0: FIRST, 1: FIRST, 2: SECOND, 3: SECOND}


class Stuck:
    """A consumer that never gets the last of two records."""

    def __init__(self, **_: object) -> None: ...

    def assign(self, partitions: Iterable[TopicPartition]) -> None: ...

    def end_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(partitions, 2)

    def position(self, _: TopicPartition) -> int:
        return 1

    def poll(self, timeout_ms: int) -> dict[TopicPartition, list[object]]:
        return {}

    def close(self) -> None: ...


class TheCluster(Cluster):
    bootstrap_servers = "127.0.0.1:9092"

    def __init__(self) -> None: ...


def test_reading_gives_up_when_no_more_records_come(monkeypatch: pytest.MonkeyPatch) -> None:
    """It says so as an error that ends a demo in sentences."""
    monkeypatch.setattr(stored_records, "KafkaConsumer", Stuck)
    monkeypatch.setattr(stored_records, "Progress", lambda what: Progress(what, standstill_s=0))
    with pytest.raises(Standstill) as raised:
        read_all(TheCluster(), "web", {0: 1})
    assert str(raised.value) == (
        "nothing changed for 0 s while the demo waited for the records of web, up to the ends"
        " {0: 2}; seen last: 0 records read"
    )
