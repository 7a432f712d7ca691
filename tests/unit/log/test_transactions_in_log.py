"""Open, decided and settled transactions in a log: the last stable offset, the transaction index,
fencing, truncation, restart.
"""

import pytest

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.transport import part_bytes
from kafka_edu.log.log import Log
from kafka_edu.log.transaction_index import AbortedTxn
from kafka_edu.record.control_record import ControlRecordType
from kafka_edu.sim.memory_file_system import MemoryFileSystem
from kafka_edu.trace.events.transaction import (
    AbortedTransactionIndexed,
    BatchFenced,
    LastStableOffsetMoved,
    TransactionOpened,
    UnstableTransaction,
)
from tests.unit.log.test_producer_state_manager import NOW, end, open_log, refused, send

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


class Quiet:
    """A tracer whose sinks want no hops."""

    hops = False

    def __init__(self) -> None:
        self.told: list[object] = []

    def __call__(self, event: tuple[object, ...], level: object = None) -> int:
        self.told.append(event)
        return 0


def watched(log: Log) -> list[object]:
    """Return the list to which the log's events are added from now on."""
    trace = Quiet()
    log.watch(trace)  # type: ignore[arg-type]
    return trace.told


def test_the_first_batch_of_a_transaction_is_an_event_and_says_who_holds_readers_back() -> None:
    log = open_log()
    send(log, 0, producer=1)
    told = watched(log)
    send(log, 0, producer=2, transactional=True, epoch=3)
    send(log, 1, producer=2, transactional=True, epoch=3)
    send(log, 0, producer=3, transactional=True)
    assert told == [
        TransactionOpened(topic="t", partition=0, producer_id=2, producer_epoch=3, first_offset=1),
        TransactionOpened(topic="t", partition=0, producer_id=3, producer_epoch=0, first_offset=3),
    ]
    manager = log.producer_state_manager
    first = UnstableTransaction(2, 3, 1, NOW)
    second = UnstableTransaction(3, 0, 3, NOW)
    assert manager.unstable_transactions(5) == (first, second)
    assert manager.unstable_transactions(1) == (first,)
    assert manager.unstable_count == 2
    end(log, 2, epoch=3)
    assert manager.unstable_transactions(5) == (first._replace(marker_offset=4), second), (
        "the marker is not replicated yet"
    )
    replicated(log)
    assert manager.unstable_transactions(5) == (second,)
    end(log, 3, COMMIT)
    replicated(log)
    assert (manager.unstable_transactions(5), manager.unstable_count) == ((), 0)


def test_after_a_restart_it_is_not_known_when_a_transaction_was_opened() -> None:
    files = MemoryFileSystem()
    log = open_log(files)
    send(log, 0, producer=2, transactional=True)
    log.close()
    for clean in (True, False):
        again = open_log(files, clean=clean).producer_state_manager
        assert again.unstable_transactions(5) == (UnstableTransaction(2, 0, 0, -1),)


def test_a_follower_does_not_repeat_the_events_of_its_leader() -> None:
    leader, follower = open_log(), open_log()
    send(leader, 0, producer=2, transactional=True)
    told = watched(follower)
    follower.append_as_follower(part_bytes(leader.read(0, 1 << 20).records), NOW + 7)
    assert not any(isinstance(event, TransactionOpened) for event in told)
    assert follower.producer_state_manager.unstable_transactions(1) == (
        UnstableTransaction(2, 0, 0, NOW + 7),
    )


def test_a_batch_of_an_old_epoch_is_an_event() -> None:
    log = open_log()
    send(log, 0, producer=9, transactional=True, epoch=3)
    told = watched(log)
    assert refused(log, 1, epoch=2) is Errors.INVALID_PRODUCER_EPOCH
    assert told == [
        BatchFenced(
            topic="t",
            partition=0,
            producer_id=9,
            producer_epoch=2,
            current_epoch=3,
            base_sequence=1,
        )
    ]


def test_events_tell_what_holds_readers_back_and_what_was_aborted() -> None:
    log = open_log()
    told = watched(log)
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
