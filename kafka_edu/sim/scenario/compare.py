"""Find the first difference between two futures of a run. A future is what happens in the run after
a user's acts.

Both futures are played from the start of the run. Up to the first difference all their facts are
equal.
"""

from collections.abc import Sequence
from itertools import zip_longest
from typing import NamedTuple

from kafka_edu.sim.scenario.language import Scenario
from kafka_edu.sim.scenario.scenario_run import ScenarioResult, ScenarioRun
from kafka_edu.trace.event import EVENT_TYPES, Envelope, Kind


class Played(NamedTuple):
    """One future, with all its facts."""

    result: ScenarioResult
    facts: list[Envelope]
    begun_us: int
    """The virtual time at which the run began, after the start of the cluster."""


class Difference(NamedTuple):
    """The first two facts that differ. A fact is None if its future has ended before."""

    same: int
    """How many facts before are the same in both."""
    first: Envelope | None
    second: Envelope | None


def play_whole(scenario: Scenario, seed: int) -> Played:
    """Play a future to its end, and return all its facts."""
    facts: list[Envelope] = []

    def keep(envelope: Envelope) -> None:
        if EVENT_TYPES[envelope.name].kind is Kind.FACT:
            facts.append(envelope)

    run = ScenarioRun(scenario, seed, on_fact=keep)
    result = run.play()
    return Played(result, facts, run.begun_us)


def first_difference(first: Sequence[Envelope], second: Sequence[Envelope]) -> Difference | None:
    """Return the first facts that differ, or None if there are none. O(facts)."""
    for same, (one, other) in enumerate(zip_longest(first, second)):
        if one != other:
            return Difference(same, one, other)
    return None
