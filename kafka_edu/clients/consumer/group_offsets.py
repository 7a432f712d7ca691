"""Commits offsets of a group, and reads committed ones (Kafka: ConsumerCoordinator.java).

The coordinator stores the offsets in `__consumer_offsets`. A commit of a member contains its
generation. If the group has a newer generation without the member, the coordinator refuses the
commit, because other members have the partitions now.
"""

import logging
from collections.abc import Callable, Mapping, Sequence

from kafka_edu.clients.client_errors import BrokerException, ClientException
from kafka_edu.clients.consumer.assignors import NO_GENERATION, by_topic
from kafka_edu.clients.consumer.consumer_config import ConsumerConfig
from kafka_edu.clients.consumer.membership import NO_MEMBER_ID, Membership
from kafka_edu.clients.consumer.subscription_state import (
    OffsetAndMetadata,
    SubscriptionState,
)
from kafka_edu.clients.coordinator_link import CoordinatorLink
from kafka_edu.clients.metadata import NEVER
from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from kafka_edu.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
)
from kafka_edu.protocol.schema import Message
from kafka_edu.trace.events.consumer import ConsumerCommitted
from kafka_edu.trace.tracer import Tracer

log = logging.getLogger(__name__)

Offsets = Mapping[TopicPartition, OffsetAndMetadata]
OnCommitted = Callable[[ClientException | None], None]
OnFetched = Callable[[dict[TopicPartition, OffsetAndMetadata] | None, ClientException | None], None]
"""Called once with (offsets, error): the existing offsets, or the error. Both are None if the
generation has changed.
"""
GiveUp = Callable[[], object]

#: Errors after which the coordinator must be looked up again.
COORDINATOR_MOVED = frozenset(
    {
        Errors.COORDINATOR_NOT_AVAILABLE,
        Errors.NOT_COORDINATOR,
        Errors.REQUEST_TIMED_OUT,
        Errors.NETWORK_EXCEPTION,
    }
)
_FIRST_WITH_REQUIRE_STABLE = 7
"""The first version of OffsetFetch with require_stable."""


class CommitFailedException(ClientException):
    """The consumer is no longer in the group's generation, so its offsets are not stored."""

    def __init__(self, error: Errors) -> None:
        super().__init__(
            error,
            "Offset commit cannot be completed since the consumer is not part of an active group"
            " for auto partition assignment; it is likely that the consumer was kicked out of the"
            " group.",
            "Call poll() more often than max.poll.interval.ms, or lower max.poll.records.",
        )


class RebalanceInProgressException(ClientException):
    """A rebalance is running, so offsets cannot be committed now."""

    def __init__(self) -> None:
        super().__init__(
            Errors.REBALANCE_IN_PROGRESS,
            "Offset commit cannot be completed since the consumer is undergoing a rebalance.",
            "Call poll() until the rebalance is over, and then commit again.",
        )


class _Commit:
    __slots__ = ("in_flight", "not_before_ms", "offsets", "on_done", "retry")

    def __init__(self, offsets: Offsets, on_done: OnCommitted | None, retry: bool) -> None:
        self.offsets = dict(offsets)
        self.on_done = on_done
        self.retry = retry
        self.in_flight = False
        self.not_before_ms = -NEVER


class _Fetch:
    __slots__ = ("generation", "in_flight", "not_before_ms", "on_done", "partitions")

    def __init__(
        self, partitions: Sequence[TopicPartition], on_done: OnFetched, generation: int
    ) -> None:
        self.partitions = tuple(partitions)
        self.on_done = on_done
        self.generation = generation
        self.in_flight = False
        self.not_before_ms = -NEVER


class GroupOffsets:
    """The commits and reads of offsets that have no answer yet."""

    def __init__(
        self,
        config: ConsumerConfig,
        subscriptions: SubscriptionState,
        link: CoordinatorLink,
        membership: Membership,
        trace: Tracer | None = None,
    ) -> None:
        self._config = config
        self._subscriptions = subscriptions
        self._link = link
        self._membership = membership
        self._trace = trace
        self.rejoin: Callable[[str, bool], None] = lambda reason, member_is_unknown: None
        """Called when a commit's answer shows that the consumer must join again."""
        self.committed: dict[TopicPartition, int] = {}
        """Partition → the last offset that this consumer committed, or read as committed."""
        self._commits: dict[_Commit, None] = {}
        self._fetches: dict[_Fetch, None] = {}

    def commit(self, offsets: Offsets, on_done: OnCommitted | None, *, retry: bool) -> GiveUp:
        """Commit offsets. With `retry`, commit again after a temporary error.

        Return a function that cancels the commit. After a cancel, `on_done` is not called.
        """
        commit = _Commit(offsets, on_done, retry)
        self._commits[commit] = None
        return lambda: self._commits.pop(commit, None)

    def fetch(self, partitions: Sequence[TopicPartition], on_done: OnFetched) -> GiveUp:
        """Read the group's committed offsets of these partitions. Try again until there is an
        answer.
        """
        fetch = _Fetch(partitions, on_done, self._membership.generation)
        self._fetches[fetch] = None
        return lambda: self._fetches.pop(fetch, None)

    @property
    def busy(self) -> bool:
        """Return whether a commit or a read needs the coordinator."""
        return bool(self._commits or self._fetches)

    @property
    def unsent(self) -> bool:
        """Return whether a commit is waiting to be sent."""
        return any(not commit.in_flight for commit in self._commits)

    def run(self, now: float) -> None:
        """Send the requests that are due, if the coordinator can be reached."""
        if not self.busy:
            return
        for commit in list(self._commits):
            if commit.in_flight or commit.not_before_ms > now:
                continue
            if not commit.offsets:
                self._end(commit, None)
                continue
            refused = self._refused()
            if refused is not None:
                self._end(commit, refused)
            elif self._link.ready(now):
                self._send_commit(commit, now)
        for fetch in list(self._fetches):
            if fetch.generation != self._membership.generation:
                del self._fetches[fetch]
                fetch.on_done(None, None)
            elif not fetch.in_flight and fetch.not_before_ms <= now and self._link.ready(now):
                self._send_fetch(fetch, now)

    def next_run_ms(self, now: float) -> float:
        """Return the ms until a request is sent again; NEVER if none is planned."""
        if not self.busy:
            return NEVER
        waiting: list[_Commit | _Fetch] = [*self._commits, *self._fetches]
        return min(
            (
                each.not_before_ms - now
                for each in waiting
                if not each.in_flight and each.not_before_ms > now
            ),
            default=NEVER,
        )

    def _refused(self) -> ClientException | None:
        """Return the error of a commit that may not be sent now, or None."""
        membership = self._membership
        if not self._subscriptions.in_group or membership.may_commit:
            return None
        if membership.generation != NO_GENERATION or membership.member_id != NO_MEMBER_ID:
            return RebalanceInProgressException()
        return CommitFailedException(Errors.UNKNOWN_MEMBER_ID)

    def _send_commit(self, commit: _Commit, now: float) -> None:
        version = self._link.version(ApiKey.OFFSET_COMMIT)
        managed = self._subscriptions.in_group
        generation = self._membership.generation if managed else NO_GENERATION
        commit.in_flight = True
        request = OffsetCommitRequest(
            group_id=self._config.group_id,
            generation_id=generation,
            member_id=self._membership.member_id if managed else NO_MEMBER_ID,
            group_instance_id=self._config.group_instance_id if managed and version >= 7 else None,
            topics=[
                OffsetCommitRequestTopic(
                    name=topic,
                    partitions=[
                        self._committed_partition(commit, TopicPartition(topic, partition))
                        for partition in partitions
                    ],
                )
                for topic, partitions in by_topic(list(commit.offsets)).items()
            ],
        )
        self._link.send(
            request,
            version,
            now,
            lambda answer, at: self._on_committed(commit, generation, answer, at),
        )

    @staticmethod
    def _committed_partition(commit: _Commit, tp: TopicPartition) -> OffsetCommitRequestPartition:
        offset = commit.offsets[tp]
        return OffsetCommitRequestPartition(
            partition_index=tp.partition,
            committed_offset=offset.offset,
            committed_leader_epoch=offset.leader_epoch,
            committed_metadata=offset.metadata,
        )

    def _on_committed(
        self, commit: _Commit, generation: int, answer: Message | None, now: float
    ) -> None:
        commit.in_flight = False
        if not isinstance(answer, OffsetCommitResponse):
            self._link.lost("a commit got no response", now)
            self._again_or_end(commit, Errors.NETWORK_EXCEPTION, now)
            return
        codes = {each.error_code for topic in answer.topics for each in topic.partitions}
        error = Errors.of(next((code for code in sorted(codes) if code), 0))
        if error is Errors.NONE:
            self._end(commit, None)
            return
        if error in COORDINATOR_MOVED:
            self._link.lost(f"a commit was answered with {error.name}", now)
        if error is Errors.REBALANCE_IN_PROGRESS:
            self.rejoin("a commit was answered with REBALANCE_IN_PROGRESS", False)
            self._end(commit, RebalanceInProgressException())
        elif error in (Errors.UNKNOWN_MEMBER_ID, Errors.ILLEGAL_GENERATION):
            if generation == self._membership.generation != NO_GENERATION:
                self.rejoin(f"a commit was answered with {error.name}", True)
            self._end(commit, CommitFailedException(error))
        elif error.retriable:
            self._again_or_end(commit, error, now)
        else:
            self._end(commit, self._of_group(error))

    def _again_or_end(self, commit: _Commit, error: Errors, now: float) -> None:
        if commit.retry:
            commit.not_before_ms = now + self._config.retry_backoff_ms
        else:
            self._end(commit, self._of_group(error))

    def _of_group(self, error: Errors) -> BrokerException:
        return BrokerException(error, f"Group {self._config.group_id}: {error.message}")

    def _end(self, commit: _Commit, error: ClientException | None) -> None:
        if commit not in self._commits:
            return  # given up
        del self._commits[commit]
        if self._trace and commit.offsets:
            self._trace(
                ConsumerCommitted(
                    client=self._config.client_id,
                    group=self._config.group_id,
                    offsets=tuple((str(tp), each.offset) for tp, each in commit.offsets.items()),
                    error="" if error is None else error.error.name,
                )
            )
        if error is None:
            self.committed.update((tp, each.offset) for tp, each in commit.offsets.items())
            self._tell_interceptors(commit.offsets)
        if commit.on_done is not None:
            commit.on_done(error)

    def _tell_interceptors(self, offsets: Offsets) -> None:
        for interceptor in self._config.interceptors:
            try:
                interceptor.on_commit(offsets)
            except Exception as bug:
                log.warning(
                    "on_commit of interceptor %s failed. The consumer continues.",
                    type(interceptor).__name__,
                    exc_info=bug,
                )

    def _send_fetch(self, fetch: _Fetch, now: float) -> None:
        version = self._link.version(ApiKey.OFFSET_FETCH)
        fetch.in_flight = True
        request = OffsetFetchRequest(
            group_id=self._config.group_id,
            topics=[
                OffsetFetchRequestTopic(name=topic, partition_indexes=partitions)
                for topic, partitions in by_topic(fetch.partitions).items()
            ],
            require_stable=self._config.read_committed and version >= _FIRST_WITH_REQUIRE_STABLE,
        )
        self._link.send(
            request, version, now, lambda answer, at: self._on_fetched(fetch, answer, at)
        )

    def _on_fetched(self, fetch: _Fetch, answer: Message | None, now: float) -> None:
        fetch.in_flight = False
        fetch.not_before_ms = now + self._config.retry_backoff_ms
        if fetch not in self._fetches:
            return  # given up
        if not isinstance(answer, OffsetFetchResponse):
            self._link.lost("OffsetFetch got no response", now)
            return
        partitions = [
            (TopicPartition(topic.name, each.partition_index), each)
            for topic in answer.topics
            for each in topic.partitions
        ]
        error = Errors.of(answer.error_code)
        if error is Errors.NONE:
            error = Errors.of(
                next((each.error_code for _, each in partitions if each.error_code), 0)
            )
        if error in COORDINATOR_MOVED:
            self._link.lost(f"OffsetFetch was answered with {error.name}", now)
        if error is not Errors.NONE and error.retriable:
            return
        del self._fetches[fetch]
        if fetch.generation != self._membership.generation:
            fetch.on_done(None, None)
        elif error is not Errors.NONE:
            fetch.on_done(None, self._of_group(error))
        else:
            found = {
                tp: OffsetAndMetadata(
                    each.committed_offset, each.metadata or "", each.committed_leader_epoch
                )
                for tp, each in partitions
                if each.committed_offset >= 0
            }
            self.committed.update((tp, each.offset) for tp, each in found.items())
            fetch.on_done(found, None)
