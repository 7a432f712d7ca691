"""Keeps a consumer in its group (Kafka: ConsumerCoordinator.java, AbstractCoordinator.java).

`poll` runs when the program calls `Consumer.poll()`. The consumer may give up or take partitions
only in `poll`, because at this time the program does not work on records. The event loop may call
`run` at any time. `run` sends heartbeats and other requests. So the consumer stays in its group
while the program processes records, for at most max.poll.interval.ms.

If all assignors of the consumer support it, a rebalance is cooperative (KIP-429). Otherwise it is
eager. Example: the consumer a has 4 partitions, and b is new in the group.

    eager        a gives up 0 1 2 3 and joins → a gets 0 1, b gets 2 3
    cooperative  a joins with 0 1 2 3 → a gets 0 1, b gets nothing → a gives up 2 3 and joins again
                 with 0 1 → a gets 0 1, b gets 2 3

In the cooperative case, a reads 0 and 1 all the time. And no member gets a partition that another
member still reads.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Final, NamedTuple

from kafka_edu.clients.client_errors import BrokerException, ClientException
from kafka_edu.clients.consumer.assignors import (
    NO_GENERATION,
    Assignment,
    MemberSubscription,
    RebalanceProtocol,
    common_protocol,
    range_assign,
    round_robin_assign,
)
from kafka_edu.clients.consumer.consumer_config import ConsumerConfig
from kafka_edu.clients.consumer.consumer_protocol import (
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_generation,
    encode_sticky_user_data,
    encode_subscription,
)
from kafka_edu.clients.consumer.group_offsets import COORDINATOR_MOVED, GiveUp, GroupOffsets
from kafka_edu.clients.consumer.membership import Membership, MembershipState
from kafka_edu.clients.consumer.sticky_assignor import cooperative_sticky_assign, sticky_assign
from kafka_edu.clients.consumer.subscription_state import (
    OffsetAndMetadata,
    SubscriptionState,
    SubscriptionType,
)
from kafka_edu.clients.coordinator_link import CoordinatorLink
from kafka_edu.clients.metadata import NEVER, Metadata
from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kafka_edu.protocol.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
    JoinGroupResponseMember,
)
from kafka_edu.protocol.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
)
from kafka_edu.protocol.messages.sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from kafka_edu.protocol.schema import Message
from kafka_edu.protocol.types import ProtocolError
from kafka_edu.trace.events.consumer import ConsumerLedAssignment
from kafka_edu.trace.tracer import Tracer

PROTOCOL_TYPE: Final = "consumer"
_JOIN_LAPSE_MS: Final = 5_000
"""JoinGroup may take this many ms longer than the time limit of a rebalance.

(Kafka: JOIN_GROUP_TIMEOUT_LAPSE.)
"""
_FIRST_WITH_INSTANCE_ID: Final = {
    ApiKey.JOIN_GROUP: 5,
    ApiKey.SYNC_GROUP: 3,
    ApiKey.HEARTBEAT: 3,
}
_FIRST_LEAVE_WITH_MEMBERS: Final = 3

Assignor = Callable[[Mapping[str, int], Mapping[str, MemberSubscription]], Assignment]
ASSIGNORS: Final[Mapping[str, Assignor]] = {
    "range": range_assign,
    "roundrobin": round_robin_assign,
    "sticky": sticky_assign,
    "cooperative-sticky": cooperative_sticky_assign,
}
_STICKY: Final = "sticky"
_COOPERATIVE_STICKY: Final = "cooperative-sticky"
_UNKNOWN: Final = frozenset({Errors.UNKNOWN_MEMBER_ID, Errors.ILLEGAL_GENERATION})


class RebalanceStep(StrEnum):
    """A call of the program's rebalance listener."""

    REVOKED = "revoked"
    """The consumer gives up partitions. The program can still commit them."""
    LOST = "lost"
    """The consumer has lost the partitions already. Other members may have them."""
    ASSIGNED = "assigned"
    """The rebalance has ended, and the consumer got these partitions in addition, or none."""


class RebalanceCallback(NamedTuple):
    """Call the listener now, and then `callback_done`."""

    step: RebalanceStep
    partitions: tuple[TopicPartition, ...]


class ConsumerCoordinator:
    """The consumer's side of its group. The consumer's event loop owns it."""

    def __init__(
        self,
        config: ConsumerConfig,
        metadata: Metadata,
        subscriptions: SubscriptionState,
        link: CoordinatorLink,
        membership: Membership,
        offsets: GroupOffsets,
        trace: Tracer | None = None,
    ) -> None:
        self._config = config
        self._metadata = metadata
        self._subscriptions = subscriptions
        self._link = link
        self._membership = membership
        self._offsets = offsets
        self._trace = trace
        offsets.rejoin = self._on_commit_refused
        self._cooperative = common_protocol(config.assignors) is RebalanceProtocol.COOPERATIVE
        self.callback: RebalanceCallback | None = None
        """The call of the listener for which the rebalance waits."""
        self.group_topics: set[str] = set()
        """The topics of all members. Only known if this consumer leads the group."""
        self.error: ClientException | None = None
        """The error that ended the membership. `poll` raises it."""
        self.leaving = False
        """Whether LeaveGroup is in flight."""
        self._rejoin_reason = "the first poll()"
        """Why the consumer must join. Empty if it does not have to join."""
        self._joined_topics: tuple[str, ...] = ()
        self._polled_ms = -NEVER
        self._join_after_version = 0
        """With a pattern, JoinGroup waits for metadata that is newer than this version."""
        self._attempt = 0
        """The number of the last JoinGroup. Answers to earlier requests are ignored."""
        self._waiting = False
        """Whether JoinGroup or SyncGroup is in flight."""
        self._retry_ms = -NEVER
        self._committing: GiveUp | None = None
        self._commit_until_ms = NEVER
        self._members: list[JoinGroupResponseMember] | None = None
        """The members to which this leader must assign partitions, as soon as the metadata is new
        enough.
        """
        self._members_since_version = 0
        self._counts: dict[str, int] | None = None
        """Topic → number of partitions in the last assignment, if this consumer made it."""
        self._assignment: list[TopicPartition] = []
        self._had: tuple[tuple[TopicPartition, ...], int] = (), NO_GENERATION
        """The last assignment and its generation, for the sticky assignor."""
        self._heartbeat_in_flight = False
        self._next_heartbeat_ms = NEVER
        self._session_ends_ms = NEVER
        self._auto_commit_ms = NEVER
        self._auto_committing = False

    def polled_ms_ago(self, now: float) -> int:
        """Return how many ms ago `poll` was called. -1 if it was never called."""
        return -1 if self._polled_ms == -NEVER else int(now - self._polled_ms)

    def session_left_ms(self, now: float) -> int:
        """Return the ms until the session ends without a heartbeat. -1 if there is no session."""
        if not self._membership.in_generation or self._session_ends_ms == NEVER:
            return -1
        return max(int(self._session_ends_ms - now), 0)

    @property
    def heartbeat_waits(self) -> bool:
        """Whether a heartbeat is in flight."""
        return self._heartbeat_in_flight

    @property
    def rebalancing(self) -> bool:
        """Return whether `poll` must not return records, because the consumer gives up partitions
        now.
        """
        return self._membership.state is MembershipState.REVOKING

    def poll(self, now: float) -> None:
        """Begin or continue a rebalance, and commit if a commit is due. Raises the group's
        error.
        """
        self._polled_ms = now
        if self._link.error is not None:
            raise self._link.error
        if self.error is not None:
            raise self.error
        if self._subscriptions.in_group:
            state = self._membership.state
            if (
                state is MembershipState.STABLE
                and self._joined_topics != self._subscriptions.topics
            ):
                self._rejoin_reason = "the subscription changed"
            if state is MembershipState.ASSIGNING and self.callback is None:
                self._take_assignment()
            elif self._rejoin_reason and state in (
                MembershipState.UNJOINED,
                MembershipState.STABLE,
            ):
                self._begin_rebalance(now)
        if self._config.auto_commit and self._may_auto_commit(now):
            self._auto_commit_ms = now + self._config.auto_commit_interval_ms
            consumed = self.committable()
            if consumed and not self._auto_committing:
                self._auto_committing = True
                self._offsets.commit(consumed, self._auto_committed, retry=False)

    def _may_auto_commit(self, now: float) -> bool:
        if self._auto_commit_ms == NEVER:  # the first interval begins with the first poll
            self._auto_commit_ms = now + self._config.auto_commit_interval_ms
        if now < self._auto_commit_ms:
            return False
        if self._subscriptions.in_group:
            return self._membership.state is MembershipState.STABLE
        return self._subscriptions.type is SubscriptionType.PARTITIONS

    def _auto_committed(self, error: ClientException | None) -> None:
        """Allow the next automatic commit, because the previous one has ended. So at most one
        automatic commit waits while there is no coordinator.
        """
        self._auto_committing = False

    def _begin_rebalance(self, now: float) -> None:
        membership = self._membership
        member = membership.in_generation
        membership.enter(MembershipState.REVOKING, self._rejoin_reason)
        self._rejoin_reason = ""
        if self._subscriptions.pattern is not None:
            self._join_after_version = self._metadata.version
            self._metadata.request_update()
        consumed = self.committable()
        if member and self._config.auto_commit and consumed:
            self._commit_until_ms = now + self._config.max_poll_interval_ms
            self._committing = self._offsets.commit(consumed, self._revoke_committed, retry=True)
        else:
            self._revoke()

    def committable(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """Return the positions that the consumer can commit by itself. O(partitions).

        Positions in deleted topics are left out. The coordinator would refuse them with an error
        that counts as temporary, and a rebalance would wait for this commit. Kafka 2.8 does wait.
        """
        errors = self._metadata.errors
        return {
            tp: offset
            for tp, offset in self._subscriptions.all_consumed().items()
            if errors.get(tp.topic) is not Errors.UNKNOWN_TOPIC_OR_PARTITION
        }

    def _revoke_committed(self, error: ClientException | None) -> None:
        """Continue the rebalance, because the commit that it waited for has succeeded or failed."""
        self._committing = None
        if self._membership.state is MembershipState.REVOKING:
            self._revoke()

    def _revoke(self) -> None:
        """Let the program give up the partitions that the consumer must not keep while it joins."""
        going = tuple(self._subscriptions.assigned())
        step = RebalanceStep.REVOKED
        if self._membership.generation == NO_GENERATION:
            step = RebalanceStep.LOST
        elif self._cooperative:
            going = tuple(tp for tp in going if tp.topic not in self._subscriptions.topics)
        if going:
            self.callback = RebalanceCallback(step, going)
        else:
            self._prepare()

    def _prepare(self) -> None:
        self._membership.enter(
            MembershipState.PREPARING_REBALANCE, "nothing is left to give up; JoinGroup follows"
        )
        self._waiting = False

    def _give_up(self, partitions: Sequence[TopicPartition]) -> None:
        self._subscriptions.assign_from_group(
            [tp for tp in self._subscriptions.assigned() if tp not in partitions]
        )

    def _take_assignment(self) -> None:
        """Give up the partitions that are not in the new assignment. Then take the new
        partitions.
        """
        going = tuple(tp for tp in self._subscriptions.assigned() if tp not in self._assignment)
        if going:
            self.callback = RebalanceCallback(RebalanceStep.REVOKED, going)
        else:
            self._take_added()

    def _take_added(self) -> None:
        added = tuple(tp for tp in self._assignment if not self._subscriptions.has(tp))
        self._subscriptions.assign_from_group(self._assignment)
        self.callback = RebalanceCallback(RebalanceStep.ASSIGNED, added)

    def callback_done(self, now: float) -> None:
        """Continue after the call of the listener."""
        callback, self.callback = self.callback, None
        state = self._membership.state
        if callback is None:
            return
        if callback.step is RebalanceStep.ASSIGNED:
            if state is MembershipState.ASSIGNING:
                self._membership.enter(MembershipState.STABLE, "the assignment was taken")
                self._auto_commit_ms = now + self._config.auto_commit_interval_ms
            return
        self._give_up(callback.partitions)
        if state is MembershipState.REVOKING:
            self._prepare()
        elif state is MembershipState.ASSIGNING:
            self._rejoin_reason = "partitions were revoked, which other members can have now"
            self._take_added()
        # Otherwise the coordinator expelled the consumer meanwhile. The next poll() joins again.

    def run(self, now: float) -> None:
        """Send the requests that are due: FindCoordinator, JoinGroup, SyncGroup, heartbeats,
        commits.
        """
        managed = self._subscriptions.in_group
        if managed or self._offsets.busy or self._config.auto_commit:
            self._link.run(now)
        self._offsets.run(now)
        if not managed or self.error is not None:
            return
        membership = self._membership
        if self._committing is not None and now >= self._commit_until_ms:
            self._committing()
            self._revoke_committed(None)
        if (
            membership.state is not MembershipState.UNJOINED
            and now - self._polled_ms >= self._config.max_poll_interval_ms
        ):
            self._leave(now, "poll() was not called within max.poll.interval.ms")
            self._rejoin_reason = "poll() was called again, after max.poll.interval.ms"
        if self._waiting or now < self._retry_ms:
            pass
        elif membership.state is MembershipState.PREPARING_REBALANCE:
            if self._knows_topics() and self._link.ready(now):
                self._send_join(now)
        elif membership.state is MembershipState.COMPLETING_REBALANCE:
            self._lead(now)
        if self._counts is not None and membership.state is MembershipState.STABLE:
            self._watch_metadata()
        if membership.in_generation:
            self._heartbeat(now)

    def _knows_topics(self) -> bool:
        """Return whether the consumer knows which topics it reads.

        With a pattern, the consumer first asks the brokers for new metadata. Otherwise each member
        that finds a new topic later would begin one more rebalance.
        """
        if self._subscriptions.pattern is None:
            return True
        return self._metadata.retained_version > self._join_after_version

    def next_run_ms(self, now: float) -> float:
        """Return the ms until `run` must be called next; NEVER if nothing is planned."""
        membership = self._membership
        times = [self._retry_ms]
        if self._committing is not None:
            times.append(self._commit_until_ms)
        if membership.state is not MembershipState.UNJOINED:
            times.append(self._polled_ms + self._config.max_poll_interval_ms)
        if membership.in_generation:
            times += [self._next_heartbeat_ms, self._session_ends_ms]
        # Requests that are already due were tried. They wait for a connection, not for a time.
        own = min((at - now for at in times if at > now), default=NEVER)
        return min(own, self._link.next_run_ms(now), self._offsets.next_run_ms(now))

    def _instance_id(self, key: ApiKey, version: int) -> str | None:
        return self._config.group_instance_id if version >= _FIRST_WITH_INSTANCE_ID[key] else None

    def _send_join(self, now: float) -> None:
        config = self._config
        version = self._link.version(ApiKey.JOIN_GROUP)
        self._attempt += 1
        self._waiting = True
        attempt = self._attempt
        self._joined_topics = topics = self._subscriptions.topics
        protocols = [
            JoinGroupRequestProtocol(
                name=name,
                metadata=encode_subscription(
                    topics, self._subscriptions.assigned(), self._user_data(name)
                ),
            )
            for name in config.assignors
        ]
        self._link.send(
            JoinGroupRequest(
                group_id=config.group_id,
                session_timeout_ms=config.session_timeout_ms,
                rebalance_timeout_ms=config.max_poll_interval_ms,
                member_id=self._membership.member_id,
                group_instance_id=self._instance_id(ApiKey.JOIN_GROUP, version),
                protocol_type=PROTOCOL_TYPE,
                protocols=protocols,
            ),
            version,
            now,
            lambda answer, at: self._on_joined(attempt, answer, at),
            max(config.request_timeout_ms, config.max_poll_interval_ms + _JOIN_LAPSE_MS),
        )

    def _user_data(self, assignor: str) -> bytes | None:
        if assignor == _STICKY:
            return encode_sticky_user_data(*self._had)
        if assignor == _COOPERATIVE_STICKY:
            return encode_generation(self._had[1])
        return None

    def _on_joined(self, attempt: int, answer: Message | None, now: float) -> None:
        membership = self._membership
        if attempt != self._attempt or (
            membership.state is not MembershipState.PREPARING_REBALANCE
        ):
            return
        self._waiting = False
        if not isinstance(answer, JoinGroupResponse):
            self._link.lost("JoinGroup got no response", now)
            return
        error = Errors.of(answer.error_code)
        if error is Errors.NONE:
            membership.joined(answer.member_id, answer.generation_id, answer.protocol_name or "")
            self._heartbeat_in_flight = False
            self._next_heartbeat_ms = now + self._config.heartbeat_interval_ms
            self._session_ends_ms = now + self._config.session_timeout_ms
            self._rejoin_reason = ""
            if answer.leader == answer.member_id:
                self._members = answer.members
                self._members_since_version = self._metadata.version
                self._metadata.request_update()
            else:
                self._members, self._counts, self.group_topics = None, None, set()
            self._lead(now)
        elif error is Errors.MEMBER_ID_REQUIRED:
            membership.member_id = answer.member_id
        elif error is Errors.UNKNOWN_MEMBER_ID:
            if self._subscriptions.assigned():
                self._expelled("JoinGroup was answered with UNKNOWN_MEMBER_ID")
            membership.member_id = ""
        else:
            self._join_failed("JoinGroup", error, now)

    def _join_failed(self, request: str, error: Errors, now: float) -> None:
        if error in COORDINATOR_MOVED:
            self._link.lost(f"{request} was answered with {error.name}", now)
        elif not error.retriable and error is not Errors.REBALANCE_IN_PROGRESS:
            self._fail(error)
            return
        self._retry_ms = now + self._config.retry_backoff_ms

    def _fail(self, error: Errors) -> None:
        """End the membership because of an error that the program must correct."""
        self.error = BrokerException(error, f"Group {self._config.group_id}: {error.message}")
        self._membership.leave_generation(f"the group refused the consumer with {error.name}")

    def _lead(self, now: float) -> None:
        """Send SyncGroup. A leader first waits for metadata that is newer than JoinGroup."""
        membership = self._membership
        if not self._link.ready(now):
            return
        if self._members is None:
            self._send_sync([], now)
            return
        sticky = membership.protocol == _STICKY
        try:
            subscriptions = {
                each.member_id: decode_subscription(
                    each.metadata, each.group_instance_id, sticky=sticky
                )
                for each in self._members
            }
        except ProtocolError:
            self._fail(Errors.INCONSISTENT_GROUP_PROTOCOL)
            return
        self.group_topics = {topic for each in subscriptions.values() for topic in each.topics}
        known = self._metadata.topics.keys() | self._metadata.errors.keys()
        for topic in self.group_topics:
            self._metadata.use(topic, now)
        if self._metadata.version == self._members_since_version or not self.group_topics <= known:
            return
        self._counts = self._partition_counts()
        assignment = ASSIGNORS[membership.protocol](self._counts, subscriptions)
        if self._trace:
            self._trace(
                ConsumerLedAssignment(
                    client=self._config.client_id,
                    group=self._config.group_id,
                    generation=membership.generation,
                    assignor=membership.protocol,
                    members=tuple(
                        (member, tuple(map(str, partitions)))
                        for member, partitions in assignment.items()
                    ),
                )
            )
        self._send_sync(
            [
                SyncGroupRequestAssignment(
                    member_id=member, assignment=encode_assignment(partitions)
                )
                for member, partitions in assignment.items()
            ],
            now,
        )

    def _partition_counts(self) -> dict[str, int]:
        topics = self._metadata.topics
        return {topic: len(topics[topic]) for topic in sorted(self.group_topics) if topic in topics}

    def _watch_metadata(self) -> None:
        """As the leader, join again when a topic gets partitions, appears, or is deleted."""
        if self._counts is not None and self._partition_counts() != self._counts:
            self._counts = None
            self._rejoin_reason = "a topic's partitions changed"

    def _send_sync(self, assignments: Sequence[SyncGroupRequestAssignment], now: float) -> None:
        membership = self._membership
        version = self._link.version(ApiKey.SYNC_GROUP)
        self._waiting = True
        self._members = None
        attempt = self._attempt
        self._link.send(
            SyncGroupRequest(
                group_id=self._config.group_id,
                generation_id=membership.generation,
                member_id=membership.member_id,
                group_instance_id=self._instance_id(ApiKey.SYNC_GROUP, version),
                protocol_type=PROTOCOL_TYPE,
                protocol_name=membership.protocol,
                assignments=list(assignments),
            ),
            version,
            now,
            lambda answer, at: self._on_synced(attempt, answer, at),
        )

    def _on_synced(self, attempt: int, answer: Message | None, now: float) -> None:
        membership = self._membership
        if attempt != self._attempt or (
            membership.state is not MembershipState.COMPLETING_REBALANCE
        ):
            return
        self._waiting = False
        if not isinstance(answer, SyncGroupResponse):
            self._link.lost("SyncGroup got no response", now)
            self._join_again("SyncGroup got no response")
            return
        error = Errors.of(answer.error_code)
        if error is Errors.NONE:
            try:
                self._assignment = decode_assignment(answer.assignment)
            except ProtocolError:
                self._fail(Errors.INCONSISTENT_GROUP_PROTOCOL)
                return
            self._had = tuple(self._assignment), membership.generation
            membership.enter(MembershipState.ASSIGNING, "SyncGroup brought the assignment")
            return
        if error in _UNKNOWN:
            if self._subscriptions.assigned():  # other members may have them
                self._expelled(f"SyncGroup was answered with {error.name}")
                return
            membership.member_id = "" if error is Errors.UNKNOWN_MEMBER_ID else membership.member_id
        else:
            self._join_failed("SyncGroup", error, now)
            if self.error is not None:
                return
        self._join_again(f"SyncGroup was answered with {error.name}")

    def _join_again(self, reason: str) -> None:
        """Send JoinGroup again. The consumer has already given up the partitions that it must not
        keep.
        """
        self._membership.enter(MembershipState.PREPARING_REBALANCE, reason)

    def _heartbeat(self, now: float) -> None:
        if now >= self._session_ends_ms:
            self._session_ends_ms = NEVER
            self._link.lost("no heartbeat was answered within session.timeout.ms", now)
        if self._heartbeat_in_flight or now < self._next_heartbeat_ms:
            return
        if not self._link.ready(now):
            return
        membership = self._membership
        version = self._link.version(ApiKey.HEARTBEAT)
        self._heartbeat_in_flight = True
        generation = membership.generation
        self._link.send(
            HeartbeatRequest(
                group_id=self._config.group_id,
                generation_id=generation,
                member_id=membership.member_id,
                group_instance_id=self._instance_id(ApiKey.HEARTBEAT, version),
            ),
            version,
            now,
            lambda answer, at: self._on_heartbeat(generation, answer, at),
        )

    def _on_heartbeat(self, generation: int, answer: Message | None, now: float) -> None:
        membership = self._membership
        if generation != membership.generation:
            return
        self._heartbeat_in_flight = False
        config = self._config
        self._next_heartbeat_ms = now + config.retry_backoff_ms
        if not isinstance(answer, HeartbeatResponse):
            self._link.lost("a heartbeat got no response", now)
            return
        error = Errors.of(answer.error_code)
        if error in (Errors.NONE, Errors.REBALANCE_IN_PROGRESS):
            self._next_heartbeat_ms = now + config.heartbeat_interval_ms
            self._session_ends_ms = now + config.session_timeout_ms
        if error is Errors.REBALANCE_IN_PROGRESS:
            if membership.state in (MembershipState.STABLE, MembershipState.ASSIGNING):
                self._rejoin_reason = "the group has a rebalance"
        elif error in _UNKNOWN:
            self._expelled(f"a heartbeat was answered with {error.name}")
        elif error in COORDINATOR_MOVED:
            self._link.lost(f"a heartbeat was answered with {error.name}", now)
        elif error is not Errors.NONE and not error.retriable:
            self._fail(error)

    def _on_commit_refused(self, reason: str, member_is_unknown: bool) -> None:
        if member_is_unknown:
            self._expelled(reason)
        elif self._membership.state in (MembershipState.STABLE, MembershipState.ASSIGNING):
            self._rejoin_reason = reason

    def _expelled(self, reason: str) -> None:
        """Join again, because the coordinator does not know this member or has a newer
        generation.
        """
        self._membership.leave_generation(reason)
        self._end_rebalance()
        self._rejoin_reason = reason

    def _end_rebalance(self) -> None:
        """Forget the steps of a rebalance in progress."""
        self._attempt += 1
        self._waiting = False
        self._members = None
        self._counts = None
        self.group_topics = set()
        self._heartbeat_in_flight = False
        if self._committing is not None:
            self._committing()
            self._committing = None

    def _leave(self, now: float, reason: str) -> None:
        """Leave the group. Send LeaveGroup to the coordinator, unless the member is static."""
        membership = self._membership
        if (
            membership.member_id
            and self._config.group_instance_id is None
            and self._link.ready(now)
        ):
            self._send_leave(now)
        membership.leave_generation(reason)
        self._end_rebalance()

    def _send_leave(self, now: float) -> None:
        member_id = self._membership.member_id
        version = self._link.version(ApiKey.LEAVE_GROUP)
        with_members = version >= _FIRST_LEAVE_WITH_MEMBERS
        self.leaving = True
        self._link.send(
            LeaveGroupRequest(
                group_id=self._config.group_id,
                member_id="" if with_members else member_id,
                members=[MemberIdentity(member_id=member_id)] if with_members else [],
            ),
            version,
            now,
            self._on_left,
        )

    def _on_left(self, answer: Message | None, now: float) -> None:
        """Handle the answer to LeaveGroup. In any case, the consumer is no longer a member."""
        self.leaving = False
        if isinstance(answer, LeaveGroupResponse):
            error = Errors.of(answer.error_code)
            if error in COORDINATOR_MOVED:
                self._link.lost(f"LeaveGroup was answered with {error.name}", now)

    def leave(self, now: float, reason: str) -> None:
        """Leave the group, because of `unsubscribe` or `close`. `leaving` becomes false when this
        is done.
        """
        if self._membership.state is not MembershipState.UNJOINED:
            self._leave(now, reason)
        if self._subscriptions.in_group:
            self._subscriptions.assign_from_group(())
        self.callback = None
        self.error = None
        self._rejoin_reason = "the first poll() after the consumer left"
