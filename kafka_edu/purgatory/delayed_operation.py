"""A delayed operation: its response must wait until a condition holds (延时操作).

(Kafka: DelayedOperation.scala; book §6.3.)
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from enum import StrEnum
from typing import ClassVar, Protocol

from kafka_edu.timer.timer_task import TimerTask
from kafka_edu.trace.event import Level
from kafka_edu.trace.events.purgatory import Requirement


class CompletedBy(StrEnum):
    """The cause that completed a delayed operation."""

    AT_ONCE = "at once"
    """The operation did not wait, because its conditions held from the beginning."""
    EVENT = "event"
    """An event under one of the operation's keys completed it (外部事件)."""
    TIMEOUT = "time-out"
    FORCED = "forced"
    """Other code completed it, because the broker stops or the partition is gone."""


class CompletionDoor(Protocol):
    """The interface through which an operation is completed; the purgatory implements it.

    The purgatory counts each completion and emits an event about it.
    """

    def complete(self, operation: DelayedOperation) -> None:
        """Emit the completion as an event, and call the operation's `on_complete`."""
        ...


class Requester(Protocol):
    """The request for which an operation waits, with the data that events show about it."""

    @property
    def client_id(self) -> str: ...

    @property
    def correlation_id(self) -> int: ...


class DelayedOperation(TimerTask):
    """An operation that completes exactly once: by an event, by its time-out, or by other code.

    Whichever comes first completes it. A subclass defines what the operation waits for:

    - `try_complete`: if the conditions hold now, `return self.force_complete()`; otherwise return
      False. The purgatory calls this method at each event of one of the operation's keys.
    - `on_complete`: send the response. Called once, whatever completed the operation.
    - `on_expiration`: called after `on_complete` if the time-out completed the operation. Most
      subclasses only count these calls.
    - `why_waiting`: return what the operation still waits for, in numbers. Called only for the
      trace.

    A plain timer task (定时任务) is different, because only time completes it. An operation may be
    complete long before its time-out.

    `delay_ms` is the time-out. For a produce it is the request's timeout_ms, 30,000 by default. For
    a fetch it is fetch.max.wait.ms, 500 by default. The operation itself is the timer's task, so a
    completion also cancels the task, in O(1). Always true: `completed` becomes True once, and from
    then on the operation is in no timer. Only one event loop uses the operation. Next:
    `DelayedOperationPurgatory.try_complete_else_watch` (delayed_operation_purgatory.py).
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
        """The keys under which the purgatory watches the operation; the purgatory sets them."""
        self.number = 0
        """The operation's number in its purgatory, from 1 on; events name it."""
        self.on_failure: Callable[[Exception], None] | None = None
        """Called with an unexpected exception, for which there is no error code.

        This function must fail the request that waits for this operation. None: there is no single
        such request.
        """
        self.requester: Requester | None = None
        """The request that waits for this operation. None: there is no single such request."""
        self.watched_ms = 0
        """The monotonic time in ms when the purgatory received the operation."""

    def try_complete(self) -> bool:
        """Complete the operation if its conditions hold now.

        Returns whether this call completed it.
        """
        raise NotImplementedError(f"{type(self).__name__} must define `try_complete`")

    def on_complete(self) -> None:
        """Send the response, because the operation is complete."""
        raise NotImplementedError(f"{type(self).__name__} must define `on_complete`")

    def on_expiration(self) -> None:
        """React to the time-out; most subclasses do nothing or count it."""

    def why_waiting(self) -> tuple[Requirement, ...]:
        """Return what the operation still waits for; empty if the subclass does not say."""
        return ()

    def ended_by(self, by: CompletedBy, key: Hashable | None) -> str:
        """Return in a few words what ended the operation. The same cause always gives the same
        words.

        `key` is the key whose event completed it. Called only if there is a trace, after the last
        `try_complete`.
        """
        return by.value

    def is_news(self) -> bool:
        """Return whether the completion event is always emitted, even after a short wait.

        Called only if there is a trace.
        """
        return False

    def tell_cause(self, key: Hashable | None, level: Level) -> int:
        """Emit the event that caused this completion, for example a move of the high watermark.

        Returns the number of that event, or 0. Not every event of this kind is in the trace, so the
        event is emitted when it completes an operation. `key` is the key whose event completes the
        operation; None if it is completed at once. `level` is the trace level of the completion.
        Not called for a time-out.
        """
        return 0

    def force_complete(self) -> bool:
        """Complete the operation, even if its conditions do not hold. O(1).

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
        """Complete the operation because its time-out is over. The timer calls this method."""
        try:
            if self.force_complete():
                self.on_expiration()
        except Exception as error:
            self.fail(error)

    def fail(self, error: Exception) -> None:
        """End the operation because of a bug in `try_complete` or `on_complete`.

        The request that waits for this operation fails, not the request that is handled now. If no
        single request waits for the operation, `error` is raised again.
        """
        self.completed = True
        self.cancel()
        if self.on_failure is None:
            raise error
        self.on_failure(error)
