"""A learner's parts on the Cluster screen: which serve, how often they were asked, what failed."""

from kafka_edu.instruments.link_events import LinkLost
from kafka_edu.trace.event import Envelope, Event, Source
from kafka_edu.trace.events.learner import (
    LearnerCalls,
    LearnerFailed,
    LearnerInstalled,
    LearnerRetired,
    LearnerSampled,
    LearnerSnapshot,
)
from tui.palette import DARK
from tui.view_model.learners_view import LearnersView
from tui.widgets.learner_line import line_of


def told(view: LearnersView, broker: int, event: Event) -> None:
    view.apply(Envelope(Source.of_broker(broker), 1, 0, 0, 0, event))


def installed(exercise: str) -> LearnerInstalled:
    return LearnerInstalled(exercise=exercise, replaces="module.Name", file="/f.py")


def asked(exercise: str, calls: int) -> LearnerSampled:
    return LearnerSampled(exercise=exercise, total=LearnerCalls(calls=calls, failures=0))


def given_up(exercise: str) -> tuple[LearnerFailed, LearnerRetired]:
    return (
        LearnerFailed(exercise=exercise, message="no", file="/f.py", line=4, failures=3),
        LearnerRetired(exercise=exercise, replaces="module.Name", file="/f.py", failures=3),
    )


def test_parts_are_counted_by_broker() -> None:
    view = LearnersView()
    for broker in (0, 2):
        told(view, broker, installed("02-1"))
    told(view, 0, asked("02-1", 7))
    total = LearnerCalls(calls=3, failures=1)
    snapshot = LearnerSnapshot(exercise="05-1", replaces="module.Name", file="/f.py", total=total)
    told(view, 2, snapshot)
    assert view.brokers == [0, 2]
    assert view.parts["02-1"][0].calls == 7
    assert view.parts["05-1"][2].failures == 1
    for event in given_up("05-1"):
        told(view, 2, event)
    assert view.parts["05-1"][2].retired
    told(view, 2, LinkLost(reason="it was killed"))
    assert view.parts.keys() == {"02-1"}
    assert view.brokers == [0]


def test_the_line_names_them_and_what_failed() -> None:
    view = LearnersView()
    for broker in (0, 1):
        told(view, broker, installed("02-1"))
        told(view, broker, asked("02-1", 1_000))
    for event in given_up("05-1"):
        told(view, 1, event)
    text = line_of(view, DARK, 200).plain
    assert text == "your parts (calls): 02-1 2,000 · 05-1 0 ✕ 3, ours in broker 1 · brokers 0, 1"
    assert line_of(view, DARK, 30).plain.endswith("…")
