"""A topic of many partitions does not hold the controller's loop.

Each event takes a fixed time on a clock that otherwise stands still, so the longest turn does not
depend on the machine.
"""

from typing import TYPE_CHECKING

import pytest

from kafka_edu.common.turns import TURN_BUDGET_MS
from kafka_edu.sim.sim_loop import SimHandle, SimLoop
from kafka_edu.trace.event import Envelope, Level

if TYPE_CHECKING:
    from tests.unit.controller.conftest import ControllerCluster

PARTITIONS = 400
EVENT_NS = 150_000


class Work:
    """A sink that advances the clock a little with each event, and measures the loop's longest
    turn.
    """

    level = Level.STATE

    def __init__(self, cluster: "ControllerCluster", monkeypatch: pytest.MonkeyPatch) -> None:
        self.done_ns = self.longest_ns = 0
        nanoseconds = cluster.time.nanoseconds
        monkeypatch.setattr(cluster.time, "nanoseconds", lambda: nanoseconds() + self.done_ns)
        run = SimLoop._run

        def timed(loop: SimLoop, handle: SimHandle) -> None:
            before = self.done_ns
            run(loop, handle)
            self.longest_ns = max(self.longest_ns, self.done_ns - before)

        monkeypatch.setattr(SimLoop, "_run", timed)

    def accept(self, envelope: Envelope) -> None:
        self.done_ns += EVENT_NS


def test_partitions_come_and_go_and_lose_their_leaders_in_short_turns(
    cluster: "ControllerCluster", monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.start(1, 2, 3)
    work = Work(cluster, monkeypatch)
    cluster.controller.tracer.add_sink(work)
    cluster.create_topic("t", *([2, 3, 1] for _ in range(PARTITIONS)))
    assert len(cluster.states()) == PARTITIONS
    cluster.kill(2)
    cluster.settle(10_000)
    assert {state.split()[1] for state in cluster.states()} == {"leader=3"}
    assert work.done_ns > PARTITIONS * 4 * EVENT_NS, "the events were counted"
    assert 0 < work.longest_ns / 1e6 <= TURN_BUDGET_MS + 1
