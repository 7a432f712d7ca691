"""An index that contradicts the batches is built again. A damaged batch is no reason to change an
index.
"""

import struct
from pathlib import Path

import pytest

from kafka_edu.common.files import OsFileSystem
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.log.log_config import LogConfig
from kafka_edu.log.log_loader import load_log
from kafka_edu.log.log_repairs import INDEX_REBUILT, TAIL_CUT
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import build_batch
from kafka_edu.trace.events.log import LogRepaired
from tests.defaults import PRODUCER_ID_EXPIRATION_MS
from tests.unit.log.test_log_loader import FIRST, NOW, SECOND, load, spoil, stored, written
from tests.unit.log.test_log_repairs import THIRD, repairs, told

GOLDEN = Path(__file__).parents[2] / "golden" / "log"


@pytest.mark.parametrize("slot", [0, -1])
def test_an_entry_that_points_into_a_batch(slot: int) -> None:
    disk, _ = written(clean=True)
    entries = [list(e) for e in struct.iter_unpack(">ii", disk.read(f"{SECOND}.index"))]
    entries[slot][1] += 3
    spoil(disk, f"{SECOND}.index", b"".join(struct.pack(">ii", *entry) for entry in entries))
    log, events = load(disk, clean=True)
    assert [what for what, *_ in told(events)] == [INDEX_REBUILT]
    assert stored(log) == list(range(40))


def test_a_damaged_batch_does_not_cost_the_segment_its_end() -> None:
    """The index points to a batch whose first bytes are damaged. This part of the log was
    flushed.
    """
    disk, log = written(clean=True)
    position = (
        log.segments[1].offset_index.entries
        and struct.unpack(">ii", disk.read(f"{SECOND}.index")[:8])[1]
    )
    file = disk.open(f"{SECOND}.log")
    size = file.size()
    file.pwrite(b"\xff" * 12, position or 83)
    _, events = load(disk, clean=True)
    assert repairs(events) == []
    assert file.size() == size


def test_producers_behind_a_recovered_segment_without_any_are_known() -> None:
    """Recovery reads only the first segment. But the batch headers of the later segments are read
    too.
    """
    disk, _ = written(clean=True)
    for name in disk.list("/d/t-0"):
        if name.endswith(".snapshot"):
            disk.remove(f"/d/t-0/{name}")
    spoil(disk, f"{FIRST}.log", b"")
    log, _ = load(disk, clean=True)
    assert log.producer_state_manager.producers[1].last_sequence == 39


@pytest.mark.parametrize("folder", ["clean", "transactions"])
def test_the_indexes_of_apache_kafka_agree_with_its_batches(folder: str, tmp_path: Path) -> None:
    for path in (GOLDEN / folder).iterdir():
        if path.suffix in (".log", ".index", ".timeindex", ".txnindex", ".snapshot"):
            (tmp_path / path.name).write_bytes(path.read_bytes())
    log, events = load_log(
        TopicPartition("golden", 0),
        str(tmp_path.parent),
        str(tmp_path),
        OsFileSystem(),
        LogConfig.parse({}),
        clean_shutdown=True,
        max_producer_id_expiration_ms=PRODUCER_ID_EXPIRATION_MS,
    )
    log.close()
    indexes = [e for e in events if isinstance(e, LogRepaired) and e.what == INDEX_REBUILT]
    assert indexes == []


def test_a_log_without_timestamps_needs_no_time_index() -> None:
    disk, log = written()
    log.append_as_leader(build_batch([Record(0, -1, b"k", b"v")]), 1, NOW)
    log.close()
    _, events = load(disk, clean=True)
    assert repairs(events) == []


def test_a_torn_end_blames_the_log_and_not_its_indexes() -> None:
    disk, _ = written(clean=True)
    file = disk.open(f"{THIRD}.log")
    file.truncate(file.size() - 7)
    _, events = load(disk, clean=True)
    assert [what for what, *_ in told(events)] == [TAIL_CUT]
