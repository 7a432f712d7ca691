"""After any truncation, the log's producer state is the one that the remaining records give (spec
X1).

A truncation reads only what it must: batches without a producer id are not looked at again.
"""

from functools import partial

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.log import producer_state_manager
from kafka_edu.log.log import Log
from kafka_edu.log.log_config import LogConfig
from kafka_edu.log.log_loader import load_log
from kafka_edu.log.producer_state_manager import ProducerStateManager
from kafka_edu.record.file_records import iter_file_headers, read_batch
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import NO_PRODUCER_ID, build_batch
from kafka_edu.sim.memory_file_system import MemoryFileSystem
from tests.defaults import PRODUCER_ID_EXPIRATION_MS

NOW = 1_600_000_000_000
TP = TopicPartition("t", 0)
CONFIG = LogConfig.parse({"segment.bytes": "600", "segment.index.bytes": "60"})


def loaded(disk: MemoryFileSystem, *, clean: bool) -> Log:
    log, _ = load_log(
        TP,
        "/d",
        "/d/t-0",
        disk,
        CONFIG,
        clean_shutdown=clean,
        log_start_offset=0,
        now_ms=NOW,
        max_producer_id_expiration_ms=PRODUCER_ID_EXPIRATION_MS,
    )
    return log


def known(manager: ProducerStateManager) -> dict[int, tuple[int, int, int]]:
    return {
        producer_id: (
            entry.producer_epoch,
            entry.batches[-1].last_offset,
            entry.current_txn_first_offset,
        )
        for producer_id, entry in manager.producers.items()
    }


def read_from_the_beginning(log: Log) -> dict[int, tuple[int, int, int]]:
    """The producers of all records that the log holds."""
    manager = ProducerStateManager(TP, "/x", MemoryFileSystem(), PRODUCER_ID_EXPIRATION_MS)
    for segment in log.segments:
        for at, header in iter_file_headers(segment.log, 0, segment.size):
            if header.producer_id != NO_PRODUCER_ID:
                manager.note(
                    header,
                    header.base_offset,
                    header.max_timestamp,
                    partial(read_batch, segment.log, at, header),
                )
    return known(manager)


def append(log: Log, producer_id: int, sequences: dict[int, int], transactional: bool) -> None:
    """As a follower, which takes any batch. Producer -1 is none."""
    sequence = sequences.get(producer_id, 0) if producer_id >= 0 else -1
    sequences[producer_id] = sequence + 1
    batch = build_batch(
        [Record(log.log_end_offset, NOW, None, b"v" * 20)],
        producer_id=producer_id,
        producer_epoch=0 if producer_id >= 0 else -1,
        base_sequence=sequence,
        is_transactional=transactional and producer_id >= 0,
    )
    log.append_as_follower(batch, NOW)


steps = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.sampled_from([-1, -1, -1, 7, 8]), st.booleans()),
        st.tuples(st.just("truncate"), st.integers(0, 6), st.just(False)),
        st.tuples(st.just("restart"), st.just(0), st.booleans()),
    ),
    max_size=60,
)


#: A restart knows nothing of the batches below the last snapshot; then the snapshot is cut off.
CUT_BEHIND_A_RESTART = [
    ("append", 7, False),
    ("append", 8, True),
    ("append", -1, False),
    ("restart", 0, True),
    ("truncate", 1, False),
]


@settings(max_examples=150)
@given(steps)
@example(CUT_BEHIND_A_RESTART)
@example(
    [*CUT_BEHIND_A_RESTART, ("append", 7, False), ("append", -1, False), ("truncate", 1, True)]
)
def test_the_producers_are_those_of_the_records_that_are_left(
    story: list[tuple[str, int, bool]],
) -> None:
    disk = MemoryFileSystem()
    log, sequences = loaded(disk, clean=False), dict[int, int]()
    for what, number, flag in story:
        if what == "append":
            append(log, number, sequences, flag)
        elif what == "truncate":
            log.truncate_to(max(log.log_end_offset - number, 0), NOW)
        else:
            if flag:
                log.close()
            else:
                log.close_handlers()
            log = loaded(disk, clean=flag)
        assert known(log.producer_state_manager) == read_from_the_beginning(log)


def test_a_log_without_producer_ids_is_not_read_when_it_is_cut(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log, sequences = loaded(MemoryFileSystem(), clean=False), dict[int, int]()
    for _ in range(20):
        append(log, -1, sequences, False)
    read = []
    headers = producer_state_manager.iter_file_headers
    monkeypatch.setattr(
        producer_state_manager,
        "iter_file_headers",
        lambda *arguments: read.append(arguments) or headers(*arguments),
    )
    log.truncate_to(15, NOW)
    assert read == []
    append(log, 7, sequences, False)
    append(log, -1, sequences, False)
    log.truncate_to(16, NOW)
    assert len(read) == 1
    assert known(log.producer_state_manager) == {7: (0, 15, -1)}
