"""Collect the facts of a simulated cluster, and find the first fact in which two runs differ."""

import hashlib
from collections.abc import Sequence
from itertools import takewhile
from typing import Final, NamedTuple

from kafka_edu.instruments.sentences import fact_text
from kafka_edu.sim.scenario.scenario_run import ScenarioRun
from kafka_edu.sim.sim_cluster import SimCluster
from kafka_edu.trace.event import EVENT_TYPES, Envelope, Kind
from kafka_edu.trace.events.simulation import SimulationsCompared
from kafka_edu.trace.wire_format import encode

DIGEST_LENGTH: Final = 12
"""How many digits of a hash are shown."""


class TrailFact(NamedTuple):
    """One fact of a run."""

    at_ms: int
    """The virtual time since the beginning of the run."""
    text: str
    line: bytes
    """The fact in the format of a recording. Two facts are equal if these bytes are equal."""


class FactTrail:
    """All facts of one run, in order. Samples for a viewer are left out."""

    def __init__(self, clock: SimCluster | ScenarioRun | None = None) -> None:
        """Times are counted on this clock. `clock` may also be set later, before the first fact."""
        self.clock = clock
        self.facts: list[TrailFact] = []
        self.envelopes: list[Envelope] = []

    def add(self, envelope: Envelope) -> None:
        if EVENT_TYPES[envelope.name].kind is Kind.FACT:
            self.envelopes.append(envelope)
            fact = TrailFact(self._now_ms(), fact_text(envelope.event), encode(envelope))
            self.facts.append(fact)

    def _now_ms(self) -> int:
        clock = self.clock
        if isinstance(clock, ScenarioRun):
            return clock.now_ms()
        return clock.time.hi_res_clock_ms() if clock is not None else 0

    def digest(self) -> str:
        """Return the beginning of the hash of all facts."""
        found = hashlib.sha256(b"".join(fact.line for fact in self.facts))
        return found.hexdigest()[:DIGEST_LENGTH]


def compared(
    what: str, one: Sequence[TrailFact], other: Sequence[TrailFact]
) -> SimulationsCompared:
    """Compare two runs byte by byte."""
    pairs = zip(one, other, strict=False)
    equal = sum(1 for _ in takewhile(lambda pair: pair[0].line == pair[1].line, pairs))
    same = equal == len(one) == len(other)
    place = min(equal, len(one) - 1)
    return SimulationsCompared(
        what=what,
        same=same,
        facts=equal,
        at_ms=one[place].at_ms,
        first="" if same else one[place].text,
    )
