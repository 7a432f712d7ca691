"""Choose the replica that a consumer reads from (Kafka: ReplicaSelector.java,
RackAwareReplicaSelector.java, LeaderSelector.java; KIP-392).

If a consumer reads from a broker of its own rack or data center, it saves traffic between racks.
The consumer names its rack in its fetch to the leader (client.rack). The leader answers with a
follower in that rack, and no records. From then on the consumer fetches from that follower.

    replica.selector.class                                        consumers read from
    not set                                                       the leader
    org.apache.kafka.common.replica.LeaderSelector                the leader
    org.apache.kafka.common.replica.RackAwareReplicaSelector      their rack, if it has a replica

A follower knows the high watermark later than the leader does. So a consumer that reads from a
follower sees a record later, and consumers of two followers see it at different times. Book 001
gives this as the reason why followers do not serve consumers by default (read-your-writes and
monotonic reads).
"""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, Protocol

from kafka_edu.common.config_def import ConfigValue


class ClientMetadata(NamedTuple):
    """The facts about a consumer that its fetch contains."""

    rack_id: str
    """client.rack; empty if the consumer names none."""
    client_id: str
    listener_name: str
    """The name of the listener that the consumer uses.

    The follower must have a listener of this name too.
    """


class ReplicaView(NamedTuple):
    """A replica that has the next records for the consumer."""

    broker_id: int
    rack: str | None
    """broker.rack; None if the broker has no rack, or is not alive."""
    log_end_offset: int
    ms_since_caught_up: int


class ReplicaSelector(Protocol):
    """The rule by which a leader chooses the replica that a consumer reads from."""

    def select(
        self, client: ClientMetadata, followers: Sequence[ReplicaView], leader: ReplicaView
    ) -> ReplicaView:
        """Return the replica to read from: `leader`, or one of `followers`. O(followers)."""
        ...


class LeaderSelector:
    """Every consumer reads from the leader."""

    def select(
        self, client: ClientMetadata, followers: Sequence[ReplicaView], leader: ReplicaView
    ) -> ReplicaView:
        return leader


class RackAwareReplicaSelector:
    """A consumer reads in its own rack: from the leader if the leader is there, otherwise from the
    follower there with the most records. If no replica is in its rack, it reads from the leader.
    """

    def select(
        self, client: ClientMetadata, followers: Sequence[ReplicaView], leader: ReplicaView
    ) -> ReplicaView:
        rack = client.rack_id
        if not rack or leader.rack == rack:
            return leader
        near = [replica for replica in followers if replica.rack == rack]
        return max(near, key=_progress) if near else leader


def _progress(replica: ReplicaView) -> tuple[int, int, int]:
    """Return the key by which replicas are compared. The best replica has the most records; of
    equal ones, the one that caught up last, then the one with the highest id (Kafka:
    ReplicaView.comparator).
    """
    return replica.log_end_offset, -replica.ms_since_caught_up, replica.broker_id


def _rack_aware() -> ReplicaSelector:
    return RackAwareReplicaSelector()


_PACKAGE: Final = "org.apache.kafka.common.replica."
SELECTORS: Final[dict[str, Callable[[], ReplicaSelector]]] = {
    f"{_PACKAGE}LeaderSelector": LeaderSelector,
    f"{_PACKAGE}RackAwareReplicaSelector": _rack_aware,
}


class KnownSelector(NamedTuple):
    """Allows only the classes in SELECTORS as values.

    Kafka would load any class of its class path.
    """

    def refusal(self, value: ConfigValue) -> str:
        if value in SELECTORS:
            return ""
        return (
            f"this broker cannot load Java classes, and has only {' and '.join(SELECTORS)}. Use one"
            " of these, or leave the key out to let consumers read from leaders"
        )


def make_selector(class_name: str | None) -> ReplicaSelector | None:
    """Return the selector of replica.selector.class; None if the key is not set."""
    return None if class_name is None else SELECTORS[class_name]()
