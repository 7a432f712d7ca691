"""The state of the Moves screen: replicas that move between brokers or between log dirs, brokers
that shut down, and the throttles that hold copies back.
"""

from collections import deque
from typing import Final, NamedTuple

from kafka_edu.trace.event import Envelope
from kafka_edu.trace.events.controller import ControlledShutdownProcessed, ControllerSnapshot
from kafka_edu.trace.events.reassignment import (
    ReassignmentCaughtUp,
    ReassignmentCompleted,
    ReassignmentReplicasStopped,
    ReassignmentSnapshot,
    ReassignmentStarted,
    ReassignmentWaits,
)
from kafka_edu.trace.events.replication import (
    ReplicaMoveCompleted,
    ReplicaMoveEnded,
    ReplicaMoveProgress,
    ReplicaMoveStarted,
    ReplicationQuotaSampled,
    ReplicationThrottleBegan,
    ReplicationThrottleEnded,
)
from kafka_edu.trace.events.server import (
    ControlledShutdownAttempted,
    ServerStarting,
    ServerStopped,
)
from kafka_edu.trace.events.trace import SnapshotBegins, SnapshotEnds

from .broker_view import OLD_US
from .figures import duration, size
from .log_view import LogName, LogsView
from .partition_view import PartitionKey

MOVE_EVENTS: Final = (
    ReplicaMoveStarted,
    ReplicaMoveProgress,
    ReplicaMoveCompleted,
    ReplicaMoveEnded,
    ReassignmentStarted,
    ReassignmentWaits,
    ReassignmentCaughtUp,
    ReassignmentReplicasStopped,
    ReassignmentCompleted,
    ReassignmentSnapshot,
    ControlledShutdownAttempted,
    ControlledShutdownProcessed,
    ServerStopped,
)
THROTTLE_EVENTS: Final = (
    ReplicationQuotaSampled,
    ReplicationThrottleBegan,
    ReplicationThrottleEnded,
)
KEPT: Final = 40
"""The maximum number of finished moves that are shown."""
UNKNOWN: Final = -1
NO_BOUND: Final = 2**63 - 1
_RATE_US: Final = 5_000_000
"""The rate of a copy is measured over this time, in µs."""
_KEPT_STEPS: Final = 40
LOG_DIR, BROKERS, SHUTDOWN = "log dir", "brokers", "shutdown"
DONE: Final = "done"


class Step(NamedTuple):
    """The beginning of one phase of a move."""

    at_us: int
    words: str
    envelope: Envelope | None
    """The event that began the phase. None if it began before the dashboard was opened."""


class Move:
    """One move. `broker` is the broker with the log dirs, or the broker that shuts down. For a move
    between brokers it is UNKNOWN.
    """

    def __init__(self, kind: str, name: str, broker: int, at_us: int) -> None:
        self.kind = kind
        self.name = name
        self.broker = broker
        self.began_us = at_us
        self.key: PartitionKey | None = None
        self.route = ""
        """The source and the target of the move, in words."""
        self.replicas: tuple[int, ...] = ()
        """In a move between brokers: the brokers of all replicas, including those to add or
        remove.
        """
        self.adding: tuple[int, ...] = ()
        self.steps: list[Step] = []
        self.ended_us = UNKNOWN
        self.failed = ""
        """Why the move failed or was cancelled. Empty if the move runs or is done."""
        self.at_least = False
        """Whether the move had begun before the dashboard was opened."""
        self.total = UNKNOWN
        """The number of bytes to copy, or UNKNOWN."""
        self.copied = UNKNOWN
        self.left = UNKNOWN
        """In a shutdown: the number of partitions that the broker still leads."""
        self.throttled = False
        self._samples: deque[tuple[int, int]] = deque(maxlen=64)

    @property
    def runs(self) -> bool:
        return self.ended_us == UNKNOWN

    def step(self, envelope: Envelope, words: str) -> None:
        """Record that a phase began, unless it is the present phase."""
        if not self.steps or self.steps[-1].words != words:
            self.steps.append(Step(envelope.mono_us, words, envelope))
            del self.steps[:-_KEPT_STEPS]

    def end(self, envelope: Envelope, failed: str = "") -> None:
        """Record the end of the move."""
        self.ended_us, self.failed, self.throttled = envelope.mono_us, failed, False
        self.step(envelope, failed or DONE)

    def sample(self, at_us: int, copied: int) -> None:
        """Record how many bytes are copied."""
        self.copied = copied
        self._samples.append((at_us, copied))
        while self._samples[0][0] < at_us - _RATE_US and len(self._samples) > 2:
            self._samples.popleft()

    def bytes_left(self) -> int:
        """Return the number of bytes that are still to be copied, or UNKNOWN."""
        return max(self.total - self.copied, 0) if min(self.total, self.copied) >= 0 else UNKNOWN

    def rate(self) -> float:
        """Return the bytes per second over the last seconds, or 0 if that is not known."""
        if len(self._samples) < 2:
            return 0.0
        (first_us, first), (last_us, last) = self._samples[0], self._samples[-1]
        return max(last - first, 0) * 1e6 / (last_us - first_us) if last_us > first_us else 0.0


class Throttle:
    """The throttle of one side of a broker: for bytes sent as leader, or fetched as follower."""

    def __init__(self) -> None:
        self.bound = NO_BOUND
        self.rate = 0
        self.seen_us = UNKNOWN
        """The time of the last event with the rate. Without a throttle the broker sends no
        samples.
        """
        self.holds_since_us = UNKNOWN

    def see(self, rate: int, bound: int, at_us: int) -> None:
        """Record the present rate and its limit."""
        self.rate, self.bound, self.seen_us = rate, bound, at_us

    def shown(self, now_us: int) -> bool:
        """Return whether there is a throttle now."""
        is_on = self.bound != NO_BOUND or self.holds_since_us != UNKNOWN
        return is_on and now_us - self.seen_us <= OLD_US


class MovesView:
    """All moves. They change only through `apply`, after the logs' view has got the same event."""

    READS: Final = frozenset(
        {
            *MOVE_EVENTS,
            *THROTTLE_EVENTS,
            ServerStarting,
            SnapshotBegins,
            ControllerSnapshot,
            SnapshotEnds,
        }
    )
    """The types of event that change this view."""

    def __init__(self, logs: LogsView) -> None:
        self._logs = logs
        self.now_us = 0
        self.running: dict[str, Move] = {}
        self.finished: deque[Move] = deque(maxlen=KEPT)
        """The finished moves, the newest first."""
        self.throttles: dict[tuple[int, str], Throttle] = {}
        """(broker, leader or follower) → its throttle."""
        self._in_snapshot: dict[int, set[str]] = {}
        """Active controller → the reassignments in its snapshot that is being received."""

    def advance(self, now_us: int) -> None:
        """Move time forward, never back."""
        self.now_us = max(self.now_us, now_us)

    def moves(self) -> list[Move]:
        """Return the moves that run, the oldest first, and then the finished ones."""
        return [*self.running.values(), *self.finished]

    def apply(self, envelope: Envelope) -> None:
        """Update the view with one event. O(1); the end of a snapshot costs O(moves)."""
        broker, event = envelope.broker, envelope.event
        if broker is None:
            return
        if isinstance(event, THROTTLE_EVENTS):
            self._throttle(broker, envelope)
            return
        match event:
            case ReplicaMoveStarted() | ReplicaMoveProgress():
                self._copied(broker, envelope)
            case ReplicaMoveCompleted() as e:
                self._end(_dir_name(broker, e), envelope)
            case ReplicaMoveEnded() as e:
                self._end(_dir_name(broker, e), envelope, f"ended: {e.reason}")
            case ControlledShutdownAttempted() | ServerStopped() | ServerStarting():
                self._shutdown(broker, envelope)
            case ControlledShutdownProcessed() as e:
                move = self.running.get(_shutdown_name(e.broker_id))
                if move is not None:
                    move.left = e.remaining
            case SnapshotBegins():
                self._in_snapshot.pop(broker, None)
            case ControllerSnapshot(active=True):
                self._in_snapshot[broker] = set()
            case SnapshotEnds():
                self._forget_others(broker)
            case _:
                self._reassignment(broker, envelope)

    def _begin(
        self, kind: str, name: str, broker: int, envelope: Envelope, key: PartitionKey | None
    ) -> Move:
        move = self.running.get(name)
        if move is None:
            move = self.running[name] = Move(kind, name, broker, envelope.mono_us)
            move.key = key
        return move

    def _end(self, name: str, envelope: Envelope, failed: str = "") -> None:
        move = self.running.pop(name, None)
        if move is not None:
            move.end(envelope, failed)
            if not failed and move.total >= 0:
                move.copied = move.total
            self.finished.appendleft(move)

    def _copied(self, broker: int, envelope: Envelope) -> None:
        match envelope.event:
            case ReplicaMoveStarted() as e:
                key = PartitionKey(e.topic, e.partition)
                move = self._begin(LOG_DIR, _dir_name(broker, e), broker, envelope, key)
                move.route = f"{e.from_dir} → {e.to_dir}"
                move.total = e.size
                move.step(envelope, "copies" if not e.resumed else "continues after a start")
            case ReplicaMoveProgress() as e:
                key = PartitionKey(e.topic, e.partition)
                is_new = _dir_name(broker, e) not in self.running
                move = self._begin(LOG_DIR, _dir_name(broker, e), broker, envelope, key)
                if is_new:
                    move.at_least, move.route = True, f"→ {e.to_dir}"
                log = self._logs.by_name.get(LogName(broker, key))
                if log is not None:
                    move.total = max(log.size, e.copied_bytes)
                move.throttled = e.throttled
                move.sample(envelope.mono_us, e.copied_bytes)
            case _:
                pass

    def _reassignment(self, broker: int, envelope: Envelope) -> None:
        match envelope.event:
            case ReassignmentStarted() as e:
                move = self._of_brokers(envelope, e.topic, e.partition)
                move.replicas, move.adding = e.replicas, e.adding
                move.route = f"brokers {_list(e.before)} → {_list(e.replicas, e.removing)}"
                move.step(envelope, f"U: znode has both lists, by {e.ordered_by}")
            case ReassignmentSnapshot() as e:
                name = _brokers_name(PartitionKey(e.topic, e.partition))
                is_new = name not in self.running
                self._in_snapshot.get(broker, set()).add(name)
                move = self._of_brokers(envelope, e.topic, e.partition)
                if is_new:
                    before = tuple(b for b in e.replicas if b not in e.adding)
                    move.at_least = True
                    move.route = f"brokers {_list(before)} → {_list(e.replicas, e.removing)}"
                move.replicas, move.adding = e.replicas, e.adding
            case ReassignmentWaits() as e:
                move = self._of_brokers(envelope, e.topic, e.partition)
                move.step(envelope, f"A: waits for {_brokers(e.missing)} to join the ISR")
            case ReassignmentCaughtUp() as e:
                move = self._of_brokers(envelope, e.topic, e.partition)
                move.step(envelope, "B: all of the target are in the ISR")
            case ReassignmentReplicasStopped() as e:
                move = self._of_brokers(envelope, e.topic, e.partition)
                move.step(envelope, f"{_brokers(e.replicas)} must delete the replica")
            case ReassignmentCompleted() as e:
                self._end(_brokers_name(PartitionKey(e.topic, e.partition)), envelope)
            case _:
                pass

    def _forget_others(self, controller: int) -> None:
        """Forget the reassignments that the controller's complete snapshot does not contain.

        They ended while the dashboard got no events.
        """
        named = self._in_snapshot.pop(controller, None)
        if named is not None:
            self.running = {
                name: move
                for name, move in self.running.items()
                if move.kind != BROKERS or name in named
            }

    def _of_brokers(self, envelope: Envelope, topic: str, partition: int) -> Move:
        key = PartitionKey(topic, partition)
        return self._begin(BROKERS, _brokers_name(key), UNKNOWN, envelope, key)

    def _shutdown(self, broker: int, envelope: Envelope) -> None:
        name = _shutdown_name(broker)
        match envelope.event:
            case ControlledShutdownAttempted() as e:
                move = self._begin(SHUTDOWN, name, broker, envelope, None)
                move.route = f"controlled shutdown, controller broker {e.controller_id}"
                move.left = e.partitions_remaining
                failed = f": {e.error}" if e.error and e.error != "NONE" else ""
                left = f", {e.partitions_remaining:,} leaders left" if not failed else ""
                move.step(envelope, f"attempt {e.attempt}{failed}{left}")
            case ServerStopped() as e:
                self._end(name, envelope, "" if e.clean else "ended, not clean")
            case _:  # the broker starts: the end of its shutdown was not seen
                self.running.pop(name, None)

    def _throttle(self, broker: int, envelope: Envelope) -> None:
        match envelope.event:
            case ReplicationQuotaSampled() as e:
                self._throttle_of(broker, e.side).see(e.rate, e.bound, envelope.mono_us)
            case ReplicationThrottleBegan() as e:
                known = self._throttle_of(broker, e.side)
                known.see(e.rate, e.bound, envelope.mono_us)
                known.holds_since_us = envelope.mono_us
            case ReplicationThrottleEnded() as e:
                known = self._throttle_of(broker, e.side)
                known.bound, known.holds_since_us = e.bound, UNKNOWN
            case _:
                pass

    def _throttle_of(self, broker: int, side: str) -> Throttle:
        return self.throttles.setdefault((broker, side), Throttle())

    def progress(self, move: Move) -> tuple[int, int]:
        """Return (bytes copied, bytes to copy). A number may be UNKNOWN. O(segments).

        In a move between brokers, these are the sizes of two logs: the smallest log of the added
        replicas, and the largest log of the other replicas.
        """
        if move.kind != BROKERS or move.key is None or not move.runs:
            return move.copied, move.total
        logs = {broker: LogName(broker, move.key) for broker in move.replicas}
        sizes = {
            broker: self._logs[name].size
            for broker, name in logs.items()
            if name in self._logs.by_name
        }
        added = [sizes[broker] for broker in move.adding if broker in sizes]
        there = [size_ for broker, size_ in sizes.items() if broker not in move.adding]
        if not added or not there:
            return UNKNOWN, max(there, default=UNKNOWN)
        return min(added), max(max(there), min(added))

    def answer(self, silence: str = "") -> tuple[str, str]:
        """Return what moves: a kind (`ok` or `warning`) and a sentence.

        `silence` says which running brokers have sent nothing for some time. It is "" if there are
        none.
        """
        if not self.running and silence:
            return "warning", f"? {silence}: what moves now is not known"
        if not self.running:
            return "ok", "nothing moves"
        moves = list(self.running.values())
        held = [move for move in moves if move.throttled]
        first = held[0] if held else moves[0]
        copied, total = self.progress(first)
        words = f"{first.name}: {first.route}"
        if min(copied, total) >= 0 and total > copied:
            words += f", {size(total - copied)} left"
            if first.rate() > 0:
                left_ms = 1000 * (total - copied) / first.rate()
                words += f", {duration(left_ms)} at {size(first.rate())}/s"
        if first.kind == SHUTDOWN and first.left > 0:
            words += f", {first.left:,} leaders left"
        more = f" · {len(moves) - 1} more" if len(moves) > 1 else ""
        words += (" · throttled" if held else "") + more
        if silence:
            return "warning", f"? {silence}; then: {words}"
        return ("warning" if held else "ok"), words


def _dir_name(
    broker: int,
    e: ReplicaMoveStarted | ReplicaMoveProgress | ReplicaMoveCompleted | ReplicaMoveEnded,
) -> str:
    return f"{e.topic}-{e.partition} on broker {broker}"


def _brokers_name(key: PartitionKey) -> str:
    return str(key)


def _shutdown_name(broker: int) -> str:
    return f"broker {broker}"


def _list(brokers: tuple[int, ...], without: tuple[int, ...] = ()) -> str:
    return ",".join(str(broker) for broker in brokers if broker not in without)


def _brokers(brokers: tuple[int, ...]) -> str:
    return "broker " + _list(brokers) if len(brokers) == 1 else "brokers " + _list(brokers)
