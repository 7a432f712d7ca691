"""Open, decided and settled transactions in a log: the last stable offset, the transaction index,
fencing, truncation, restart.
"""

import pytest

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.log.log import Log
from kafka_edu.log.transaction_index import AbortedTxn
from kafka_edu.record.control_record import ControlRecordType
from kafka_edu.sim.memory_file_system import MemoryFileSystem
from kafka_edu.trace.events.transaction import AbortedTransactionIndexed, LastStableOffsetMoved
from tests.unit.log.test_producer_state_manager import end, open_log, refused, send

COMMIT, ABORT = ControlRecordType.COMMIT, ControlRecordType.ABORT


def replicated(log: Log) -> int:
    log.update_high_watermark(log.log_end_offset)
    return log.last_stable_offset


def entries(log: Log) -> list[AbortedTxn]:
    return [entry for segment in log.segments for entry in segment.txn_index.entries()]


def test_the_last_stable_offset_waits_for_the_oldest_transaction_and_its_replicated_marker() -> (
    None
):
    log = open_log()
    send(log, 0, producer=1)
    send(log, 0, producer=2, transactional=True)
    send(log, 0, producer=3, transactional=True)
    assert replicated(log) == 1
    end(log, 3, COMMIT)
    assert replicated(log) == 1, "producer 2 is older"
    end(log, 2, COMMIT)
    log.update_high_watermark(4)
    assert log.last_stable_offset == 1, (
        "the marker lies at 4, and the high watermark has not passed it"
    )
    assert replicated(log) == 5


def test_markers_are_fenced_by_producer_epoch_and_by_coordinator_epoch() -> None:
    log = open_log()
    send(log, 0, epoch=3, transactional=True)
    for epoch, coordinator_epoch, error in (
        (2, 9, Errors.INVALID_PRODUCER_EPOCH),
        (3, 4, Errors.NONE),
        (3, 3, Errors.TRANSACTION_COORDINATOR_FENCED),
    ):
        found = Errors.NONE
        try:
            end(log, 9, epoch=epoch, coordinator_epoch=coordinator_epoch)
        except KafkaException as refusal:
            found = refusal.error
        assert found is error
    assert end(log, 77, epoch=0, coordinator_epoch=0) == 2, (
        "of an unknown producer nothing is asked"
    )


def test_a_marker_of_a_newer_epoch_fences_the_producer() -> None:
    log = open_log()
    send(log, 0, epoch=3, transactional=True)
    end(log, 9, epoch=4)
    assert refused(log, 1, epoch=3) is Errors.INVALID_PRODUCER_EPOCH
    assert send(log, 0, epoch=4) == (2, 2)


def test_a_producer_with_an_open_transaction_cannot_write_outside_of_it() -> None:
    log = open_log()
    send(log, 0, transactional=True)
    assert refused(log, 1) is Errors.INVALID_TXN_STATE
    send(log, 1, transactional=True)
    end(log, 9, COMMIT)
    send(log, 2)


@pytest.mark.parametrize("clean", [True, False])
def test_open_transactions_and_the_index_survive_a_restart(clean: bool) -> None:
    file_system = MemoryFileSystem()
    log = open_log(file_system)
    send(log, 0, producer=1, transactional=True)
    for i in range(9):
        send(log, i, producer=2, transactional=True)
        end(log, 2, ABORT if i % 2 else COMMIT)
    before = entries(log)
    assert len(before) == 4
    if clean:
        log.close()
    again = open_log(file_system, clean=clean)
    assert entries(again) == before
    assert replicated(again) == 0
    end(again, 1, COMMIT, coordinator_epoch=7)
    assert replicated(again) == again.log_end_offset


def test_truncation_forgets_markers_and_opens_the_transaction_again() -> None:
    log = open_log()
    send(log, 0, producer=1, transactional=True)
    send(log, 1, producer=1, transactional=True)
    end(log, 1)
    log.update_high_watermark(2)
    assert entries(log)
    log.truncate_to(2)
    assert entries(log) == []
    assert (log.first_unstable_offset, replicated(log)) == (0, 0)
    end(log, 1, COMMIT)
    assert replicated(log) == 3
    assert entries(log) == []
    log.truncate_fully_and_start_at(0)
    assert log.last_stable_offset == 0


def test_a_log_start_inside_a_transaction_takes_the_last_stable_offset_along() -> None:
    log = open_log()
    send(log, 0, producer=1, transactional=True)
    send(log, 1, producer=1, transactional=True)
    send(log, 0, producer=2)
    assert replicated(log) == 0
    log.maybe_increment_log_start_offset(1)
    assert log.last_stable_offset == 1


def test_events_tell_what_holds_readers_back_and_what_was_aborted() -> None:
    log = open_log()
    told: list[object] = []

    class Quiet:
        hops = False

        def __call__(self, event: tuple[object, ...], level: object = None) -> int:
            told.append(event)
            return 0

    log.watch(Quiet())  # type: ignore[arg-type]
    send(log, 0, producer=1)
    replicated(log)
    assert [e for e in told if isinstance(e, LastStableOffsetMoved)] == [], (
        "the high watermark's shadow is not told at level state"
    )
    send(log, 0, producer=2, transactional=True)
    send(log, 1, producer=1)
    replicated(log)
    end(log, 2)
    replicated(log)
    assert [
        e for e in told if isinstance(e, LastStableOffsetMoved | AbortedTransactionIndexed)
    ] == [
        AbortedTransactionIndexed(
            topic="t",
            partition=0,
            producer_id=2,
            first_offset=1,
            last_offset=3,
            last_stable_offset=4,
        ),
        LastStableOffsetMoved(topic="t", partition=0, from_offset=1, to_offset=4, high_watermark=4),
    ]
