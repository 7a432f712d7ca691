"""The Wheels screen's state: wheels, hands, the next bucket, what waits and why."""

from typing import Final

from kafka_edu.trace.event import SUPERVISOR
from kafka_edu.trace.events.purgatory import (
    PurgatorySampled,
    PurgatoryState,
    Requirement,
    WaitingOperation,
    WaitingOperationSampled,
)
from kafka_edu.trace.events.timer import (
    NextBucketSampled,
    TimerSampled,
    TimerState,
    TimerTaskDemoted,
    WheelSampled,
    WheelState,
)
from tests.unit.tui.story_of_events import Story
from tests.unit.tui.usual_events import killed
from tui.view_model.wheels_view import Move, TimerKey, WheelsView, WheelView, left, why

PRODUCE = TimerKey(1, "Produce")


def slots(**held: int) -> tuple[int, ...]:
    return tuple(held.get(f"s{slot}", 0) for slot in range(20))


WHEEL: Final = WheelState(
    timer="Produce",
    level=1,
    tick_ms=1,
    wheel_size=20,
    current_time_ms=0,
    tasks_by_slot=slots(),
    made_ms=0,
    made_for_delay_ms=0,
)
"""Level 1 of the purgatory Produce, empty, at the beginning."""

TIMER: Final = TimerState(
    timer="Produce",
    now_ms=5,
    current_time_ms=5,
    tasks=1,
    queued_buckets=1,
    next_bucket_ms=None,
    inserted_total=1,
    cancelled_total=0,
    expired_total=0,
    demoted_total=0,
)
"""The timer of the purgatory Produce, with one task, which has no bucket yet."""


def reduced(story: Story, view: WheelsView | None = None) -> WheelsView:
    view = view or WheelsView()
    for envelope in story.envelopes:
        view.apply(envelope)
    story.envelopes.clear()
    return view


def test_the_books_350_ms_lie_in_slot_17_of_level_2() -> None:
    wheel = WheelView(
        WHEEL._replace(level=2, tick_ms=20, tasks_by_slot=slots(s17=1), made_for_delay_ms=350)
    )
    assert (wheel.hand, wheel.next_slot, wheel.due_ms(17), wheel.tasks) == (0, 17, 340, 1)


def test_a_slot_before_the_hand_belongs_to_the_next_round() -> None:
    wheel = WheelView(WHEEL._replace(current_time_ms=1_482_310, tasks_by_slot=slots(s9=2, s12=1)))
    assert wheel.hand == 10
    assert (wheel.due_ms(12), wheel.due_ms(9)) == (1_482_312, 1_482_329)
    assert wheel.next_slot == 12


def test_a_timer_is_its_wheels_its_rates_and_its_next_bucket() -> None:
    story = Story()
    for i in range(12):
        story.tell(
            1,
            TimerSampled(
                state=TIMER._replace(
                    now_ms=100 * i,
                    current_time_ms=90 * i,
                    tasks=3,
                    queued_buckets=2,
                    next_bucket_ms=100 * i + 7,
                    inserted_total=1000 * i,
                    cancelled_total=999 * i,
                    expired_total=i,
                    demoted_total=60 * i,
                )
            ),
            after_ms=100,
        )
        story.tell(
            1,
            WheelSampled(state=WHEEL._replace(current_time_ms=90 * i, tasks_by_slot=slots(s16=3))),
        )
        story.tell(
            1,
            NextBucketSampled(
                timer="Produce",
                level=1,
                slot=16,
                expiration_ms=100 * i + 7,
                size=3,
                tasks=(("web-0", 100 * i + 7),),
            ),
        )
    timer = reduced(story).timers[PRODUCE]
    assert (timer.next_in_ms(), timer.tasks, timer.wheels[1].hand) == (7, 3, 10)
    assert [
        round(rate.now) for rate in (timer.inserted, timer.cancelled, timer.expired, timer.demoted)
    ] == [10_000, 9_990, 10, 600]
    assert timer.next_bucket is not None
    assert timer.next_bucket.size == 3


def test_an_idle_timer_has_no_next_bucket() -> None:
    story = Story()
    story.tell(1, TimerSampled(state=TIMER._replace(next_bucket_ms=9)))
    story.tell(
        1,
        NextBucketSampled(
            timer="Produce", level=1, slot=9, expiration_ms=9, size=1, tasks=(("web-0", 9),)
        ),
    )
    story.tell(
        1,
        TimerSampled(
            state=TIMER._replace(
                now_ms=15, current_time_ms=9, tasks=0, queued_buckets=0, expired_total=1
            )
        ),
        after_ms=100,
    )
    timer = reduced(story).timers[PRODUCE]
    assert (timer.next_in_ms(), timer.next_bucket) == (None, None)


def test_only_slots_that_changed_glow() -> None:
    story = Story()
    story.tell(1, WheelSampled(state=WHEEL._replace(tasks_by_slot=slots(s3=1, s5=2))))
    view = reduced(story)
    story.tell(
        1,
        WheelSampled(state=WHEEL._replace(current_time_ms=3, tasks_by_slot=slots(s5=2, s6=1))),
        after_ms=100,
    )
    reduced(story, view)
    assert [slot for slot in range(20) if view.glow.glows("slot", PRODUCE, 1, slot)] == [3, 6]
    assert view.glow.glows("hand", PRODUCE, 1)
    view.advance(view.glow.now_us + 1_100_000)
    assert not view.glow.glows("slot", PRODUCE, 1, 6)


def operation(number: int, deadline_ms: int = 900) -> WaitingOperationSampled:
    holders = (("broker 0", 4), ("broker 1", 4), ("broker 2", 2))
    needs = Requirement("web-0", "high watermark", 4, 2, holders)
    return WaitingOperationSampled(
        waiting=WaitingOperation(
            purgatory="Produce",
            operation=number,
            label="DelayedProduce",
            keys=("web-0",),
            age_ms=412,
            deadline_ms=deadline_ms,
            why=(needs,),
        )
    )


def test_what_waits_is_the_last_sample_and_says_who_is_behind() -> None:
    story = Story()
    told = PurgatorySampled(
        state=PurgatoryState(
            purgatory="Produce",
            watched=2,
            delayed=2,
            keys=1,
            completed_at_once=0,
            completed_by_event=0,
            completed_by_timeout=0,
            completed_forced=0,
        )
    )
    story.tell(
        1,
        TimerSampled(
            state=TIMER._replace(
                now_ms=500, current_time_ms=500, tasks=2, next_bucket_ms=900, inserted_total=2
            )
        ),
    )
    story.tell(1, told)
    story.tell(1, operation(1))
    story.tell(1, operation(2))
    timer = reduced(story).timers[PRODUCE]
    assert [o.operation for o in timer.waiting] == [1, 2]
    assert why(timer.waiting[0]) == ["web-0 needs HW ≥ 4, has 2: broker 2 is 2 behind"]
    assert left(timer.waiting[0], timer) == "400 ms left"
    story.tell(1, PurgatorySampled(state=told.state._replace(delayed=1)), after_ms=100)
    story.tell(1, operation(2))
    view = reduced(story, WheelsView())
    assert [o.operation for o in view.timers[PRODUCE].waiting] == [2]


def test_a_dead_brokers_timers_go_with_it() -> None:
    story = Story()
    for broker in (0, 1):
        story.tell(
            broker, TimerSampled(state=TIMER._replace(tasks=0, queued_buckets=0, inserted_total=0))
        )
    story.tell(SUPERVISOR, killed(1))
    view = reduced(story)
    assert (view.brokers(), list(view.timers)) == ([0], [TimerKey(0, "Produce")])


def sample(
    story: Story, clock_ms: int, *, demoted: int, cancelled: int, **held: tuple[int, ...]
) -> None:
    """Emit one sample: the timer's totals, and then its wheels (`l2=slots(…)`)."""
    story.tell(
        1,
        TimerSampled(
            state=TIMER._replace(
                now_ms=clock_ms,
                current_time_ms=clock_ms,
                inserted_total=100,
                cancelled_total=cancelled,
                demoted_total=demoted,
            )
        ),
        after_ms=100,
    )
    for name, counts in held.items():
        level = int(name[1:])
        story.tell(
            1,
            WheelSampled(
                state=WHEEL._replace(
                    level=level,
                    tick_ms=20 ** (level - 1),
                    current_time_ms=clock_ms,
                    tasks_by_slot=counts,
                )
            ),
        )


def test_a_demotion_and_an_insertion_leave_a_trace_for_a_second() -> None:
    story = Story()
    sample(story, 300, demoted=0, cancelled=0, l1=slots(), l2=slots(s17=2))
    view = reduced(story)
    sample(story, 341, demoted=2, cancelled=0, l1=slots(s10=2), l2=slots())
    timer = reduced(story, view).timers[PRODUCE]
    now_us = view.glow.now_us
    assert timer.recent(now_us) == [
        Move(2, 17, 0, 0, 2, now_us),
        Move(0, 0, 1, 10, 2, now_us),
    ], "the hand passed slot 17 of level 2, and level 1 has what came down"
    assert view.glow.glows("left", PRODUCE, 2, 17)
    assert view.glow.glows("came", PRODUCE, 1, 10)
    view.advance(now_us + 1_100_000)
    assert not timer.recent(view.glow.now_us)
    assert not view.glow.glows("left", PRODUCE, 2, 17)


def test_a_cancelled_task_is_not_taken_for_one_that_came_down() -> None:
    story = Story()
    sample(story, 300, demoted=0, cancelled=0, l2=slots(s17=2))
    view = reduced(story)
    sample(story, 310, demoted=0, cancelled=2, l2=slots())
    assert not reduced(story, view).timers[PRODUCE].moves


def test_an_event_names_what_came_down_from_where() -> None:
    story = Story()
    for task in ("web-0 #88", "web-1 #89"):
        story.tell(
            1,
            TimerTaskDemoted(
                timer="Produce",
                task=task,
                deadline_ms=350,
                left_ms=10,
                from_level=2,
                from_slot=17,
                level=1,
                slot=10,
            ),
        )
    view = reduced(story)
    (move,) = view.timers[PRODUCE].recent(view.glow.now_us)
    assert (move.from_slot, move.slot, move.tasks, move.task) == (17, 10, 2, "")


def test_the_screen_says_why_low_wheels_stand_at_zero() -> None:
    story = Story()
    sample(story, 100, demoted=0, cancelled=0, l1=slots(), l2=slots(), l4=slots(s3=1))
    timer = reduced(story).timers[PRODUCE]
    assert timer.why_low_wheels_are_empty() == "", "nothing was answered yet"
    sample(story, 200, demoted=0, cancelled=99, l1=slots(), l2=slots(), l4=slots(s3=1))
    timer = reduced(story).timers[PRODUCE]
    assert timer.why_low_wheels_are_empty() == (
        "levels 1 and 2 are empty: tasks come down for their last 400 ms; 99 of 100 were answered"
        " and cancelled before"
    )
    sample(story, 300, demoted=1, cancelled=99, l1=slots(s2=1), l2=slots(), l4=slots())
    assert reduced(story).timers[PRODUCE].why_low_wheels_are_empty() == ""
