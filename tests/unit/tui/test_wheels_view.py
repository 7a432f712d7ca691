"""The Wheels screen's state: wheels, hands, what comes next, what waits and why."""

from kafka_edu.trace.events.purgatory import PurgatorySampled, Requirement, WaitingOperationSampled
from kafka_edu.trace.events.supervisor import ProcessEnded
from kafka_edu.trace.events.timer import NextBucketSampled, TimerSampled, WheelSampled
from tests.unit.tui.story_of_events import Story
from tui.view_model.wheels_view import TimerKey, WheelsView, WheelView, left, why

PRODUCE = TimerKey(1, "Produce")


def slots(**held: int) -> tuple[int, ...]:
    return tuple(held.get(f"s{slot}", 0) for slot in range(20))


def reduced(story: Story, view: WheelsView | None = None) -> WheelsView:
    view = view or WheelsView()
    for envelope in story.envelopes:
        view.apply(envelope)
    story.envelopes.clear()
    return view


def test_the_books_350_ms_lie_in_slot_17_of_level_2() -> None:
    wheel = WheelView(WheelSampled("Produce", 2, 20, 20, 0, slots(s17=1), 0, 350))
    assert (wheel.hand, wheel.next_slot, wheel.due_ms(17), wheel.tasks) == (0, 17, 340, 1)


def test_a_slot_before_the_hand_belongs_to_the_next_round() -> None:
    wheel = WheelView(WheelSampled("Produce", 1, 1, 20, 1_482_310, slots(s9=2, s12=1), 0, 0))
    assert wheel.hand == 10
    assert (wheel.due_ms(12), wheel.due_ms(9)) == (1_482_312, 1_482_329)
    assert wheel.next_slot == 12


def test_a_timer_is_its_wheels_its_rates_and_its_next_bucket() -> None:
    story = Story()
    for i in range(12):
        story.tell(
            1,
            TimerSampled(
                "Produce", 100 * i, 90 * i, 3, 2, 100 * i + 7, 1000 * i, 999 * i, i, 60 * i
            ),
            after_ms=100,
        )
        story.tell(1, WheelSampled("Produce", 1, 1, 20, 90 * i, slots(s16=3), 0, 0))
        story.tell(
            1, NextBucketSampled("Produce", 1, 16, 100 * i + 7, 3, (("web-0", 100 * i + 7),))
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
    story.tell(1, TimerSampled("Produce", 5, 5, 1, 1, 9, 1, 0, 0, 0))
    story.tell(1, NextBucketSampled("Produce", 1, 9, 9, 1, (("web-0", 9),)))
    story.tell(1, TimerSampled("Produce", 15, 9, 0, 0, None, 1, 0, 1, 0), after_ms=100)
    timer = reduced(story).timers[PRODUCE]
    assert (timer.next_in_ms(), timer.next_bucket) == (None, None)


def test_only_slots_that_changed_glow() -> None:
    story = Story()
    story.tell(1, WheelSampled("Produce", 1, 1, 20, 0, slots(s3=1, s5=2), 0, 0))
    view = reduced(story)
    story.tell(1, WheelSampled("Produce", 1, 1, 20, 3, slots(s5=2, s6=1), 0, 0), after_ms=100)
    reduced(story, view)
    assert [slot for slot in range(20) if view.glow.glows("slot", PRODUCE, 1, slot)] == [3, 6]
    assert view.glow.glows("hand", PRODUCE, 1)
    view.advance(view.glow.now_us + 1_100_000)
    assert not view.glow.glows("slot", PRODUCE, 1, 6)


def operation(number: int, deadline_ms: int = 900) -> WaitingOperationSampled:
    holders = (("broker 0", 4), ("broker 1", 4), ("broker 2", 2))
    needs = Requirement("web-0", "high watermark", 4, 2, holders)
    return WaitingOperationSampled(
        "Produce", number, "DelayedProduce", ("web-0",), 412, deadline_ms, (needs,)
    )


def test_what_waits_is_the_last_sample_and_says_who_is_behind() -> None:
    story = Story()
    told = PurgatorySampled("Produce", 2, 2, 1, 0, 0, 0, 0)
    story.tell(1, TimerSampled("Produce", 500, 500, 2, 1, 900, 2, 0, 0, 0))
    story.tell(1, told)
    story.tell(1, operation(1))
    story.tell(1, operation(2))
    timer = reduced(story).timers[PRODUCE]
    assert [o.operation for o in timer.waiting] == [1, 2]
    assert why(timer.waiting[0]) == ["web-0 needs HW ≥ 4, has 2: broker 2 is 2 behind"]
    assert left(timer.waiting[0], timer) == "400 ms left"
    story.tell(1, told._replace(delayed=1), after_ms=100)
    story.tell(1, operation(2))
    view = reduced(story, WheelsView())
    assert [o.operation for o in view.timers[PRODUCE].waiting] == [2]


def test_requirements_read_from_a_recording_are_requirements_again() -> None:
    story = Story()
    plain = operation(1)._replace(why=tuple(tuple(needs) for needs in operation(1).why))  # type: ignore[misc]  # as JSON gives it
    story.tell(1, plain)
    assert why(reduced(story).timers[PRODUCE].waiting[0])[0].startswith("web-0 needs HW")


def test_a_dead_brokers_timers_go_with_it() -> None:
    story = Story()
    for broker in (0, 1):
        story.tell(broker, TimerSampled("Produce", 5, 5, 0, 0, None, 0, 0, 0, 0))
    story.tell(-1, ProcessEnded("broker-1", 1, 99, 0, "SIGKILL", True))
    view = reduced(story)
    assert (view.brokers(), list(view.timers)) == ([0], [TimerKey(0, "Produce")])
