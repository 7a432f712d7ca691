"""The reducer of the Purgatory screen."""

from kafka_edu.instruments.link_events import LinkLost
from kafka_edu.trace.event import SUPERVISOR
from kafka_edu.trace.events.purgatory import (
    EndedBy,
    OperationCompleted,
    OperationsEnded,
    OperationsEndedSampled,
    OperationsEndedSnapshot,
    PurgatorySampled,
    PurgatoryState,
    ReplicaProgress,
    Requirement,
    WaitingOperation,
    WaitingOperationSampled,
)
from tests.unit.tui.story_of_events import Story
from tests.unit.tui.usual_events import killed
from tui.view_model.purgatory_view import (
    KEPT_COMPLETIONS,
    OperationKey,
    PurgatoryView,
)
from tui.widgets.purgatory_board import PurgatoryChoice


def sampled(story: Story, broker: int, name: str, *waiting: WaitingOperation) -> None:
    state = PurgatoryState(name, len(waiting), len(waiting), len(waiting), 0, 0, 0, 0)
    story.tell(broker, PurgatorySampled(state=state))
    for one in waiting:
        story.tell(broker, WaitingOperationSampled(waiting=one))


def produce(
    story: Story, number: int, age_ms: int, *, behind: int = 22, broker: int = 2
) -> WaitingOperation:
    need = Requirement(
        subject="web-0",
        needs="high watermark",
        at_least=100,
        have=100 - behind,
        holders=(("broker 1", 100), (f"broker {broker}", 100 - behind)),
        replicas=(ReplicaProgress(broker, 100 - behind, story.now_ms - 500, story.now_ms - 500),),
        isr_check_ms=story.now_ms + 4_600,
        max_lag_ms=10_000,
        min_isr=1,
    )
    why = (need,) if behind else ()
    deadline_ms = story.now_ms - age_ms + 30_000
    return WaitingOperation(
        "Produce", number, "produce web-0", ("web-0",), age_ms, deadline_ms, why, "kcat", number
    )


def fetch(story: Story, number: int, age_ms: int) -> WaitingOperation:
    deadline_ms = story.now_ms - age_ms + 500
    why = (Requirement("a consumer", "bytes up to the high watermark", 1, 0, (("web-0", 9),)),)
    return WaitingOperation("Fetch", number, "fetch web-0", ("web-0",), age_ms, deadline_ms, why)


def reduced(story: Story) -> PurgatoryView:
    view = PurgatoryView()
    for envelope in story.envelopes:
        view.apply(envelope)
    return view


def test_the_longest_waiting_comes_first_and_those_who_want_to_wait_last() -> None:
    story = Story()
    sampled(story, 0, "Fetch", fetch(story, 1, 480))
    sampled(story, 0, "Produce", produce(story, 8, 40), produce(story, 9, 20))
    sampled(story, 1, "Produce", produce(story, 3, 300))
    view = reduced(story)
    assert [one.key for one in view.waiting()] == [
        OperationKey(1, "Produce", 3),
        OperationKey(0, "Produce", 8),
        OperationKey(0, "Produce", 9),
        OperationKey(0, "Fetch", 1),
    ]
    assert [one.key.operation for one in view.waiting(0, "Produce")] == [8, 9]
    assert (view.brokers(), view.names(0), view.names(1)) == (
        [0, 1],
        ["Fetch", "Produce"],
        ["Produce"],
    )
    assert view.delayed(None, "Produce") == 3


def test_it_answers_with_the_broker_that_is_missing() -> None:
    story = Story()
    sampled(
        story,
        1,
        "Produce",
        produce(story, 1, 800),
        produce(story, 2, 700, behind=30),
        produce(story, 3, 600, behind=5, broker=0),
    )
    view = reduced(story)
    assert view.answer() == (
        "warning",
        "! 2 requests wait for broker 2: 30 records behind, last fetch 500 ms ago; 1 request waits"
        " for broker 0: 5 records behind, last fetch 500 ms ago",
    )
    view.advance(view.glow.now_us + 1_000_000)
    assert "last fetch 1.5 s ago" in view.answer()[1], "time goes on between two samples"


def test_it_answers_when_nobody_is_kept_waiting() -> None:
    story = Story()
    assert reduced(story).answer() == ("warning", "? no purgatory is known yet")
    sampled(story, 0, "Fetch", fetch(story, 1, 480))
    assert reduced(story).answer() == (
        "ok",
        "✓ no request is kept waiting: 1 operation here waits for news, as its client wants",
    )
    sampled(story, 0, "Produce", produce(story, 2, 1_400, behind=0))
    assert reduced(story).answer() == (
        "warning",
        "1 request waiting, the longest for 1.4 s; no broker is behind",
    )


def test_a_sample_replaces_the_one_before() -> None:
    story = Story()
    sampled(story, 0, "Produce", produce(story, 8, 40), produce(story, 9, 20))
    story.now_ms += 100
    sampled(story, 0, "Produce", produce(story, 9, 120))
    assert [one.key.operation for one in reduced(story).waiting()] == [9]
    story.now_ms += 100
    sampled(story, 0, "Produce")
    assert reduced(story).waiting() == []


def test_what_ended_the_others_is_counted_over_all_brokers() -> None:
    story = Story()
    for broker in (0, 1):
        before = OperationsEnded("Produce", (EndedBy("time-out", (0, 3)),))
        story.tell(broker, OperationsEndedSnapshot(state=before))
    fetched = "HW moved: broker 2 fetched"
    story.now_ms += 100
    for broker, waits in ((0, (0, 0, 0, 40)), (1, (0, 0, 0, 0, 0, 2))):
        now = OperationsEnded("Produce", (EndedBy("time-out", (0, 4)), EndedBy(fetched, waits)))
        story.tell(broker, OperationsEndedSampled(state=now))
    view = reduced(story)
    assert [(end.cause, end.times) for end in view.ended()] == [(fetched, 42), ("time-out", 2)]
    assert view.ended()[0].typical_ms == 6, "of the broker with more of them"
    assert [end.times for end in view.ended(1)] == [2, 1]
    assert view.counts_causes()
    assert not view.counts_causes(None, "Fetch")
    view.advance(view.glow.now_us + 10_000_000)
    assert view.ended() == []


def test_what_ended_patient_waits_comes_last() -> None:
    story = Story()
    for name, cause, waits in (
        ("Fetch", "bytes for follower 2", (0, 900)),
        ("Fetch", "new leader epoch", (0, 0, 5)),
        ("Produce", "HW moved: new leader epoch", (0,) * 13 + (4,)),
    ):
        ends = OperationsEnded(purgatory=name, ended=(EndedBy(cause=cause, waits=waits),))
        story.tell(0, OperationsEndedSampled(state=ends))
    ended = reduced(story).ended()
    assert [end.cause for end in ended[:1]] == ["HW moved: new leader epoch"]
    assert (ended[0].times, ended[0].typical_ms) == (4, 6_144)


def test_the_end_of_an_operation_is_found_again() -> None:
    story = Story()
    done = OperationCompleted(
        purgatory="Produce",
        operation=8,
        label="produce web-0",
        by="event",
        key="web-0",
        waited_ms=6_020,
        cause="HW moved: the ISR changed",
    )
    story.tell(1, done)
    story.tell(1, done._replace(operation=9, cause=""))
    story.tell(1, done._replace(operation=10, by="at once"))
    view = reduced(story)
    found = view.completion(OperationKey(1, "Produce", 8))
    assert found is not None
    assert (found.facts.waited_ms, found.cause) == (6_020, "HW moved: the ISR changed")
    older = view.completion(OperationKey(1, "Produce", 9))
    assert older is not None
    assert older.cause == "event", "as brokers of older recordings say it"
    assert view.completion(OperationKey(1, "Produce", 10)) is None, "it did not wait"
    assert view.completion(OperationKey(0, "Produce", 8)) is None


def test_a_broker_that_is_gone_has_no_purgatories() -> None:
    story = Story()
    for broker in (0, 1, 2):
        sampled(story, broker, "Produce", produce(story, 1, 10))
    story.tell(1, LinkLost("closed"))
    story.tell(SUPERVISOR, killed(2))
    assert reduced(story).brokers() == [0]


def test_a_silent_broker_is_said_to_be_silent() -> None:
    story = Story()
    sampled(story, 0, "Produce", produce(story, 1, 10))
    view = reduced(story)
    assert view.silent_us(0) == 0
    view.advance(view.glow.now_us + 5_100_000)
    assert view.silent_us(0) == 5_100_000
    row = view.waiting()[0]
    assert row.facts.operation == 1, "what it last said stays"
    assert view.answer() == (
        "warning",
        "? broker 0 has sent nothing for 5.1 s: its waits are as of then",
    )


def test_ages_of_a_silent_broker_are_those_of_its_last_sample() -> None:
    """A fetch that had waited 200 ms when its broker was paused has not waited for a minute."""
    story = Story()
    sampled(story, 0, "Fetch", fetch(story, 1, 200))
    view = reduced(story)
    row = view.waiting()[0]
    view.advance(view.glow.now_us + 100_000)
    assert view.age_ms(row) == 300, "between two samples it goes on"
    view.advance(view.glow.now_us + 60_000_000)
    assert (view.age_ms(row), view.as_of_ms(row)) == (200, row.sampled_ms)
    kind, words = view.answer()
    assert kind == "warning"
    assert "no request is kept waiting" not in words


def test_who_is_kept_waiting_elsewhere_is_still_said() -> None:
    story = Story()
    sampled(story, 0, "Fetch", fetch(story, 1, 200))
    story.now_ms += 8_000
    sampled(story, 1, "Fetch", fetch(story, 1, 200))
    assert reduced(story).answer() == (
        "warning",
        "? broker 0 has sent nothing for 8.0 s: its waits are as of then; no other request is kept"
        " waiting",
    )


def test_its_memory_is_bounded() -> None:
    story = Story()
    done = OperationCompleted(
        purgatory="Produce",
        operation=1,
        label="produce web-0",
        by="time-out",
        key="",
        waited_ms=30_000,
    )
    view = PurgatoryView()
    for n in range(3 * KEPT_COMPLETIONS):
        view.apply(story.tell(0, done._replace(operation=n)))
        story.envelopes.clear()
    assert len(view.completions) == KEPT_COMPLETIONS
    assert view.completed == 3 * KEPT_COMPLETIONS


def test_another_place_lets_go_of_an_operation_that_does_not_wait_there() -> None:
    """If the operation stayed chosen, its details would stay next to the list of another
    purgatory.
    """
    view, choice = PurgatoryView(), PurgatoryChoice()
    ended = OperationKey(broker=1, purgatory="Rebalance", operation=7)
    for move in (choice.move_name, choice.move_broker):
        choice.operation = ended
        move(view, 1)
        assert choice.operation is None
