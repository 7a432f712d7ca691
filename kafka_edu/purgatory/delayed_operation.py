"""An operation whose answer has to wait (Kafka: DelayedOperation.scala; book §6.3; 延时操作)."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from enum import StrEnum
from typing import ClassVar, Protocol

from kafka_edu.timer.timer_task import TimerTask
from kafka_edu.trace.events.purgatory import Requirement


class CompletedBy(StrEnum):
    """What completed an operation."""

    AT_ONCE = "at once"
    """It had not to wait at all."""
    EVENT = "event"
    """Something happened under one of its keys (外部事件)."""
    TIMEOUT = "time-out"
    FORCED = "forced"
    """By the code that owns it: the broker stops, the partition is gone."""


class CompletionDoor(Protocol):
    """Through which every completion goes: the purgatory, which counts and tells."""

    def complete(self, operation: DelayedOperation) -> None:
        """Tell of the completion and call the operation's `on_complete`."""
        ...


class DelayedOperation(TimerTask):
    """Completes exactly once: by an event, by its time-out, or by force; whichever comes first.

    A subclass says what it waits for:
      `try_complete`    if the conditions hold now, `return self.force_complete()`; otherwise False.
      Called at each event of a key.
      `on_complete`     answers. Called once, however it was completed.
      `on_expiration`   called after `on_complete` when it was the time-out: counts, mostly.
      `why_waiting`     what is still missing, in numbers; asked only when somebody looks.
    A timer task differs (定时任务): it has nothing but its time. An operation may be done
    long before.

    `delay_ms` is the time-out (for a produce its timeout_ms, 30,000 by default; for a fetch
    fetch.max.wait.ms, 500). It is the timer's task itself, so to complete it is to cancel it, in
    O(1). Invariant: `completed` turns True once; then the operation is in no timer. Owned by one
    loop. Next hop: DelayedOperationPurgatory.
    """

    __slots__ = ("completed", "door", "keys", "number", "on_failure", "watched_ms")

    patient: ClassVar[bool] = False
    """Whether it waits because its client asked for it (a fetch, a heartbeat). Then a long wait is
    nothing to tell.
    """

    def __init__(self, delay_ms: int) -> None:
        super().__init__(delay_ms)
        self.completed = False
        self.door: CompletionDoor | None = None
        """The purgatory that it was given to."""
        self.keys: tuple[Hashable, ...] = ()
        """What it is watched under; set by the purgatory."""
        self.number = 0
        """Its number in that purgatory, from 1: by this events are matched."""
        self.on_failure: Callable[[Exception], None] | None = None
        """Whom to tell of an exception that no error code foresees: the request that this operation
        answers. None: there is no one request.
        """
        self.watched_ms = 0
        """Since when the purgatory has it."""

    def try_complete(self) -> bool:
        """Complete it if that is possible now; returns whether this very call completed it."""
        raise NotImplementedError(f"{type(self).__name__}.try_complete says when the wait is over")

    def on_complete(self) -> None:
        """Give the answer."""
        raise NotImplementedError(f"{type(self).__name__}.on_complete gives the answer")

    def on_expiration(self) -> None:
        """It was the time-out. Nothing more to do, unless a subclass counts it."""

    def why_waiting(self) -> tuple[Requirement, ...]:
        """What is missing now; empty if the subclass cannot say."""
        return ()

    def is_news(self) -> bool:
        """Return whether its completion is a fact however short the wait was. Called only while
        somebody watches.
        """
        return False

    def tell_cause(self, key: Hashable | None) -> int:
        """Emit the facts that complete it now, where they are left out at level `state`; return the
        last one's number, or 0.

        `key` is the one whose event completes it; None if it is completed at once. Not called for a
        time-out.
        """
        return 0

    def force_complete(self) -> bool:
        """Complete it, whatever its conditions say. Returns False, and does nothing, if it was
        completed before. O(1).
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
        """The timer says that the time is up."""
        try:
            if self.force_complete():
                self.on_expiration()
        except Exception as error:
            self.fail(error)

    def fail(self, error: Exception) -> None:
        """A bug showed while this operation was tried or completed. It is over, and costs the
        request behind it, not the one being worked on.

        Raises `error` again if there is no such request.
        """
        self.completed = True
        self.cancel()
        if self.on_failure is None:
            raise error
        self.on_failure(error)
