"""What `bench failover` makes of what it measured: gaps, percentiles, medians, targets, the table."""

import json
import math

import pytest

from benchmarks.failover import Found, Loss, Reaction, percentile, report_of, victim_of
from benchmarks.failover_peers import all_in_sync, all_led_by_others
from benchmarks.failover_probes import AckTimes
from benchmarks.failover_table import table
from kafka_edu.common.errors import Errors
from kafka_edu.protocol.messages.metadata import MetadataResponsePartition


def acks(**times):
    found = AckTimes(range(len(times)))
    found.of = {int(name[1:]): list(at) for name, at in times.items()}
    return found


def test_a_gap_spans_what_happened_even_if_an_ack_came_in_between():
    found = acks(p0=[1.0, 4.9, 5.1, 11.6], p1=[1.0, 4.0, 9.0])
    assert found.longest_gap(5.0) == pytest.approx(6.5)
    assert found.longest_gap(5.0, [1]) == pytest.approx(5.0)
    assert found.longest_gap(10.0) == math.inf, "p1 has no ack after 10"
    assert found.longest_gap(0.0, [0]) == pytest.approx(6.5)


def test_who_is_served_again():
    found = acks(p0=[1.0, 6.0], p1=[1.0])
    assert not found.all_acked_after(2.0)
    assert found.first_after(2.0) == 6.0
    found.of[1].append(7.0)
    assert found.all_acked_after(2.0)
    assert found.first_after(8.0) == math.inf


def test_the_library_adds_what_the_raw_probe_does_not_see():
    assert Loss(0, 0, 9.0, gap_compared=8.0, gap_raw=6.0, failed=0).added == pytest.approx(2.0)
    assert Loss(0, 0, 9.0, gap_compared=5.0, gap_raw=6.0, failed=0).added == 0.0


def test_percentile_is_one_of_the_values():
    assert percentile([3.0, 1.0, 2.0], 0.95) == 3.0
    assert percentile(list(range(1, 21)), 0.95) == 19
    assert percentile([5.0], 0.95) == 5.0


def test_the_victim():
    leaders = {0: [0], 1: [1], 2: [2]}
    assert victim_of(leaders, controller=0, wants_controller=True) == 0
    assert victim_of(leaders, controller=0, wants_controller=False) == 1


def partition(leader, isr, error=Errors.NONE):
    return MetadataResponsePartition(error_code=error, partition_index=0, leader_id=leader, replica_nodes=[0, 1, 2], isr_nodes=isr)


def test_when_a_topic_is_as_wanted():
    whole = [partition(0, [0, 1, 2]), partition(1, [1, 2, 0])]
    assert all_in_sync(2)(whole)
    assert not all_in_sync(3)(whole)
    assert not all_in_sync(2)([whole[0], partition(1, [1, 2])])
    assert not all_in_sync(2)([whole[0], partition(-1, [1, 2, 0], Errors.LEADER_NOT_AVAILABLE)])
    assert all_led_by_others(2)(whole)
    assert not all_led_by_others(1)(whole)
    assert not all_led_by_others(2)([partition(-1, [2])])


def found(creation, gap, moved):
    loss = Loss(5.5, moved, gap, gap, gap - 1.0, 0)
    reactions = [Reaction(0.1 * n, 0.05 * n, n == 1) for n in (1, 2, 3)]
    return Found([creation, creation, 99.0], [loss._replace(gone=2.0, gap=0.5)], [loss], [loss, loss, loss._replace(gap=99.0)], reactions)


def test_the_report_has_medians_of_both_and_targets_of_ours(tmp_path):
    report = report_of({"ours": found(4.0, 7.0, 0.5), "kafka": found(20.0, 10.0, 3.0)}, 3000)
    assert report.figures["ours: creation until every ISR is full, s"] == 4.0
    assert report.figures["kafka: controller-kill, longest gap of a partition, s"] == 10.0
    assert report.figures["ours: small, znode to first ack, application, median, ms"] == pytest.approx(200)
    assert report.figures["ours: small, znode to first ack, raw probe, controller killed, median, ms"] == pytest.approx(50)
    assert report.holds
    assert {target.name: (target.relation, target.target) for target in report.targets} == {
        "creation until every ISR is full: ours / Apache Kafka 2.8.2": ("<=", 1.0),
        "sigterm: until the process is gone, s": ("<=", 3.0),
        "sigterm: longest gap of a partition, s": ("<=", 1.0),
        "sigterm: failed produces": ("==", 0),
        "kill: all leaders moved, s after its znode went": ("<=", 1.0),
        "kill: longest gap of a partition, s": ("<=", 8.0),
        "controller-kill: all leaders moved, s after its znode went": ("<=", 2.0),
        "controller-kill: longest gap of a partition, s": ("<=", 9.0),
        "small: znode to first ack, application, median, ms": ("<=", 300),
        "small: znode to first ack, raw probe, median, ms": ("<=", 300),
    }
    report.write(tmp_path / "report.json")
    lines = table(tmp_path / "report.json").splitlines()
    assert lines[0] == "| 3,000 partitions | ours | Apache Kafka 2.8.2 |"
    assert "| creation until every ISR is full, s | 4 | 20 |" in lines
    assert sum("holds" in line for line in lines) == len(report.targets)


def test_what_was_not_measured_is_a_dash(tmp_path):
    report = report_of({"ours": Found([4.0], [], [], [], [])}, 30)
    assert report.targets == []
    report.write(tmp_path / "report.json")
    assert "| creation until every ISR is full, s | 4 | - |" in table(tmp_path / "report.json").splitlines()
    assert json.loads((tmp_path / "report.json").read_text())["figures"]["partitions"] == 30
