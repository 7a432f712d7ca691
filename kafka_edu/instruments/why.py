"""The reducer behind `kafka-edu why`: waiting operations, ended ones, and troubles (spec D3).

The troubles are damage that brokers found in their logs, failed parts of brokers, and processes
that ended unexpectedly. The reducer also knows the replicas that move between log dirs.

`waiting.py` makes the sentences. The reducer learns about an operation from a snapshot, from
gauges, or from the hop with which the operation began to wait. It drops the operation when it
completes, when its broker sends newer gauges without it, or when its broker ends.
"""

import re
from collections import deque
from collections.abc import Iterable
from typing import Final, NamedTuple

from kafka_edu.instruments.waiting import Missing, missing
from kafka_edu.trace.event import Envelope, Source
from kafka_edu.trace.events.log import RepairsFound
from kafka_edu.trace.events.purgatory import (
    OperationCompleted,
    OperationWatched,
    PurgatorySampled,
    WaitingOperation,
    WaitingOperationSampled,
    WaitingOperationSnapshot,
)
from kafka_edu.trace.events.replication import (
    ReplicaMoveCompleted,
    ReplicaMoveEnded,
    ReplicaMoveProgress,
)
from kafka_edu.trace.events.server import TroubleSnapshot
from kafka_edu.trace.events.supervisor import (
    ProcessEnded,
    ProcessSnapshot,
    ProcessStarted,
    how_ended,
)
from kafka_edu.trace.events.trace import SnapshotBegins
from kafka_edu.trace.lasting_troubles import LASTING

KEPT_ENDED: Final = 2000
_FOLLOWER: Final = re.compile(r"broker-\d+-fetcher-\d+")
_PARTITION: Final = re.compile(r"(.+)-\d+")


class Waits(NamedTuple):
    """The state of a waiting operation at one moment."""

    broker: int
    operation: WaitingOperation
    at_us: int
    """The time of this state, in µs of the monotonic clock."""
    wall_ms: int

    @property
    def now_ms(self) -> int:
        """Return the time of this state, in ms of the timer's clock."""
        return self.at_us // 1000

    @property
    def since_wall_ms(self) -> int:
        return self.wall_ms - self.operation.age_ms

    @property
    def behind(self) -> list[Missing]:
        return [one for need in self.operation.why for one in missing(need)]

    @property
    def is_routine(self) -> bool:
        """Return whether the operation waits only because there is no work.

        Such an operation belongs to an idle follower or to an idle group member.
        """
        operation = self.operation
        return bool(_FOLLOWER.fullmatch(operation.client)) or any(
            need.needs == "a sign of life" for need in operation.why
        )


class HasEnded(NamedTuple):
    """An operation that has ended."""

    broker: int
    envelope: Envelope
    event: OperationCompleted

    @property
    def title(self) -> str:
        event = self.event
        if not event.client and event.correlation_id < 0:
            return event.label
        return f"{event.label} from {event.client or 'a client'} #{event.correlation_id}"

    @property
    def cause(self) -> str:
        """Return in words what ended the operation. The words are less exact for older
        recordings.
        """
        return self.event.cause or (
            f"{self.event.by}: {self.event.key}" if self.event.key else self.event.by
        )

    @property
    def is_routine(self) -> bool:
        event = self.event
        return bool(_FOLLOWER.fullmatch(event.client)) or event.purgatory == "Heartbeat"


class Gone(NamedTuple):
    """A process that ended, although the supervisor did not end it."""

    child: Source
    process: str
    how: str
    """How the process ended and why, in one line."""


class Wanted(NamedTuple):
    """The operations that a reader wants to see."""

    broker: int | None = None
    topic: str = ""
    client: str = ""

    def takes(self, broker: int, client: str, names: Iterable[str]) -> bool:
        if self.broker is not None and broker != self.broker:
            return False
        if self.client and client != self.client:
            return False
        return not self.topic or any(_is_of(name, self.topic) for name in names)


def _is_of(name: str, topic: str) -> bool:
    """Return whether a name is the topic's name or the name of one of its partitions."""
    match = _PARTITION.fullmatch(name)
    return name == topic or (match is not None and match[1] == topic)


class Why:
    """Knows the operations that wait now, and the operations that ended last. `apply` takes events.

    Only these operations take memory.
    """

    def __init__(self) -> None:
        self._waits: dict[tuple[int, str, int], Waits] = {}
        self._ended: deque[HasEnded] = deque(maxlen=KEPT_ENDED)
        self.brokers: set[int] = set()
        self.repairs: dict[int, RepairsFound] = {}
        """For each broker: the repairs in its logs, and the followers that cannot copy from it."""
        self.failed_parts: dict[int, list[TroubleSnapshot]] = {}
        """For each broker: its parts that failed since its start, the last one first."""
        self.ended_alone: dict[Source, Gone] = {}
        """The stopped processes that the supervisor did not end."""
        self._moves: dict[tuple[int, str, int], ReplicaMoveProgress] = {}

    def apply(self, envelope: Envelope) -> None:
        """Process one event. O(1). O(waiting operations) for a sample."""
        broker = envelope.broker
        match envelope.event:
            case ProcessEnded() as ended:
                if ended.child.broker is not None:
                    self._forget(ended.child)
                how = how_ended(ended.code, ended.signal, ended.reason)
                self._note_end(ended.child, ended.process, "" if ended.asked else how)
            case ProcessStarted(process=process, child=child):
                self._note_end(child, process, "")
            case ProcessSnapshot(process=process, child=child, ended=how):
                self._note_end(child, process, how)
        if broker is None:
            return
        self.brokers.add(broker)
        match envelope.event:
            case SnapshotBegins():
                self._forget(envelope.source)
            case RepairsFound() as found:
                self.repairs[broker] = found
            case TroubleSnapshot(event=kind) as trouble if kind in LASTING:
                self.failed_parts.setdefault(broker, []).append(trouble)
            case ReplicaMoveProgress() as progress:
                self._moves[broker, progress.topic, progress.partition] = progress
            case ReplicaMoveCompleted() | ReplicaMoveEnded() as end:
                self._moves.pop((broker, end.topic, end.partition), None)
            case (
                WaitingOperationSnapshot(waiting=waiting) | WaitingOperationSampled(waiting=waiting)
            ):
                self._waits[broker, waiting.purgatory, waiting.operation] = Waits(
                    broker, waiting, envelope.mono_us, envelope.wall_ms
                )
            case PurgatorySampled(state=state):
                for key, waits in list(self._waits.items()):
                    if key[:2] == (broker, state.purgatory) and waits.at_us < envelope.mono_us:
                        del self._waits[key]
            case OperationWatched() as watched:
                operation = WaitingOperation(
                    purgatory=watched.purgatory,
                    operation=watched.operation,
                    label=watched.label,
                    keys=watched.keys,
                    age_ms=0,
                    deadline_ms=watched.deadline_ms,
                    why=watched.why,
                    client=watched.client,
                    correlation_id=watched.correlation_id,
                )
                self._waits[broker, watched.purgatory, watched.operation] = Waits(
                    broker, operation, envelope.mono_us, envelope.wall_ms
                )
            case OperationCompleted() as completed:
                self._waits.pop((broker, completed.purgatory, completed.operation), None)
                self._ended.append(HasEnded(broker, envelope, completed))

    def _note_end(self, child: Source, process: str, how: str) -> None:
        if how:
            self.ended_alone[child] = Gone(child, process, how)
        else:
            self.ended_alone.pop(child, None)

    def _forget(self, source: Source) -> None:
        if source.broker is not None:
            self.failed_parts.pop(source.broker, None)
        for key in [key for key in self._waits if key[0] == source.broker]:
            del self._waits[key]
        for move in [move for move in self._moves if move[0] == source.broker]:
            del self._moves[move]

    def moving(self, wanted: Wanted) -> list[tuple[int, ReplicaMoveProgress]]:
        """Return the replicas that move between log dirs, each with its broker."""
        return [
            (broker, progress)
            for (broker, topic, partition), progress in sorted(self._moves.items())
            if wanted.takes(broker, "", (f"{topic}-{partition}",))
        ]

    def waiting(self, wanted: Wanted) -> list[Waits]:
        """Return the operations that wait, the longest wait first. Operations that wait only
        because there is no work come last.
        """
        found = [
            waits
            for waits in self._waits.values()
            if wanted.takes(
                waits.broker,
                waits.operation.client,
                (
                    *waits.operation.keys,
                    *(need.subject for need in waits.operation.why),
                    *(name for need in waits.operation.why for name, _ in need.holders),
                ),
            )
        ]
        return sorted(found, key=lambda w: (w.is_routine, -w.operation.age_ms, w.broker))

    def ended(self, wanted: Wanted) -> list[HasEnded]:
        """Return the operations that ended, the last one first."""
        return [
            ended
            for ended in reversed(self._ended)
            if wanted.takes(
                ended.broker,
                ended.event.client,
                (ended.event.key, *ended.event.label.replace(",", " ").split()),
            )
        ]
