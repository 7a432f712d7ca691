"""The queue of buckets that wait for their time (Kafka uses java.util.concurrent.DelayQueue)."""

from collections.abc import Callable
from heapq import heappop, heappush

from kafka_edu.timer.timer_task_list import TimerTaskList


class DelayQueue:
    """Buckets in order of their expiration: what lets the clock jump to the next bucket instead of
    looking at each empty tick (spec T2).

    A heap, O(log buckets): but only a bucket's first task pays it, and there are at most
    `wheel_size` buckets a level, however many tasks. Buckets of one time come in the order in which
    they were put in. A bucket whose tasks were all cancelled stays until its time. Owned by
    SystemTimer; shared by its wheels. Next hop: ExpiredOperationReaper, which waits for the head.
    """

    __slots__ = ("_count", "_heap", "on_earlier")

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, TimerTaskList]] = []
        self._count = 0
        self.on_earlier: Callable[[], None] | None = None
        """Called when a bucket comes in that is due before all others: who sleeps until the head
        must wake.
        """

    def offer(self, bucket: TimerTaskList) -> None:
        """Put in a bucket whose expiration has just been set."""
        self._count += 1
        heap = self._heap
        earlier = not heap or bucket.expiration_ms < heap[0][0]
        heappush(heap, (bucket.expiration_ms, self._count, bucket))
        if earlier and self.on_earlier is not None:
            self.on_earlier()

    def poll(self, now_ms: int) -> tuple[int, TimerTaskList] | None:
        """Take out the first bucket that is due at `now_ms`, with its expiration; None if none
        is.
        """
        heap = self._heap
        if not heap or heap[0][0] > now_ms:
            return None
        expiration_ms, _, bucket = heappop(heap)
        return expiration_ms, bucket

    def peek(self) -> TimerTaskList | None:
        """The bucket that is due next. O(1)."""
        return self._heap[0][2] if self._heap else None

    def next_expiration_ms(self) -> int | None:
        """When the next bucket is due. O(1)."""
        return self._heap[0][0] if self._heap else None

    def __len__(self) -> int:
        return len(self._heap)
