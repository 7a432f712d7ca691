"""The hierarchical timing wheel (Kafka: TimingWheel.scala; book §6.2, 002 §3.4.4; 层级时间轮)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from kafka_edu.timer.delay_queue import DelayQueue
from kafka_edu.timer.timer_task_list import TimerTaskEntry, TimerTaskList

TICK_MS: Final = 1
WHEEL_SIZE: Final = 20


class TimingWheel:
    """A wheel of `wheel_size` buckets, each of which covers `tick_ms` (Kafka's SystemTimer: 1 ms
    and 20).

    `current_time_ms`, the hand (表盘指针), is a multiple of the tick. The bucket under the hand is
    due; the wheel takes deadlines in [current + tick, current + interval), interval = tick · size.
    So nothing is ever put under the hand, and each bucket holds the tasks of one tick only: its number
    is deadline // tick % size, whatever the time is now. With tick 1 and size 20, at 0: 2 ms go
    into bucket 2. At 2 ms a task of 8 ms (deadline 10) goes into bucket 10, and one of 19 ms
    (deadline 21) into bucket 1, which is used again.

    A deadline too far away goes up: the next wheel's tick is this one's interval (1 × 20, 20 × 20,
    400 × 20 ms, 8 s × 20 …), and it is made when the first such task comes. 350 ms go to level 2,
    bucket 350 // 20 % 20 = 17; 450 ms to level 3, bucket 1, as all of [400, 800) do. When that
    bucket's time comes, at 400, its tasks are added again: 50 ms are left and fit into level 2,
    bucket 2 ([40, 60) from now); at 440, 10 ms are left, level 1; at 450 it is due. Each time it
    comes down (降级) at least one level, so a task is moved at most log_size(delay / tick) times:
    insert and cancel are O(1) for any number of tasks. (The heap of java.util.Timer needs O(log n).
    The book says O(n log n): that would be the price of n of them.)

    The hand moves only with the buckets that come due, told by `advance_clock`; in an idle timer it
    stands still, as in Kafka. Invariant: every queued bucket of a wheel is due after
    `current_time_ms` and before `current_time_ms` + interval. Owned by SystemTimer, which owns the
    DelayQueue too and tells of what happens. Next hop: TimerTaskList.
    """  # noqa: E501

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
        """`on_overflow` is told of each wheel made above this one and of the deadline that asked
        for it; `on_cancelled` is for the buckets.
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
        """Each is made when its first task comes."""
        self.overflow_wheel: TimingWheel | None = None
        self.queue = queue
        self.on_overflow = on_overflow
        self.on_cancelled = on_cancelled

    def add(self, entry: TimerTaskEntry) -> bool:
        """Put `entry` into the bucket of its deadline, here or in a wheel above. False if it is due
        already: then it is in no bucket. O(1).
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
        """Move the hand to `time_ms`, rounded down to the tick, and the hands of the wheels above
        with it. O(levels).
        """
        wheel: TimingWheel | None = self
        while wheel is not None and time_ms >= wheel.current_time_ms + wheel.tick_ms:
            wheel.current_time_ms = time_ms - time_ms % wheel.tick_ms
            wheel._end_ms = wheel.current_time_ms + wheel.interval_ms
            wheel = wheel.overflow_wheel

    def make_bucket(self, slot: int) -> TimerTaskList:
        """The bucket number `slot`, made if there is none yet."""
        bucket = self.buckets[slot]
        if bucket is None:
            bucket = self.buckets[slot] = TimerTaskList(self.level, slot, self.on_cancelled)
        return bucket

    def add_overflow_wheel(self, deadline_ms: int) -> TimingWheel:
        """Make the next wheel up, because of a task due at `deadline_ms`."""
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
        """This wheel and those above it, lowest first."""
        wheel: TimingWheel | None = self
        while wheel is not None:
            yield wheel
            wheel = wheel.overflow_wheel

    def counts(self) -> tuple[int, ...]:
        """How many tasks are in each bucket. O(wheel_size)."""
        return tuple([0 if bucket is None else bucket.size for bucket in self.buckets])
