"""Each damage that is found is written to broker.log, and kept for those who ask later."""

import logging

import pytest

from kafka_edu.common.time import MockTime
from kafka_edu.server.health.repairs import REPAIRS_KEPT, WORDS, Repairs, repair_text
from kafka_edu.server.health.troubles import trouble_text
from kafka_edu.trace.event import Event, Source
from kafka_edu.trace.events.log import CheckpointUnreadable, LogRepaired, RepairsFound
from kafka_edu.trace.events.replication import BecameFollower, FollowerStuck
from kafka_edu.trace.tracer import Tracer

STUCK = FollowerStuck(
    topic="web",
    partition=1,
    leader=2,
    log_end_offset=1200,
    latest_epoch=9,
    directory="/data/web-1",
)


def repaired(what: str, partition: int = 0, size: int = 0) -> LogRepaired:
    return LogRepaired(
        topic="web",
        partition=partition,
        log_dir="/data",
        what=what,
        file="00000000000000000625.log",
        reason="at byte 8,938: the last batch is incomplete",
        bytes=size,
        from_offset=1695,
        to_offset=1700,
    )


def found(*events: Event) -> RepairsFound:
    repairs, tracer = Repairs(), Tracer(Source.of_broker(1), MockTime())
    tracer.add_sink(repairs)
    for event in events:
        tracer(event)
    (snapshot,) = repairs.snapshot()
    assert isinstance(snapshot, RepairsFound)
    return snapshot


@pytest.mark.parametrize("what", WORDS)
def test_each_repair_is_a_warning_with_file_reason_and_offsets(
    what: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        snapshot = found(repaired(what, size=621))
    (line,) = [record for record in caplog.records if record.name.endswith("repairs")]
    assert line.levelno == logging.WARNING
    text = line.getMessage()
    assert text.startswith("web-0 in /data: 00000000000000000625.log: ")
    assert "the last batch is incomplete" in text
    assert snapshot.last == (text,)


def test_a_cut_tail_is_told_with_bytes_and_the_new_end() -> None:
    text = repair_text(repaired("tail cut off", size=1621))
    assert "1,621 bytes are cut off, and the log ends at offset 1,695" in text
    assert "the records from offset 1,695 to 1,699 are missing" in repair_text(
        repaired("records missing")
    )


def test_a_summary_counts_files_logs_and_bytes_and_says_whether_records_are_lost() -> None:
    assert found().summary == ""
    rebuilt = found(repaired("index built again"))
    assert rebuilt.summary == "it repaired 1 damaged file of 1 log; no record is lost"
    lost = found(
        repaired("tail cut off", 0, 1000),
        repaired("index built again", 0),
        repaired("segment dropped", 1, 234),
    )
    assert (lost.logs, lost.repairs, lost.bytes) == (2, 3, 1234)
    assert lost.summary == (
        "it repaired 3 damaged files of 2 logs and lost 1,234 bytes of records; they come again"
        " from the leaders, where there are other replicas"
    )


def test_a_checkpoint_that_does_not_count_is_told() -> None:
    event = CheckpointUnreadable(
        log_dir="/data", file="recovery-point-offset-checkpoint", reason="is not a text"
    )
    snapshot = found(event)
    assert snapshot.last == (
        "/data/recovery-point-offset-checkpoint: is not a text; it does not count, so after a crash"
        " the logs of this dir are read from their beginning",
    )
    assert snapshot.summary == "it repaired 1 damaged file; no record is lost"


def test_a_stuck_follower_is_told_with_what_to_do_until_it_follows_anew(
    caplog: pytest.LogCaptureFixture,
) -> None:
    follows = BecameFollower(
        topic="web",
        partition=1,
        leader=3,
        leader_epoch=10,
        controller_epoch=1,
        log_end_offset=0,
        high_watermark=0,
        replicas=(1, 3),
    )
    with caplog.at_level(logging.WARNING):
        (text,) = found(STUCK).stuck
    assert "web-1 cannot follow broker 2 and stays out of the ISR" in text
    assert "does not know the leader epoch 9" in text
    assert "remove /data/web-1" in text
    assert text in caplog.text
    assert text in trouble_text(STUCK)
    assert found(STUCK, follows).stuck == ()


def test_the_memory_is_bounded() -> None:
    many = [repaired("index built again", number) for number in range(3 * REPAIRS_KEPT)]
    snapshot = found(*many)
    assert len(snapshot.last) == REPAIRS_KEPT
    assert snapshot.repairs == 3 * REPAIRS_KEPT
