"""The hierarchical timing wheel: wheels of buckets, each with a longer tick than the wheel below.

(Kafka: TimingWheel.scala; book §6.2, 002 §3.4.4; 层级时间轮.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from kafka_edu.timer.delay_queue import DelayQueue
from kafka_edu.timer.timer_task_list import TimerTaskEntry, TimerTaskList

TICK_MS: Final = 1
WHEEL_SIZE: Final = 20


class TimingWheel:
    """A wheel of `wheel_size` buckets, each of which covers `tick_ms`.

    Kafka's SystemTimer uses 20 buckets of 1 ms.

    `current_time_ms` is the position of the wheel's hand (表盘指针), which is a multiple of the
    tick. The bucket at the hand is due. The wheel accepts deadlines in [current + tick, current +
    interval), where interval = tick · size. So no task is ever put into the bucket at the hand, and
    each bucket holds the tasks of only one tick. The number of the bucket is deadline // tick %
    size, whatever the current time is. For example, with tick 1 and size 20, a task of 2 ms at time
    0 goes into bucket 2. At time 2, a task of 8 ms (deadline 10) goes into bucket 10. A task of 19
    ms (deadline 21) goes into bucket 1, because 21 % 20 = 1.

    A task whose deadline is too far away goes up to the next wheel, whose tick is this wheel's
    interval: 1 × 20, 20 × 20, 400 × 20 ms, 8 s × 20 … Each wheel is created when the first such
    task arrives. A task of 350 ms goes to level 2, bucket 350 // 20 % 20 = 17. A task of 450 ms
    goes to level 3, bucket 1, like every deadline in [400, 800).

    When that bucket is due, at time 400, its tasks are added again. The task of 450 ms has 50 ms
    left and goes into level 2, bucket 450 // 20 % 20 = 2. At time 440 it has 10 ms left and goes to
    level 1; at time 450 it is due. Each time, a task moves down (降级) by at least one level. So it
    moves at most log_size(delay / tick) times, and insert and cancel are O(1) for any number of
    tasks. (The heap of java.util.Timer needs O(log n). The book says O(n log n), which is the price
    of n inserts.)

    `advance_clock` moves the hand, and only when a bucket is due. As in Kafka, the hand of an idle
    timer does not move. Always true: every queued bucket of a wheel is due after `current_time_ms`
    and before `current_time_ms` + interval. SystemTimer owns the wheels and the DelayQueue, and
    emits the events. Next: `TimerTaskList.add` (timer_task_list.py).
    """

    __slots__ = (
        "_end_ms",
        "buckets",
        "current_time_ms",
        "interval_ms",
        "level",
        "on_cancelled",
        "on_overflow",
        "overflow_wheel",
        "queue",
        "tick_ms",
        "wheel_size",
    )

    def __init__(
        self,
        tick_ms: int,
        wheel_size: int,
        start_ms: int,
        queue: DelayQueue,
        level: int = 1,
        on_overflow: Callable[[TimingWheel, int], None] | None = None,
        on_cancelled: Callable[[TimerTaskEntry, TimerTaskList], None] | None = None,
    ) -> None:
        """Create an empty wheel.

        `on_overflow` is called with each wheel that is created above this one, and with the
        deadline of the task that needed it. `on_cancelled` is passed to the buckets.
        """
        if tick_ms < 1 or wheel_size < 2:
            raise ValueError(
                f"a wheel needs a tick of at least 1 ms and at least 2 buckets, not {tick_ms} ms"
                f" and {wheel_size}"
            )
        self.tick_ms = tick_ms
        self.wheel_size = wheel_size
        self.interval_ms = tick_ms * wheel_size
        self.current_time_ms = start_ms - start_ms % tick_ms
        self._end_ms = self.current_time_ms + self.interval_ms
        self.level = level
        self.buckets: list[TimerTaskList | None] = [None] * wheel_size
        """The buckets by number; each is created when its first task arrives."""
        self.overflow_wheel: TimingWheel | None = None
        self.queue = queue
        self.on_overflow = on_overflow
        self.on_cancelled = on_cancelled

    def add(self, entry: TimerTaskEntry) -> bool:
        """Put `entry` into the bucket of its deadline, here or in a wheel above. O(1).

        Returns False if the entry is already due; it is then in no bucket.
        """
        deadline_ms = entry.expiration_ms
        if deadline_ms < self.current_time_ms + self.tick_ms:
            return False
        wheel = self
        while deadline_ms >= wheel._end_ms:
            wheel = wheel.overflow_wheel or wheel.add_overflow_wheel(deadline_ms)
        tick_ms = wheel.tick_ms
        virtual_id = deadline_ms // tick_ms
        slot = virtual_id % wheel.wheel_size
        bucket = wheel.buckets[slot]
        if bucket is None:
            bucket = wheel.make_bucket(slot)
        bucket.add(entry)
        expiration_ms = virtual_id * tick_ms
        if bucket.expiration_ms != expiration_ms:
            bucket.expiration_ms = expiration_ms
            self.queue.offer(bucket)
        return True

    def advance_clock(self, time_ms: int) -> None:
        """Move the hand to `time_ms`, rounded down to the tick. O(levels).

        The hands of the wheels above move too.
        """
        wheel: TimingWheel | None = self
        while wheel is not None and time_ms >= wheel.current_time_ms + wheel.tick_ms:
            wheel.current_time_ms = time_ms - time_ms % wheel.tick_ms
            wheel._end_ms = wheel.current_time_ms + wheel.interval_ms
            wheel = wheel.overflow_wheel

    def make_bucket(self, slot: int) -> TimerTaskList:
        """Return bucket number `slot`; create it if it does not exist yet."""
        bucket = self.buckets[slot]
        if bucket is None:
            bucket = self.buckets[slot] = TimerTaskList(self.level, slot, self.on_cancelled)
        return bucket

    def add_overflow_wheel(self, deadline_ms: int) -> TimingWheel:
        """Create and return the next wheel up, because a task is due at `deadline_ms`."""
        above = TimingWheel(
            self.interval_ms,
            self.wheel_size,
            self.current_time_ms,
            self.queue,
            self.level + 1,
            self.on_overflow,
            self.on_cancelled,
        )
        self.overflow_wheel = above
        if self.on_overflow is not None:
            self.on_overflow(above, deadline_ms)
        return above

    def wheels(self) -> Iterator[TimingWheel]:
        """Yield this wheel and the wheels above it, lowest first."""
        wheel: TimingWheel | None = self
        while wheel is not None:
            yield wheel
            wheel = wheel.overflow_wheel

    def counts(self) -> tuple[int, ...]:
        """Return the number of tasks in each bucket, by bucket number. O(wheel_size)."""
        return tuple([0 if bucket is None else bucket.size for bucket in self.buckets])
