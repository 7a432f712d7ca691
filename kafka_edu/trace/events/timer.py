"""Events of a timer: its wheels, and, at Level.ALL, each task (spec T1, T2; the Wheels screen).

All times `…_ms` here are of the timer's clock: monotonic, its zero means nothing. `timer` is the
name of the timer. Levels count from 1, slots from 0.
"""

from typing import NamedTuple

from kafka_edu.trace.event import Kind, Level, event


@event()
class WheelCreated(NamedTuple):
    """A task was due too far away for the wheels there were, so the next one up was made."""

    timer: str
    level: int
    tick_ms: int
    wheel_size: int
    current_time_ms: int
    deadline_ms: int
    """The deadline of the task that needed it."""
    delay_ms: int
    """From now to that deadline."""


@event(level=Level.ALL)
class TimerTaskAdded(NamedTuple):
    """A task went into a bucket."""

    timer: str
    task: str
    delay_ms: int
    deadline_ms: int
    level: int
    slot: int


@event(level=Level.ALL)
class TimerTaskDemoted(NamedTuple):
    """The bucket's time came, the task's did not yet: it came down from one wheel to a finer one
    (降级).
    """

    timer: str
    task: str
    deadline_ms: int
    left_ms: int
    """From the time of the bucket to the deadline."""
    from_level: int
    from_slot: int
    level: int
    slot: int


@event(level=Level.ALL)
class TimerTaskExpired(NamedTuple):
    """A task's time was up, and it is run now."""

    timer: str
    task: str
    deadline_ms: int
    late_ms: int
    """The time since the deadline: the reaper woke up so late."""
    level: int
    slot: int
    """The bucket it came out of; 0 and -1 when it was due before it got into any."""


@event(level=Level.ALL)
class TimerTaskCancelled(NamedTuple):
    """A task was taken out of its bucket before its time."""

    timer: str
    task: str
    deadline_ms: int
    left_ms: int
    level: int
    slot: int


class TimerState(NamedTuple):
    """A timer at one moment. A rate is the difference of two samples."""

    timer: str
    now_ms: int
    current_time_ms: int
    """The hand of the lowest wheel: it moves with the buckets that come due."""
    tasks: int
    queued_buckets: int
    next_bucket_ms: int | None
    """The time at which the next bucket is due, or None."""
    inserted_total: int
    cancelled_total: int
    expired_total: int
    demoted_total: int


class WheelState(NamedTuple):
    """One wheel of a timer at one moment.

    The bucket in slot s is due at (c + (s - c) % wheel_size) * tick_ms, where c = current_time_ms
    // tick_ms.
    """

    timer: str
    level: int
    tick_ms: int
    wheel_size: int
    current_time_ms: int
    tasks_by_slot: tuple[int, ...]
    made_ms: int
    """The time at which the wheel was made."""
    made_for_delay_ms: int
    """The delay of the task it was made for; 0 for the lowest."""


@event(kind=Kind.GAUGE, thing=("timer",))
class TimerSampled(NamedTuple):
    """A sample of a timer."""

    state: TimerState


@event(kind=Kind.GAUGE, thing=("timer", "level"))
class WheelSampled(NamedTuple):
    """A sample of one wheel of a timer."""

    state: WheelState


@event(kind=Kind.GAUGE, thing=("timer",))
class NextBucketSampled(NamedTuple):
    """The bucket that is due next: its first few tasks, with their deadlines."""

    timer: str
    level: int
    slot: int
    expiration_ms: int
    size: int
    tasks: tuple[tuple[str, int], ...]


@event(kind=Kind.SNAPSHOT)
class TimerSnapshot(NamedTuple):
    """A timer, sent to a new subscriber."""

    state: TimerState


@event(kind=Kind.SNAPSHOT)
class WheelSnapshot(NamedTuple):
    """One wheel of a timer, sent to a new subscriber."""

    state: WheelState
