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


def test_parts_are_counted_by_broker() -> None:
    view = LearnersView()
    for broker in (0, 2):
        told(view, broker, LearnerInstalled("02-1", "m.TimingWheel", "/f.py"))
    told(view, 0, LearnerSampled("02-1", LearnerCalls(7, 0)))
    told(view, 2, LearnerSnapshot("05-1", "m.candidate_of", "/g.py", LearnerCalls(3, 1)))
    assert view.brokers == [0, 2]
    assert view.parts["02-1"][0].calls == 7
    assert view.parts["05-1"][2].failures == 1
    told(view, 2, LearnerFailed("05-1", "no", "/g.py", 4, 3))
    told(view, 2, LearnerRetired("05-1", "m.candidate_of", "/g.py", 3))
    assert view.parts["05-1"][2].retired
    told(view, 2, LinkLost("it was killed"))
    assert view.parts.keys() == {"02-1"}
    assert view.brokers == [0]


def test_the_line_names_them_and_what_failed() -> None:
    view = LearnersView()
    for broker in (0, 1):
        told(view, broker, LearnerInstalled("02-1", "m.TimingWheel", "/f.py"))
        told(view, broker, LearnerSampled("02-1", LearnerCalls(1_000, 0)))
    told(view, 1, LearnerFailed("05-1", "no", "/g.py", 4, 3))
    told(view, 1, LearnerRetired("05-1", "m.candidate_of", "/g.py", 3))
    text = line_of(view, DARK, 200).plain
    assert text == "your parts: 02-1 2,000 · 05-1 0 ✕ 3, ours in broker 1 calls in brokers 0, 1"
