"""Time limits that do not count the time in which processes wait for a core."""

import pytest

from kafka_edu.supervisor.patience import LOOK_EVERY_S, Patience


class Machine:
    """A clock, and how long each process has waited for a core."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.waited = {1: 50.0, 2: 0.0}

    def patience(self, limit_s: float) -> Patience:
        return Patience(
            limit_s,
            lambda: self.waited,
            clock_s=lambda: self.now_s,
            waited_s=lambda pid: self.waited[pid],
        )

    def passes(self, seconds: float, *waited: float) -> None:
        self.now_s += seconds
        for pid, more in enumerate(waited, 1):
            self.waited[pid] = self.waited.get(pid, 0.0) + more


def test_time_counts_unless_a_process_waited_for_a_core() -> None:
    machine = Machine()
    patience = machine.patience(10)
    machine.passes(4)
    assert patience.left_s() == 6
    machine.passes(5, 4.5, 1)
    assert patience.left_s() == pytest.approx(5.5), "the one that waited longest counts"
    machine.passes(5, 1, 4.5)
    assert patience.left_s() == pytest.approx(5.0), "in each look another one may be the slowest"
    machine.passes(5, 0, 0)
    assert patience.left_s() == pytest.approx(0.0)
    assert patience.slice_s() == 0.0


def test_a_process_that_waits_more_than_the_clock_gives_nothing_back() -> None:
    machine = Machine()
    patience = machine.patience(10)
    machine.passes(1, 5)
    assert patience.left_s() == 10


def test_a_process_that_comes_later_counts_from_its_beginning() -> None:
    machine = Machine()
    patience = machine.patience(10)
    machine.passes(2, 0, 0, 1.5)
    assert patience.left_s() == pytest.approx(9.5)


def test_one_looks_often_enough_to_see_each_wait() -> None:
    machine = Machine()
    assert machine.patience(60).slice_s() == LOOK_EVERY_S
    assert machine.patience(0.2).slice_s() == pytest.approx(0.2)
