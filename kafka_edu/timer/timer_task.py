"""What a timer runs when time is up (Kafka: TimerTask.scala)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kafka_edu.timer.timer_task_list import TimerTaskEntry


class TimerTask:
    """A task (定时任务) that is to run `delay_ms` after it is added to a timer.

    While it waits it knows its entry in the wheel, and so can be cancelled in O(1), without a
    search. A task added again moves: the entry it had is taken out. Subclasses override `run`, and
    `label` for whoever watches. Owned by whoever owns the timer. Next hop: SystemTimer.add.
    """

    __slots__ = ("delay_ms", "entry")

    def __init__(self, delay_ms: int) -> None:
        self.delay_ms = delay_ms
        self.entry: TimerTaskEntry | None = None
        """The place in the wheel; None before it is added, after it has run, and when it was
        cancelled.
        """

    @property
    def label(self) -> str:
        """What events call this task; made only when somebody watches."""
        return type(self).__name__

    def run(self) -> None:
        """Called once by the timer when the time is up, unless cancelled before."""
        raise NotImplementedError(
            f"{type(self).__name__}.run says what happens when the time is up"
        )

    def cancel(self) -> None:
        """Never run. O(1); nothing happens if it has run, or was cancelled, or never was added."""
        entry = self.entry
        if entry is not None:
            self.entry = None
            bucket = entry.bucket
            if bucket is not None:
                bucket.remove(entry)
                if bucket.on_cancelled is not None:
                    bucket.on_cancelled(entry, bucket)
