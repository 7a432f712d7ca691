"""Events about simulated runs: of a run that somebody watches (docs/simulator.md), and of jobs that
play clusters in virtual time.

The facts of a job's simulated cluster have the times of another clock. So a job does not emit them
as they are. It may report some of them in words, as SimulatedFact.
"""

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
    """A note for the viewer: progress, the result of the checks, an error."""
    instant_ns: int = 0
    """The exact virtual time up to which things have happened, in ns."""
    turns_there: int = 0
    """How many callbacks of the simulation have come at `instant_ns`. 0: all of them."""

    @property
    def point(self) -> str:
        """The exact moment, in the form that the command `sim-follow` takes."""
        return f"{self.at_us}:{self.instant_ns}:{self.turns_there}"


@event()
class SimulatedFact(NamedTuple):
    """A job has played a cluster in virtual time, and this is one of the facts of that cluster."""

    run: str
    """The name of the run."""
    fact: str
    """The type of the fact, such as LeaderElected."""
    text: str
    """The fact in words."""
    at_ms: int
    """The virtual time in ms. The job chooses the moment from which it counts, for example the
    beginning of the run.
    """


@event()
class SimulationPlayed(NamedTuple):
    """A job has played a cluster in virtual time to its end."""

    run: str
    seed: int
    facts: int
    """How many facts the simulated cluster has emitted."""
    digest: str
    """The beginning of the hash of these facts."""
    virtual_ms: int
    took_ms: int
    """How long this computer took, in real ms."""
    broken: str
    """The rule that the run breaks. Empty if every rule holds, or if none was checked."""


@event()
class SimulationsCompared(NamedTuple):
    """A job has played a cluster twice in virtual time, and has compared all facts byte by byte."""

    what: str
    """The difference between both runs, in words."""
    same: bool
    facts: int
    """How many facts at the beginning are equal."""
    at_ms: int
    """The virtual time of the first fact that differs, or of the last fact if none differs."""
    first: str
    """The first fact that differs, in words, of the first run. Empty if no fact differs."""


@event()
class SeedsExplored(NamedTuple):
    """A job has played a scenario with one seed after the other, until a rule was broken."""

    scenario: str
    seeds: int
    """How many seeds were played."""
    seed: int
    """The seed that breaks a rule, or -1 if none does."""
    acts: int
    """How many acts the schedule of this seed has."""
    rule: str
    """The rule that it breaks. Empty if no rule is broken."""


@event()
class SimulationShrunk(NamedTuple):
    """A job has left out acts of a schedule, as long as the run still breaks the same rule."""

    scenario: str
    seed: int
    acts_before: int
    acts_after: int
    runs: int
    """How many runs this took."""
    schedule: str
    """The acts that are left, joined by semicolons."""
