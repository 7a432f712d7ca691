"""The contestants of `kafka-edu bench timer`: five timers with one small interface.

Each timer is used in the way in which its normal users use it.
"""

from __future__ import annotations

import asyncio
import gc
import heapq
import time
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from kafka_edu.timer.system_timer import SystemTimer
from kafka_edu.timer.timer_task import TimerTask


class Operation(TimerTask):
    """A request that waits for an answer or its time-out.

    In the timing wheel, the operation is the task itself, as in Kafka. The other timers call a
    method of the operation, or keep the operation in their heap.
    """

    __slots__ = ("cancelled", "deadline_ms", "handle")

    def __init__(self, delay_ms: int) -> None:
        super().__init__(delay_ms)
        self.handle: asyncio.TimerHandle | None = None
        self.deadline_ms = 0
        self.cancelled = False

    def run(self) -> None:
        self.cancelled = True

    def __lt__(self, other: Operation) -> bool:
        """Return whether this operation is due before the other. A heap needs this order."""
        return self.deadline_ms < other.deadline_ms


class Contestant(Protocol):
    """A timer. `now_ms` is its clock. Each inserted task must be cancelled, or it runs once."""

    def insert(self, operation: Operation) -> None: ...

    def cancel(self, operation: Operation) -> None: ...

    def advance(self, now_ms: int) -> None:
        """Run the tasks that are due now, and drop cancelled entries if the timer does so."""
        ...

    def held(self) -> int:
        """Return the number of entries in the timer, including cancelled ones."""
        ...

    def close(self) -> None: ...


Clock = Callable[[], int]


def real_clock() -> int:
    return time.monotonic_ns() // 1_000_000


class Wheel:
    """The timing wheel of this project."""

    def __init__(self, clock: Clock) -> None:
        self.timer = SystemTimer("bench", clock)

    def insert(self, operation: Operation) -> None:
        self.timer.add(operation)

    def cancel(self, operation: Operation) -> None:
        operation.cancel()

    def advance(self, now_ms: int) -> None:
        self.timer.advance_clock(now_ms)

    def held(self) -> int:
        return self.timer.size

    def close(self) -> None:
        pass


class AsyncioCallLater:
    """asyncio's own timers, which are a heap of handles.

    In each turn of the loop, cancelled handles at the top of the heap are dropped. If more than
    half of all handles are cancelled, all cancelled ones are dropped.
    """

    class Loop(asyncio.SelectorEventLoop):
        """An event loop whose clock is passed to it."""

        def __init__(self, clock: Clock) -> None:
            super().__init__()
            self._now_ms = clock

        def time(self) -> float:
            return self._now_ms() / 1000

    def __init__(self, clock: Clock) -> None:
        self.loop = asyncio.SelectorEventLoop() if clock is real_clock else self.Loop(clock)

    def insert(self, operation: Operation) -> None:
        operation.handle = self.loop.call_later(operation.delay_ms / 1000, operation.run)

    def cancel(self, operation: Operation) -> None:
        if operation.handle is not None:
            operation.handle.cancel()
            operation.handle = None

    def advance(self, now_ms: int) -> None:
        self.loop.call_soon(self.loop.stop)
        self.loop.run_forever()

    def held(self) -> int:
        scheduled: list[asyncio.TimerHandle] = vars(self.loop)["_scheduled"]
        return len(scheduled)

    def close(self) -> None:
        self.loop.close()


class LazyHeap:
    """A heap in which cancelling only marks the entry. The entry stays until its deadline.

    java.util.Timer works in this way, as does the timer in the book.
    """

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.heap: list[Operation] = []

    def insert(self, operation: Operation) -> None:
        operation.deadline_ms = self.clock() + operation.delay_ms
        heapq.heappush(self.heap, operation)

    def cancel(self, operation: Operation) -> None:
        operation.cancelled = True

    def advance(self, now_ms: int) -> None:
        heap = self.heap
        while heap and (heap[0].cancelled or heap[0].deadline_ms <= now_ms):
            operation = heapq.heappop(heap)
            if not operation.cancelled:
                operation.run()

    def held(self) -> int:
        return len(self.heap)

    def close(self) -> None:
        pass


class RebuiltHeap(LazyHeap):
    """A heap that is built again without cancelled entries when more than half are cancelled."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.dead = 0

    def cancel(self, operation: Operation) -> None:
        operation.cancelled = True
        self.dead += 1
        if self.dead > 100 and self.dead * 2 > len(self.heap):
            self.heap = [one for one in self.heap if not one.cancelled]
            heapq.heapify(self.heap)
            self.dead = 0

    def advance(self, now_ms: int) -> None:
        heap = self.heap
        while heap and (heap[0].cancelled or heap[0].deadline_ms <= now_ms):
            operation = heapq.heappop(heap)
            if operation.cancelled:
                self.dead -= 1
            else:
                operation.run()


class SearchedHeap(LazyHeap):
    """A heap in which cancelling searches for the entry and removes it: O(n).

    java.util.concurrent.DelayQueue.remove works in this way.
    """

    def cancel(self, operation: Operation) -> None:
        heap = self.heap
        at = next(i for i, one in enumerate(heap) if one is operation)
        last = heap.pop()
        if last is not operation:
            heap[at] = last
            heapq.heapify(heap)


CONTESTANTS: Final[dict[str, Callable[[Clock], Contestant]]] = {
    "wheel": Wheel,
    "asyncio call_later": AsyncioCallLater,
    "heap, lazy": LazyHeap,
    "heap, rebuilt at half dead": RebuiltHeap,
    "heap, searched": SearchedHeap,
}

SEARCHED_MAX: Final = 1_000
"""The largest number of tasks with which the searched heap is measured. Its time grows with their
square.
"""


def takes_part(name: str, count: int) -> bool:
    return name != "heap, searched" or count <= SEARCHED_MAX


def time_insert_and_cancel(
    make: Callable[[Clock], Contestant], delays_ms: Sequence[int]
) -> tuple[float, float]:
    """Return the CPU time in ns for each insert and for each cancel.

    `len(delays_ms)` tasks are inserted, and then cancelled in the same order. The time for cancels
    includes a last turn, in which a timer may drop its cancelled entries. The operations are made
    before the measurement, because a server has its requests anyway.
    """
    operations = [Operation(delay_ms) for delay_ms in delays_ms]
    contestant = make(real_clock)
    insert, cancel = contestant.insert, contestant.cancel
    gc.collect()
    start = time.process_time_ns()
    for operation in operations:
        insert(operation)
    middle = time.process_time_ns()
    for operation in operations:
        cancel(operation)
    contestant.advance(real_clock())
    end = time.process_time_ns()
    contestant.close()
    count = len(operations)
    return (middle - start) / count, (end - middle) / count
