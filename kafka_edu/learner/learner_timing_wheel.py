"""Exercise 02-1 in a live broker: a learner's TimingWheel decides where a task goes.

The lowest wheel of each timer calls the learner's object.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from kafka_edu.learner.learner import LearnerObject
from kafka_edu.learner.seams import LearnerCode, LearnerError
from kafka_edu.timer.delay_queue import DelayQueue
from kafka_edu.timer.timer_task_list import NOT_QUEUED, TimerTaskEntry, TimerTaskList
from kafka_edu.timer.timing_wheel import TimingWheel

MAX_LEVEL: Final = 20
"""The highest level that a learner may name.

With wheels of 20 buckets of 1 ms, level 20 lasts 10,000 times the age of the universe.
"""
SLOTS_ABOVE: Final = (12, 30)
"""The numbers of buckets of the wheels on level 2 and 3. Higher wheels have as many as level 3.

Kafka gives all wheels the same number of buckets. The exercise has a different rule, so that a copy
of the shipped class is not a solution. With a first wheel of 20 buckets of 1 ms, the wheels cover
20 ms, 240 ms, 7.2 s and 216 s.
"""


class SlotsTimingWheel(TimingWheel):
    """A timing wheel in which each level may have a different number of buckets."""

    __slots__ = ("_slots",)

    def __init__(
        self,
        slots: Sequence[int],
        tick_ms: int,
        start_ms: int,
        queue: DelayQueue,
        level: int = 1,
        on_overflow: Callable[[TimingWheel, int], None] | None = None,
        on_cancelled: Callable[[TimerTaskEntry, TimerTaskList], None] | None = None,
    ) -> None:
        """Make a wheel.

        `slots` has the number of buckets of this wheel, of the next higher one, and so on.

        The last number in `slots` is valid for all further wheels.
        """
        super().__init__(tick_ms, slots[0], start_ms, queue, level, on_overflow, on_cancelled)
        self._slots = slots

    def add_overflow_wheel(self, deadline_ms: int) -> TimingWheel:
        above = self.overflow_wheel = SlotsTimingWheel(
            self._slots[1:] or self._slots,
            self.interval_ms,
            self.current_time_ms,
            self.queue,
            self.level + 1,
            self.on_overflow,
            self.on_cancelled,
        )
        if self.on_overflow is not None:
            self.on_overflow(above, deadline_ms)
        return above

    def right_place(self, deadline_ms: int) -> tuple[int, int]:
        """Return the right level and slot for a deadline that is not due yet. O(levels)."""
        level, tick_ms, hand_ms = self.level, self.tick_ms, self.current_time_ms
        slots = list(self._slots)
        while deadline_ms >= hand_ms + tick_ms * slots[0]:
            tick_ms *= slots[0]
            hand_ms -= hand_ms % tick_ms
            slots = slots[1:] or slots
            level += 1
        return level, deadline_ms // tick_ms % slots[0]


class LearnerTimingWheel(SlotsTimingWheel):
    """Puts each task into the bucket that the learner's code names.

    The learner's answer has three numbers: the level from 1, the slot from 0, and the ms that are
    left when that bucket is due. For a deadline of 450 ms at time 0, the answer is (3, 1, 210): the
    bucket is due at 240 ms. The buckets, the higher wheels and the queue come from the shipped
    code. The learner's object holds only numbers.

    It is an error in the learner's code if no wheel could use an answer. The shipped code then
    places the task. A wrong answer is used if possible. Tasks then run early or late.
    """

    __slots__ = ("_code", "_learner")

    def __init__(
        self,
        code: LearnerCode,
        tick_ms: int,
        wheel_size: int,
        start_ms: int,
        queue: DelayQueue,
        level: int = 1,
        on_overflow: Callable[[TimingWheel, int], None] | None = None,
        on_cancelled: Callable[[TimerTaskEntry, TimerTaskList], None] | None = None,
    ) -> None:
        slots = (wheel_size, *SLOTS_ABOVE)
        super().__init__(slots, tick_ms, start_ms, queue, level, on_overflow, on_cancelled)
        self._code = code
        self._learner = self._make_learner(start_ms)

    def _make_learner(self, start_ms: int) -> LearnerObject | None:
        if self._code.retired:
            return None
        try:
            return self._code.make(self.tick_ms, self._slots, start_ms)
        except LearnerError as error:
            self._code.failed(error)
            return None

    def add(self, entry: TimerTaskEntry) -> bool:
        if self._learner is None or self._code.retired:
            return super().add(entry)
        try:
            answer = self._code.ask(self._learner, "add", entry.expiration_ms)
            if answer is None:
                return False
            bucket, expiration_ms = self._bucket_of(answer, entry.expiration_ms)
        except LearnerError as error:
            self._code.failed(error)
            return super().add(entry)
        bucket.add(entry)
        if bucket.expiration_ms != expiration_ms:
            bucket.expiration_ms = expiration_ms
            self.queue.offer(bucket)
        return True

    def place_of(self, deadline_ms: int) -> tuple[int, int] | None:
        """Return the level and slot that the learner's code names for a future deadline.

        Return None if the learner's code is no longer called or has just failed. This method puts
        no task into a bucket.
        """
        if self._learner is None or self._code.retired:
            return None
        call = f"add({deadline_ms}) at {self.current_time_ms} ms"
        try:
            answer = self._code.ask(self._learner, "add", deadline_ms)
            match answer:
                case (int(level), int(slot), int()):
                    return level, slot
            raise self._code.blame(
                f"{call} answered {answer!r}; expected (level, slot, left_over_ms), because the"
                " task is not due"
            )
        except LearnerError as error:
            self._code.failed(error)
            return None

    def blame_place(self, deadline_ms: int, place: tuple[int, int], right: tuple[int, int]) -> None:
        """Count a wrong place that `place_of` returned as a failure of the learner's code."""
        self._code.failed(
            self._code.blame(
                f"add({deadline_ms}) at {self.current_time_ms} ms answered level {place[0]}, slot"
                f" {place[1]}; it is level {right[0]}, slot {right[1]}"
            )
        )

    def advance_clock(self, time_ms: int) -> None:
        super().advance_clock(time_ms)
        if self._learner is not None and not self._code.retired:
            try:
                self._code.ask(self._learner, "advance_clock", time_ms)
            except LearnerError as error:
                self._code.failed(error)

    def _bucket_of(self, answer: object, deadline_ms: int) -> tuple[TimerTaskList, int]:
        """Return the bucket that an answer names, and the time (ms) at which it is due.

        Raises LearnerError for an answer that no wheel can use.
        """
        call = f"add({deadline_ms}) at {self.current_time_ms} ms"
        match answer:
            case (int(level), int(slot), int(left_over_ms)):
                pass
            case _:
                raise self._code.blame(
                    f"{call} answered {answer!r}; expected (level, slot, left_over_ms), or None"
                    " when the task is due"
                )
        if not 1 <= level <= MAX_LEVEL:
            raise self._code.blame(f"{call} answered level {level}; levels count from 1")
        expiration_ms = deadline_ms - left_over_ms
        if expiration_ms <= self.current_time_ms:
            raise self._code.blame(
                f"{call} answered {answer!r}: that bucket was due at {expiration_ms} ms, and its"
                " time does not come again"
            )
        wheel: TimingWheel = self
        while wheel.level < level:
            wheel = wheel.overflow_wheel or wheel.add_overflow_wheel(deadline_ms)
        if not 0 <= slot < wheel.wheel_size:
            raise self._code.blame(
                f"{call} answered slot {slot}; slots of level {level} are 0 to"
                f" {wheel.wheel_size - 1}"
            )
        bucket = wheel.make_bucket(slot)
        if bucket.expiration_ms not in (NOT_QUEUED, expiration_ms):
            raise self._code.blame(
                f"{call} answered {answer!r}: that bucket is due at {expiration_ms} ms, but it"
                f" already holds tasks that are due at {bucket.expiration_ms} ms; a bucket has only"
                " one time"
            )
        return bucket, expiration_ms


def adapt(code: LearnerCode) -> Callable[..., TimingWheel]:
    """Return the class that replaces TimingWheel in SystemTimer."""
    return partial(LearnerTimingWheel, code)
