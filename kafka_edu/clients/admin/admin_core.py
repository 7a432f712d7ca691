"""The decisions of the admin client: which request goes to which broker, and what is sent again.

(Kafka: KafkaAdminClient.java, AdminClientRunnable.) It needs no socket and no clock.

    item → route → broker known? ──no──> ask: Metadata or FindCoordinator
                        │ yes                       │
                        └──> request → response <───┘
                                 │
            result, or an error that stays · an error that may pass: after retry.backoff.ms again

An item ends with its result, with a permanent error, after `retries` new tries, or when the time of
its call is over. An error such as NOT_CONTROLLER also says that the request went to the wrong
broker. In this case, the client looks the right broker up again.
"""

import random
from collections.abc import Callable, Sequence
from typing import Any, Final

from kafka_edu.clients.admin.admin_call import (
    AdminCall,
    AnyBroker,
    Broker,
    Controller,
    CoordinatorOf,
    Form,
    LeaderOf,
    Requested,
    Results,
    Route,
)
from kafka_edu.clients.admin.admin_config import AdminConfig
from kafka_edu.clients.admin.admin_metadata import AdminMetadata
from kafka_edu.clients.admin.node import Node
from kafka_edu.clients.client_connections import (
    ClientConnections,
    ConnectionsConfig,
    ConnectionState,
)
from kafka_edu.clients.client_errors import (
    BrokerException,
    ClientException,
    TimeoutException,
    UnsupportedVersionException,
)
from kafka_edu.clients.metadata import NEVER, ClientNode
from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from kafka_edu.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from kafka_edu.protocol.messages.registry import REGISTRY
from kafka_edu.protocol.schema import Message
from kafka_edu.protocol.types import ProtocolError
from kafka_edu.trace.events.admin import AdminCallEnded, AdminCallStarted, AdminItemRetried
from kafka_edu.trace.tracer import Tracer

_MAX_IN_FLIGHT: Final = 100
_GROUP: Final = 0
"""FindCoordinator's type of key for a group."""
#: Temporary errors. An item with such an error is sent again.
RETRIED: Final = frozenset(
    {
        Errors.NETWORK_EXCEPTION,
        Errors.NOT_CONTROLLER,
        Errors.NOT_LEADER_OR_FOLLOWER,
        Errors.LEADER_NOT_AVAILABLE,
        Errors.FENCED_LEADER_EPOCH,
        Errors.UNKNOWN_LEADER_EPOCH,
        Errors.OFFSET_NOT_AVAILABLE,
        Errors.NOT_COORDINATOR,
        Errors.COORDINATOR_NOT_AVAILABLE,
        Errors.COORDINATOR_LOAD_IN_PROGRESS,
        Errors.THROTTLING_QUOTA_EXCEEDED,
    }
)
#: The errors in RETRIED after which the same broker is used again. After the other errors, the
#: leader or coordinator is looked up again.
_SAME_BROKER: Final = frozenset(
    {Errors.THROTTLING_QUOTA_EXCEEDED, Errors.COORDINATOR_LOAD_IN_PROGRESS}
)


class _Item:
    """One item of a call, until it has its result."""

    __slots__ = ("in_flight", "last_error", "not_before_ms", "route", "tries")

    def __init__(self, route: Route) -> None:
        self.route = route
        self.tries = 0
        self.in_flight = False
        self.not_before_ms = -NEVER
        self.last_error: ClientException | None = None


class _Running:
    """A call that has not ended. Its core owns it."""

    def __init__(
        self,
        call: AdminCall[Any, Any],  # one list has calls of all types
        deadline_ms: float,
        on_done: Callable[[Results[Any, Any]], None],
    ) -> None:
        self.call = call
        self.deadline_ms = deadline_ms
        self.on_done = on_done
        self.items = {item: _Item(route) for item, route in call.routes.items()}
        """The items that have no result yet."""
        self.results: Results[Any, Any] = Results()
        self.found: dict[Route, int] = {}
        """The leaders and coordinators that this call has looked up."""
        self.looking: set[Route] = set()


class AdminCore:
    """The running calls of one admin client, and its connections."""

    def __init__(
        self, config: AdminConfig, chance: random.Random, trace: Tracer | None = None
    ) -> None:
        self._config = config
        self._trace = trace
        self.metadata = AdminMetadata(
            config.bootstrap_servers, config.retry_backoff_ms, config.metadata_max_age_ms
        )
        self.connections = ClientConnections(
            ConnectionsConfig(
                config.client_id,
                request_timeout_ms=config.request_timeout_ms,
                reconnect_backoff_ms=config.reconnect_backoff_ms,
                reconnect_backoff_max_ms=config.reconnect_backoff_max_ms,
                connections_max_idle_ms=config.connections_max_idle_ms,
                socket_connection_setup_timeout_ms=config.connection_setup_timeout_ms,
                max_in_flight_requests_per_connection=_MAX_IN_FLIGHT,
            ),
            self.metadata,
            chance,
            trace,
        )
        self._calls: dict[_Running, None] = {}
        self.metadata.request_update()

    def start(
        self,
        call: AdminCall[Any, Any],
        on_done: Callable[[Results[Any, Any]], None],
        timeout_ms: float,
        now: float,
    ) -> Callable[[], None]:
        """Begin a call. `on_done` is called once, with the results of all items.

        Return a function that cancels the call.
        """
        running = _Running(call, now + timeout_ms, on_done)
        self._calls[running] = None
        if self._trace:
            self._trace(
                AdminCallStarted(
                    client=self._config.client_id, call=call.name, items=len(running.items)
                )
            )
        self._end_if_done(running)
        return lambda: self._calls.pop(running, None)

    def run(self, now: float) -> None:
        """Send each request that can be sent now, and end calls and requests whose time is over."""
        self.metadata.wanted = bool(self._calls)
        self.connections.poll(now)
        for running in list(self._calls):
            if now >= running.deadline_ms:
                self._time_over(running)
            elif self.metadata.version:
                self._run_call(running, now)
        self.metadata.wanted = bool(self._calls)
        # A call has found that the metadata is out of date.
        if self.metadata.next_update_ms(now) <= 0:
            self.connections.poll(now)

    def next_run_ms(self, now: float) -> float:
        """Return the ms until `run` must be called next; NEVER if nothing is planned."""
        due = min(self.connections.next_poll_ms(now), max(self.metadata.next_update_ms(now), 1))
        for running in self._calls:
            due = min(due, running.deadline_ms - now)
            for item in running.items.values():
                if item.not_before_ms > now:
                    due = min(due, item.not_before_ms - now)
        return max(due, 0)

    def _run_call(self, running: _Running, now: float) -> None:
        """Group the items that are due by broker, and send one request to each broker."""
        by_node: dict[int, list[Any]] = {}
        unknown: dict[Route, None] = {}
        for name, item in running.items.items():
            if item.in_flight or item.not_before_ms > now:
                continue
            node = self._node_of(running, item.route, now)
            if node is not None:
                by_node.setdefault(node, []).append(name)
            elif isinstance(item.route, LeaderOf | CoordinatorOf):
                unknown[item.route] = None
        for node, names in by_node.items():
            if self.connections.ready(node, now):
                self._send(running, node, names, now)
            elif self.connections.state(node) is ConnectionState.DISCONNECTED:
                for name in names:  # the broker may be dead, and another broker may have taken over
                    item = running.items[name]
                    running.found.pop(item.route, None)
                    item.not_before_ms = now + self._config.retry_backoff_ms
                self.metadata.request_update()
        routes = [route for route in unknown if route not in running.looking]
        if routes:
            self._look_up(running, routes, now)

    def _node_of(self, running: _Running, route: Route, now: float) -> int | None:
        match route:
            case AnyBroker():
                return self.connections.least_loaded(now)
            case Controller():
                node = self.metadata.controller_id
            case Broker(id=node):
                pass
            case LeaderOf() | CoordinatorOf():
                found = running.found.get(route)
                return found if found in self.metadata.nodes else None
        if node in self.metadata.nodes:
            return node
        if self.metadata.next_update_ms(now) < NEVER:  # no update is running
            self.metadata.request_update()
        return None

    def _look_up(self, running: _Running, routes: Sequence[Route], now: float) -> None:
        """Ask any broker for the leaders and coordinators of these routes."""
        topics: dict[str, None] = {}
        leaders: list[LeaderOf] = []
        for route in routes:
            match route:
                case CoordinatorOf(group=group):
                    self._find_coordinator(running, route, group, now)
                case LeaderOf(partition=tp):
                    topics[tp.topic] = None
                    leaders.append(route)
        node = self.connections.least_loaded(now) if leaders else None
        if node is None:
            return
        running.looking.update(leaders)
        request = MetadataRequest(
            topics=[MetadataRequestTopic(name=topic) for topic in topics],
            allow_auto_topic_creation=False,
        )
        try:
            self._ask(
                node,
                request,
                now,
                lambda answer, at: self._on_leaders(running, leaders, answer, at),
            )
        except KafkaException as error:
            running.looking.difference_update(leaders)
            for leader in leaders:
                self._fail_route(running, leader, _too_old(f"{error.message}."), now)

    def _find_coordinator(self, running: _Running, route: Route, group: str, now: float) -> None:
        node = self.connections.least_loaded(now)
        if node is None:
            return
        running.looking.add(route)

        def found(answer: Message | None, at: float) -> None:
            running.looking.discard(route)
            if running not in self._calls:
                return
            if not isinstance(answer, FindCoordinatorResponse):
                self._fail_route(running, route, _lost(self.connections), at)
            elif answer.error_code:
                error = BrokerException(Errors.of(answer.error_code), answer.error_message or "")
                self._fail_route(running, route, error, at)
            else:
                self.metadata.nodes.setdefault(
                    answer.node_id, ClientNode(answer.node_id, answer.host, answer.port)
                )
                running.found[route] = answer.node_id

        self._ask(node, FindCoordinatorRequest(key=group, key_type=_GROUP), now, found)

    def _ask(
        self,
        node: int,
        request: Message,
        now: float,
        on_response: Callable[[Message | None, float], None],
    ) -> None:
        key = request.KEY
        assert key is not None  # both lookups are requests
        version = self.connections.version(node, key, REGISTRY[key].max_version)
        self.connections.send(node, request, version, now, on_response)

    def _on_leaders(
        self, running: _Running, routes: Sequence[LeaderOf], answer: Message | None, now: float
    ) -> None:
        running.looking.difference_update(routes)
        if running not in self._calls:
            return
        if not isinstance(answer, MetadataResponse):
            for route in routes:
                self._fail_route(running, route, _lost(self.connections), now)
            return
        for broker in answer.brokers:
            node = ClientNode(broker.node_id, broker.host, broker.port)
            self.metadata.nodes.setdefault(node.id, node)
        errors = {topic.name: Errors.of(topic.error_code) for topic in answer.topics}
        leaders = {
            TopicPartition(topic.name, each.partition_index): each.leader_id
            for topic in answer.topics
            for each in topic.partitions
        }
        for route in routes:
            error = errors.get(route.partition.topic, Errors.UNKNOWN_TOPIC_OR_PARTITION)
            leader = leaders.get(route.partition)
            if error is Errors.NONE and leader is None:
                error = Errors.UNKNOWN_TOPIC_OR_PARTITION
            elif error is Errors.NONE and leader not in self.metadata.nodes:
                error = Errors.LEADER_NOT_AVAILABLE
            if error is not Errors.NONE or leader is None:
                self._fail_route(
                    running,
                    route,
                    BrokerException(error, f"Partition {route.partition}: {error.message}"),
                    now,
                )
            else:
                running.found[route] = leader

    def _fail_route(
        self, running: _Running, route: Route, error: ClientException, now: float
    ) -> None:
        for name, item in list(running.items.items()):
            if item.route == route and not item.in_flight:
                self._failed(running, name, error, now)
        self._end_if_done(running)

    def _send(self, running: _Running, node: int, names: list[Any], now: float) -> None:
        call = running.call
        chosen = (
            (key, self.connections.version(node, key, REGISTRY[key].max_version))
            for key in call.keys
        )
        key, version = next(((k, v) for k, v in chosen if v >= 0), (call.keys[0], -1))
        requested = Requested(names, Node(*self.metadata.nodes[node]))
        limit = min(self._config.request_timeout_ms, running.deadline_ms - now)
        try:
            if version < 0:
                raise _too_old(f"The broker does not support {key.name}.")
            request = call.write(names, Form(key, version, max(int(limit), 1)))
            self.connections.send(
                node,
                request,
                version,
                now,
                lambda answer, at: self._answered(running, requested, answer, at),
            )
        except ClientException as error:
            refused = error
        except KafkaException as error:  # the request has a field that this version does not have
            refused = _too_old(
                f"The broker knows {key.name} only up to version {version}: {error.message}."
            )
        except ProtocolError as error:
            refused = ClientException(
                Errors.INVALID_REQUEST, f"{key.name} cannot be sent: {error}.", "Check its values."
            )
        else:
            for name in names:
                running.items[name].in_flight = True
            return
        for name in names:
            self._end_item(running, name, refused)
        self._end_if_done(running)

    def _answered(
        self, running: _Running, requested: Requested[Any], answer: Message | None, now: float
    ) -> None:
        if running not in self._calls:
            return
        names = requested.items
        for name in names:
            running.items[name].in_flight = False
        outcomes = {} if answer is None else running.call.read(requested, answer)
        for name in names:
            if answer is None:
                self._failed(running, name, _lost(self.connections), now)
                continue
            outcome = outcomes.get(
                name,
                BrokerException(
                    Errors.UNKNOWN_SERVER_ERROR, f"The response has no result for {name}."
                ),
            )
            if not isinstance(outcome, ClientException):
                self._end_item(running, name, outcome)
            elif outcome.error is Errors.UNKNOWN_TOPIC_OR_PARTITION and isinstance(
                running.items[name].route, LeaderOf
            ):  # the partition exists in the metadata, so this broker is not its leader any more
                self._retry(running, name, outcome, now)
            else:
                self._failed(running, name, outcome, now)
        self._end_if_done(running)

    def _failed(self, running: _Running, name: object, error: ClientException, now: float) -> None:
        """Send an item again if its error is temporary. Otherwise end the item with the error."""
        if error.error is Errors.NOT_CONTROLLER:
            self.metadata.controller_moved()
        if error.error in RETRIED:
            self._retry(running, name, error, now)
        else:
            self._end_item(running, name, error)

    def _retry(self, running: _Running, name: object, error: ClientException, now: float) -> None:
        """Send an item again after retry.backoff.ms, unless it has no tries left."""
        item = running.items[name]
        if error.error not in _SAME_BROKER:
            running.found.pop(item.route, None)
        if item.tries >= self._config.retries:
            self._end_item(running, name, error)
            return
        item.tries += 1
        item.last_error = error
        item.not_before_ms = now + self._config.retry_backoff_ms
        if self._trace:
            self._trace(
                AdminItemRetried(
                    client=self._config.client_id,
                    call=running.call.name,
                    item=str(name),
                    error=error.name,
                    tries=item.tries,
                )
            )

    def _end_item(self, running: _Running, name: object, outcome: object) -> None:
        del running.items[name]
        running.results.put(name, outcome)

    def _time_over(self, running: _Running) -> None:
        for name, item in list(running.items.items()):
            reason = (
                str(item.last_error)
                if item.last_error
                else f"The last connection ended because: {self.connections.last_failure}."
                if self.connections.last_failure
                else f"There was no answer from {item.route}."
            )
            self._end_item(
                running,
                name,
                TimeoutException(f"{running.call.name} took longer than its time. {reason}"),
            )
        self._end_if_done(running)

    def _end_if_done(self, running: _Running) -> None:
        if running.items or running not in self._calls:
            return
        del self._calls[running]
        if self._trace:
            self._trace(
                AdminCallEnded(
                    client=self._config.client_id,
                    call=running.call.name,
                    succeeded=len(running.results.values),
                    failed=len(running.results.errors),
                )
            )
        running.on_done(running.results)

    def close(self, now: float) -> None:
        """Close the connections."""
        self._calls.clear()
        self.connections.close_all("the admin client closes", now)


def _lost(connections: ClientConnections) -> ClientException:
    return BrokerException(
        Errors.NETWORK_EXCEPTION, f"The connection was lost: {connections.last_failure}."
    )


def _too_old(message: str) -> UnsupportedVersionException:
    return UnsupportedVersionException(message, "Use a newer broker, or fewer features.")
