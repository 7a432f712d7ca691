"""A bucket of a timing wheel, as a circular doubly linked list of tasks (环形双向链表).

(Kafka: TimerTaskList.scala, TimerTaskEntry.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from kafka_edu.timer.timer_task import TimerTask

NOT_QUEUED: Final = -1
"""The value of `expiration_ms` for a bucket that is not in the delay queue."""


class TimerTaskEntry:
    """One entry of the list: a task and its deadline (`expiration_ms`, on the timer's clock).

    The deadline stays the same when the entry moves from wheel to wheel. An entry is cancelled if
    its task refers to a different entry, or to no entry. `next` and `prev` are valid only while
    `bucket` is set. After an entry is removed, its old `next` and `prev` are no longer read.
    """

    __slots__ = ("bucket", "expiration_ms", "next", "prev", "task")

    next: TimerTaskEntry
    prev: TimerTaskEntry

    def __init__(self, task: TimerTask, expiration_ms: int) -> None:
        if task.entry is not None:  # added again: the old entry is removed
            task.cancel()
        task.entry = self
        self.task = task
        self.expiration_ms = expiration_ms
        self.bucket: TimerTaskList | None = None

    @property
    def cancelled(self) -> bool:
        return self.task.entry is not self

    def leave(self) -> None:
        """Remove this entry from its bucket, because the task was cancelled. O(1)."""
        bucket = self.bucket
        if bucket is not None:
            bucket.remove(self)
            if bucket.on_cancelled is not None:
                bucket.on_cancelled(self, bucket)


class TimerTaskList:
    """The tasks of one bucket (时间格) of one wheel.

        root ⇄ first ⇄ second ⇄ … ⇄ last ⇄ root

    The root has no task, and in an empty list the root is linked to itself. So `add` and `remove`
    need no special case; both are O(1) and allocate nothing. Always true: `size` is the number of
    entries, and each entry has this list as its `bucket`.

    The delay queue holds buckets, not tasks. `expiration_ms` is the start of the time span that the
    bucket covers, or NOT_QUEUED. Within one turn of the wheel `expiration_ms` is the same for all
    tasks of a bucket. A new value means that the bucket is used again and must be queued again. The
    TimingWheel owns its buckets. Next: `DelayQueue.offer` (delay_queue.py).
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
        """Called with each entry that `TimerTask.cancel` has removed, and with this bucket.

        The timer passes a function that emits the event.
        """
        self._root = root = TimerTaskEntry(TimerTask(0), NOT_QUEUED)
        root.next = root.prev = root

    def add(self, entry: TimerTaskEntry) -> None:
        """Append `entry`, which must be in no list. O(1)."""
        root = self._root
        tail = root.prev
        entry.next = root
        entry.prev = tail
        entry.bucket = self
        tail.next = root.prev = entry
        self.size += 1

    def remove(self, entry: TimerTaskEntry) -> None:
        """Remove `entry` if it is in this list. O(1)."""
        if entry.bucket is self:
            before = entry.prev
            after = entry.next
            before.next = after
            after.prev = before
            entry.bucket = None
            self.size -= 1

    def flush(self) -> list[TimerTaskEntry]:
        """Remove and return all entries, first to last, and clear the expiration. O(size).

        The returned entries are in no list. Before the caller processes an entry, it must check
        whether the entry was cancelled.
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
        """Yield the entries from first to last. The list must not change meanwhile."""
        entry = self._root.next
        while entry is not self._root:
            yield entry
            entry = entry.next
