import pytest

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.log.append_origin import AppendOrigin
from kafka_edu.log.log import Log
from kafka_edu.log.log_config import LogConfig
from kafka_edu.log.log_loader import load_log
from kafka_edu.log.producer_state_entry import BatchMetadata, ProducerStateEntry
from kafka_edu.log.producer_state_manager import (
    CorruptSnapshotError,
    decode_snapshot,
    encode_snapshot,
)
from kafka_edu.record.control_record import (
    ControlRecordType,
    EndTransactionMarker,
    build_end_transaction_marker,
)
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import build_batch
from kafka_edu.sim.memory_file_system import MemoryFileSystem
from tests.defaults import PRODUCER_ID_EXPIRATION_MS

NOW = 1_600_000_000_000
MAX = 2**31 - 1


def open_log(file_system: MemoryFileSystem | None = None, *, clean: bool = False) -> Log:
    config = LogConfig.parse({"segment.bytes": "400", "segment.index.bytes": "1000"})
    return load_log(
        TopicPartition("t", 0),
        "/d",
        "/d/t-0",
        file_system or MemoryFileSystem(),
        config,
        clean_shutdown=clean,
        now_ms=NOW,
        max_producer_id_expiration_ms=PRODUCER_ID_EXPIRATION_MS,
    )[0]


def send(
    log: Log,
    sequence: int,
    *,
    epoch: int = 0,
    count: int = 1,
    producer: int = 9,
    transactional: bool = False,
) -> tuple[int, int]:
    records = [Record(i, NOW, b"k", b"v") for i in range(count)]
    batch = build_batch(
        records,
        producer_id=producer,
        producer_epoch=epoch,
        base_sequence=sequence,
        is_transactional=transactional,
    )
    info = log.append_as_leader(batch, 0, NOW)
    return info.first_offset, info.last_offset


def end(
    log: Log,
    producer: int,
    how: ControlRecordType = ControlRecordType.ABORT,
    *,
    epoch: int = 0,
    coordinator_epoch: int = 0,
) -> int:
    marker = build_end_transaction_marker(
        EndTransactionMarker(how, coordinator_epoch), producer, epoch, NOW
    )
    return log.append_as_leader(marker, 0, NOW, origin=AppendOrigin.COORDINATOR).first_offset


def refused(log: Log, sequence: int, *, epoch: int = 0, count: int = 1) -> Errors:
    end = log.log_end_offset
    with pytest.raises(KafkaException) as error:
        send(log, sequence, epoch=epoch, count=count)
    assert log.log_end_offset == end
    return error.value.error


def test_a_gap_is_out_of_order() -> None:
    log = open_log()
    send(log, 0)
    assert refused(log, 2) is Errors.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert send(log, 1) == (1, 1)


def test_an_unknown_producer_may_begin_anywhere() -> None:
    assert send(open_log(), 4711) == (0, 0)


def test_an_old_epoch_is_fenced_and_a_new_one_begins_at_zero() -> None:
    log = open_log()
    send(log, 0, epoch=3)
    assert refused(log, 1, epoch=2) is Errors.INVALID_PRODUCER_EPOCH
    assert refused(log, 1, epoch=4) is Errors.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert send(log, 0, epoch=7) == (1, 1), "epochs may be skipped"
    assert send(log, 1, epoch=7) == (2, 2)
    assert refused(log, 0, epoch=3) is Errors.INVALID_PRODUCER_EPOCH


def test_a_producer_id_without_an_epoch_is_taken_as_it_comes() -> None:
    log = open_log()
    for i in range(3):
        assert send(log, 7 * i, epoch=-1) == (i, i)


@pytest.mark.parametrize("clean", [True, False])
def test_what_is_known_survives_a_restart(clean: bool) -> None:
    file_system = MemoryFileSystem()
    log = open_log(file_system)
    for i in range(20):
        send(log, i)
        send(log, i, producer=10, epoch=5)
    if clean:
        log.close()
    again = open_log(file_system, clean=clean)
    assert len(again.segments) > 3
    assert send(again, 19) == (38, 38), "the last batch is known again"
    assert send(again, 19, producer=10, epoch=5) == (39, 39)
    assert refused(again, 21) is Errors.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert send(again, 20) == (40, 40)


def test_after_a_kill_the_high_watermark_settles_the_transactions_that_recovery_read() -> None:
    file_system = MemoryFileSystem()
    log = open_log(file_system)
    send(log, 0, transactional=True)
    end(log, 9, ControlRecordType.COMMIT)
    again = open_log(file_system, clean=False)
    again.update_high_watermark(1)
    assert again.last_stable_offset == 0, "the marker is not below the high watermark"
    again.update_high_watermark(2)
    assert again.last_stable_offset == 2


@pytest.mark.parametrize("batches", [5, 6, 20])
def test_after_a_kill_retries_of_all_batches_in_flight_are_known_again(batches: int) -> None:
    """A leader that is killed may have answered none of these batches. A snapshot, as recovery
    writes one behind each segment, knows only the last batch.
    """
    file_system = MemoryFileSystem()
    log = open_log(file_system)
    for i in range(batches):
        send(log, i)
    again = open_log(file_system, clean=False)
    assert len(again.segments) > (batches > 6)
    for i in range(batches - 5, batches):
        assert send(again, i) == (i, i)
    assert again.log_end_offset == batches
    assert send(again, batches) == (batches, batches)


def test_a_snapshot_with_a_wrong_checksum_is_thrown_away() -> None:
    file_system = MemoryFileSystem()
    log = open_log(file_system)
    for i in range(20):
        send(log, i)
    log.close()
    newest = max(name for name in file_system.list("/d/t-0") if name.endswith(".snapshot"))
    file_system.write_atomically(
        f"/d/t-0/{newest}", file_system.read(f"/d/t-0/{newest}")[:-1] + b"\x01"
    )
    again = open_log(file_system, clean=True)
    assert send(again, 19) == (19, 19)


def test_snapshots_have_kafka_s_form() -> None:
    entry = ProducerStateEntry(1, 2)
    entry.add_batch(
        2, BatchMetadata(last_sequence=30, last_offset=40, offset_delta=5, timestamp=60)
    )
    data = encode_snapshot([entry])
    assert data[:2].hex() == "0001"
    assert (
        data[6:].hex()
        == "00000001"
        + "000000000000000100020000001e000000000000002800000005000000000000003cffffffffffffffffffffffff"  # noqa: E501
    )
    (read,) = decode_snapshot(data)
    assert (read.producer_id, read.producer_epoch, list(read.batches), read.last_timestamp) == (
        1,
        2,
        list(entry.batches),
        60,
    )
    for bad in (b"", data[:-1], b"\x00\x02" + data[2:], data + b"\0"):
        with pytest.raises(CorruptSnapshotError):
            decode_snapshot(bad)


def test_producers_expire_unless_a_transaction_is_open() -> None:
    log = open_log()
    send(log, 0, producer=1)
    send(log, 0, producer=2, transactional=True)
    manager = log.producer_state_manager
    week = 7 * 24 * 3600 * 1000
    assert manager.remove_expired(NOW + week - 1) == []
    assert manager.remove_expired(NOW + week) == [1]
    assert sorted(manager.producers) == [2]


def test_the_first_unstable_offset_is_that_of_the_oldest_open_transaction() -> None:
    file_system = MemoryFileSystem()
    log = open_log(file_system)
    assert log.first_unstable_offset is None
    send(log, 0, producer=1)
    send(log, 0, producer=2, transactional=True)
    send(log, 0, producer=3, transactional=True)
    send(log, 1, producer=2, transactional=True)
    assert log.first_unstable_offset == 1
    assert end(log, 2, ControlRecordType.COMMIT) == 4
    assert log.first_unstable_offset == 1, "decided, but the marker is not replicated"
    log.update_high_watermark(5)
    assert log.first_unstable_offset == 2
    log.close()
    again = open_log(file_system, clean=True)
    again.update_high_watermark(5)
    assert again.first_unstable_offset == 2
    end(again, 3)
    again.update_high_watermark(6)
    assert again.first_unstable_offset is None
