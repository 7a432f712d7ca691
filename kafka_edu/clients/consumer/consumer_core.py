"""The parts of a consumer that make decisions, and how they work together.

These parts need no socket and no clock. The consumer, the simulator and the tests use them.
"""

import random
import re
from typing import Final

from kafka_edu.clients.client_connections import ClientConnections, ConnectionsConfig
from kafka_edu.clients.client_errors import BrokerException, ClientException
from kafka_edu.clients.consumer.consumer_config import ConsumerConfig
from kafka_edu.clients.consumer.consumer_coordinator import ConsumerCoordinator
from kafka_edu.clients.consumer.fetcher import Fetcher
from kafka_edu.clients.consumer.group_offsets import GroupOffsets
from kafka_edu.clients.consumer.membership import Membership
from kafka_edu.clients.consumer.offset_lookups import OffsetLookups
from kafka_edu.clients.consumer.subscription_state import (
    FetchState,
    OffsetAndMetadata,
    SubscriptionState,
)
from kafka_edu.clients.coordinator_link import CoordinatorLink, CoordinatorType
from kafka_edu.clients.metadata import NEVER, Metadata
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.trace.tracer import Tracer

_MAX_IN_FLIGHT: Final = 100
_TOPIC_IDLE_MS: Final = 300_000
"""A topic that was not used for this long leaves the metadata."""
_USE_AGAIN_MS: Final = 1_000


class ConsumerCore:
    """The parts of one consumer. Its event loop owns them."""

    def __init__(
        self, config: ConsumerConfig, chance: random.Random, trace: Tracer | None = None
    ) -> None:
        self._config = config
        connections_config = ConnectionsConfig(
            config.client_id,
            request_timeout_ms=config.request_timeout_ms,
            reconnect_backoff_ms=config.reconnect_backoff_ms,
            reconnect_backoff_max_ms=config.reconnect_backoff_max_ms,
            connections_max_idle_ms=config.connections_max_idle_ms,
            socket_connection_setup_timeout_ms=config.connection_setup_timeout_ms,
            max_in_flight_requests_per_connection=_MAX_IN_FLIGHT,
        )
        self.metadata = Metadata(
            config.bootstrap_servers,
            retry_backoff_ms=config.retry_backoff_ms,
            max_age_ms=config.metadata_max_age_ms,
            max_idle_ms=_TOPIC_IDLE_MS,
            allow_auto_creation=config.allow_auto_create_topics,
        )
        self.connections = ClientConnections(connections_config, self.metadata, chance, trace)
        coordinator_address = Metadata([], config.retry_backoff_ms, NEVER, NEVER)
        self.coordinator_connections = ClientConnections(
            connections_config, coordinator_address, chance, trace
        )
        self.subscriptions = SubscriptionState(config.client_id, config.offset_reset, trace)
        self.lookups = OffsetLookups(
            self.metadata, self.connections, config.retry_backoff_ms, config.read_committed
        )
        self.fetcher = Fetcher(
            config, self.metadata, self.connections, self.subscriptions, self.lookups, trace
        )
        self.link = CoordinatorLink(
            config.client_id,
            config.group_id,
            CoordinatorType.GROUP,
            config.retry_backoff_ms,
            self.connections,
            coordinator_address,
            self.coordinator_connections,
            trace,
        )
        self.membership = Membership(config.client_id, config.group_id, trace)
        self.offsets = GroupOffsets(config, self.subscriptions, self.link, self.membership, trace)
        self.coordinator = ConsumerCoordinator(
            config,
            self.metadata,
            self.subscriptions,
            self.link,
            self.membership,
            self.offsets,
            trace,
        )
        self._matched_version = 0
        self._used: frozenset[str] = frozenset()
        self._used_ms = -NEVER
        self._reading_committed: set[TopicPartition] = set()

    def poll(self, now: float) -> None:
        """Do the core's part of `Consumer.poll()`. Raises the errors that the program must get."""
        for topic in self._used:
            error = self.metadata.errors.get(topic)
            if error is not None and not error.retriable:
                raise BrokerException(error, f"Topic {topic}: {error.message}")
        self.coordinator.poll(now)

    def run(self, now: float) -> None:
        """Send each request that can be sent now, and end requests whose time is over."""
        self._match_pattern()
        self._use_topics(now)
        self.connections.poll(now)
        self._begin_positions()
        self.coordinator.run(now)
        self.fetcher.run(now)
        # A part has found that the metadata is out of date.
        if self.metadata.next_update_ms(now) <= 0:
            self.connections.poll(now)

    def next_run_ms(self, now: float) -> float:
        """Return the ms until `run` must be called next; NEVER if nothing is planned.

        A metadata update that is already due waits for a connection, not for a time.
        """
        return min(
            self.connections.next_poll_ms(now),
            self.coordinator.next_run_ms(now),
            self.fetcher.next_run_ms(now),
        )

    def subscribe_pattern(self, pattern: re.Pattern[str]) -> None:
        """Read all topics whose whole name matches. The consumer requests the metadata of all
        topics.
        """
        self.subscriptions.subscribe_pattern(pattern)
        excluded = self._config.exclude_internal_topics
        self._matched_version = 0
        self.metadata.ask_for_all(
            lambda topic, internal: (
                pattern.fullmatch(topic) is not None and not (internal and excluded)
            )
        )

    def unsubscribe(self) -> None:
        """Read nothing any more."""
        self.subscriptions.unsubscribe()
        self.metadata.ask_for_all(None)

    def _match_pattern(self) -> None:
        """If the subscription is a pattern, take the matching topics of the last metadata
        update.
        """
        version = self.metadata.retained_version
        if self.subscriptions.pattern is not None and version != self._matched_version:
            self._matched_version = version
            self.subscriptions.match(self.metadata.retained)

    def use(self, topic: str, now: float) -> None:
        """Add this topic to the metadata, because a call of the program needs it."""
        self.metadata.use(topic, now)

    def _use_topics(self, now: float) -> None:
        used = self.subscriptions.assigned_topics.union(
            self.subscriptions.topics, self.lookups.topics(), self.coordinator.group_topics
        )
        if used != self._used or now - self._used_ms >= _USE_AGAIN_MS:
            self._used, self._used_ms = used, now
            for topic in sorted(used):
                self.metadata.use(topic, now)

    def _begin_positions(self) -> None:
        """Give new partitions a position: the committed offset, or one according to
        auto.offset.reset.

        In a rebalance, a partition that will be given up gets no position.
        """
        if self.coordinator.rebalancing:
            return
        waiting = [
            tp
            for tp in self.subscriptions.in_state(FetchState.INITIALIZING)
            if tp not in self._reading_committed
        ]
        if not waiting:
            return
        if not self._config.group_id:
            for tp in waiting:
                self._begin(tp, None, "There is no group with a committed offset")
            return
        self._reading_committed.update(waiting)

        def done(
            offsets: dict[TopicPartition, OffsetAndMetadata] | None, error: ClientException | None
        ) -> None:
            self._reading_committed.difference_update(waiting)
            if error is not None:
                self.fetcher.fail(error)
            if offsets is not None:
                self._take_committed(waiting, offsets)

        self.offsets.fetch(waiting, done)

    def _take_committed(
        self, partitions: list[TopicPartition], offsets: dict[TopicPartition, OffsetAndMetadata]
    ) -> None:
        initializing = set(self.subscriptions.in_state(FetchState.INITIALIZING))
        for tp in partitions:
            if tp not in initializing:
                continue  # the program has called seek, or lost the partition
            self._begin(tp, offsets.get(tp), "There is no committed offset")

    def _begin(self, tp: TopicPartition, committed: OffsetAndMetadata | None, why: str) -> None:
        try:
            self.subscriptions.begin(tp, committed, why)
        except ClientException as error:
            self.fetcher.fail(error)

    def close(self, now: float) -> None:
        """Close the connections."""
        self.connections.close_all("the consumer closes", now)
        self.coordinator_connections.close_all("the consumer closes", now)
