"""What `bench zk-pipeline` makes of what it measured."""

import os

import pytest

from benchmarks.zk_pipeline import IN_FLIGHT, PLAIN, Clock, Cost, cpu_seconds, report_of


def test_the_curve_and_its_targets():
    ways = {PLAIN: [Cost(100.0, 60.0, 30.0), Cost(120.0, 60.0, 30.0), Cost(5000.0, 1.0, 1.0)]}
    ways |= {f"{n} in flight": [Cost(120.0 / n, 40.0, 20.0)] for n in IN_FLIGHT}
    report = report_of({"read": ways, "write": ways})
    assert report.figures["read, plain kazoo: wall, µs a request"] == 120.0, "the median"
    assert report.figures["write, 10 in flight: times plain kazoo"] == pytest.approx(10.0)
    assert report.figures["read, 100 in flight: requests/s"] == pytest.approx(1e6 / 1.2)
    assert [(target.relation, target.target) for target in report.targets] == [(">=", 3.0)] * 2
    assert report.holds


def test_the_clock_counts_what_is_between_and_divides_by_the_requests():
    clock = Clock(os.getpid(), requests=1000)
    clock.start()
    while cpu_seconds(os.getpid()) - clock._began[2] < 0.02:
        pass
    cost = clock.stop()
    assert cost.server_cpu >= 20.0
    assert cost.wall >= cost.client_cpu * 0.5 > 0
