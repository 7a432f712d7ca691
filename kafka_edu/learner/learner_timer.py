"""Exercises 02-2 to 02-4 in a live broker: a learner's Timer decides where tasks go and when.

Each purgatory of the broker has one such timer. If the learner's wheel of exercise 02-1 is
installed too, the wheel is called for each new task, in addition to the timer.
"""

from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Final

from kafka_edu.learner.learner import LearnerObject
from kafka_edu.learner.learner_timing_wheel import (
    MAX_LEVEL,
    SLOTS_ABOVE,
    LearnerTimingWheel,
    SlotsTimingWheel,
)
from kafka_edu.learner.seams import LearnerCode, LearnerError
from kafka_edu.timer.system_timer import SystemTimer
from kafka_edu.timer.timer_task import TimerTask
from kafka_edu.timer.timer_task_list import TimerTaskEntry, TimerTaskList
from kafka_edu.timer.timing_wheel import TICK_MS, WHEEL_SIZE
from kafka_edu.trace.events.timer import TimerTaskAdded, TimerTaskDemoted
from kafka_edu.trace.tracer import Tracer

SLOTS: Final = (WHEEL_SIZE, *SLOTS_ABOVE)
NOWHERE: Final = (0, -1)
"""The place that events give for a task that was due before it got into any bucket."""

Place = tuple[int, int]
"""The place of a bucket: its level, from 1, and its slot, from 0."""


class LearnerTimer(SystemTimer):
    """A timer that asks an object of the learner's class for each decision, and carries the answers
    out.

    The learner's object knows tasks by number. `add` returns where a task goes. `advance_clock`
    returns what happened up to a time: which tasks moved down, to which bucket, and which ran. The
    buckets, the queue that wakes the reaper, and the events come from the shipped code.
    `advance_clock` sets the timer's clock to the current time. (Kafka sets it only to the time of
    the last due bucket.)

    A wrong answer is used if possible: a task then runs early or late. It is an error in the
    learner's code if the learner's object forgets a task, or names a place where no bucket can be.
    From then on the shipped code manages the tasks in question.
    """

    def __init__(
        self, code: LearnerCode, name: str, now_ms: Callable[[], int], trace: Tracer | None = None
    ) -> None:
        super().__init__(name, now_ms, trace)
        self._code = code
        start_ms = self.wheel.current_time_ms
        if not isinstance(self.wheel, LearnerTimingWheel):
            self.wheel = SlotsTimingWheel(
                SLOTS,
                TICK_MS,
                start_ms,
                self._queue,
                on_overflow=self._wheel_created,
                on_cancelled=self._cancelled,
            )
        self._next_number = count(1)
        self._entries: dict[int, TimerTaskEntry] = {}
        """The tasks that the learner's object manages, by number."""
        self._numbers: dict[TimerTaskEntry, int] = {}
        self._learner: LearnerObject | None = None
        if code.retired:
            return
        try:
            self._learner = code.make(TICK_MS, SLOTS, start_ms)
        except LearnerError as error:
            code.failed(error)

    def add(self, task: TimerTask) -> None:
        learner = self._serving()
        if learner is None:
            super().add(task)
            return
        now_ms = self._now_ms()
        entry = TimerTaskEntry(task, task.delay_ms + now_ms)
        self.inserted_total += 1
        number = next(self._next_number)
        self._entries[number], self._numbers[entry] = entry, number
        try:
            answer = self._code.ask(learner, "add", number, entry.expiration_ms)
            place = self._place_of(answer, f"add({number}, {entry.expiration_ms})")
            if place is not None:
                self._ask_wheel(entry.expiration_ms, place)
                self._put(entry, place)
        except LearnerError as error:
            self._code.failed(error)
            self._take_over(entry, now_ms, NOWHERE)
            place = None
        else:
            if place is None:
                self._forget(entry)
                self._expire(entry, now_ms, *NOWHERE)
        if place is not None and self._trace is not None and self._trace.all:
            self._trace(
                TimerTaskAdded(
                    timer=self.name,
                    task=task.label,
                    delay_ms=task.delay_ms,
                    deadline_ms=entry.expiration_ms,
                    level=place[0],
                    slot=place[1],
                )
            )

    def advance_clock(self, now_ms: int) -> int:
        learner = self._serving()
        if learner is None:
            return super().advance_clock(now_ms)
        due: dict[TimerTaskEntry, Place] = {}
        while (polled := self._queue.poll(now_ms)) is not None:
            bucket = polled[1]
            due.update(dict.fromkeys(bucket.flush(), (bucket.level, bucket.slot)))
        self.wheel.advance_clock(now_ms)
        before = self.expired_total
        failed: Exception | None = None
        answered = self._moves(learner, now_ms)
        moves = answered or []
        last_of = {number: index for index, (_, number, _) in enumerate(moves)}
        at = {self._numbers[entry]: place for entry, place in due.items() if entry in self._numbers}
        for index, (time_ms, number, place) in enumerate(moves):
            entry = self._entries.get(number)
            if entry is None or entry.cancelled:
                continue
            if entry.bucket is not None:  # the task moves before its bucket is due
                at[number] = entry.bucket.level, entry.bucket.slot
                entry.bucket.remove(entry)
            came_from = at.get(number, NOWHERE)
            try:
                if place is None:
                    self._forget(entry)
                    self._expire(entry, now_ms, *came_from)
                    continue
                if index == last_of[number]:
                    self._put(entry, place)
                self._came_down(entry, time_ms, came_from, place)
                at[number] = place
            except LearnerError as error:
                self._code.failed(error)
                self._take_over(entry, now_ms, came_from)
            # As in SystemTimer, an error of one task must not stop the other tasks.
            except Exception as error:
                failed = error
        self._look_after(due, now_ms, answered is not None)
        if failed is not None:
            raise failed
        return self.expired_total - before

    def _serving(self) -> LearnerObject | None:
        """Return the learner's object, or None if the shipped code manages all tasks, old and new.

        The tasks are in shipped buckets, so the shipped code finds them there.
        """
        if self._code.retired:
            self._learner = None
            self._entries.clear()
            self._numbers.clear()
        return self._learner

    def _moves(
        self, learner: LearnerObject, now_ms: int
    ) -> list[tuple[int, int, Place | None]] | None:
        """Return the moves of tasks that the learner's object reports.

        Return None if the call fails.
        """
        call = f"advance_clock({now_ms})"
        try:
            answer = self._code.ask(learner, "advance_clock", now_ms)
            if not isinstance(answer, tuple):
                raise self._code.blame(f"{call} answered {answer!r}; expected a list of moves")
            moves: list[tuple[int, int, Place | None]] = []
            for move in answer:
                match move:
                    case (int(time_ms), int(number), place):
                        moves.append((time_ms, number, self._place_of(place, call)))
                    case _:
                        raise self._code.blame(
                            f"{call} answered a move {move!r}; expected (time_ms, task, (level,"
                            " slot)), or (time_ms, task, None) for a task that runs"
                        )
        except LearnerError as error:
            self._code.failed(error)
            return None
        return moves

    def _place_of(self, answer: object, call: str) -> Place | None:
        """Return the place that an answer names. Raises LearnerError."""
        match answer:
            case None:
                return None
            case (int(level), int(slot)) if 1 <= level <= MAX_LEVEL and slot >= 0:
                return level, slot
        raise self._code.blame(
            f"{call} answered {answer!r}; expected (level, slot), or None for a task that is due"
        )

    def _ask_wheel(self, deadline_ms: int, place: Place) -> None:
        """Compare the timer's place for a task with the place that the wheel of 02-1 names.

        If the two places differ, the shipped wheel decides which of them is wrong. Raises
        LearnerError if the timer's place is wrong.
        """
        wheel = self.wheel
        if not isinstance(wheel, LearnerTimingWheel):
            return
        named = wheel.place_of(deadline_ms)
        if named is None or named == place:
            return
        right = wheel.right_place(deadline_ms)
        if named != right:
            wheel.blame_place(deadline_ms, named, right)
        if place != right:
            raise self._code.blame(
                f"a task with deadline {deadline_ms} went to level {place[0]}, slot {place[1]};"
                f" your wheel of 02-1 says level {named[0]}, slot {named[1]}"
            )

    def _put(self, entry: TimerTaskEntry, place: Place) -> None:
        """Put a task into a bucket. Raises LearnerError for a bucket that cannot exist."""
        level, slot = place
        wheel = self.wheel
        while wheel.level < level:
            wheel = wheel.overflow_wheel or wheel.add_overflow_wheel(entry.expiration_ms)
        hand = wheel.current_time_ms // wheel.tick_ms
        ahead = (slot - hand) % wheel.wheel_size
        if slot >= wheel.wheel_size or ahead == 0:
            raise self._code.blame(
                f"slot {slot} of level {level} cannot take a task at {wheel.current_time_ms} ms:"
                f" the slots are 0 to {wheel.wheel_size - 1}, and"
                f" {hand % wheel.wheel_size} is under the hand"
            )
        bucket = wheel.make_bucket(slot)
        bucket.add(entry)
        expiration_ms = (hand + ahead) * wheel.tick_ms
        if bucket.expiration_ms != expiration_ms:
            bucket.expiration_ms = expiration_ms
            self._queue.offer(bucket)

    def _came_down(self, entry: TimerTaskEntry, time_ms: int, from_: Place, to: Place) -> None:
        self.demoted_total += 1
        if self._trace is not None and self._trace.all:
            self._trace(
                TimerTaskDemoted(
                    timer=self.name,
                    task=entry.task.label,
                    deadline_ms=entry.expiration_ms,
                    left_ms=entry.expiration_ms - time_ms,
                    from_level=from_[0],
                    from_slot=from_[1],
                    level=to[0],
                    slot=to[1],
                )
            )

    def _look_after(self, due: dict[TimerTaskEntry, Place], now_ms: int, answered: bool) -> None:
        """Take care of the tasks that were in the due buckets and are in no bucket now.

        Some of these tasks were cancelled meanwhile. The learner's object forgot the rest, and the
        shipped code manages the forgotten tasks from now on. If `answered` is false, the forgotten
        tasks count as one failure, whatever their number.
        """
        for entry, (level, slot) in due.items():
            if entry.cancelled:
                self._cancel_of_learner(entry)
            elif entry.bucket is None and entry.task.entry is entry:
                if answered and entry in self._numbers:
                    self._code.failed(
                        self._code.blame(
                            f"advance_clock({now_ms}) did not move task {self._numbers[entry]},"
                            f" with deadline {entry.expiration_ms}; its bucket, level {level} slot"
                            f" {slot}, was due"
                        )
                    )
                self._take_over(entry, now_ms, (level, slot))

    def _take_over(self, entry: TimerTaskEntry, now_ms: int, came_from: Place) -> None:
        """Let the shipped code manage a task from now on."""
        self._forget(entry)
        if not self.wheel.add(entry):
            self._expire(entry, now_ms, *came_from)

    def _forget(self, entry: TimerTaskEntry) -> int | None:
        number = self._numbers.pop(entry, None)
        if number is not None:
            del self._entries[number]
        return number

    def _cancelled(self, entry: TimerTaskEntry, bucket: TimerTaskList) -> None:
        self._task_cancelled(entry, bucket)
        self._cancel_of_learner(entry)

    def _cancel_of_learner(self, entry: TimerTaskEntry) -> None:
        number = self._forget(entry)
        learner = self._serving()
        if number is not None and learner is not None:
            try:
                self._code.ask(learner, "cancel", number)
            except LearnerError as error:
                self._code.failed(error)


def adapt(code: LearnerCode) -> Callable[..., SystemTimer]:
    """Return the class that replaces SystemTimer in the purgatories."""
    return partial(LearnerTimer, code)
