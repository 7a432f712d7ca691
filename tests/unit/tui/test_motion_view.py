"""Slow motion: a record travels as it really did, and each station is linked to the next by the
chain of causes.
"""

from functools import cache
from pathlib import Path

from kafka_edu.instruments.recording import read_recordings
from kafka_edu.instruments.replay import Replay
from kafka_edu.trace.event import Envelope
from kafka_edu.trace.events.timer import TimerTaskAdded, TimerTaskDemoted, TimerTaskExpired
from kafka_edu.trace.reader import History
from tests.unit.tui.story_of_events import Story
from tui.model import Model
from tui.player import Player
from tui.view_model.descent import descent
from tui.view_model.motion_view import MotionView

RECORDING = Path(__file__).parents[2] / "tui" / "recordings" / "records-travel.jsonl.gz"


@cache
def recorded() -> tuple[Envelope, ...]:
    return tuple(read_recordings([RECORDING]))


def sampled() -> MotionView:
    """Return the motion after the first record of the recording has been sampled."""
    model = Model("demo")
    player = Player(model, Replay(recorded()))
    model.motion.switch(True)
    while model.motion.journey is None:
        player.tick(50_000)
        assert player.replay is not None
        assert not player.replay.ended, "no record was sampled"
    return model.motion


def test_a_record_travels_from_the_client_to_the_followers_and_back() -> None:
    journey = sampled().journey
    assert journey is not None
    labels = [station.label for station in journey.stations]
    assert labels[:3] == ["arrives", "handler", "appended"]
    assert labels[-1] == "acknowledged"
    leader = journey.stations[0].source
    copied = [station for station in journey.stations if station.label == "copied"]
    assert copied, "a follower stored it"
    assert all(station.source != leader for station in copied)
    assert any(label.startswith("HW ") for label in labels)
    assert any(label.endswith("asks on") for label in labels), "its next fetch tells the leader"
    times = [station.at_us for station in journey.stations]
    assert times == sorted(times)
    assert all(station.envelope in recorded() for station in journey.stations), "none invented"


def test_each_station_is_tied_to_the_answer_by_true_links() -> None:
    journey = sampled().journey
    assert journey is not None
    history = History(recorded())
    causes = {
        history.ident(node.envelope)
        for root in history.causes_tree(journey.stations[-1].envelope)
        for _, node in root.walk()
    }
    assert {history.ident(station.envelope) for station in journey.stations} <= causes


def test_it_moves_at_its_own_pace_and_then_rests() -> None:
    motion = sampled()
    journey = motion.journey
    assert journey is not None
    assert 2_000_000 < journey.length_us * journey.factor <= 6_000_000
    motion.elapsed_us = 0
    assert motion.place() == (0, 0.0)
    motion.advance(journey.length_us * journey.factor // 2)
    assert abs(motion.at_us - journey.length_us // 2) <= 1
    last, part = motion.place()
    assert 0 < last < len(journey.stations) - 1
    assert 0.0 <= part < 1.0
    motion.advance(journey.length_us * journey.factor)
    assert motion.place() == (len(journey.stations) - 1, 0.0)
    assert motion.finished == (motion.elapsed_us > journey.length_us * journey.factor + 2_000_000)


def test_a_task_comes_down_level_by_level() -> None:
    story, motion, history = Story(), MotionView(), History()
    motion.switch(True)
    task = {"timer": "Fetch", "task": "fetch #7", "deadline_ms": 500}

    def tell(event: tuple[object, ...], after_ms: int) -> None:
        motion.apply(story.tell(1, event, after_ms=after_ms), history)

    tell(TimerTaskAdded(**task, delay_ms=500, level=3, slot=1), 0)  # type: ignore[arg-type]  # as declared
    tell(TimerTaskDemoted(**task, left_ms=100, from_level=3, from_slot=1, level=2, slot=4), 400)  # type: ignore[arg-type]  # as declared
    tell(TimerTaskExpired(**task, late_ms=0, level=2, slot=4), 100)  # type: ignore[arg-type]  # as declared
    journey = motion.journey
    assert journey is not None
    assert journey.what == "task fetch #7 of Fetch, b1"
    assert (journey.kind, journey.of, journey.factor) == ("timer tasks", 1, 10)
    assert [station.label for station in journey.stations] == ["level 3 [1]", "level 2 [4]", "runs"]
    down = descent(motion)
    assert down is not None
    assert (down.task, down.deadline_ms, down.at) == ("fetch #7", 500, 0)
    assert down.lies_in(3, 1)
    motion.advance(400_000 * journey.factor)
    down = descent(motion)
    assert down is not None
    assert down.lies_in(2, 4)
    assert down.lay_in(3, 1)
    assert not down.lay_in(2, 4)
    assert [stop.words for stop in down.stops] == ["level 3 slot 1", "level 2 slot 4", "runs"]
    motion.switch(False)
    assert descent(motion) is None


def test_it_takes_nothing_while_it_is_off() -> None:
    motion, history = MotionView(), History(recorded())
    for envelope in recorded():
        motion.apply(envelope, history)
    assert motion.journey is None
