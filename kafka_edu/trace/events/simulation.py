"""Events about a simulated run that somebody watches (docs/simulator.md)."""

from typing import NamedTuple

from kafka_edu.trace.event import Kind, event


@event(kind=Kind.GAUGE)
class SimulationSampled(NamedTuple):
    """The state of a simulated run and its clock. All times of events are virtual."""

    state: str
    """`running`, `paused`, `replaying` (it is executed again from its start) or `ended`."""
    at_us: int
    """The virtual time since the start of the cluster."""
    run_us: int
    """The virtual time at which the run of the scenario began. 0: the cluster is still starting."""
    speed_percent: int
    """Virtual ms in a tenth of a real second. 0: as fast as the machine can."""
    unit: str
    """How far a step goes: event, request, timer or ms."""
    future: int
    """The number of this future. The first one is 1, and each fork begins another one."""
    turns: int
    """How often the run has gone back in time. Each time, events after `at_us` are void."""
    note: str = ""
    """What somebody who watches must know: progress, the result of the checks, an error."""
