"""Time in the dashboard: going back uses a keyframe, a live view pauses while the cluster goes on,
and breakpoints.
"""

import gzip
import time
from functools import cache
from pathlib import Path

import pytest

from kafka_edu.instruments.recording import Recorder, read_recordings
from kafka_edu.instruments.replay import Replay
from kafka_edu.trace.event import Envelope
from kafka_edu.trace.events.controller import LeaderElected
from kafka_edu.trace.events.purgatory import WaitingOperation, WaitingOperationSampled
from kafka_edu.trace.events.replication import FetcherFailed, IsrShrunk
from tests.unit.tui.story_of_events import Story
from tests.waiting import PATIENCE_S
from tui import player as player_module
from tui.model import Model
from tui.player import (
    KEYFRAMES_BYTES,
    LEAST_KEYFRAMES,
    NEAR_BYTES,
    NEAR_FRAMES,
    PIECE_EVENTS,
    RING_KEYFRAMES,
    Keyframes,
    Player,
    keyframes_of,
)
from tui.view_model.keyframe import ENTRY_BYTES, Shared, copied, size_of

RECORDING = Path(__file__).parents[2] / "tui" / "recordings" / "leader-killed.jsonl.gz"


@cache
def recorded() -> tuple[Envelope, ...]:
    return tuple(read_recordings([RECORDING]))


def picture(model: Model) -> tuple[object, ...]:
    """Return what the screens would show, as values."""
    partitions = [
        (p.key, p.leader, p.leader_epoch, p.isr, p.hw, p.leo)
        for p in model.cluster.partitions.by_key.values()
    ]
    lines = [(line.number, line.text, line.because, line.cause) for line in model.ticker.lines]
    every = [(line.number, line.text, line.times, line.cause) for line in model.ticker.all.lines]
    wheels = [(key, timer.tasks, timer.demoted.total) for key, timer in model.wheels.timers.items()]
    return partitions, lines, every, wheels, model.cluster.controller, model.cluster.verdict()


def fresh(clock_us: int) -> Model:
    """Return a model that has seen the recording from its start up to this time."""
    model = Model("demo")
    model.apply(e for e in recorded() if e.mono_us <= clock_us)
    model.advance(clock_us)
    return model


def told(model: Model) -> int:
    """Return how many facts the time line holds."""
    return sum(line.times for line in model.ticker.all.lines)


class CountingModel(Model):
    applied = 0

    def apply(self, envelopes: object) -> None:
        events = list(envelopes)  # type: ignore[call-overload]  # any iterable of events
        self.applied += len(events)
        super().apply(events)


def test_back_and_forth_shows_what_a_first_look_would_show() -> None:
    model = Model("demo")
    player = Player(model, Replay(recorded()))
    for at_ms in (28_000, 9_000, 17_500, 11_000, 17_000, 0, 26_000):
        player.wind_to(at_ms)
        assert player.replay is not None
        assert player.replay.at_ms == at_ms
        assert picture(model) == picture(fresh(player.replay.clock_us)), at_ms


def test_a_step_back_costs_one_interval_and_not_the_whole_recording() -> None:
    model = CountingModel("demo")
    player = Player(model, Replay(recorded()))
    player.wind_to(28_000)
    player.step(-1)
    assert player.replay is not None
    at_ms = player.replay.at_ms
    assert at_ms < 28_000
    assert picture(model) == picture(fresh(player.replay.clock_us))
    model.applied = 0
    for _ in range(5):
        player.step(-1)
    assert model.applied < 5 * 2 * player_module.NEAR_EVENTS, "of 10,000 events"
    player.step(1)
    assert picture(model) == picture(fresh(player.replay.clock_us))


def test_a_recording_stops_at_a_breakpoint_and_says_which_event_it_was() -> None:
    model = Model("demo")
    player = Player(model, Replay(recorded()))
    player.breakpoints.toggle("a process ends")
    for _ in range(40):
        player.tick(1_000_000)
        if player.hit:
            break
    assert player.hit is not None
    assert player.replay is not None
    assert not player.replay.playing
    assert player.replay.clock_us == player.hit.envelope.mono_us
    assert model.pause is not None
    assert "a process ends · sup: broker 1 killed by SIGKILL" in model.pause.stopped_by
    player.toggle()
    player.tick(200_000)
    assert player.hit is None
    assert player.replay.clock_us > recorded()[0].mono_us


def failing(story: Story, count: int) -> list[Envelope]:
    begin = len(story.envelopes)
    for n in range(count):
        story.tell(n % 3, FetcherFailed(leader=1, reason=f"{n}: x"), after_ms=100)
    return story.envelopes[begin:]


def shrunk(story: Story) -> Envelope:
    event = IsrShrunk(
        topic="web",
        partition=0,
        leader_epoch=1,
        before=(0, 1),
        after=(0,),
        zk_version=2,
        reason="1 has not caught up: x",
    )
    return story.tell(0, event, after_ms=100)


def test_a_live_view_pauses_while_the_cluster_runs_on() -> None:
    story, model = Story(), Model("demo")
    player = Player(model)
    player.take(failing(story, 10), story.now_ms * 1000)
    before = told(model)
    player.toggle()
    player.take(failing(story, 20), story.now_ms * 1000)
    assert told(model) == before, "the view stands still"
    assert model.pause is not None
    assert model.pause.behind_us == 2_000_000
    player.step(-1)
    assert told(model) == before - 1
    player.step(1)
    player.step(1)
    assert told(model) == before + 1, "forward into what came meanwhile"
    player.to_now()
    assert told(model) == before + 20
    assert model.pause is None
    player.take(failing(story, 1), story.now_ms * 1000)
    assert told(model) == before + 21, "and now goes on in the view"


def test_a_live_view_that_was_wound_back_plays_on_and_catches_up() -> None:
    story, model = Story(), Model("demo")
    player = Player(model)
    player.take(failing(story, 50), story.now_ms * 1000)
    player.wind(-2_000)
    assert model.pause is not None
    assert model.pause.behind_us == 2_000_000
    player.toggle()
    player.faster(1)
    player.tick(500_000)
    player.take([], story.now_ms * 1000)
    assert (model.pause.behind_us, model.pause.speed) == (1_000_000, 2.0)
    player.tick(600_000)
    assert not player.paused, "the end of what is held is now"
    assert model.pause is None


def test_a_live_view_stops_at_a_breakpoint_and_now_goes_on() -> None:
    story, model = Story(), Model("demo")
    player = Player(model)
    player.breakpoints.toggle("ISR shrinks")
    batch = [*failing(story, 3), shrunk(story), *failing(story, 5)]
    player.take(batch, story.now_ms * 1000)
    assert model.ticker.lines[-1].envelope.event == batch[3].event, "the view ends at the event"
    assert model.pause is not None
    assert model.pause.stopped_by.startswith("ISR shrinks · b0: ISR of web-0 shrinks {0,1} → {0}")
    player.to_now()
    assert told(model) == len(batch)


def test_a_long_wait_stops_the_view_once() -> None:
    story = Story()

    def waits(age_ms: int, label: str = "DelayedProduce") -> Envelope:
        waiting = WaitingOperation("Produce", 7, label, ("web-0",), age_ms, 30_000, ())
        return story.tell(1, WaitingOperationSampled(waiting=waiting), after_ms=100)

    breakpoints = Player(Model("demo")).breakpoints
    breakpoints.toggle("a request waits > 1 s")
    assert breakpoints.hit(waits(900)) is None
    assert breakpoints.hit(waits(5_000, "DelayedFetch")) is None, "as its client asked"
    hit = breakpoints.hit(waits(1_100))
    assert hit is not None
    assert hit.words == "a request waits > 1 s · b1: DelayedProduce on web-0 waits 1,100 ms"
    assert breakpoints.hit(waits(1_200)) is None


def test_the_tape_is_bounded_also_while_somebody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(player_module, "KEYFRAME_EVERY_EVENTS", 200)
    story, model = Story(), Model("demo")
    player = Player(model)
    player.most_events = 2_000
    for _ in range(12):
        player.take(failing(story, 500), story.now_ms * 1000)
        assert len(player.tape) <= 2_500
    player.wind(-60_000)
    before = picture(model)
    for _ in range(6):
        player.take(failing(story, 500), story.now_ms * 1000)
    assert len(player.tape) <= 2_500
    assert model.pause is not None
    assert model.pause.not_held > 0, "and the screen says so"
    assert picture(model) == before
    player.to_now()
    player.take(failing(story, 10), story.now_ms * 1000)
    assert len(player.tape) == 10, "what is held has no hole"
    player.step(-1)
    assert player.paused


@pytest.mark.parametrize(("fitting", "kept"), [(1, LEAST_KEYFRAMES), (5, 5), (99, 12)])
def test_keyframes_are_bounded_in_bytes_and_a_step_back_is_right_with_few(
    monkeypatch: pytest.MonkeyPatch, fitting: int, kept: int
) -> None:
    monkeypatch.setattr(player_module, "KEYFRAME_EVERY_US", 1_000)
    monkeypatch.setattr(player_module, "KEYFRAME_EVERY_EVENTS", 200)
    monkeypatch.setattr(player_module, "MAX_KEYFRAMES", 12)
    monkeypatch.setattr(player_module, "size_of", lambda _: KEYFRAMES_BYTES // fitting)
    story, model = Story(), Model("demo")
    player = Player(model)
    most = 0
    for _ in range(60):
        player.take(failing(story, 100), story.now_ms * 1000)
        most = max(most, len(player._keyframes.frames))
    assert most == kept
    player.wind(-300_000)
    assert player.replay is not None
    expected = Model("demo")
    expected.apply(e for e in story.envelopes if e.mono_us <= player.replay.clock_us)
    assert picture(model)[0] == picture(expected)[0]
    assert told(model) == told(expected)
    assert len(player._keyframes.near) <= NEAR_FRAMES * fitting * NEAR_BYTES // KEYFRAMES_BYTES + 1


def test_a_tape_that_is_full_before_its_second_keyframe_begins_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(player_module, "TAPE_EVENTS", 1_000)
    monkeypatch.setattr(player_module, "KEYFRAME_EVERY_US", 10**12)
    story, model = Story(), Model("demo")
    player = Player(model)
    for _ in range(25):
        player.take(failing(story, 100), story.now_ms * 1000)
        assert len(player.tape) < 1_000
    player.step(-1)
    assert told(model) == 2_499


def test_the_size_of_a_copy_counts_each_part_once() -> None:
    part = {"a": [1, 2], "b": {3}, "c": (4, 5)}
    alone = size_of({"one": part})
    assert alone == ENTRY_BYTES * 11, "4 containers, and 7 entries in them"
    assert size_of({"one": part, "other": part}) == alone + ENTRY_BYTES


def test_the_rings_facts_stand_before_what_was_watched() -> None:
    story, model = Story(), Model("demo")
    older = [shrunk(story), *failing(story, 30)]
    player = Player(model)
    player.take(failing(story, 10), story.now_ms * 1000)
    player.wind(-60_000)
    assert player.at_the_beginning
    assert player.add_rings(older) == 31
    assert not player.at_the_beginning
    player.wind(-60_000)
    player.step(1)
    assert isinstance(model.ticker.all.lines[0].envelope.event, IsrShrunk)
    player.to_now()
    assert told(model) == 10


def test_where_the_watching_began_the_rings_facts_are_known() -> None:
    """The dashboard began with an empty model. Later, facts of the rings were put before that
    moment.
    """
    story, model = Story(), Model("demo")
    older = [shrunk(story), *failing(story, 30)]
    frames = list(filter(None, keyframes_of(older, "demo")))
    player = Player(model)
    player.take(failing(story, 10), story.now_ms * 1000)
    player.wind(-60_000)
    assert player.add_rings(older, frames) == 31
    assert player.replay is not None
    player.wind_to((older[-1].mono_us - player.replay.begin_us) // 1000)
    player.step(1)
    assert isinstance(model.ticker.all.lines[0].envelope.event, IsrShrunk)
    assert model.cluster.facts_only
    assert model.cluster.partitions.by_key


def test_winding_into_the_rings_plays_a_piece_of_them_and_not_all() -> None:
    story = Story()
    older = [shrunk(story), *failing(story, 40 * PIECE_EVENTS)]
    held = failing(story, 10)
    pieces = list(keyframes_of(older, "demo"))
    assert len(pieces) == 41, "after each piece a key may have its turn"
    frames = [one for one in pieces if one is not None]
    assert len(frames) == RING_KEYFRAMES
    for frame in frames:
        assert frame.at_us == older[frame.index].mono_us
    views = []
    for given in (frames, None):
        model = CountingModel("demo")
        player = Player(model)
        player.take(held, story.now_ms * 1000)
        player.wind(-60_000_000)
        assert player.older([*older, *held]) == older
        assert player.add_rings(older, given) == len(older)
        assert player.replay is not None
        model.applied = 0
        middle_us = older[len(older) * 3 // 4].mono_us
        player.wind_to((middle_us - player.replay.begin_us) // 1000)
        if given:
            assert 0 < model.applied <= len(older) // RING_KEYFRAMES + PIECE_EVENTS
        views.append(picture(model))
    assert views[0] == views[1], "the same moment, with keyframes and without"


def test_keyframes_of_rings_count_among_all_keyframes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(player_module, "size_of", lambda _: KEYFRAMES_BYTES // 3)
    story = Story()
    older, player = failing(story, 40 * PIECE_EVENTS), Player(Model("demo"))
    frames = Keyframes(KEYFRAMES_BYTES // 2 + KEYFRAMES_BYTES // 3)
    for frame in filter(None, keyframes_of(older, "demo")):
        frames.add(frame)
        assert len(frames.frames) <= LEAST_KEYFRAMES
    player.take(failing(story, 10), story.now_ms * 1000)
    player.wind(-60_000)
    assert player.add_rings(older, frames.frames) == len(older)
    kept = player._keyframes.frames
    assert len(kept) <= 3
    assert kept[0].index == 0


def test_keyframes_of_rings_are_of_no_use_to_a_view_that_has_gone_on_to_now() -> None:
    story = Story()
    older, player = failing(story, 30), Player(Model("demo"))
    frames = list(filter(None, keyframes_of(older, "demo")))
    player.take(failing(story, 10), story.now_ms * 1000)
    player.wind(-60_000)
    player.to_now()
    assert player.older(older) == []
    assert player.add_rings(older, frames) == 0


def test_a_copy_shares_values_and_what_its_parts_share() -> None:
    class Part:
        def __init__(self) -> None:
            self.values = {"a": [1, 2]}

    part = Part()
    index: Shared[dict[int, int]] = Shared({})
    state = {"one": part, "other": part, "index": index, "fact": recorded()[0]}
    copy = copied(state)
    assert copy["one"] is copy["other"]
    assert copy["one"] is not part
    assert copy["index"] is index
    assert copy["fact"] is recorded()[0]
    part.values["a"].append(3)
    one = copy["one"]
    assert isinstance(one, Part)
    assert one.values == {"a": [1, 2]}


@pytest.mark.parametrize("packed", [True, False])
def test_a_recording_cut_short_by_a_kill_opens(tmp_path: Path, packed: bool) -> None:
    path = tmp_path / ("x.jsonl.gz" if packed else "x.jsonl")
    recorder = Recorder(path, "demo")
    recorder.write(recorded())
    recorder.close()
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) * 2 // 3])
    events = read_recordings([path])
    assert 1_000 < len(events) < len(recorded())
    assert events == list(recorded()[: len(events)])


def test_a_recorder_that_is_killed_leaves_all_but_the_last_second(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl.gz"
    recorder = Recorder(path, "demo")
    events = recorded()
    for at in range(0, len(events), 100):
        recorder.write(events[at : at + 100])
    left = tmp_path / "killed.jsonl.gz"
    end = time.monotonic() + PATIENCE_S
    kept: list[Envelope] = []
    while len(kept) < len(events):  # a second later all is on the disk, though it is not closed
        assert time.monotonic() < end
        time.sleep(0.05)
        left.write_bytes(path.read_bytes())  # what is there when the process is killed now
        kept = read_recordings([left], lambda _: None)
    recorder.close()
    with gzip.open(path) as file:
        assert len(file.readlines()) == len(events) + 1


def test_every_breakpoint_of_the_recording_is_met_by_its_event() -> None:
    player = Player(Model("demo"), Replay(recorded()))
    player.breakpoints.chosen = {"a leader changes"}
    hits = [hit for envelope in recorded() if (hit := player.breakpoints.hit(envelope))]
    assert len(hits) == sum(isinstance(e.event, LeaderElected) for e in recorded())
