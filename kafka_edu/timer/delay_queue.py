"""The queue of a timer's buckets, in order of the times when they are due.

(Kafka: java.util.concurrent.DelayQueue.)
"""

from collections.abc import Callable
from heapq import heappop, heappush

from kafka_edu.timer.timer_task_list import TimerTaskList


class DelayQueue:
    """Buckets in order of their expiration (spec T2).

    With this queue, the clock jumps to the next bucket. It need not look at every empty tick.

    The queue is a heap, so `offer` and `poll` are O(log buckets). They are needed only for the
    first task of a bucket. Each level has at most `wheel_size` buckets, for any number of tasks.
    Buckets with the same expiration leave in the order in which they entered. A bucket whose tasks
    were all cancelled stays until it is due. SystemTimer owns the queue, and all its wheels use it.
    Next: ExpiredOperationReaper, which sleeps until the first bucket is due.
    """

    __slots__ = ("_count", "_heap", "on_earlier")

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, TimerTaskList]] = []
        self._count = 0
        self.on_earlier: Callable[[], None] | None = None
        """Called when a bucket enters that is due before all others.

        Code that sleeps until the first bucket is due must wake up then.
        """

    def offer(self, bucket: TimerTaskList) -> None:
        """Insert a bucket whose `expiration_ms` has just been set. O(log buckets)."""
        self._count += 1
        heap = self._heap
        earlier = not heap or bucket.expiration_ms < heap[0][0]
        heappush(heap, (bucket.expiration_ms, self._count, bucket))
        if earlier and self.on_earlier is not None:
            self.on_earlier()

    def poll(self, now_ms: int) -> tuple[int, TimerTaskList] | None:
        """Remove the first bucket if it is due at `now_ms`; return (expiration in ms, bucket).

        Returns None if no bucket is due.
        """
        heap = self._heap
        if not heap or heap[0][0] > now_ms:
            return None
        expiration_ms, _, bucket = heappop(heap)
        return expiration_ms, bucket

    def peek(self) -> TimerTaskList | None:
        """Return the bucket that is due next, or None. O(1)."""
        return self._heap[0][2] if self._heap else None

    def next_expiration_ms(self) -> int | None:
        """Return the time in ms when the next bucket is due, or None. O(1)."""
        return self._heap[0][0] if self._heap else None

    def __len__(self) -> int:
        return len(self._heap)
