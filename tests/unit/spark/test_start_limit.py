"""A JVM that hardly gets a core starts slowly, and this is not a failure."""

import pytest

from kafka_edu.common.busy_machine import Allowance, Meter, Usage
from kafka_edu.spark.start_limit import StartLimit

ALLOWANCE = Allowance(processor_s=100, idle_s=50, clock_s=80)


class Machine:
    """Two programs, a clock, and what they have used."""

    def __init__(self) -> None:
        self.usage = {pid: Usage(0.0, 0.0, {pid: 0.0}) for pid in (1, 2)}

    def passes(
        self, seconds: float, processor_s: float | None = 0.0, waited_s: float = 0.0, pid: int = 1
    ) -> None:
        """Let time pass for both programs. Program `pid` uses the processor, or waits for it."""
        for each, was in self.usage.items():
            used = was.processor_s
            if each == pid and processor_s is not None and used is not None:
                used += processor_s
            waited = {each: was.waited_s[each] + (waited_s if each == pid else 0.0)}
            self.usage[each] = Usage(
                was.clock_s + seconds, used if processor_s is not None else None, waited
            )

    def limit(self, *pids: int) -> StartLimit:
        return StartLimit(
            pids,
            ALLOWANCE,
            meter_of=lambda pid: Meter(pid, self.usage.__getitem__),
            clock_s=lambda: self.usage[1].clock_s,
        )


@pytest.fixture
def machine() -> Machine:
    return Machine()


def test_a_program_without_a_core_may_take_as_long_as_it_needs(machine: Machine) -> None:
    limit = machine.limit(1)
    machine.passes(3000, processor_s=20, waited_s=2970)
    assert not limit.is_over()


@pytest.mark.parametrize("used", [(3000, 110.0, 2890.0), (51, 0.0, 0.0)], ids=["works", "hangs"])
def test_one_that_works_on_and_on_or_hangs_does_not_start(
    machine: Machine, used: tuple[float, float, float]
) -> None:
    limit = machine.limit(1)
    machine.passes(*used)
    assert limit.is_over()


def test_one_program_may_wait_for_another(machine: Machine) -> None:
    limit = machine.limit(1, 2)
    machine.passes(300, processor_s=10, waited_s=285, pid=2)
    assert not limit.is_over()
    machine.passes(60)
    assert limit.is_over()


def test_without_the_systems_numbers_the_clock_counts(machine: Machine) -> None:
    limit = machine.limit(1)
    machine.passes(79, processor_s=None)
    assert not limit.is_over()
    machine.passes(2, processor_s=None)
    assert limit.is_over()
