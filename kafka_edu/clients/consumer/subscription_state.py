"""The partitions that a consumer reads, and its positions (Kafka: SubscriptionState.java).

A consumer reads either topics, whose partitions its group divides (`subscribe`), or partitions that
the program chose (`assign`), never both. The topics have names, or match a pattern. For each
assigned partition this class has the position: the offset of the next record that `poll()` returns.

    Initializing ──committed offset, or seek──▶ Fetching
         │                                      ▲      │
         └─no committed offset─▶ AwaitReset ────┘      │ seek_to_end …, or
                                     ▲  offset found   │ OFFSET_OUT_OF_RANGE
                                     └─────────────────┘

A partition is fetched only in the state Fetching. When it gets a new leader, it goes to
AwaitValidation and back, because the new leader may lack records (see position_validation). A reset
asks the leader for an offset: the start of the log, its end, or the first record that is not older
than a timestamp.
"""

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final, NamedTuple

from kafka_edu.clients.client_errors import ClientException
from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.protocol.messages.list_offsets import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP
from kafka_edu.trace.events.consumer import (
    ConsumedPartition,
    ConsumerAssigned,
    ConsumerSubscribed,
    FetchStateChanged,
    PartitionPaused,
    PartitionResumed,
    PositionAdvanced,
)
from kafka_edu.trace.tracer import Tracer

NO_OFFSET: Final = -1


class FetchState(StrEnum):
    """The state of one assigned partition."""

    INITIALIZING = "Initializing"
    FETCHING = "Fetching"
    AWAIT_RESET = "AwaitReset"
    AWAIT_VALIDATION = "AwaitValidation"


#: state → the states that may come before it. A partition begins in Initializing.
VALID_PREVIOUS_STATES: Final[Mapping[FetchState, frozenset[FetchState]]] = {
    FetchState.INITIALIZING: frozenset(),
    FetchState.FETCHING: frozenset(FetchState),
    FetchState.AWAIT_RESET: frozenset(FetchState),
    FetchState.AWAIT_VALIDATION: frozenset({FetchState.FETCHING}),
}


class OffsetResetStrategy(StrEnum):
    """Where a consumer begins without a committed offset: auto.offset.reset."""

    EARLIEST = "earliest"
    LATEST = "latest"
    NONE = "none"


_TIMESTAMPS: Final = {
    OffsetResetStrategy.EARLIEST: EARLIEST_TIMESTAMP,
    OffsetResetStrategy.LATEST: LATEST_TIMESTAMP,
}


class SubscriptionType(StrEnum):
    NONE = "none"
    TOPICS = "topics"
    PATTERN = "pattern"
    PARTITIONS = "partitions"


class OffsetAndMetadata(NamedTuple):
    """A committed offset: the offset of the next record to read (Kafka: OffsetAndMetadata.java)."""

    offset: int
    metadata: str = ""
    leader_epoch: int = -1
    """The leader epoch of the last record before the offset. -1 if unknown."""


_SEEK_OR_RESET: Final = "Seek to an offset, or set auto.offset.reset to earliest or latest."


class InvalidOffsetException(ClientException):
    """A partition has no valid position, and auto.offset.reset is none. The program may seek to
    a different position.
    """

    def __init__(self, tp: TopicPartition, message: str, advice: str = _SEEK_OR_RESET) -> None:
        super().__init__(Errors.OFFSET_OUT_OF_RANGE, message, advice)
        self.topic_partition = tp


class NoOffsetForPartitionException(InvalidOffsetException):
    """There is no offset to begin with, and auto.offset.reset is none."""

    def __init__(self, tp: TopicPartition, why: str) -> None:
        super().__init__(tp, f"{why} for partition {tp}, and auto.offset.reset is none.")


class OffsetOutOfRangeException(InvalidOffsetException):
    """The leader's log does not have the position, and auto.offset.reset is none."""

    def __init__(
        self, tp: TopicPartition, offset: int, message: str = "", advice: str = _SEEK_OR_RESET
    ) -> None:
        out_of_range = f"Offset {offset} is out of range for partition {tp}"
        super().__init__(tp, message or f"{out_of_range}, and auto.offset.reset is none.", advice)
        self.offset = offset


class LogTruncationException(OffsetOutOfRangeException):
    """Records that the consumer has read were truncated, and auto.offset.reset is none."""

    def __init__(self, tp: TopicPartition, position: int, end: int) -> None:
        super().__init__(
            tp,
            position,
            f"The log of partition {tp} was truncated below the position {position}."
            + (f" It differs from what was read from offset {end} on." if end >= 0 else ""),
            (f"Seek to {end}, or to another offset" if end >= 0 else "Seek to an offset")
            + ", or set auto.offset.reset to earliest or latest.",
        )
        self.divergent_offset = end
        """The first offset that differs, or -1 if it is unknown."""


class FetchPosition(NamedTuple):
    """A position, with its leader and epochs (Kafka: SubscriptionState.FetchPosition)."""

    offset: int
    epoch: int
    """The leader epoch of the last record before the position. -1 if unknown."""
    leader: int
    """The leader for which the position was last checked. -1 if it was not checked."""
    leader_epoch: int


class NotAssignedException(ClientException):
    """The consumer does not have the partition."""

    def __init__(self, tp: TopicPartition) -> None:
        super().__init__(
            Errors.UNKNOWN_TOPIC_OR_PARTITION,
            f"No current assignment for partition {tp}.",
            "Use only partitions of assignment(): those of assign(), or of the last rebalance.",
        )


class _Partition:
    """The state of one assigned partition."""

    __slots__ = (
        "epoch",
        "from_leader",
        "high_watermark",
        "leader",
        "leader_epoch",
        "paused",
        "position",
        "reset_to",
        "state",
    )

    def __init__(self) -> None:
        self.state = FetchState.INITIALIZING
        self.position = NO_OFFSET
        self.epoch = -1
        self.leader = self.leader_epoch = -1
        self.from_leader = False
        """Whether the position came from the leader itself, so that it needs no check."""
        self.paused = False
        self.reset_to = LATEST_TIMESTAMP
        self.high_watermark = NO_OFFSET


class SubscriptionState:
    """The subscription and the positions. The consumer's event loop owns them."""

    def __init__(
        self, client_id: str, reset: OffsetResetStrategy, trace: Tracer | None = None
    ) -> None:
        self._client_id = client_id
        self._reset = reset
        self._trace = trace
        self.type = SubscriptionType.NONE
        self.topics: tuple[str, ...] = ()
        """The topics of `subscribe`, or those that match its pattern."""
        self.pattern: re.Pattern[str] | None = None
        self.version = 0
        """The number of changes of topics, pattern, or partitions by `assign`."""
        self.records = 0
        """How many records `poll()` has returned."""
        self._partitions: dict[TopicPartition, _Partition] = {}
        self.assigned_topics: frozenset[str] = frozenset()
        """The topics of the assigned partitions."""
        self._counts: dict[FetchState, int] = dict.fromkeys(FetchState, 0)
        """How many partitions are in each state. Most of the time all of them are FETCHING."""
        self.changes = 0
        """The number of changes after which other partitions may have to be fetched."""

    def subscribe(self, topics: Iterable[str]) -> None:
        """Read these topics as a member of the group. Until a rebalance, the assignment stays.

        Raises ClientException if `assign` is in use.
        """
        self._set_type(SubscriptionType.TOPICS)
        self.topics = tuple(sorted(set(topics)))
        self._subscribed(())

    def subscribe_pattern(self, pattern: re.Pattern[str]) -> None:
        """Read the topics whose whole name matches, as a member of the group.

        `match` later gets the existing topics. Raises ClientException if `assign` is in use.
        """
        self._set_type(SubscriptionType.PATTERN)
        self.pattern = pattern
        self._subscribed(())

    def match(self, topics: Iterable[str]) -> None:
        """Subscribe to those of the existing topics that match the pattern."""
        assert self.pattern is not None
        matching = tuple(sorted(topic for topic in topics if self.pattern.fullmatch(topic)))
        if matching != self.topics:
            self.topics = matching
            self._subscribed(())

    @property
    def in_group(self) -> bool:
        """Return whether a group divides the partitions (Kafka: partitionsAutoAssigned)."""
        return self.type in (SubscriptionType.TOPICS, SubscriptionType.PATTERN)

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Read these partitions, without a group. Partitions that are already assigned keep their
        position.

        Raises ClientException if `subscribe` is in use.
        """
        self._set_type(SubscriptionType.PARTITIONS)
        chosen = list(dict.fromkeys(partitions))
        self._subscribed(chosen)
        self._replace(chosen)

    def unsubscribe(self) -> None:
        """Read nothing any more."""
        self.type, self.topics, self.pattern = SubscriptionType.NONE, (), None
        self._subscribed(())
        self._replace(())

    def _set_type(self, wanted: SubscriptionType) -> None:
        if self.type not in (SubscriptionType.NONE, wanted):
            raise ClientException(
                Errors.INVALID_REQUEST,
                "Subscription to topics, partitions and pattern are mutually exclusive.",
                "Call unsubscribe() first, or use a second consumer.",
            )
        self.type = wanted

    def _subscribed(self, partitions: Iterable[TopicPartition]) -> None:
        self.version += 1
        if self._trace:
            self._trace(
                ConsumerSubscribed(
                    client=self._client_id,
                    topics=self.topics,
                    partitions=tuple(map(str, partitions)),
                    pattern="" if self.pattern is None else self.pattern.pattern,
                )
            )

    def assign_from_group(self, partitions: Iterable[TopicPartition]) -> None:
        """Take the partitions that a rebalance gave. Take none while a rebalance is running."""
        self._replace(partitions)

    def _replace(self, partitions: Iterable[TopicPartition]) -> None:
        before = self._partitions
        self._partitions = {tp: before.get(tp) or _Partition() for tp in partitions}
        self.assigned_topics = frozenset(tp.topic for tp in self._partitions)
        self._counts = dict.fromkeys(FetchState, 0)
        for each in self._partitions.values():
            self._counts[each.state] += 1
        self.changes += 1
        if self._trace and before.keys() != self._partitions.keys():
            self._trace(
                ConsumerAssigned(
                    client=self._client_id, partitions=tuple(map(str, self._partitions))
                )
            )

    def assigned(self) -> list[TopicPartition]:
        return list(self._partitions)

    def has(self, tp: TopicPartition) -> bool:
        return tp in self._partitions

    def _of(self, tp: TopicPartition) -> _Partition:
        partition = self._partitions.get(tp)
        if partition is None:
            raise NotAssignedException(tp)
        return partition

    def _enter(
        self, tp: TopicPartition, partition: _Partition, state: FetchState, reason: str
    ) -> None:
        """Change a partition's state. Raises ValueError for a change that is not in the table."""
        if partition.state not in VALID_PREVIOUS_STATES[state]:
            raise ValueError(f"a partition cannot go from {partition.state} to {state}")
        before, partition.state = partition.state, state
        self._counts[before] -= 1
        self._counts[state] += 1
        self.changes += 1
        if self._trace:
            self._trace(
                FetchStateChanged(
                    client=self._client_id,
                    topic=tp.topic,
                    partition=tp.partition,
                    before=before,
                    after=state,
                    offset=partition.position,
                    reason=reason,
                )
            )

    def seek(self, tp: TopicPartition, offset: int, reason: str, epoch: int = -1) -> None:
        """Set the position: the next record is the first one with this offset or a higher one."""
        self._seek(tp, self._of(tp), offset, epoch, reason)

    def _seek(
        self,
        tp: TopicPartition,
        partition: _Partition,
        offset: int,
        epoch: int,
        reason: str,
        *,
        from_leader: bool = False,
    ) -> None:
        partition.position, partition.epoch = offset, epoch
        partition.leader = partition.leader_epoch = -1
        partition.from_leader = from_leader
        self._enter(tp, partition, FetchState.FETCHING, reason)

    def note_leader(self, tp: TopicPartition, leader: int, leader_epoch: int) -> bool:
        """Record a new leader. Return whether the position must be validated for this leader. O(1).

        A validation is necessary if the leader or its epoch has changed. It is impossible if the
        epoch of the last record is unknown.
        """
        partition = self._of(tp)
        if (
            partition.leader == leader and partition.leader_epoch == leader_epoch
        ) or partition.position == NO_OFFSET:
            return False
        valid = partition.leader < 0 and partition.from_leader
        partition.leader, partition.leader_epoch = leader, leader_epoch
        if partition.state is FetchState.AWAIT_VALIDATION:
            return True
        if valid or partition.epoch < 0 or leader_epoch < 0:
            return False
        reason = f"broker {leader} leads the partition with epoch {leader_epoch}"
        self._enter(tp, partition, FetchState.AWAIT_VALIDATION, reason)
        return True

    def fetch_position(self, tp: TopicPartition) -> FetchPosition:
        """Return the position, and the leader for which it is valid or is being validated. O(1)."""
        partition = self._of(tp)
        return FetchPosition(
            partition.position, partition.epoch, partition.leader, partition.leader_epoch
        )

    def _awaits(self, tp: TopicPartition, requested: FetchPosition) -> _Partition | None:
        """Return the partition if the position `requested` is still being validated, otherwise
        None.
        """
        partition = self._partitions.get(tp)
        if partition is None or partition.state is not FetchState.AWAIT_VALIDATION:
            return None
        return partition if self.fetch_position(tp) == requested else None

    def validated(self, tp: TopicPartition, requested: FetchPosition, reason: str) -> None:
        """Fetch from the position `requested`, unless the program has set a different position
        meanwhile.
        """
        partition = self._awaits(tp, requested)
        if partition is not None:
            self._enter(tp, partition, FetchState.FETCHING, reason)

    def epoch_ended(
        self, tp: TopicPartition, requested: FetchPosition, end_offset: int, epoch: int
    ) -> None:
        """Handle the leader's answer: the offset at which the epoch of the last record ends.

        Raises LogTruncationException if the log was truncated and auto.offset.reset is none.
        """
        partition = self._awaits(tp, requested)
        if partition is None:
            return
        unknown = end_offset == NO_OFFSET or epoch < 0
        if not unknown and end_offset >= requested.offset:
            self.validated(tp, requested, "the leader has the records before the position")
        elif self._reset is OffsetResetStrategy.NONE:
            raise LogTruncationException(tp, requested.offset, NO_OFFSET if unknown else end_offset)
        elif unknown:
            self.reset_by_default(tp, "The leader knows no epoch so old")
        else:
            self._seek(tp, partition, end_offset, epoch, "the log was truncated", from_leader=True)

    def begin(self, tp: TopicPartition, committed: OffsetAndMetadata | None, why: str) -> None:
        """Give a new partition its position: the committed offset, or one by auto.offset.reset.

        `why` is a sentence about the case without a committed offset. Raises
        NoOffsetForPartitionException.
        """
        if committed is None:
            self.reset_by_default(tp, why)
        else:
            epoch = committed.leader_epoch
            self._seek(tp, self._of(tp), committed.offset, epoch, "the offset was committed")

    def out_of_range(self, tp: TopicPartition, offset: int) -> None:
        """Reset a position that is before the start or after the end of the leader's log.

        Raises OffsetOutOfRangeException if auto.offset.reset is none.
        """
        if self._reset is OffsetResetStrategy.NONE:
            raise OffsetOutOfRangeException(tp, offset)
        self.reset_by_default(tp, f"Offset {offset} is out of range")

    def request_reset(self, tp: TopicPartition, timestamp: int, reason: str) -> None:
        """Ask the leader for a position: EARLIEST_TIMESTAMP, LATEST_TIMESTAMP, or a time in ms.

        Until the answer arrives, the partition has no position.
        """
        self._await_reset(tp, timestamp, reason)

    def _await_reset(self, tp: TopicPartition, timestamp: int, reason: str) -> None:
        partition = self._of(tp)
        partition.position, partition.reset_to = NO_OFFSET, timestamp
        self._enter(tp, partition, FetchState.AWAIT_RESET, reason)

    def reset_by_default(self, tp: TopicPartition, why: str) -> None:
        """Reset by auto.offset.reset. Raises NoOffsetForPartitionException if this setting is
        none.
        """
        if self._reset is OffsetResetStrategy.NONE:
            raise NoOffsetForPartitionException(tp, why)
        self._await_reset(tp, _TIMESTAMPS[self._reset], why)

    def _resetting(self, tp: TopicPartition, timestamp: int) -> _Partition | None:
        """Return the partition if it still waits for the offset of `timestamp`, otherwise None."""
        partition = self._partitions.get(tp)
        if partition is None or partition.state is not FetchState.AWAIT_RESET:
            return None
        return partition if partition.reset_to == timestamp else None

    def reset_found_nothing(self, tp: TopicPartition, timestamp: int) -> None:
        """Go to the end of the log, because all records are older than the time of the reset."""
        if self._resetting(tp, timestamp) is not None:
            self._await_reset(tp, LATEST_TIMESTAMP, "no record is as new as the time")

    def reset_done(self, tp: TopicPartition, timestamp: int, offset: int, epoch: int) -> None:
        """Take the offset of a reset, unless the program has changed the position since."""
        partition = self._resetting(tp, timestamp)
        if partition is not None:
            self._seek(tp, partition, offset, epoch, "the leader said the offset", from_leader=True)

    def advance(self, tp: TopicPartition, offset: int, epoch: int, records: int) -> None:
        """Move the position after the records that `poll()` returns. The position never goes
        back.
        """
        partition = self._of(tp)
        before = partition.position
        assert before <= offset
        partition.position, partition.epoch = offset, epoch
        self.records += records
        if self._trace and self._trace.hops:
            self._trace(
                PositionAdvanced(
                    client=self._client_id,
                    topic=tp.topic,
                    partition=tp.partition,
                    before=before,
                    after=offset,
                    records=records,
                )
            )

    def pause(self, tp: TopicPartition) -> None:
        partition = self._of(tp)
        if not partition.paused:
            partition.paused = True
            self.changes += 1
            if self._trace:
                self._trace(
                    PartitionPaused(client=self._client_id, topic=tp.topic, partition=tp.partition)
                )

    def resume(self, tp: TopicPartition) -> None:
        partition = self._of(tp)
        if partition.paused:
            partition.paused = False
            self.changes += 1
            if self._trace:
                self._trace(
                    PartitionResumed(client=self._client_id, topic=tp.topic, partition=tp.partition)
                )

    def paused(self) -> list[TopicPartition]:
        return [tp for tp, each in self._partitions.items() if each.paused]

    def position(self, tp: TopicPartition) -> int:
        """Return the position, or NO_OFFSET. Raises NotAssignedException."""
        return self._of(tp).position

    def valid_position(self, tp: TopicPartition) -> int:
        """Return the position. Return NO_OFFSET if there is none, or while it is being
        validated.
        """
        partition = self._of(tp)
        return NO_OFFSET if partition.state is FetchState.AWAIT_VALIDATION else partition.position

    def at(self, tp: TopicPartition) -> int:
        """Return the position, or NO_OFFSET if the partition is paused or not assigned. O(1)."""
        partition = self._partitions.get(tp)
        return NO_OFFSET if partition is None or partition.paused else partition.position

    def note_high_watermark(self, tp: TopicPartition, high_watermark: int) -> None:
        """Store the high watermark of a Fetch response, for `lag`."""
        partition = self._partitions.get(tp)
        if partition is not None:
            partition.high_watermark = high_watermark

    def describe(self, tp: TopicPartition, leader: int, committed: int) -> ConsumedPartition:
        """Return the state of a partition for a sample. O(1)."""
        partition = self._of(tp)
        return ConsumedPartition(
            topic=tp.topic,
            partition=tp.partition,
            leader=leader,
            state=partition.state,
            paused=partition.paused,
            position=partition.position,
            committed=committed,
            high_watermark=partition.high_watermark,
        )

    def lag(self, tp: TopicPartition) -> int:
        """Return the number of offsets from the position to the high watermark. -1 if unknown."""
        partition = self._of(tp)
        if NO_OFFSET in (partition.position, partition.high_watermark):
            return -1
        return max(partition.high_watermark - partition.position, 0)

    def in_state(self, state: FetchState) -> list[TopicPartition]:
        """Return the partitions in the state `state`. O(partitions), or O(1) if there are no such
        partitions.
        """
        if not self._counts[state]:
            return []
        return [tp for tp, each in self._partitions.items() if each.state is state]

    def reset_target(self, tp: TopicPartition) -> int:
        """Return the timestamp of the reset that is in progress."""
        return self._of(tp).reset_to

    def fetchable(self) -> list[TopicPartition]:
        """Return the partitions to fetch. They have a valid position and are not paused.
        O(partitions).
        """
        return [
            tp
            for tp, each in self._partitions.items()
            if each.state is FetchState.FETCHING and not each.paused
        ]

    def all_consumed(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """Return each partition's valid position, for a commit. Partitions without one are left
        out.
        """
        return {
            tp: OffsetAndMetadata(each.position, "", each.epoch)
            for tp, each in self._partitions.items()
            if each.state is FetchState.FETCHING
        }
