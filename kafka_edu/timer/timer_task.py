"""A task that a timer runs at the task's deadline (Kafka: TimerTask.scala)."""

from typing import Protocol


class Place(Protocol):
    """The interface of a waiting task's place in a timer; `TimerTaskEntry` implements it."""

    def leave(self) -> None:
        """Take the task out of its bucket, because it was cancelled. O(1)."""
        ...


class TimerTask:
    """A task (定时任务) that runs `delay_ms` after it is added to a timer.

    While the task waits, it has a reference to its entry in the wheel, so it can be cancelled in
    O(1) without a search. If a waiting task is added again, its old entry is removed. Subclasses
    override `run`, and `label` for the trace. Next: `SystemTimer.add` (system_timer.py).
    """

    __slots__ = ("delay_ms", "entry")

    def __init__(self, delay_ms: int) -> None:
        self.delay_ms = delay_ms
        self.entry: Place | None = None
        """The task's place in the wheel.

        It is None before the task is added, after it has run, and after it was cancelled.
        """

    @property
    def label(self) -> str:
        """The task's name in events; computed only when an event needs it."""
        return type(self).__name__

    def run(self) -> None:
        """Run the task. The timer calls this once, unless the task was cancelled before."""
        raise NotImplementedError(f"{type(self).__name__} must define `run`")

    def cancel(self) -> None:
        """Make sure that this task will not run. O(1).

        Nothing happens if the task has run, was cancelled before, or was never added.
        """
        entry = self.entry
        if entry is not None:
            self.entry = None
            entry.leave()
