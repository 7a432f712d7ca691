"""A coordinator's log is read completely, piece by piece, while requests are handled."""

import asyncio

from kafka_edu.common.time import MockTime
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.coordinator.log_loading import PIECE_BYTES, load_log
from kafka_edu.log.append_origin import AppendOrigin
from kafka_edu.log.log import Log
from kafka_edu.record.control_record import (
    ControlRecordType,
    EndTransactionMarker,
    build_end_transaction_marker,
)
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import BatchHeader, build_batch, read_records
from kafka_edu.sim.memory_file_system import MemoryFileSystem
from kafka_edu.sim.stepped_cluster import LOG_DIR, log_config, open_log_manager

NOW = 1_600_000_000_000


def open_log() -> Log:
    disk = MemoryFileSystem()
    disk.make_dirs(LOG_DIR)
    return open_log_manager(disk, MockTime()).get_or_create_log(
        TopicPartition("__consumer_offsets", 0), log_config(), is_new=True
    )


def append(log: Log, *values: bytes) -> None:
    log.append_as_leader(
        build_batch([Record(i, NOW, b"k", value) for i, value in enumerate(values)]),
        0,
        NOW,
        origin=AppendOrigin.COORDINATOR,
    )


def test_every_batch_is_applied_in_order_and_so_is_what_comes_meanwhile() -> None:
    async def main() -> None:
        log = open_log()
        append(log, b"a", b"b")
        append(log, b"c" * 2 * PIECE_BYTES)
        append(log, b"d")
        seen: list[tuple[int, bytes]] = []

        def apply(header: BatchHeader, batch: memoryview) -> None:
            assert header.size_in_bytes == len(batch)
            seen.extend(
                (record.offset, (record.value or b"")[:1]) for record in read_records(batch)
            )
            if seen[-1][0] == 3:
                marker = EndTransactionMarker(ControlRecordType.COMMIT, 0)
                log.append_as_leader(
                    build_end_transaction_marker(marker, 7, 0, NOW),
                    0,
                    NOW,
                    origin=AppendOrigin.COORDINATOR,
                )

        assert await load_log(log, apply, MockTime(), 5 << 20, lambda: True)
        assert seen == [(0, b"a"), (1, b"b"), (2, b"c"), (3, b"d"), (4, b"\0")]

    asyncio.run(main())


def test_loading_ends_early_when_the_partition_is_lost() -> None:
    async def main() -> None:
        log = open_log()
        append(log, b"a" * PIECE_BYTES)
        append(log, b"b")
        seen: list[int] = []
        assert not await load_log(
            log, lambda header, _: seen.append(header.base_offset), MockTime(), 1, lambda: not seen
        )
        assert seen == [0]

    asyncio.run(main())


def test_an_empty_log_is_loaded_at_once() -> None:
    async def main() -> None:
        assert await load_log(open_log(), lambda *_: None, MockTime(), 1, lambda: True)

    asyncio.run(main())
