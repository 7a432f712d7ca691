"""Sentences for the events of timers."""

from kafka_edu.common.words import duration, span
from kafka_edu.instruments.sentence import Sentence
from kafka_edu.instruments.sentences.table import sentence
from kafka_edu.instruments.sentences.words import quiet
from kafka_edu.trace.events import timer


def place(level: int, slot: int) -> str:
    """Return the name of a bucket of the timing wheels: `slot 17 of level 2`."""
    return f"slot {slot} of level {level}"


def early(left_ms: int) -> str:
    """Return in words how long before a deadline something happens: `30 ms before its time`."""
    return f"{span(left_ms)} before its time" if left_ms > 0 else "when it is due"


@sentence.register
def wheel_created(e: timer.WheelCreated) -> Sentence:
    made = f"level {e.level} ({span(e.tick_ms)} × {e.wheel_size})"
    return Sentence(
        f"timer {e.timer} made {made}",
        reason=f"a task of {duration(e.delay_ms)} came",
        loud=False,
    )


@sentence.register
def timer_task_added(e: timer.TimerTaskAdded) -> Sentence:
    return quiet(
        f"timer {e.timer}: {e.task} goes into",
        place(e.level, e.slot),
        exact=(
            f"timer {e.timer}: {e.task} goes into {place(e.level, e.slot)}, due in"
            f" {span(e.delay_ms)}"
        ),
    )


@sentence.register
def timer_task_demoted(e: timer.TimerTaskDemoted) -> Sentence:
    return quiet(
        f"timer {e.timer}: {e.task} comes down to",
        place(e.level, e.slot),
        exact=(
            f"timer {e.timer}: {e.task} comes down from {place(e.from_level, e.from_slot)} to"
            f" {place(e.level, e.slot)}, because {span(e.left_ms)} are left"
        ),
    )


@sentence.register
def timer_task_expired(e: timer.TimerTaskExpired) -> Sentence:
    where = f" in {place(e.level, e.slot)}" if e.level else ""
    late = f", {span(e.late_ms)} late" if e.late_ms else ""
    return quiet(
        f"timer {e.timer}: {e.task} is due",
        after="and runs",
        because=f"the deadline of {e.task} was reached",
        exact=f"timer {e.timer}: {e.task} is due{where} and runs{late}",
    )


@sentence.register
def timer_task_cancelled(e: timer.TimerTaskCancelled) -> Sentence:
    return quiet(
        f"timer {e.timer}: {e.task} is cancelled in",
        place(e.level, e.slot),
        exact=(
            f"timer {e.timer}: {e.task} is cancelled in {place(e.level, e.slot)} {early(e.left_ms)}"
        ),
    )
