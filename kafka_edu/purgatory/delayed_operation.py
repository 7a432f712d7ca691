"""An operation whose response has to wait (Kafka: DelayedOperation.scala; book §6.3; 延时操作)."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from enum import StrEnum
from typing import ClassVar, Protocol

from kafka_edu.timer.timer_task import TimerTask
from kafka_edu.trace.event import Level
from kafka_edu.trace.events.purgatory import Requirement


class CompletedBy(StrEnum):
    """The cause that completed an operation."""

    AT_ONCE = "at once"
    """It did not have to wait at all."""
    EVENT = "event"
    """Something happened under one of its keys (外部事件)."""
    TIMEOUT = "time-out"
    FORCED = "forced"
    """The code that owns it completed it: the broker stops, or the partition is gone."""


class CompletionDoor(Protocol):
    """The one place through which every completion goes: the purgatory.

    It counts the completion and emits the event.
    """

    def complete(self, operation: DelayedOperation) -> None:
        """Emit the completion and call the operation's `on_complete`."""
        ...


class Requester(Protocol):
    """The request that an operation answers, as far as people need to know it."""

    @property
    def client_id(self) -> str: ...

    @property
    def correlation_id(self) -> int: ...


class DelayedOperation(TimerTask):
    """An operation that completes exactly once: by an event, by its time-out, or by force.

    The first of them completes it. A subclass defines what it waits for:

    - `try_complete`: if the conditions hold now, `return self.force_complete()`; otherwise return
      False. The purgatory calls it at each event of a key.
    - `on_complete`: send the response. Called once, whatever completed the operation.
    - `on_expiration`: called after `on_complete` if the time-out completed the operation. Mostly it
      counts.
    - `why_waiting`: return what is still missing, in numbers. Called only for the trace.

    A plain timer task (定时任务) is different: only time completes it. An operation may be complete
    long before its time.

    `delay_ms` is the time-out: for a produce its timeout_ms, 30,000 by default; for a fetch
    fetch.max.wait.ms, 500 by default. The operation itself is the timer's task, so completing it
    also cancels it, in O(1). Invariant: `completed` becomes True once, and from then on the
    operation is in no timer. Owned by one event loop. Next hop: DelayedOperationPurgatory.
    """

    __slots__ = ("completed", "door", "keys", "number", "on_failure", "requester", "watched_ms")

    patient: ClassVar[bool] = False
    """Whether the operation waits because its client wants to wait (a fetch, a heartbeat).

    A long wait of such an operation is normal, so it is not reported as slow.
    """

    def __init__(self, delay_ms: int) -> None:
        super().__init__(delay_ms)
        self.completed = False
        self.door: CompletionDoor | None = None
        """The purgatory that holds the operation."""
        self.keys: tuple[Hashable, ...] = ()
        """The keys under which it is watched; set by the purgatory."""
        self.number = 0
        """Its number in that purgatory, from 1; events about the operation carry it."""
        self.on_failure: Callable[[Exception], None] | None = None
        """Called with an exception that no error code covers.

        It fails the request that this operation answers. None: there is no single such request.
        """
        self.requester: Requester | None = None
        """The request that waits. None: there is no single such request."""
        self.watched_ms = 0
        """The time when the purgatory received it."""

    def try_complete(self) -> bool:
        """Complete the operation if its conditions hold now.

        Returns whether this call completed it.
        """
        raise NotImplementedError(f"{type(self).__name__} must define `try_complete`")

    def on_complete(self) -> None:
        """Send the response."""
        raise NotImplementedError(f"{type(self).__name__} must define `on_complete`")

    def on_expiration(self) -> None:
        """React to the time-out. Does nothing, unless a subclass counts it."""

    def why_waiting(self) -> tuple[Requirement, ...]:
        """Return what is still missing; empty if the subclass does not know."""
        return ()

    def ended_by(self, by: CompletedBy, key: Hashable | None) -> str:
        """Return in a few words what ended the operation; equal causes have equal words.

        `key` is the key whose event completed it. Called only if there is a trace, after the last
        `try_complete`.
        """
        return by.value

    def is_news(self) -> bool:
        """Return whether the completion is worth a fact even after a short wait.

        Called only if there is a trace.
        """
        return False

    def tell_cause(self, key: Hashable | None, level: Level) -> int:
        """Emit the facts that complete the operation now; return the last one's number, or 0.

        These are facts that level `state` leaves out. `key` is the key whose event completes it;
        None if it is completed at once. `level` is that of the completion: only at STATE are they
        emitted again for sinks that have not got them. Not called for a time-out.
        """
        return 0

    def force_complete(self) -> bool:
        """Complete the operation, whatever its conditions say. O(1).

        Returns False, and does nothing, if it was completed before.
        """
        if self.completed:
            return False
        self.completed = True
        self.cancel()
        if self.door is None:
            self.on_complete()
        else:
            self.door.complete(self)
        return True

    def run(self) -> None:
        """Complete the operation because its time is up. The timer calls this."""
        try:
            if self.force_complete():
                self.on_expiration()
        except Exception as error:
            self.fail(error)

    def fail(self, error: Exception) -> None:
        """End the operation because of a bug in `try_complete` or `on_complete`.

        The bug fails the request behind this operation, not the request that is handled now. Raises
        `error` again if there is no such request.
        """
        self.completed = True
        self.cancel()
        if self.on_failure is None:
            raise error
        self.on_failure(error)
