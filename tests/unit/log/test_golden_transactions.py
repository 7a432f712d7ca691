"""Our code reads transactions that Apache Kafka 2.8.2 wrote, and writes the same, byte for byte
(spec X2; see tests/golden/log/README.md).
"""

import json
import shutil
from pathlib import Path

import pytest

from kafka_edu.common.files import OsFileSystem
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.common.transport import part_size
from kafka_edu.log.append_origin import AppendOrigin
from kafka_edu.log.log import Log
from kafka_edu.log.log_config import LogConfig
from kafka_edu.log.log_loader import load_log
from kafka_edu.record.control_record import (
    build_end_transaction_marker,
    read_end_transaction_marker,
)
from kafka_edu.record.record_batch import HEADER_START, iter_headers
from tests.defaults import PRODUCER_ID_EXPIRATION_MS

GOLDEN = Path(__file__).parents[2] / "golden" / "log" / "transactions"
CONFIG = LogConfig.parse(
    {
        "segment.bytes": "1200",
        "index.interval.bytes": "200",
        "segment.index.bytes": "960",
        "retention.ms": "-1",
    }
)
TOLD = [tuple(row) for row in json.loads((GOLDEN / "aborted.json").read_text())]
"""Offset, size, high watermark, LSO, aborted transactions: what Apache Kafka told read_committed
readers.
"""
FILES = (".log", ".index", ".timeindex", ".txnindex", ".snapshot")
NOW = 1_700_000_000_000


def open_log(folder: Path, *, clean: bool = True) -> Log:
    directory = str(folder)
    end = TOLD[0][2]
    return load_log(
        TopicPartition("golden", 0),
        str(folder.parent),
        directory,
        OsFileSystem(),
        CONFIG,
        clean_shutdown=clean,
        recovery_point=end * clean,
        now_ms=NOW,
        max_producer_id_expiration_ms=PRODUCER_ID_EXPIRATION_MS,
    )[0]


def files(folder: Path, suffixes: tuple[str, ...] = FILES) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix in suffixes}


def test_the_same_batches_give_the_same_files(tmp_path: Path) -> None:
    """Append the batches and markers again, as they were sent. The segments, all three indexes and
    the snapshots are Kafka's, byte for byte.
    """
    log = open_log(tmp_path / "golden-0")
    markers = 0
    for path in sorted(GOLDEN.glob("*.log")):
        data = path.read_bytes()
        for at, header in iter_headers(data):
            batch = data[at : at + header.size_in_bytes]
            if header.is_control:
                marker = read_end_transaction_marker(batch)
                assert marker is not None
                built = build_end_transaction_marker(
                    marker, header.producer_id, header.producer_epoch, header.max_timestamp
                )
                assert built[HEADER_START.size :] == batch[HEADER_START.size :], (
                    "a marker of ours is Kafka's, byte for byte"
                )
                markers += 1
            sent = HEADER_START.pack(0, header.batch_length, -1) + batch[HEADER_START.size :]
            info = log.append_as_leader(
                sent,
                0,
                NOW,
                origin=AppendOrigin.COORDINATOR if header.is_control else AppendOrigin.CLIENT,
            )
            assert info.first_offset == header.base_offset
            log.update_high_watermark(log.log_end_offset)
    log.close()
    assert markers == 9
    assert files(tmp_path / "golden-0") == files(GOLDEN)


@pytest.mark.parametrize("clean", [True, False])
def test_read_committed_readers_are_told_what_kafka_told(tmp_path: Path, clean: bool) -> None:
    """The transaction index is Kafka's own file or, after a crash, one that recovery has built
    again from the batches.

    If a piece ends exactly where an index entry points, Kafka's search may take the next entry.
    Then it reports a transaction that begins after the piece, which does readers no harm.
    """
    shutil.copytree(GOLDEN, tmp_path / "golden-0")
    if not clean:
        for path in (tmp_path / "golden-0").glob("*.txnindex"):
            path.unlink()
    log = open_log(tmp_path / "golden-0", clean=clean)
    for offset, size, high_watermark, stable, aborted in TOLD:
        log.update_high_watermark(high_watermark)
        assert log.last_stable_offset == stable
        data = log.read(offset, size, max_offset=stable, min_one_message=True)
        told = (
            [[a.producer_id, a.first_offset] for a in log.aborted_transactions(offset, data)]
            if len(data.records)
            else []
        )
        index = log.segments[log.segments.floor(offset)].offset_index
        piece_end = data.fetch_offset_metadata.relative_position_in_segment + part_size(
            data.records
        )
        on_an_entry = piece_end in [index.entry(n).position for n in range(index.entries)]
        assert told == (
            aborted if not on_an_entry else [each for each in aborted if each in told]
        ), (offset, size)
    log.close()
    assert files(tmp_path / "golden-0", (".txnindex",)) == files(GOLDEN, (".txnindex",))
