"""`bench zk-pipeline`: how it turns measurements into a report."""

import os
import time

import pytest

from benchmarks import zk_pipeline
from benchmarks.zk_pipeline import (
    IN_FLIGHT,
    PLAIN,
    TICKS_A_SECOND,
    Clock,
    Cost,
    cpu_seconds,
    measure,
    report_of,
)


def test_the_curve_and_its_targets():
    ways = {PLAIN: [Cost(100.0, 60.0, 30.0), Cost(120.0, 60.0, 30.0), Cost(5000.0, 1.0, 1.0)]}
    ways |= {f"{n} in flight": [Cost(120.0 / n, 40.0, 20.0)] for n in IN_FLIGHT}
    report = report_of({"read": ways, "write": ways})
    assert report.figures["read, plain kazoo: wall, µs a request"] == 120.0, "the median"
    assert report.figures["write, 10 in flight: times plain kazoo"] == pytest.approx(10.0)
    assert report.figures["read, 100 in flight: requests/s"] == pytest.approx(1e6 / 1.2)
    assert [(target.relation, target.target) for target in report.targets] == [(">=", 3.0)] * 2
    assert report.holds


def test_when_a_round_failed_no_target_holds_and_the_figures_stay():
    ways = {PLAIN: [Cost(120.0, 60.0, 30.0)]} | {
        f"{n} in flight": [Cost(1.0, 40.0, 20.0)] for n in IN_FLIGHT
    }
    for report, figures in (
        (report_of({"read": ways, "write": ways}, failed=True), 50),
        (report_of({}), 0),
    ):
        assert [(target.value, target.holds) for target in report.targets] == [(None, False)] * 2
        assert len(report.figures) == figures


def test_each_round_takes_every_way_and_the_first_round_does_not_count():
    runs = []

    def way(name):
        def run(clock):
            runs.append(name)
            return Cost(len(runs), 0, 0), Cost(-len(runs), 0, 0)

        return run

    clock = Clock(os.getpid(), requests=1)
    so_far = [
        {way: [cost.wall for cost in costs] for way, costs in found["read"].items()}
        for found in measure({"a": way("a"), "b": way("b")}, clock, 2)
    ]
    assert runs == ["a", "b"] * 3
    assert so_far == [{"a": [3], "b": [4]}, {"a": [3, 5], "b": [4, 6]}]


def test_the_clock_counts_what_is_between_and_divides_by_the_requests(monkeypatch):
    now = [5.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(time, "process_time", lambda: 2 * now[0])
    monkeypatch.setattr(zk_pipeline, "cpu_seconds", lambda pid: 3 * now[0])
    clock = Clock(1, requests=1000)
    clock.start()
    now[0] += 2.0
    assert clock.stop() == pytest.approx((2000, 4000, 6000))


def test_the_cpu_of_a_process_is_what_it_took_itself_and_what_the_kernel_took_for_it():
    began = os.times()
    before = cpu_seconds(os.getpid())
    with open("/dev/zero", "rb", buffering=0) as zeros:
        while os.times().system - began.system < 0.05 or os.times().user - began.user < 0.05:
            zeros.read(1 << 20)
            sum(range(10_000))
    assert cpu_seconds(os.getpid()) - before >= 0.1 - 2 / TICKS_A_SECOND, (
        "user and system, of 50 ms each; each is counted in ticks"
    )
    assert cpu_seconds(2**22 + 1) == 0.0, "there is no such process"
