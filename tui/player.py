"""Time in the dashboard: play, pause, step and wind, in a recording and on a live cluster.

The player owns the position and gives the events to the model. To go back, it takes the nearest
keyframe, a copy of the model's state, and applies the events after it. So a step back costs only
the events of one interval, however long the recording is.

A paused live view does not change. New events go into a second model, the head, and onto the tape,
the list of kept events. So the cluster's processes never wait for the reader, and the return to the
present costs nothing.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from kafka_edu.instruments.breakpoints import Breakpoints, Hit
from kafka_edu.instruments.event_sizes import EventSizes
from kafka_edu.instruments.recording import thinned
from kafka_edu.instruments.replay import Replay
from kafka_edu.trace.event import EVENT_TYPES, Envelope, Kind
from kafka_edu.trace.events.simulation import SimulationSampled
from kafka_edu.trace.reader import History

from .model import Model, Pause
from .view_model.cluster_view import ClusterView
from .view_model.keyframe import size_of
from .view_model.ticker import KEPT_FACTS

KEYFRAME_EVERY_US: Final = 10_000_000
KEYFRAME_EVERY_EVENTS: Final = 10_000
MAX_KEYFRAMES: Final = 24
KEYFRAMES_BYTES: Final = 24 * 1024 * 1024
"""Roughly how many bytes all keyframes may take. At least LEAST_KEYFRAMES are kept, even above this
limit.

With 60 partitions a keyframe takes about 1 MB, and with 600 partitions 12 MB.
"""
LEAST_KEYFRAMES: Final = 2
NEAR_EVENTS: Final = 1_000
NEAR_FRAMES: Final = 8
NEAR_BYTES: Final = 8 * 1024 * 1024
"""Roughly how many bytes the additional keyframes may take. At least one is kept."""
RING_KEYFRAMES: Final = 8
RINGS_BYTES: Final = 12 * 1024 * 1024
"""The most bytes of events that are read from the processes' rings. The oldest ones are left
out.
"""
RING_KEYFRAMES_BYTES: Final = 8 * 1024 * 1024
"""Roughly how many bytes the keyframes of these events may take, as in KEYFRAMES_BYTES."""
PIECE_EVENTS: Final = 100
"""The number of events that are applied in one piece. They take some ms of processor time."""
TAPE_EVENTS: Final = 40_000
TAPE_BYTES: Final = 24 * 1024 * 1024
"""The most bytes of a live cluster's events that are kept for going back. Only some gauges are
kept.
"""
GAUGES_EVERY_US: Final = 500_000


class Keyframe:
    """The state of the model after the first `index` events."""

    __slots__ = ("at_us", "index", "state")

    def __init__(self, index: int, at_us: int, state: dict[str, object]) -> None:
        self.index = index
        self.at_us = at_us
        self.state = state


def keyframes_of(facts: Sequence[Envelope], name: str) -> Iterator[Keyframe | None]:
    """Play the facts of the processes' rings, and yield RING_KEYFRAMES keyframes at even distances.

    None is yielded after each piece of PIECE_EVENTS that needs no keyframe. Ten minutes are
    thousands of facts, so the caller handles keys after each piece.

    Only the facts of a ring are used, so the state at its beginning is unknown. The model begins
    empty and learns from the facts.
    """
    model = Model(name)
    model.cluster.facts_only = True
    pieces = range(0, len(facts), PIECE_EVENTS)
    every = max(len(pieces) // RING_KEYFRAMES, 1)
    for number, begin in enumerate(pieces):
        due = number % every == 0 and number // every < RING_KEYFRAMES
        yield Keyframe(begin, facts[begin].mono_us, model.state()) if due else None
        model.apply(facts[begin : begin + PIECE_EVENTS])


class Keyframes:
    """Keyframes in the order of their index. If there are too many, every second one is dropped.

    There are too many if there are more than MAX_KEYFRAMES, or if they take more than `most_bytes`.
    For a cluster with many partitions only a few keyframes are kept.
    """

    def __init__(self, most_bytes: int = KEYFRAMES_BYTES) -> None:
        self._most_bytes = most_bytes
        self.frames: list[Keyframe] = []
        self.near: deque[Keyframe] = deque()
        """Additional keyframes around the position to which the reader last went back."""
        self._frame_bytes = 0
        """Roughly the memory of the newest keyframe, in bytes."""
        self._every_us = KEYFRAME_EVERY_US
        self._every_events = KEYFRAME_EVERY_EVENTS

    def due(self, index: int, at_us: int) -> bool:
        """Return whether a keyframe is due at this index, because the last one is far enough
        away.
        """
        if not self.frames:
            return True
        last = self.frames[-1]
        return index > last.index and (
            at_us - last.at_us >= self._every_us or index - last.index >= self._every_events
        )

    def add(self, frame: Keyframe) -> None:
        self._frame_bytes = size_of(frame.state)
        self.frames.append(frame)
        if len(self.frames) > self._most_frames:
            self.frames = self.frames[::2]
            self._every_us *= 2
            self._every_events *= 2

    def add_near(self, frame: Keyframe) -> None:
        """Add an additional keyframe. The oldest one is dropped if there are too many."""
        while len(self.near) >= self._most_near:
            self.near.popleft()
        self.near.append(frame)

    @property
    def _most_frames(self) -> int:
        fitting = self._most_bytes // max(self._frame_bytes, 1)
        return max(min(fitting, MAX_KEYFRAMES), LEAST_KEYFRAMES)

    @property
    def _most_near(self) -> int:
        return max(min(NEAR_BYTES // max(self._frame_bytes, 1), NEAR_FRAMES), 1)

    def add_older(self, frames: Sequence[Keyframe]) -> None:
        """Put keyframes of older events before the others."""
        self.frames[:0] = frames
        while len(self.frames) > self._most_frames:
            self.frames = self.frames[::2]

    def before(self, index: int, clock_us: int) -> Keyframe | None:
        """Return the last keyframe at or before the event with this index, and not after this
        time.
        """
        found = [
            frame
            for frame in (*self.frames, *self.near)
            if frame.index <= index and frame.at_us <= clock_us
        ]
        return max(found, key=lambda frame: frame.index, default=None)

    def near_due(self, index: int, target: int) -> bool:
        """Return whether an additional keyframe is due at `index`, on the way back to `target`."""
        return target - index <= self._most_near * NEAR_EVENTS and all(
            abs(index - frame.index) >= NEAR_EVENTS for frame in (*self.near, *self.frames)
        )

    def forget(self, events: int) -> None:
        """Shift all indexes, because this many events were dropped from the front."""
        for frame in (*self.frames, *self.near):
            frame.index -= events
        self.frames = [frame for frame in self.frames if frame.index >= 0]
        self.near = deque(f for f in self.near if f.index >= 0)
        if len(self.frames) < self._most_frames // 2:
            self._every_us, self._every_events = KEYFRAME_EVERY_US, KEYFRAME_EVERY_EVENTS

    def drop_after(self, index: int) -> None:
        """Drop the keyframes after this index, because the events there are void."""
        self.frames = [frame for frame in self.frames if frame.index <= index]
        self.near = deque(frame for frame in self.near if frame.index <= index)

    def drop_without_brokers(self, index: int) -> None:
        """Drop the keyframes at this index that contain no broker. They are wrong now, because
        earlier events were added before them.
        """

        def knows_brokers(frame: Keyframe) -> bool:
            cluster = frame.state["cluster"]
            return isinstance(cluster, ClusterView) and bool(cluster.brokers.by_id)

        self.frames = [f for f in self.frames if f.index != index or knows_brokers(f)]
        self.near = deque(f for f in self.near if f.index != index or knows_brokers(f))

    def clear(self) -> None:
        self.frames.clear()
        self.near.clear()


class Player:
    """The view's position in time, for a recording (`replay`) or for a live cluster."""

    def __init__(self, model: Model, replay: Replay | None = None) -> None:
        self.model = model
        self.replay = replay
        """The recording. For a live cluster: the kept events while the view is paused, and
        otherwise None.
        """
        self.live = replay is None
        self.breakpoints = Breakpoints()
        self.hit: Hit | None = None
        """The breakpoint at which the view was stopped, or None."""
        self.observer: Callable[[Envelope], bool] | None = None
        """A function that is called with each event that happens or is played.

        If it returns True, a recording stops there.
        """
        self.tape: list[Envelope] = []
        self._head = model
        """The model of the present. While the view is paused, it is not the view's model."""
        self.most_events = TAPE_EVENTS
        """How many events of a live cluster are kept for going back."""
        self._keyframes = Keyframes()
        self._tape_bytes = 0
        self._sizes = EventSizes()
        self._keeps = thinned(GAUGES_EVERY_US)
        self._now_us = 0
        self._paused_at = 0
        self._not_held = 0
        self._from_rings = False
        self._forgets = False
        """Whether events before the tape have been dropped."""

    @property
    def paused(self) -> bool:
        """Return whether a live view is paused, or plays behind the present."""
        return self.live and self.replay is not None

    def take(self, envelopes: Sequence[Envelope], now_us: int) -> None:
        """Process the events that a live cluster sent. O(events)."""
        self._now_us = now_us
        if self.observer is not None:
            for envelope in envelopes:
                self.observer(envelope)
        for at, envelope in enumerate(envelopes):
            self._keyframe_of_tape(envelope)
            self._head.route(envelope)
            self._hold(envelope)
            if not self.paused:
                self._move(envelope)
            if not self.paused and (hit := self._met(envelope)) is not None:
                self._head.advance(envelope.mono_us)
                self._pause(hit)
                # The view stops at this event. The other events go into the head.
                self._head.apply(envelopes[at + 1 :])
                for later in envelopes[at + 1 :]:
                    self._hold(later)
                break
        self._head.advance(now_us)
        self._trim()
        self._tell()

    def tick(self, elapsed_us: int) -> None:
        """Move time forward in a recording, or in a live view that is behind the present.

        Slow motion has its own pace, and continues while the view is paused.
        """
        self.model.motion.advance(elapsed_us)
        if self.replay is None:
            return
        begin = self.replay.index
        played = self.replay.advance(elapsed_us)
        for at, envelope in enumerate(played):
            self._keyframe(begin + at, envelope)
            self.model.apply((envelope,))
            self._move(envelope)
            stop = not self.live and self.observer is not None and self.observer(envelope)
            if (hit := self._met(envelope)) is not None:
                self.hit = hit
            if stop or hit is not None:
                self.replay.stop_at(begin + at)
                break
        self.model.advance(self.replay.clock_us)
        if self.paused and self.replay.ended and played and self.hit is None:
            self.to_now()
        self._tell()

    def toggle(self) -> None:
        """Pause or play.

        A recording at its end begins again. A live view that was not wound returns to the present.
        """
        if self.replay is None:
            self._pause(None)
        elif self.live and (self.replay.ended or self.replay.index == self._paused_at):
            self.to_now()
        elif not self.live and self.replay.ended:
            self.wind_to(0)
            self.replay.playing = True
        else:
            self.hit = None
            self.replay.playing = not self.replay.playing
        self._tell()

    def to_now(self) -> None:
        """Show the live cluster as it is at present."""
        if not self.paused:
            return
        self.model.adopt(self._head)
        self._head = self.model
        self.replay, self.hit = None, None
        if self._not_held or self._from_rings:  # the tape has a gap: begin a new tape
            self.tape.clear()
            self._tape_bytes = 0
            self._keyframes.clear()
            self._not_held, self._from_rings = 0, False
        self._tell()

    def step(self, by: int) -> None:
        """Go to the next fact, or to the previous one."""
        if self.replay is None:
            self._pause(None)
        replay = self.replay
        if replay is None:
            return
        self.hit = None
        if by > 0:
            begin = replay.index
            for at, envelope in enumerate(replay.step()):
                self._keyframe(begin + at, envelope)
                self.model.apply((envelope,))
            self.model.advance(replay.clock_us)
        else:
            replay.playing = False
            self._go_to(replay.time_of_fact_before())
        self._tell()

    def wind(self, by_ms: int) -> None:
        """Go forwards or backwards by this many ms."""
        if self.replay is None:
            self._pause(None)
        if self.replay is not None:
            self.wind_to(self.replay.at_ms + by_ms)

    def wind_to(self, at_ms: int) -> None:
        """Go to a position, in ms from the beginning."""
        if self.replay is not None:
            self.hit = None
            self._go_to(self.replay.begin_us + at_ms * 1000)
            self._tell()

    def show(self, at_us: int) -> None:
        """Show a moment of the past of a live cluster, by its time in µs."""
        if self.replay is None:
            self._pause(None)
        if self.replay is not None:
            self.hit = None
            self.replay.playing = False
            self._go_to(at_us)
            self._tell()

    def holds(self, at_us: int) -> bool:
        """Return whether the events before this time (µs) are kept, so that it can be shown."""
        return not self._forgets or (bool(self.tape) and at_us >= self.tape[0].mono_us)

    def cut_after(self, at_us: int) -> None:
        """Forget all events after a time (µs), because a simulated run has gone back to that time.

        That moment is the new present, and the view shows it. O(kept events).
        """
        self.show(at_us)
        begin_us = self.tape[0].mono_us if self.tape else 0
        end = self.replay.index if self.replay is not None and at_us >= begin_us else 0
        if end == 0:
            self._forgets = True
            self.model.reset()
        del self.tape[end:]
        self._tape_bytes = sum(map(self._sizes.of, self.tape))
        self._keyframes.drop_after(end)
        self._keeps = thinned(GAUGES_EVERY_US)
        facts = [e for e in self.tape if e.name in EVENT_TYPES]
        self.model.ticker.history = History(facts[-4 * KEPT_FACTS :])
        self._head, self.replay, self.hit, self._not_held = self.model, None, None, 0
        self._now_us = at_us
        self._tell()

    def faster(self, by: int) -> None:
        """Change the speed by one step: up if `by` is positive, else down."""
        if self.replay is not None:
            (self.replay.faster if by > 0 else self.replay.slower)()
            self._tell()

    @property
    def at_the_beginning(self) -> bool:
        """Return whether a live view shows the oldest kept event."""
        return self.paused and self.replay is not None and self.replay.at_ms <= 0

    def older(self, envelopes: Sequence[Envelope]) -> list[Envelope]:
        """Return the facts that are older than all kept events; none unless the view is paused."""
        if not self.paused or not self.tape:
            return []
        begin_us = self.tape[0].mono_us
        return [
            e
            for e in envelopes
            if e.mono_us < begin_us and e.name in EVENT_TYPES
            if EVENT_TYPES[e.name].kind is Kind.FACT
        ]

    def add_rings(
        self, envelopes: Sequence[Envelope], frames: Sequence[Keyframe] | None = None
    ) -> int:
        """Put the facts of the processes' rings before the kept events. Return how many were added.

        The caller reads at most RINGS_BYTES of them. `frames` are the keyframes of these facts,
        from `keyframes_of`. They are not used if the view has returned to the present in the
        meantime.
        """
        older = self.older(envelopes)
        if older and self.replay is not None:
            at_us = self.replay.clock_us
            self._keyframes.forget(-len(older))
            self._keyframes.drop_without_brokers(len(older))
            if frames is None or len(older) != len(envelopes):
                frames = list(filter(None, keyframes_of(older[:1], self.model.name)))
            self._keyframes.add_older(frames)
            self.tape[:0] = older
            self._tape_bytes += sum(map(self._sizes.of, older))
            self._from_rings = True
            playing = self.replay.playing
            self.replay = Replay(self.tape, len(self.tape))
            self.replay.playing = playing
            self._go_to(at_us)
            self._tell()
        return len(older)

    def _move(self, envelope: Envelope) -> None:
        """Pass an event that the view has shown to slow motion."""
        if self.model.motion.on:
            self.model.motion.apply(envelope, self.model.ticker.history)

    def _met(self, envelope: Envelope) -> Hit | None:
        return self.breakpoints.hit(envelope) if self.breakpoints.chosen else None

    def _pause(self, hit: Hit | None) -> None:
        """Pause a live view, and continue the present in a separate model."""
        if not self.tape:
            return
        self._head = Model(self.model.name)
        self._head.restore(self.model.state())
        self.replay = Replay(self.tape, len(self.tape))
        self.replay.playing = False
        self._paused_at = self.replay.index
        self.hit = hit

    def _hold(self, envelope: Envelope) -> None:
        """Put an event on the tape. Of each kind of sample, only two per second are kept. But each
        moment of a simulated run is kept.
        """
        if not (isinstance(envelope.event, SimulationSampled) or self._keeps(envelope)):
            return
        if self.paused and self._tape_is_full:
            self._not_held += 1  # the reader looks at the tape, so the newest event has no room
            return
        self.tape.append(envelope)
        self._tape_bytes += self._sizes.of(envelope)

    @property
    def _tape_is_full(self) -> bool:
        return len(self.tape) >= self.most_events or self._tape_bytes >= TAPE_BYTES

    def _trim(self) -> None:
        """If the tape is full, drop at least the oldest quarter of its events.

        Events are dropped up to a keyframe, or all of them if no keyframe is late enough. Nothing
        is dropped while the view is paused.
        """
        if self.paused or not self._tape_is_full:
            return
        count = len(self.tape)
        at = next((f.index for f in self._keyframes.frames if f.index >= count // 4), count)
        del self.tape[:at]
        self._forgets = True
        self._tape_bytes = self._tape_bytes * len(self.tape) // count
        self._keyframes.forget(at)

    def _keyframe_of_tape(self, envelope: Envelope) -> None:
        if not self.paused:
            self._keyframe(len(self.tape), envelope)

    def _keyframe(self, index: int, envelope: Envelope) -> None:
        """Save a keyframe before this event, if one is due."""
        if self._keyframes.due(index, envelope.mono_us):
            self._keyframes.add(Keyframe(index, envelope.mono_us, self.model.state()))

    def _go_to(self, clock_us: int) -> None:
        """Restore the nearest keyframe, and apply the events after it.

        O(events of one interval).
        """
        replay = self.replay
        assert replay is not None
        clock_us = replay.within(clock_us)
        target = replay.index_at(clock_us)
        frame = self._keyframes.before(target, clock_us)
        # the clock of a model never goes back, so a model that is ahead cannot be used
        usable = replay.index <= target and self.model.cluster.glow.now_us <= clock_us
        if frame is None or (usable and frame.index <= replay.index):
            begin = replay.index if usable else 0
            if begin == 0:
                self.model.reset()
        else:
            begin = frame.index
            self.model.restore(frame.state)
        self._recall(begin)
        for at in range(begin, target):
            self._keyframe(at, replay.envelopes[at])
            if self._keyframes.near_due(at, target):
                at_us = replay.envelopes[at].mono_us
                self._keyframes.add_near(Keyframe(at, at_us, self.model.state()))
            self.model.apply((replay.envelopes[at],))
        replay.go_to(clock_us)
        self.model.advance(replay.clock_us)

    def _recall(self, index: int) -> None:
        """Give the model the facts before this event, if its own history no longer contains them.

        All moments share one history, which keeps only the last KEPT_FACTS facts.
        """
        assert self.replay is not None
        events = self.replay.envelopes
        if index >= len(events) or events[index].mono_us >= self.model.ticker.history.begin_us:
            return
        history = History()
        facts = [e for e in events[max(index - 4 * KEPT_FACTS, 0) : index] if e.name in EVENT_TYPES]
        for envelope in facts[-KEPT_FACTS:]:
            history.add(envelope)
        self.model.ticker.history = history

    def _tell(self) -> None:
        """Update the model's `pause`, so that the top line shows the view's position in time."""
        replay = self.replay
        if not self.live or replay is None:
            self.model.pause = None if self.hit is None else Pause(0, self.hit.words)
            return
        self.model.pause = Pause(
            max(self._now_us - replay.clock_us, 0),
            self.hit.words if self.hit is not None else "",
            replay.speed if replay.playing else 0.0,
            self._not_held,
        )
