"""The aborted transactions of a segment."""

import pytest

from kafka_edu.log.abstract_index import CorruptIndexError
from kafka_edu.log.transaction_index import AbortedTxn, TransactionIndex
from kafka_edu.sim.memory_file_system import MemoryFileSystem
from tests.unit.log.test_producer_state_manager import end, open_log, send
from tests.unit.log.test_transactions_in_log import entries, replicated


def test_the_index_says_where_the_last_stable_offset_comes_to_lie() -> None:
    log = open_log()
    send(log, 0, producer=1, transactional=True)
    send(log, 0, producer=2, transactional=True)
    end(log, 2)
    end(log, 1)
    end(log, 1)
    assert entries(log) == [
        AbortedTxn(2, 1, 2, 0),
        AbortedTxn(1, 0, 3, 4),
    ], "a marker without a transaction is not indexed"


def test_what_a_read_committed_reader_is_told() -> None:
    log = open_log()
    send(log, 0, producer=1, transactional=True)
    send(log, 0, producer=2, transactional=True)
    for i in range(1, 12):
        send(log, i, producer=2, transactional=True)
    end(log, 2)
    end(log, 1)
    assert len(log.segments) > 2
    replicated(log)
    told = log.aborted_transactions(1, log.read(1, 80))
    assert [(a.producer_id, a.first_offset) for a in told] == [
        (2, 1),
        (1, 0),
    ], "both reach into the range, though they end in later segments"
    assert log.aborted_transactions(14, log.read(14, 1000)) == [AbortedTxn(1, 0, 14, 15)], (
        "producer 2's ended at 13"
    )


def test_an_index_that_cannot_be_right_is_refused() -> None:
    files = MemoryFileSystem()
    files.make_dirs("/d")
    index = TransactionIndex(files, "/d/x.txnindex", 10)
    assert list(index.entries()) == []
    assert not files.exists("/d/x.txnindex"), "made with the first entry"
    index.append(AbortedTxn(1, 5, 12, 13))
    index.sanity_check()
    index.close()
    with pytest.raises(CorruptIndexError):
        TransactionIndex(files, "/d/x.txnindex", 13).sanity_check()
    files.open("/d/x.txnindex").append((b"x",))
    with pytest.raises(CorruptIndexError):
        TransactionIndex(files, "/d/x.txnindex", 10).sanity_check()
