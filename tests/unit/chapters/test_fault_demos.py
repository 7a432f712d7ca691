"""The reports of the fault demos, also when a target does not hold."""

import re

import pytest

from chapters.ch06_graceful_shutdown.shutdown import KILL, SIGTERM, Round
from chapters.ch06_graceful_shutdown.shutdown import Outcome as ShutdownOutcome
from chapters.ch06_graceful_shutdown.shutdown import report_of as shutdown_report
from chapters.ch06_graceful_shutdown.shutdown_events import End, Moves, Start
from chapters.ch09_log_storage.bad_disk import in_dir
from chapters.ch10_replication.follower_fetch import Round as FollowerRound
from chapters.ch10_replication.follower_fetch import report_of as follower_fetch_report
from chapters.ch10_replication.kills import KILLS, PARTITIONS, Outcome, report_of
from chapters.demo_parts.stored_records import Found, compare
from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.supervisor.cluster import ClusterError

LOG = """[2026-11-23 20:18:14,451] INFO broker 1 started (kafka_edu.server)
[2026-11-23 20:18:14,522] WARNING cannot list /bad (kafka_edu.log)
[2026-11-23 20:18:14,700] ERROR log dir /bad failed (kafka_edu.log)
"""


def test_a_bad_dir_without_a_replica_ends_the_demo_with_the_brokers_errors() -> None:
    dirs = {"/good": (Errors.NONE, [1]), "/bad": (Errors.KAFKA_STORAGE_ERROR, list[int]())}
    assert in_dir("/good", dirs, LOG) == [1]
    with pytest.raises(ClusterError) as raised:
        in_dir("/bad", dirs, LOG)
    first, *lines = str(raised.value).splitlines()
    assert re.search(r"no replica of disks in /bad \(KAFKA_STORAGE_ERROR\)", first)
    assert lines == LOG.splitlines()[1:]
    with pytest.raises(ClusterError, match="LOG_DIR_NOT_FOUND"):
        in_dir("/elsewhere", dirs, LOG)


def test_the_kills_report_counts_the_refused_records_by_error() -> None:
    nothing: Found = compare({}, [])
    refused = ["timed out", "not enough replicas", "timed out"]
    outcome = Outcome(10, 7, refused, nothing, len(KILLS), 1, PARTITIONS, {})
    figures = report_of(outcome).figures
    assert figures["refused"] == 3
    assert figures["refused, by error"] == {"timed out": 2, "not enough replicas": 1}


def shutdown_round(how: str, refused: int, refused_without_leader: int) -> Round:
    killed = how == KILL
    return Round(
        how,
        led=1,
        moves=Moves({TopicPartition("shutdown", 0): (0, 6_000_000 if killed else 60_000)}),
        silences_ms=[100.0],
        given_up=0,
        given_up_after_3_s=refused,
        given_up_without_leader=refused_without_leader,
        gone_ms=100.0,
        end=End(attempts=1, remaining=0, clean=not killed),
        clean_file=not killed,
        start=Start(1000, 1, 0 if killed else 1, 1 if killed else 0, 10 if killed else 0),
    )


def test_the_hasty_producer_is_judged_by_what_a_missing_leader_cost_it() -> None:
    """The hasty producer gives up a record after 3 s. On a very busy machine, records wait so long
    although no broker has ended.
    """
    rounds = [shutdown_round(SIGTERM, 14_464, 2), shutdown_round(KILL, 11_782, 320)]
    report = shutdown_report(ShutdownOutcome(rounds, 10, 10, compare({}, []), compare({}, [])))
    assert [target.name for target in report.targets if not target.holds] == []
    (judged,) = (target for target in report.targets if "hasty" in target.name)
    assert (judged.value, judged.relation, judged.target) == (2, "<", 320)


def test_the_follower_fetch_report_counts_what_each_read_lacked() -> None:
    def played(
        follower_after_ack: int, leader_after_ack: int, slow_follower_then: int
    ) -> FollowerRound:
        return FollowerRound(
            acked=10,
            leader_after_ack=leader_after_ack,
            follower_after_ack=follower_after_ack,
            fast_follower=10,
            slow_follower_then=slow_follower_then,
            leader_first=10,
            leader_then=10,
            in_the_end=10,
            behind_ms=5.0,
        )

    shown = follower_fetch_report([played(0, 10, 0), played(4, 10, 7)], 1000)
    assert shown.holds
    assert [target.value for target in shown.targets] == [16, 0, 13, 0, 0]
    assert not follower_fetch_report([played(10, 10, 10)], 1000).holds, "no anomaly was seen"
    assert not follower_fetch_report([played(0, 9, 0)], 1000).holds, "the leader lacked one"
