"""The messages of the fault demos when something did not go as it should."""

import re

import pytest

from chapters.ch09_log_storage.bad_disk import in_dir
from chapters.ch10_replication.kills import KILLS, PARTITIONS, Outcome, report_of
from chapters.demo_parts.stored_records import Found, compare
from kafka_edu.common.errors import Errors
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
