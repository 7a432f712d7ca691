"""Explain why an operation waits, what would finish it, and what finished earlier ones (spec D3).

Events contain numbers. This module makes sentences from these numbers, and counts the operations
that ended in the last ten seconds. It is pure. `kafka-edu why` and the Purgatory screen both use
this module, so they always agree.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from kafka_edu.common.log_histogram import bucket_range
from kafka_edu.common.words import duration, joined, plural
from kafka_edu.trace.events.purgatory import (
    WAIT_SUB_BITS,
    EndedBy,
    ReplicaProgress,
    Requirement,
    WaitingOperation,
)

WINDOW_US: Final = 10_000_000
"""The period (µs) for which the causes that ended operations are counted."""

HIGH_WATERMARK: Final = "high watermark"
_BYTES: Final = "bytes up to the "


class Missing(NamedTuple):
    """A broker that has not fetched far enough for an operation."""

    broker: int
    behind: int
    """The number of records that the broker must still fetch."""
    last_fetch_ms: int | None
    """When the broker last fetched, in ms of the timer's clock.

    -1 if it has not fetched in this leader epoch. None if that is not known.
    """


def title(operation: WaitingOperation) -> str:
    """Return what waits and for which client: `produce web-0 from kcat #88`."""
    if not operation.client and operation.correlation_id < 0:
        return operation.label
    return f"{operation.label} from {operation.client or 'a client'} #{operation.correlation_id}"


def left_ms(operation: WaitingOperation, now_ms: int) -> int:
    """Return the time (ms) until the operation's deadline, or 0 if the deadline is over.

    `now_ms` is the time of the timer's clock.
    """
    return max(operation.deadline_ms - now_ms, 0)


def patience(operation: WaitingOperation, now_ms: int) -> float:
    """Return how much of the operation's time is over, from 0.0 to 1.0. A bar shows this value."""
    whole = operation.age_ms + left_ms(operation, now_ms)
    return min(max(operation.age_ms / whole, 0.0), 1.0) if whole > 0 else 1.0


def missing(need: Requirement) -> list[Missing]:
    """Return the brokers that have not fetched far enough. The broker that misses the most records
    is first.
    """
    behind = [
        Missing(r.broker, need.at_least - max(r.log_end_offset, 0), r.last_fetch_ms)
        for r in need.replicas
        if r.log_end_offset < need.at_least
    ]
    if not need.replicas and need.needs == HIGH_WATERMARK:  # an older recording
        behind = [
            Missing(int(who.removeprefix("broker ")), need.at_least - max(have, 0), None)
            for who, have in need.holders
            if have < need.at_least and who.removeprefix("broker ").isdigit()
        ]
    return sorted(behind, key=lambda one: (-one.behind, one.broker))


def needed(need: Requirement) -> str:
    """Return a requirement with the needed and the current value: `web-0: HW ≥ 81,262, is
    81,240`.
    """
    if need.needs == HIGH_WATERMARK:
        return f"{need.subject}: HW ≥ {need.at_least:,}, is {need.have:,}"
    if need.needs.startswith(_BYTES):
        end = need.needs.removeprefix(_BYTES)
        return f"{need.subject}: {need.at_least:,} B up to the {end}, has {need.have:,} B"
    if need.needs == "leader":
        known = f"broker {need.have}" if need.have >= 0 else "nobody"
        return f"{need.subject}: broker {need.at_least} as leader in the metadata, has {known}"
    if need.needs == "to be gone":
        return f"{need.subject}: to be gone from the metadata"
    if need.at_least == 1 and need.have == 0:
        return f"{need.subject}: {need.needs}"
    if not need.at_least:
        return f"{need.subject}: {need.needs}; {need.have:,} so far"
    return f"{need.subject}: {need.needs} ≥ {need.at_least:,}, has {need.have:,}"


def leaves_isr_ms(replica: ReplicaProgress, need: Requirement) -> int:
    """Return when the leader removes the replica from the ISR if the replica never catches up.
    Return 0 if that is unknown.

    The time is in ms. The leader checks every replica.lag.time.max.ms / 2, and removes the replicas
    that have not caught up for longer than replica.lag.time.max.ms. An example with 10 s: a
    follower stops at 0 s. The check at 10 s does not remove it, because 10 s is not longer than 10
    s. The check at 15 s removes it.
    """
    every_ms = need.max_lag_ms // 2
    if not need.isr_check_ms or every_ms <= 0:
        return 0
    too_late_ms = replica.caught_up_ms + need.max_lag_ms + 1
    checks = max(-(-(too_late_ms - need.isr_check_ms) // every_ms), 0)
    return need.isr_check_ms + checks * every_ms


def what_would_finish(operation: WaitingOperation, now_ms: int) -> list[str]:
    """Return sentences that say what would finish the operation.

    All requirements of the operation must be met. For each requirement there is a sentence, which
    names the brokers that are behind. The last sentence is about the operation's deadline. `now_ms`
    is the time of the timer's clock.
    """
    return [
        *(sentence for need in operation.why for sentence in _finishes(need, now_ms)),
        _deadline(operation, now_ms),
    ]


def _finishes(need: Requirement, now_ms: int) -> list[str]:
    if need.needs == HIGH_WATERMARK:
        return _replicated(need, now_ms)
    lacking = max(need.at_least - need.have, 0)
    if need.needs.startswith(_BYTES):
        where = joined([name for name, _ in need.holders]) or "its partitions"
        if "log end" in need.needs:
            return [f"a producer writes {lacking:,} B more to {where}"]
        if "stable" in need.needs:
            return [
                f"{lacking:,} B more are committed in {where}, and no open transaction is below"
            ]
        return [f"{lacking:,} B more are committed in {where}: written, and fetched by the ISR"]
    match need.needs:
        case "low watermark":
            return [
                f"each live replica of {need.subject} gives up the records below"
                f" {need.at_least:,} (the last is at {need.have:,})"
            ]
        case "a sign of life":
            return [f"{need.subject} sends a heartbeat, or any other request of the group"]
        case "JoinGroup":
            return [f"{need.subject} sends JoinGroup"]
        case "members joined":
            who = joined([name for name, _ in need.holders]) or plural(lacking, "member")
            return [f"JoinGroup comes from {who}, or they leave the group"]
        case "members synced":
            who = joined([name for name, _ in need.holders]) or plural(lacking, "member")
            return [f"SyncGroup comes from {who}, or another generation begins"]
        case "to be gone":
            return [f"the controller's UpdateMetadata removes {need.subject} from this broker"]
        case "leaders":
            return [f"the controller elects {plural(lacking, 'leader')} for {need.subject}"]
        case "leader":
            return [
                f"the controller's UpdateMetadata brings broker {need.at_least} as leader of"
                f" {need.subject}"
            ]
    return [] if not need.at_least else [f"{need.subject} gets {lacking:,} more {need.needs}"]


def _replicated(need: Requirement, now_ms: int) -> list[str]:
    """Return a sentence for each broker of the ISR that has not fetched far enough."""
    sentences = []
    replicas = {replica.broker: replica for replica in need.replicas}
    for one in missing(need):
        fetches = f"broker {one.broker} fetches {plural(one.behind, 'record')} of {need.subject}"
        replica = replicas.get(one.broker)
        leaves_ms = leaves_isr_ms(replica, need) if replica is not None else 0
        sentence = f"{fetches}, or leaves the ISR"
        if need.max_lag_ms:
            every = f"every {duration(need.max_lag_ms // 2)}"
            when = (
                f"check in {duration(max(leaves_ms - now_ms, 0))}, {every}"
                if leaves_ms
                else f"a check {every}"
            )
            sentence += f" ({when}; or its session expires)"
        if need.min_isr and len(need.holders) - 1 < need.min_isr:
            sentence += f": then an error, because min.insync.replicas is {need.min_isr}"
        sentences.append(sentence)
    return sentences or [f"the HW of {need.subject} reaches {need.at_least:,}"]


def _deadline(operation: WaitingOperation, now_ms: int) -> str:
    left = duration(left_ms(operation, now_ms))
    needs = operation.why[0].needs if operation.why else ""
    if needs == HIGH_WATERMARK:
        return f"the deadline in {left}: REQUEST_TIMED_OUT, but the records stay"
    if needs.startswith(_BYTES):
        return f"the deadline in {left}: then it sends what there is"
    if needs in ("a sign of life", "JoinGroup", "members joined", "members synced"):
        return f"the deadline in {left}: then the group continues without the missing members"
    if needs.startswith("more members"):
        return f"only the time: in {left} the group begins with the members that it has"
    return f"the deadline in {left}: REQUEST_TIMED_OUT"


def since(one: Missing, now_ms: int) -> str:
    """Return in words since when a broker has not fetched, or "" if that is not known."""
    if one.last_fetch_ms is None:
        return ""
    if one.last_fetch_ms < 0:
        return "no fetch in this leader epoch"
    return f"last fetch {duration(max(now_ms - one.last_fetch_ms, 0))} ago"


class Ended(NamedTuple):
    """The operations that ended for the same cause in the last ten seconds."""

    cause: str
    times: int
    """The number of these operations."""
    typical_ms: int
    """The median time that these operations waited, in ms, at most 2 % wrong.

    From older recordings it may be wrong by a factor of two.
    """


Waits = Mapping[tuple[int, int], int]
"""Operations counted by their wait.

The key is a bucket: its shortest wait in ms, and its width in ms. The value is the number of
operations.
"""


_NONE: Final[Waits] = MappingProxyType({})


class RecentlyEnded:
    """The operations of one purgatory that ended in the last ten seconds, by cause.

    A broker sends totals: how many operations each cause has ended since the broker's start. So a
    lost sample does no harm. The number for the last ten seconds is the present total minus the
    total of ten seconds ago. At most one total is kept for each quarter of a second.
    """

    def __init__(self) -> None:
        self.counted = False
        """Whether the broker counts causes. The brokers of older recordings do not."""
        self._totals: dict[str, Waits] = {}
        self._before: deque[tuple[int, dict[str, Waits]]] = deque()
        """The times (µs) at which totals grew, with the totals before that time.

        The oldest entry is first.
        """

    def begin(self, ended: Sequence[EndedBy], now_us: int) -> None:
        """Process a snapshot's totals.

        If these are the first totals, all their operations count as ended more than ten seconds
        ago.
        """
        if self.counted:
            self.sample(ended, now_us)
            return
        self.counted = True
        self._totals = {one.cause: _waits_of(one) for one in ended}

    def sample(self, ended: Sequence[EndedBy], now_us: int) -> None:
        """Process a sample's totals. If a total is smaller than in the last sample, the broker has
        restarted.
        """
        self.counted = True
        totals = {one.cause: _waits_of(one) for one in ended}
        if any(
            sum(totals.get(cause, _NONE).values()) < sum(waits.values())
            for cause, waits in self._totals.items()
        ):
            self._totals = {}
            self._before.clear()
        if not self._before or now_us - self._before[-1][0] >= WINDOW_US // 40:
            self._before.append((now_us, self._totals))
        self._totals = totals
        self._forget(now_us)

    def _forget(self, now_us: int) -> None:
        while self._before and self._before[0][0] <= now_us - WINDOW_US:
            self._before.popleft()

    def recent(self, now_us: int) -> list[Ended]:
        """Return the causes that ended operations in the last ten seconds, the most frequent cause
        first. O(causes).
        """
        self._forget(now_us)
        if not self._before:
            return []
        before = self._before[0][1]
        found = []
        for cause, waits in self._totals.items():
            old = before.get(cause, _NONE)
            new = {bucket: n - old.get(bucket, 0) for bucket, n in waits.items()}
            if count := sum(new.values()):
                found.append(Ended(cause, count, typical_ms(new)))
        return sorted(found, key=lambda one: (-one.times, one.cause))


def _waits_of(ended: EndedBy) -> Waits:
    """Return how many operations one cause has ended, for each range of waiting times."""
    if ended.waits:
        return {bucket_range(bucket, 0): n for bucket, n in enumerate(ended.waits)}
    return {bucket_range(bucket, WAIT_SUB_BITS): n for bucket, n in ended.counts}


def typical_ms(waits: Waits) -> int:
    """Return the median (ms) of waits that are counted by bucket, or 0 if there are none.

    The waits in a bucket are assumed to be spread evenly over it. The median of four waits between
    8 and 16 ms is 12 ms.
    """
    rank = sum(waits.values()) / 2
    for (shortest, length), count in sorted(waits.items()):
        if count and rank <= count:
            return shortest if length == 1 else round(shortest + length * rank / count)
        rank -= count
    return 0
