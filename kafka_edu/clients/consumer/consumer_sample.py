"""The state of a consumer at one moment, as an event for the dashboard and for recordings.

The tracer requests this event ten times a second while a dashboard or a recording needs it.
Otherwise the event is not made.
"""

from kafka_edu.clients.consumer.consumer_config import ConsumerConfig
from kafka_edu.clients.consumer.consumer_core import ConsumerCore
from kafka_edu.clients.consumer.subscription_state import NO_OFFSET
from kafka_edu.trace.events.consumer import ConsumerDescription


def describe_consumer(
    config: ConsumerConfig, core: ConsumerCore, now: float
) -> ConsumerDescription:
    """Return the consumer's state. O(partitions)."""
    membership, coordinator, committed = core.membership, core.coordinator, core.offsets.committed
    return ConsumerDescription(
        client=config.client_id,
        group=config.group_id,
        state=membership.state,
        member_id=membership.member_id,
        generation=membership.generation,
        assignor=membership.protocol,
        coordinator=core.link.node,
        session_timeout_ms=int(config.session_timeout_ms),
        session_left_ms=coordinator.session_left_ms(now),
        heartbeat_interval_ms=int(config.heartbeat_interval_ms),
        heartbeat_waits=coordinator.heartbeat_waits,
        max_poll_interval_ms=int(config.max_poll_interval_ms),
        polled_ms_ago=coordinator.polled_ms_ago(now),
        auto_commit_ms=int(config.auto_commit_interval_ms) if config.auto_commit else 0,
        records=core.subscriptions.records,
        buffered=core.fetcher.buffered,
        partitions=tuple(
            core.subscriptions.describe(tp, core.metadata.leader(*tp), committed.get(tp, NO_OFFSET))
            for tp in sorted(core.subscriptions.assigned())
        ),
        links=core.connections.links(now),
        coordinator_link=core.link.links(now),
    )
