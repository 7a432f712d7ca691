"""One cluster that the proxy represents: the copy of its metadata, and whether it answers.

    Unknown → Up ⇄ Down                 Recorded
    Unknown → Down

Clients are not sent to a target that does not answer or has not had a request yet. Otherwise a
client would be sent to brokers that do not exist. The proxy sends requests to each target again and
again. Health decides what an answer or a failure means. A copy that is played back from a file is
never refreshed, and always serves.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from kafka_edu.clients.proxy.health import DOWN_AFTER, UP_AFTER, Health, TargetState
from kafka_edu.clients.proxy.metadata_copy import MetadataCopy
from kafka_edu.trace.events.proxy import MetadataCopied, MetadataCopyFailed, TargetStateChanged
from kafka_edu.trace.tracer import Tracer

#: State of a target → the states that may come before it.
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
    """One target. Only the proxy's event loop uses this object."""

    def __init__(
        self,
        name: str,
        addresses: Sequence[Address],
        trace: Tracer | None,
        down_after: int = DOWN_AFTER,
        up_after: int = UP_AFTER,
    ) -> None:
        """`down_after` and `up_after` have the same meaning as in Health."""
        self.name = name
        self.state = TargetState.UNKNOWN
        self.copy: MetadataCopy | None = None
        self.failures = 0
        """Number of failures since the last answer."""
        self.last_error = ""
        self._health = Health(down_after, up_after)
        self._addresses = tuple(addresses)
        self._trace = trace

    @property
    def serves(self) -> bool:
        return self.state in (TargetState.UP, TargetState.RECORDED)

    def to_ask(self) -> list[Address]:
        """Return the addresses to try. The address that answered last is first.

        After it come the configured addresses, and then the addresses of the brokers in the copy.
        Kafka's clients work in the same way: a configured address is needed only for the first
        answer.
        """
        known = (
            [Address(broker.host, broker.port) for broker in self.copy.brokers] if self.copy else []
        )
        order = dict.fromkeys((*self._addresses, *known))
        return sorted(
            order, key=lambda address: self.copy is None or str(address) != self.copy.source
        )

    def play_back(self, copy: MetadataCopy) -> None:
        """Use this copy, and never refresh it."""
        self.copy = copy
        self._enter(TargetState.RECORDED, f"taken from {copy.source}")

    def copied(self, copy: MetadataCopy, took_ms: int) -> None:
        """Record that the target has answered with a new copy. Getting the copy took `took_ms`
        ms.
        """
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
        self._saw(True, f"{copy.source} answered")

    def failed(self, reason: str) -> None:
        """Record that none of the target's brokers answered. `reason` says why."""
        self.failures += 1
        self.last_error = reason
        if self._trace:
            self._trace(MetadataCopyFailed(target=self.name, failures=self.failures, reason=reason))
        self._saw(False, reason)

    def _saw(self, answered: bool, reason: str) -> None:
        state = self._health.saw(answered)
        if state is not self.state:
            self._enter(state, reason)

    def _enter(self, state: TargetState, reason: str) -> None:
        if self.state not in VALID_PREVIOUS_STATES.get(state, frozenset()):
            raise RuntimeError(f"a target does not go from {self.state} to {state}")
        before, self.state = self.state, state
        if self._trace:
            self._trace(
                TargetStateChanged(target=self.name, before=before, after=state, reason=reason)
            )
