"""How HW and LEO move, step by step (spec R1; book 001, 高水位更新机制)."""

import re
from pathlib import Path

import kafka_edu
from kafka_edu.common.errors import Errors
from kafka_edu.common.transport import part_bytes
from kafka_edu.protocol.messages.list_offsets import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP
from kafka_edu.record.record_batch import iter_headers
from kafka_edu.replication.delayed_delete_records import low_watermark
from kafka_edu.sim.stepped_cluster import SteppedCluster, T, batch


def test_the_book_table_one_record_two_replicas() -> None:
    """The leader, the follower, and what the leader knows of the follower (remote), after each
    step.
    """
    cluster = SteppedCluster()
    cluster.elect(0, (0, 1))
    cluster.fetch(1)
    assert cluster.line() == "HW 0, LEO 0, remote 0 | HW 0, LEO 0"
    cluster.produce("a", acks=1)
    assert cluster.line() == "HW 0, LEO 1, remote 0 | HW 0, LEO 0"
    cluster.fetch(1)  # from 0: takes the record
    assert cluster.line() == "HW 0, LEO 1, remote 0 | HW 0, LEO 1"
    answer = cluster.send_fetch(1)  # from 1: by that the leader knows that the follower has it
    assert cluster.line() == "HW 1, LEO 1, remote 1 | HW 0, LEO 1"
    cluster.receive(
        1, answer
    )  # Kafka 2.0 reads the HW before it counts the fetch: this answer still says 0
    assert cluster.line() == "HW 1, LEO 1, remote 1 | HW 0, LEO 1"
    cluster.fetch(1)
    assert cluster.line() == "HW 1, LEO 1, remote 1 | HW 1, LEO 1"


def test_a_fetch_that_waited_brings_the_mark_that_it_raised_itself() -> None:
    """The table as the book prints it: the second fetch finds nothing, waits in the purgatory, and
    reads again when its time is up.
    """
    cluster = SteppedCluster(wait_ms=500)
    cluster.elect(0, (0, 1))
    cluster.look_up_epochs(1)
    first = cluster.send_fetch(1)
    assert first == []  # it waits
    cluster.produce("a", acks=1)
    cluster.receive(1, first)
    assert cluster.line() == "HW 0, LEO 1, remote 0 | HW 0, LEO 1"
    second = cluster.send_fetch(1)
    assert cluster.line() == "HW 1, LEO 1, remote 1 | HW 0, LEO 1"
    cluster.step(499)
    assert second == []
    cluster.step(2)
    cluster.receive(1, second)
    assert cluster.line() == "HW 1, LEO 1, remote 1 | HW 1, LEO 1"


def test_hw_8_leo_15_consumers_see_what_lies_below_8() -> None:
    cluster = SteppedCluster(3)
    cluster.elect(0, (0, 1, 2))
    for i in range(8):
        cluster.produce(str(i), acks=1)
    for _ in range(3):
        cluster.fetch(1, 2)
    for i in range(8, 15):
        cluster.produce(str(i), acks=1)
    cluster.fetch(1)
    cluster.fetch(1)
    assert cluster.line() == "HW 8, LEO 15, remote 15 8 | HW 8, LEO 15 | HW 8, LEO 8"
    [read] = cluster.consume(0)
    assert [header.base_offset for _, header in iter_headers(part_bytes(read.records))] == list(
        range(8)
    )
    assert (read.high_watermark, read.last_stable_offset, read.log_end_offset) == (8, 8, 15)
    [empty] = cluster.consume(8)
    assert (empty.error, empty.size_in_bytes) == (Errors.NONE, 0)
    [beyond] = cluster.consume(16)
    assert beyond.error is Errors.OFFSET_OUT_OF_RANGE
    manager = cluster.leader.manager
    for replica_id, end in ((-1, 8), (1, 15), (-2, 15)):
        latest = manager.offset_lookup.fetch_offset_for_timestamp(T, LATEST_TIMESTAMP, replica_id)
        assert latest is not None
        assert latest.offset == end
    earliest = manager.offset_lookup.fetch_offset_for_timestamp(T, EARLIEST_TIMESTAMP, -1)
    assert earliest is not None
    assert earliest.offset == 0


def test_the_low_watermark_is_the_least_log_start_of_those_that_live() -> None:
    cluster = SteppedCluster(3)
    cluster.elect(0, (0, 1, 2))
    for i in range(4):
        cluster.produce(str(i), acks=1)
    for _ in range(3):
        cluster.fetch(1, 2)
    cluster.leader.log.maybe_increment_log_start_offset(3)
    assert low_watermark(cluster.leader.partition, [0, 1, 2]) == 0
    cluster.fetch(1)  # the response contains the leader's log start, and the follower takes it
    assert cluster.brokers[1].log.log_start_offset == 3
    cluster.fetch(1)  # this request contains the follower's log start
    assert low_watermark(cluster.leader.partition, [0, 1, 2]) == 0
    assert low_watermark(cluster.leader.partition, [0, 1]) == 3
    cluster.fetch(2)
    cluster.fetch(2)
    assert low_watermark(cluster.leader.partition, [0, 1, 2]) == 3


def test_a_leader_alone_commits_at_once() -> None:
    cluster = SteppedCluster()
    cluster.elect(0, (0,))
    produced = cluster.produce("a", "b")
    assert (produced.error(), produced.base_offset) == (Errors.NONE, 0)
    assert cluster.leader.hw == 2


def test_a_follower_that_has_caught_up_of_late_holds_the_mark_though_it_is_no_member() -> None:
    """A returning replica must hold the high watermark back. Otherwise each append would leave the
    replica behind, and it could never join the ISR (errata of 001: not min(HW, LEOs)).
    """
    cluster = SteppedCluster()
    cluster.elect(0, (0,))
    cluster.fetch(1)  # caught up now; the ISR change waits for ZooKeeper
    cluster.produce("a", acks=1)
    assert cluster.leader.hw == 0
    cluster.fetch(1)
    cluster.fetch(1)
    assert cluster.leader.hw == 1


def test_a_restarted_replica_begins_with_the_checkpointed_mark_within_its_log() -> None:
    cluster = SteppedCluster()
    cluster.elect(0, (0, 1))
    cluster.produce("a", "b", acks=1)
    partition = cluster.leader.partition
    log = cluster.leader.log
    for checkpointed, expected in ((0, 0), (1, 1), (9, 2)):
        partition.attach_log(log, checkpointed)
        assert cluster.leader.hw == expected


def test_two_records_of_one_batch_are_committed_together() -> None:
    cluster = SteppedCluster()
    cluster.elect(0, (0, 1))
    answer = cluster.produce("a", "b", "c")
    cluster.fetch(1)
    assert answer.error() is None
    cluster.fetch(1)
    assert (answer.error(), cluster.leader.hw) == (Errors.NONE, 3)
    assert len(batch("a", "b", "c")) > 61


def test_no_module_but_the_log_and_this_one_sets_a_high_watermark() -> None:
    package = Path(kafka_edu.__file__).parent
    doors = re.compile(r"\.(update_high_watermark(_metadata)?|locate_high_watermark)\(")
    users = {
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        if doors.search(path.read_text(encoding="utf-8"))
    }
    assert users == {"log/log.py", "replication/high_watermark.py"}
