"""Events of a timer: its wheels, and, at Level.ALL, each task (spec T1, T2; the Wheels screen).

All times `…_ms` in this module are in ms of the timer's clock. This clock is monotonic, and its
zero has no meaning. `timer` is the name of the timer. Levels are counted from 1, slots from 0.
"""

from typing import NamedTuple

from kafka_edu.trace.event import Kind, Level, event


@event()
class WheelCreated(NamedTuple):
    """A task's deadline was too far in the future for the existing wheels. Therefore the timer
    created the next higher wheel.
    """

    timer: str
    level: int
    tick_ms: int
    wheel_size: int
    current_time_ms: int
    deadline_ms: int
    """The deadline of the task for which the wheel was created."""
    delay_ms: int
    """The time from now to the deadline of that task."""


@event(level=Level.ALL)
class TimerTaskAdded(NamedTuple):
    """A task was put into a bucket."""

    timer: str
    task: str
    delay_ms: int
    deadline_ms: int
    level: int
    slot: int


@event(level=Level.ALL)
class TimerTaskDemoted(NamedTuple):
    """A bucket was due, but the deadline of this task in it is later. The task was moved down to a
    finer wheel (降级).
    """

    timer: str
    task: str
    deadline_ms: int
    left_ms: int
    """The time from the bucket's due time to the task's deadline."""
    from_level: int
    from_slot: int
    level: int
    slot: int


@event(level=Level.ALL)
class TimerTaskExpired(NamedTuple):
    """A task's deadline has come, and the task is run now."""

    timer: str
    task: str
    deadline_ms: int
    late_ms: int
    """How long ago the deadline was, in ms. The reaper that runs the tasks woke up this much too
    late.
    """
    level: int
    slot: int
    """The slot of the bucket from which the task came. Level and slot are 0 and -1 if the task was
    due before it could be put into a bucket.
    """


@event(level=Level.ALL)
class TimerTaskCancelled(NamedTuple):
    """A task was removed from its bucket before its deadline."""

    timer: str
    task: str
    deadline_ms: int
    left_ms: int
    level: int
    slot: int


class TimerState(NamedTuple):
    """A timer at one moment. The difference of two samples gives a rate. Events have this value as
    a field.
    """

    timer: str
    now_ms: int
    current_time_ms: int
    """The current time of the lowest wheel. It moves on when a bucket is due."""
    tasks: int
    queued_buckets: int
    next_bucket_ms: int | None
    """The time at which the next bucket is due, or None if no bucket has tasks."""
    inserted_total: int
    cancelled_total: int
    expired_total: int
    demoted_total: int


class WheelState(NamedTuple):
    """One wheel of a timer at one moment. Events have this value as a field.

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
    """The time at which the wheel was created."""
    made_for_delay_ms: int
    """The delay of the task for which the wheel was created. 0 for the lowest wheel."""


@event(kind=Kind.GAUGE, thing=("timer",))
class TimerSampled(NamedTuple):
    """A sample of a timer's state."""

    state: TimerState


@event(kind=Kind.GAUGE, thing=("timer", "level"))
class WheelSampled(NamedTuple):
    """A sample of one wheel of a timer."""

    state: WheelState


@event(kind=Kind.GAUGE, thing=("timer",))
class NextBucketSampled(NamedTuple):
    """A sample of the bucket that is due next: its first tasks with their deadlines."""

    timer: str
    level: int
    slot: int
    expiration_ms: int
    size: int
    tasks: tuple[tuple[str, int], ...]


@event(kind=Kind.SNAPSHOT)
class TimerSnapshot(NamedTuple):
    """The state of a timer, sent to a new subscriber."""

    state: TimerState


@event(kind=Kind.SNAPSHOT)
class WheelSnapshot(NamedTuple):
    """One wheel of a timer, sent to a new subscriber."""

    state: WheelState
