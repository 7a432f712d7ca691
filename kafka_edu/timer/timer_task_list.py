"""A bucket of the wheel: a circular doubly linked list with a sentinel root (Kafka:
TimerTaskList.scala, TimerTaskEntry; 环形双向链表).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from kafka_edu.timer.timer_task import TimerTask

NOT_QUEUED: Final = -1
"""The expiration of a bucket that is not in the delay queue."""


class TimerTaskEntry:
    """One link of the list: a task and its deadline, `expiration_ms` on the timer's clock.

    The deadline stays the same however often the entry moves from wheel to wheel. An entry whose
    task knows another entry, or none, is cancelled. `next` and `prev` mean something only while
    `bucket` is set: an entry that was taken out keeps them, and nobody looks.
    """

    __slots__ = ("bucket", "expiration_ms", "next", "prev", "task")

    next: TimerTaskEntry
    prev: TimerTaskEntry

    def __init__(self, task: TimerTask, expiration_ms: int) -> None:
        if task.entry is not None:  # added a second time: it moves
            task.cancel()
        task.entry = self
        self.task = task
        self.expiration_ms = expiration_ms
        self.bucket: TimerTaskList | None = None

    @property
    def cancelled(self) -> bool:
        return self.task.entry is not self


class TimerTaskList:
    """The tasks of one bucket (时间格) of one wheel.

        root ⇄ first ⇄ second ⇄ … ⇄ last ⇄ root

    The root holds no task; an empty list is the root linked to itself, so that add and remove know
    no special case. Both O(1) and both allocate nothing. Invariant: `size` is the number of
    entries, and each of them has this list as its `bucket`. A bucket, not a task, is what waits in
    the delay queue: `expiration_ms` is the start of the time it covers, or NOT_QUEUED. Within one
    turn of the wheel every task of a bucket brings the same expiration; a new one means that the
    bucket is used again, and has to be queued again. Owned by its TimingWheel. Next hop:
    DelayQueue.
    """

    __slots__ = ("_root", "expiration_ms", "level", "on_cancelled", "size", "slot")

    def __init__(
        self,
        level: int = 1,
        slot: int = 0,
        on_cancelled: Callable[[TimerTaskEntry, TimerTaskList], None] | None = None,
    ) -> None:
        self.level = level
        self.slot = slot
        self.expiration_ms = NOT_QUEUED
        self.size = 0
        self.on_cancelled = on_cancelled
        """Told of each entry that a task's `cancel` took out: the timer's door."""
        self._root = root = TimerTaskEntry(TimerTask(0), NOT_QUEUED)
        root.next = root.prev = root

    def add(self, entry: TimerTaskEntry) -> None:
        """Link `entry`, which must be in no list, in at the end. O(1)."""
        root = self._root
        tail = root.prev
        entry.next = root
        entry.prev = tail
        entry.bucket = self
        tail.next = root.prev = entry
        self.size += 1

    def remove(self, entry: TimerTaskEntry) -> None:
        """Unlink `entry` if it is in this list. O(1)."""
        if entry.bucket is self:
            before = entry.prev
            after = entry.next
            before.next = after
            after.prev = before
            entry.bucket = None
            self.size -= 1

    def flush(self) -> list[TimerTaskEntry]:
        """Take all entries out, first to last, each in no list, and forget the expiration. O(size).

        Who has them now must skip those that are cancelled in the meantime.
        """
        entries: list[TimerTaskEntry] = []
        root = self._root
        entry = root.next
        while entry is not root:
            entry.bucket = None
            entries.append(entry)
            entry = entry.next
        root.next = root.prev = root
        self.size = 0
        self.expiration_ms = NOT_QUEUED
        return entries

    def __iter__(self) -> Iterator[TimerTaskEntry]:
        """First to last. The list must not change meanwhile."""
        entry = self._root.next
        while entry is not self._root:
            yield entry
            entry = entry.next
