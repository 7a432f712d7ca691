"""A client's own connection to the coordinator of a group or of a transactional id.

(Kafka: AbstractCoordinator.java and TransactionManager.java, the parts about FindCoordinator.) A
broker works on the requests of a connection one after another. On a shared connection, a heartbeat
would wait behind a fetch for up to fetch.max.wait.ms. The end of a transaction would wait behind a
Produce request until all replicas have the records. Therefore the coordinator gets its own
connection, even if the same broker is also a leader.
"""

from enum import IntEnum
from typing import Final

from kafka_edu.clients.client_connections import ClientConnections, ConnectionState, OnResponse
from kafka_edu.clients.client_errors import (
    BrokerException,
    ClientException,
    UnsupportedVersionException,
)
from kafka_edu.clients.metadata import NEVER, ClientNode, Metadata
from kafka_edu.common.errors import Errors
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from kafka_edu.protocol.messages.registry import REGISTRY
from kafka_edu.protocol.schema import Message
from kafka_edu.trace.events.consumer import GroupCoordinatorChanged
from kafka_edu.trace.events.producer import ClientLink, TransactionCoordinatorChanged
from kafka_edu.trace.tracer import Tracer

NO_NODE: Final = -1
_FIRST_WITH_KEY_TYPE: Final = 1
"""The first version of FindCoordinator with a key type, and thus with transactional ids."""


class CoordinatorType(IntEnum):
    """What a coordinator is for: a group or a transactional id (Kafka:
    FindCoordinatorRequest.CoordinatorType).
    """

    GROUP = 0
    TRANSACTION = 1


class CoordinatorLink:
    """Finds the coordinator, and sends requests to it."""

    def __init__(
        self,
        client_id: str,
        key: str,
        key_type: CoordinatorType,
        retry_backoff_ms: float,
        connections: ClientConnections,
        own_metadata: Metadata,
        own_connections: ClientConnections,
        trace: Tracer | None = None,
    ) -> None:
        """`key` is the group or the transactional id. `own_metadata` holds the coordinator's
        address, and `own_connections` its connection. Links of one client may share `own_metadata`
        and `own_connections`.
        """
        self._client_id = client_id
        self.key = key
        self._key_type = key_type
        self._retry_backoff_ms = retry_backoff_ms
        self._connections = connections
        self._own_metadata = own_metadata
        self._own = own_connections
        self._trace = trace
        self.node = NO_NODE
        self.error: ClientException | None = None
        """A permanent error of the search for the coordinator, such as a missing permission."""
        self._finding = False
        self._find_again_ms = -NEVER
        self._opened = False

    def run(self, now: float) -> None:
        """Look up the coordinator if it is unknown."""
        self._own.poll(now)
        if self.node != NO_NODE or self._finding or now < self._find_again_ms or self.error:
            return
        node = self._connections.least_loaded(now)
        if node is None:
            return
        key = ApiKey.FIND_COORDINATOR
        version = self._connections.version(node, key, REGISTRY[key].max_version)
        if self._key_type is not CoordinatorType.GROUP and version < _FIRST_WITH_KEY_TYPE:
            self.error = UnsupportedVersionException(
                "The broker has no transactions.",
                "Leave out transactional.id, or use a broker from 0.11 on.",
            )
            return
        self._finding = True
        self._connections.send(
            node,
            FindCoordinatorRequest(key=self.key, key_type=self._key_type),
            version,
            now,
            self._on_found,
        )

    def next_run_ms(self, now: float) -> float:
        """Return the ms until `run` must be called next; NEVER if nothing is planned."""
        due = self._own.next_poll_ms(now)
        if self.node == NO_NODE and self._find_again_ms > now:
            due = min(due, self._find_again_ms - now)
        return due

    def _on_found(self, answer: Message | None, now: float) -> None:
        self._finding = False
        self._find_again_ms = now + self._retry_backoff_ms
        if not isinstance(answer, FindCoordinatorResponse):
            return
        error = Errors.of(answer.error_code)
        if error is Errors.NONE:
            self.node, self._opened = answer.node_id, False
            self._own_metadata.nodes[self.node] = ClientNode(self.node, answer.host, answer.port)
            self._changed("FindCoordinator was answered")
        elif not error.retriable:
            self.error = self.refused(error)

    def refused(self, error: Errors) -> BrokerException:
        """Return a broker's error with the name of the group or the transactional id in its
        message.
        """
        what = "Group" if self._key_type is CoordinatorType.GROUP else "Transactional id"
        return BrokerException(error, f"{what} {self.key}: {error.message}")

    def _changed(self, reason: str) -> None:
        if not self._trace:
            return
        if self._key_type is CoordinatorType.GROUP:
            self._trace(
                GroupCoordinatorChanged(
                    client=self._client_id, group=self.key, broker_id=self.node, reason=reason
                )
            )
        else:
            self._trace(
                TransactionCoordinatorChanged(
                    client=self._client_id,
                    transactional_id=self.key,
                    broker_id=self.node,
                    reason=reason,
                )
            )

    def lost(self, reason: str, now: float) -> None:
        """Forget the coordinator, and look it up again after retry.backoff.ms."""
        if self.node != NO_NODE:
            self.node = NO_NODE
            self._find_again_ms = now + self._retry_backoff_ms
            self._changed(reason)

    def links(self, now: float) -> tuple[ClientLink, ...]:
        """Return the state of the connection to the coordinator for a sample. The result is empty
        if there is no connection.
        """
        return tuple(link for link in self._own.links(now) if link.broker_id == self.node)

    def ready(self, now: float) -> bool:
        """Return whether a request can be sent now. If not, connect."""
        if self.node == NO_NODE:
            return False
        if self._opened and self._own.state(self.node) is ConnectionState.DISCONNECTED:
            self.lost(self._own.last_failure, now)
            return False
        ready = self._own.ready(self.node, now)
        self._opened = self._own.state(self.node) is not ConnectionState.DISCONNECTED
        return ready

    def version(self, key: ApiKey) -> int:
        """Return the newest version of a request that both sides support. The link must be
        ready.
        """
        return self._own.version(self.node, key, REGISTRY[key].max_version)

    def send(
        self,
        request: Message,
        version: int,
        now: float,
        on_response: OnResponse,
        timeout_ms: float | None = None,
    ) -> None:
        """Send a request. The link must be ready."""
        self._own.send(self.node, request, version, now, on_response, timeout_ms)
