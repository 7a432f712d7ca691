"""One cluster that the proxy represents: its copy, and whether it answers.

    Unknown → Up ⇄ Down                 Recorded
    Unknown → Down

A target that was not asked yet, or does not answer, is left out. Otherwise a client would be sent
to brokers that do not exist. The proxy keeps asking, and the target is back after one answer. One
failure does not yet mean Down: the proxy asks the brokers one after the other, and a lost
connection is not a lost cluster. A copy that is played back from a file is never refreshed, and
always serves.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final, NamedTuple

from kafka_edu.clients.proxy.metadata_copy import MetadataCopy
from kafka_edu.trace.events.proxy import MetadataCopied, MetadataCopyFailed, TargetStateChanged
from kafka_edu.trace.tracer import Tracer

FAILURES_UNTIL_DOWN: Final = 2


class TargetState(StrEnum):
    UNKNOWN = "Unknown"
    UP = "Up"
    DOWN = "Down"
    RECORDED = "Recorded"


#: state → the states from which it may be entered.
VALID_PREVIOUS_STATES: Final[Mapping[TargetState, frozenset[TargetState]]] = {
    TargetState.UP: frozenset({TargetState.UNKNOWN, TargetState.DOWN}),
    TargetState.DOWN: frozenset({TargetState.UNKNOWN, TargetState.UP}),
    TargetState.RECORDED: frozenset({TargetState.UNKNOWN}),
}


class Address(NamedTuple):
    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Target:
    """One target. Owned by the proxy's loop."""

    def __init__(self, name: str, addresses: Sequence[Address], trace: Tracer | None) -> None:
        self.name = name
        self.state = TargetState.UNKNOWN
        self.copy: MetadataCopy | None = None
        self.failures = 0
        """Consecutive failures so far."""
        self.last_error = ""
        self._addresses = tuple(addresses)
        self._trace = trace

    @property
    def serves(self) -> bool:
        return self.state in (TargetState.UP, TargetState.RECORDED)

    def to_ask(self) -> list[Address]:
        """Return the addresses to ask, in this order: the last one that answered, the given
        addresses, the brokers in the copy.

        This is what clients do: a given address is needed only for the first answer.
        """
        known = (
            [Address(broker.host, broker.port) for broker in self.copy.brokers] if self.copy else []
        )
        order = dict.fromkeys((*self._addresses, *known))
        return sorted(
            order, key=lambda address: self.copy is None or str(address) != self.copy.source
        )

    def play_back(self, copy: MetadataCopy) -> None:
        """Use this copy for ever."""
        self.copy = copy
        self._enter(TargetState.RECORDED, f"taken from {copy.source}")

    def copied(self, copy: MetadataCopy, took_ms: int) -> None:
        """Note that the target has answered."""
        self.copy = copy
        self.failures = 0
        self.last_error = ""
        if self._trace:
            brokers = tuple(sorted(broker.node_id for broker in copy.brokers))
            topics = len(copy.response.topics)
            cluster_id = copy.response.cluster_id or ""
            self._trace(
                MetadataCopied(
                    target=self.name,
                    cluster_id=cluster_id,
                    source=copy.source,
                    version=copy.version,
                    brokers=brokers,
                    topics=topics,
                    partitions=copy.partitions,
                    took_ms=took_ms,
                )
            )
        if self.state is not TargetState.UP:
            self._enter(TargetState.UP, f"{copy.source} answered")

    def failed(self, reason: str) -> None:
        """Note that none of its brokers answered."""
        self.failures += 1
        self.last_error = reason
        if self._trace:
            self._trace(MetadataCopyFailed(target=self.name, failures=self.failures, reason=reason))
        if self.state is TargetState.UNKNOWN or (
            self.state is TargetState.UP and self.failures >= FAILURES_UNTIL_DOWN
        ):
            self._enter(TargetState.DOWN, reason)

    def _enter(self, state: TargetState, reason: str) -> None:
        if self.state not in VALID_PREVIOUS_STATES.get(state, frozenset()):
            raise RuntimeError(f"a target does not go from {self.state} to {state}")
        before, self.state = self.state, state
        if self._trace:
            self._trace(
                TargetStateChanged(target=self.name, before=before, after=state, reason=reason)
            )
