"""Which batches and markers of transactions a cleaner drops."""

from kafka_edu.log.cleaner.cleaned_transactions import CleanedTransactions
from kafka_edu.log.transaction_index import AbortedTxn
from kafka_edu.record.control_record import (
    ControlRecordType,
    EndTransactionMarker,
    build_end_transaction_marker,
)
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import BatchHeader, build_batch, parse_header

NOW = 1_600_000_000_000
COMMIT, ABORT = ControlRecordType.COMMIT, ControlRecordType.ABORT


def data(offset: int, producer: int, *, transactional: bool = True) -> BatchHeader:
    return parse_header(
        build_batch(
            [Record(offset, NOW, b"k", b"v")],
            producer_id=producer,
            producer_epoch=0,
            base_sequence=0,
            is_transactional=transactional,
        )
    )


def is_over(seen: CleanedTransactions, offset: int, producer: int, kind: ControlRecordType) -> bool:
    marker = build_end_transaction_marker(EndTransactionMarker(kind, 0), producer, 0, NOW, offset)
    return seen.is_over(parse_header(marker), marker)


def test_records_of_an_aborted_transaction_go_and_its_marker_stays_while_batches_were_there() -> (
    None
):
    seen = CleanedTransactions()
    one = AbortedTxn(7, 10, 15, 16)
    seen.add([one])
    assert not seen.is_aborted(data(9, 7)), "it has not begun yet"
    assert seen.is_aborted(data(10, 7))
    assert not seen.is_aborted(data(11, 8)), "another producer"
    assert not seen.is_aborted(data(12, 7, transactional=False))
    assert not is_over(seen, 15, 7, ABORT)
    assert seen.take_kept() == [one]
    assert seen.take_kept() == []
    assert not seen.is_aborted(data(17, 7)), "the next transaction of the same producer"


def test_the_marker_of_an_aborted_transaction_goes_when_none_of_its_batches_is_left() -> None:
    seen = CleanedTransactions()
    seen.add([AbortedTxn(7, 10, 15, 16)])
    assert is_over(seen, 15, 7, ABORT)
    assert seen.take_kept() == []


def test_the_marker_of_a_commit_goes_when_none_of_its_batches_is_left() -> None:
    seen = CleanedTransactions()
    assert not seen.is_aborted(data(1, 7))
    assert not is_over(seen, 2, 7, COMMIT)
    assert is_over(seen, 3, 7, COMMIT), "an empty transaction, or one whose batches are gone"


def test_a_transaction_that_reaches_over_two_segments_may_be_named_twice() -> None:
    seen = CleanedTransactions()
    one = AbortedTxn(7, 10, 25, 26)
    seen.add([one])
    assert seen.is_aborted(data(10, 7))
    seen.add([one])
    assert seen.is_aborted(data(20, 7))
    assert not is_over(seen, 25, 7, ABORT)
    assert seen.take_kept() == [one]
