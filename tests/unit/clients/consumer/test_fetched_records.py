"""The records of one fetch response: their order, limits, aborted transactions, and corrupt
batches.
"""

import pytest

from kafka_edu.clients.client_errors import ClientException, SerializationException
from kafka_edu.clients.consumer.consumer_config import Deserializer
from kafka_edu.clients.consumer.consumer_record import ConsumerRecord
from kafka_edu.clients.consumer.fetched_records import (
    FetchedRecords,
    RecordUnreadableException,
)
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.protocol.messages.fetch import AbortedTransaction
from kafka_edu.record.compression import CompressionType
from kafka_edu.record.control_record import (
    ControlRecordType,
    EndTransactionMarker,
    build_end_transaction_marker,
)
from kafka_edu.record.memory_records import build_records
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import TimestampType, build_batch

T0 = TopicPartition("t", 0)


def record(offset: int) -> Record:
    return Record(offset, 100 + offset, b"k%d" % offset, b"v%d" % offset, (("h", b"x"),))


def batch(first: int, end: int, producer: int = -1) -> bytes:
    if producer < 0:
        return build_batch([record(n) for n in range(first, end)])
    return build_batch(
        [record(n) for n in range(first, end)],
        producer_id=producer,
        producer_epoch=0,
        base_sequence=0,
        is_transactional=True,
    )


def marker(offset: int, producer: int, kind: ControlRecordType) -> bytes:
    return build_end_transaction_marker(EndTransactionMarker(kind, 0), producer, 0, 100, offset)


def fetched(
    data: bytes,
    offset: int = 0,
    aborted: list[AbortedTransaction] | None = None,
    *,
    read_committed: bool = False,
    check_crcs: bool = True,
) -> FetchedRecords:
    return FetchedRecords(
        T0,
        offset,
        memoryview(data),
        aborted or [],
        read_committed=read_committed,
        check_crcs=check_crcs,
    )


def take(
    source: FetchedRecords,
    most: int = 100,
    key: Deserializer | None = None,
    value: Deserializer | None = None,
) -> list[int]:
    return [each.offset for each in source.take(most, key, value)]


def test_records_come_in_order_and_at_most_so_many() -> None:
    source = fetched(batch(0, 3) + batch(3, 5), offset=1)
    assert take(source, 1) == [1]
    assert (source.offset, source.exhausted) == (2, False)
    assert take(source, 2) == [2, 3]
    assert take(source) == [4]
    assert (source.offset, source.exhausted) == (5, True)
    assert take(source) == []


def test_a_record_has_all_its_parts() -> None:
    [found] = fetched(batch(7, 8), offset=7).take(1, None, lambda value: (value or b"").decode())
    assert found == ConsumerRecord(
        "t", 0, 7, 107, TimestampType.CREATE_TIME, b"k7", "v7", (("h", b"x"),), -1
    )


@pytest.mark.parametrize("magic", [0, 1, 2])
@pytest.mark.parametrize("codec", [CompressionType.NONE, CompressionType.GZIP])
def test_records_of_every_format_are_read(magic: int, codec: CompressionType) -> None:
    data = build_records([record(n)._replace(headers=()) for n in range(4)], magic, codec)
    source = fetched(data, offset=2)
    assert take(source) == [2, 3]
    assert source.offset == 4


def test_the_position_goes_behind_what_compaction_removed() -> None:
    removed = build_batch([record(5), record(9)])
    source = fetched(removed + batch(10, 11), offset=7)
    assert take(source, 1) == [9]
    assert take(source) == [10]
    assert source.offset == 11


def test_an_incomplete_last_batch_waits_for_the_next_fetch() -> None:
    source = fetched(batch(0, 2) + batch(2, 4)[:-1])
    assert take(source) == [0, 1]
    assert source.offset == 2
    alone = fetched(batch(0, 2)[:-1])
    for _ in range(2):
        with pytest.raises(ClientException, match=r"Raise max\.partition\.fetch\.bytes"):
            take(alone)


INTERLEAVED = (
    batch(0, 1, producer=1)
    + batch(1, 2, producer=2)
    + batch(2, 3, producer=1)
    + batch(3, 4)
    + marker(4, 1, ControlRecordType.ABORT)
    + batch(5, 6, producer=1)
    + marker(6, 2, ControlRecordType.COMMIT)
    + marker(7, 1, ControlRecordType.COMMIT)
)


def test_aborted_transactions_are_skipped_with_read_committed() -> None:
    aborted = [AbortedTransaction(producer_id=1, first_offset=0)]
    source = fetched(INTERLEAVED, aborted=aborted, read_committed=True)
    assert take(source) == [1, 3, 5]
    assert source.offset == 8


def test_read_uncommitted_gets_everything_but_the_markers() -> None:
    source = fetched(INTERLEAVED)
    assert take(source) == [0, 1, 2, 3, 5]
    assert source.offset == 8


def test_two_aborted_transactions_of_one_producer() -> None:
    data = (
        batch(0, 1, producer=1)
        + marker(1, 1, ControlRecordType.ABORT)
        + batch(2, 3, producer=1)
        + marker(3, 1, ControlRecordType.COMMIT)
        + batch(4, 5, producer=1)
        + marker(5, 1, ControlRecordType.ABORT)
    )
    aborted = [
        AbortedTransaction(producer_id=1, first_offset=4),
        AbortedTransaction(producer_id=1, first_offset=0),
    ]
    assert take(fetched(data, aborted=aborted, read_committed=True)) == [2]


def test_a_corrupt_batch_is_an_error_until_the_program_goes_past_it() -> None:
    bad = bytearray(batch(2, 3))
    bad[-1] ^= 1
    source = fetched(batch(0, 2) + bytes(bad) + batch(3, 4))
    assert take(source) == [0, 1]  # what came before is not lost
    for _ in range(2):
        with pytest.raises(RecordUnreadableException) as error:
            take(source)
        assert (error.value.topic_partition, error.value.offset) == (T0, 2)
        assert "next record from t-0 at offset 2" in str(error.value)
    unchecked = fetched(bytes(bad), offset=2, check_crcs=False)
    [found] = unchecked.take(1, None, None)
    assert found.offset == 2


def test_batches_that_are_read_together_keep_what_each_of_them_says() -> None:
    def stamped(offset: int, epoch: int, kind: TimestampType, at: int) -> bytes:
        return build_batch(
            [record(offset), record(offset + 1)],
            partition_leader_epoch=epoch,
            timestamp_type=kind,
            max_timestamp=at,
        )

    create, append = TimestampType.CREATE_TIME, TimestampType.LOG_APPEND_TIME
    batches = [(4, create, 105), (4, append, 900), (4, append, 901), (5, append, 902)]
    source = fetched(
        b"".join(stamped(2 * n, *each) for n, each in enumerate(batches))  # 0 and 1, 2 and 3 …
    )
    found = source.take(100, None, None)
    assert [
        (each.offset, each.timestamp, each.timestamp_type, each.leader_epoch) for each in found
    ] == [
        (0, 100, create, 4),
        (1, 101, create, 4),
        (2, 900, append, 4),
        (3, 900, append, 4),
        (4, 901, append, 4),
        (5, 901, append, 4),
        (6, 902, append, 5),
        (7, 902, append, 5),
    ]
    assert source.epoch == 5


@pytest.mark.parametrize("most", [1, 7, 1_000])
def test_many_small_batches_give_the_records_of_each(most: int) -> None:
    data = b"".join(
        build_batch([Record(n, 100 + n, None, b"x" * (n % 80)) for n in range(first, first + 9)])
        for first in range(0, 900, 10)  # each tenth record was removed
    )
    source = fetched(data, offset=3)
    found = []
    while records := source.take(most, None, None):
        assert len(records) <= most
        found += records
    wanted = [n for n in range(3, 900) if n % 10 != 9]
    assert [(each.offset, each.timestamp, each.value) for each in found] == [
        (n, 100 + n, b"x" * (n % 80)) for n in wanted
    ]
    assert source.exhausted


def test_a_deserializer_that_fails_is_an_error_of_that_record() -> None:
    source = fetched(batch(0, 3))

    def numbers(value: bytes | None) -> object:
        if value == b"v1":
            raise ValueError("it is 1")
        return value

    assert take(source, value=numbers) == [0]
    for _ in range(2):
        with pytest.raises(SerializationException, match="t-0 at offset 1: it is 1"):
            take(source, value=numbers)
    assert take(source) == [1, 2]
