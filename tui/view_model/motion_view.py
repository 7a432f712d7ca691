"""Slow motion: the path of one sampled record or timer task, slow enough for the eye.

Every station is an event that really happened. The stations are found by following links from the
response back to the request. Their times are real. Between two stations, the mark moves evenly. The
title gives the sample and the factor:

    1 of 480 produce requests, slowed 200×, 12.4 ms in all
"""

from collections import OrderedDict, deque
from typing import Final, NamedTuple

from kafka_edu.instruments.sentences import teller
from kafka_edu.trace.event import Envelope, Source
from kafka_edu.trace.events import log, network, purgatory, replication, server, timer
from kafka_edu.trace.reader import History, order

from .motion_lanes import Lanes, brings, lanes_of

SHOWN_US: Final = 6_000_000
"""The approximate time in µs that a journey takes on the screen."""
REST_US: Final = 2_000_000
"""How many µs the finished journey stays on the screen before the next one begins."""
MOTION_EVENTS: Final = (
    network.RequestReceived,
    server.RequestDequeued,
    replication.ProduceAppended,
    replication.FollowerAppended,
    replication.FollowerFetched,
    replication.HighWatermarkAdvanced,
    purgatory.OperationCompleted,
    log.SegmentRead,
    network.ResponseSent,
    timer.TimerTaskAdded,
    timer.TimerTaskDemoted,
    timer.TimerTaskExpired,
    timer.TimerTaskCancelled,
)
FACTORS: Final = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000)
_PRODUCE: Final = 0
_APPENDED: Final = replication.ProduceAppended
_STEPS: Final = 200
_MARGIN_US: Final = 2_000
_KEPT_TASKS: Final = 256
_KEPT_STATIONS: Final = 12
_KEPT_RECENT: Final = 1024
_READER_US: Final = 50_000
"""A consumer is part of the picture if it gets the record within this time after the answer, in
µs.
"""
_OF_LANES: Final = (
    replication.FollowerAppended,
    replication.FollowerFetched,
    replication.HighWatermarkAdvanced,
    log.SegmentRead,
)


class Station(NamedTuple):
    """One stop of a journey: an event, its name in a word or two, and where it happened."""

    label: str
    source: Source
    at_us: int
    envelope: Envelope


class Journey(NamedTuple):
    """The whole path of one record or timer task, in the order of time."""

    what: str
    kind: str
    """The kind from which the journey was sampled: produce requests or timer tasks."""
    stations: tuple[Station, ...]
    of: int
    """The number of requests or tasks of this kind since the last sample."""
    lanes: Lanes | None = None
    """The path drawn to scale, for a record. None for a task."""

    @property
    def length_us(self) -> int:
        if self.lanes is not None:
            return self.lanes.length_us
        return self.stations[-1].at_us - self.stations[0].at_us

    @property
    def factor(self) -> int:
        """Return the factor by which the journey is slowed down."""
        wanted = SHOWN_US / max(self.length_us, 1)
        return max((factor for factor in FACTORS if factor <= wanted), default=1)


def _label(envelope: Envelope) -> str:
    """Return the label of a station, or "" if the event is not a station."""
    match envelope.event:
        case network.RequestReceived():
            return "arrives"
        case server.RequestDequeued():
            return "handler"
        case replication.ProduceAppended():
            return "appended"
        case replication.FollowerAppended():
            return "copied"
        case replication.FollowerFetched() as e:
            return f"b{e.follower} asks on"
        case replication.HighWatermarkAdvanced() as e:
            return f"HW {e.after:,}"
        case purgatory.OperationCompleted():
            return "completed"
        case network.ResponseSent():
            return "acknowledged"
    return ""


def record_stations(history: History, answer: Envelope) -> list[Station]:
    """Follow links back from the answer of a produce request, and return the request's stations.
    O(causes).
    """
    if not isinstance(answer.event, network.ResponseSent):
        return []
    earliest_us = answer.mono_us - answer.event.total_us - _MARGIN_US
    found = {history.ident(answer): answer}
    waiting = deque([answer])
    while waiting and len(found) < _STEPS:
        for link in history.parents(waiting.popleft()):
            ident = history.ident(link.cause)
            if ident not in found and link.cause.mono_us >= earliest_us:
                found[ident] = link.cause
                waiting.append(link.cause)
    own = answer.event.connection_id, answer.event.correlation_id
    stations = [
        Station(label, envelope.source, envelope.mono_us, envelope)
        for envelope in sorted(found.values(), key=order)
        if (label := _label(envelope)) and _belongs(envelope, own)
    ]
    begins = next((i for i, station in enumerate(stations) if station.label == "arrives"), None)
    if begins is None or not any(station.label == "appended" for station in stations):
        return []
    return stations[begins:]


def _belongs(envelope: Envelope, own: tuple[str, int]) -> bool:
    """Return whether a hop belongs to this request, and not to a follower's fetch of its
    records.
    """
    match envelope.event:
        case (
            network.RequestReceived(connection_id=connection, correlation_id=correlation)
            | server.RequestDequeued(connection_id=connection, correlation_id=correlation)
            | network.ResponseSent(connection_id=connection, correlation_id=correlation)
        ):
            return (connection, correlation) == own
    return True


class MotionView:
    """The record or timer task that slow motion shows. It takes events only while it is on."""

    def __init__(self) -> None:
        self.on = False
        self.tasks_first = False
        """Whether to sample timer tasks instead of records. The Wheels screen sets it."""
        self.journey: Journey | None = None
        self.elapsed_us = 0
        """Real time in µs since the journey appeared on the screen."""
        self._passed = {"produce requests": 0, "timer tasks": 0}
        self._recent: deque[Envelope] = deque(maxlen=_KEPT_RECENT)
        self._answered: list[Station] = []
        """The stations of the sampled record, while a consumer may still get the record."""
        self._tasks: OrderedDict[tuple[Source, str, str, int], list[Station]] = OrderedDict()

    def switch(self, on: bool) -> None:
        """Turn slow motion on or off, and forget the journey."""
        self.on, self.journey, self.elapsed_us = on, None, 0
        self._tasks.clear()
        self._recent.clear()
        self._answered = []
        self._passed = dict.fromkeys(self._passed, 0)

    @property
    def finished(self) -> bool:
        return (
            self.journey is None
            or self.elapsed_us >= self.journey.length_us * self.journey.factor + REST_US
        )

    @property
    def at_us(self) -> int:
        """Return the displayed time of the journey in µs, from its beginning."""
        if self.journey is None:
            return 0
        return min(self.elapsed_us // self.journey.factor, self.journey.length_us)

    def place(self) -> tuple[int, float]:
        """Return the index of the last passed station, and how much of the way to the next is done.

        The second value is 0.0 to 1.0.
        """
        if self.journey is None:
            return 0, 0.0
        stations = self.journey.stations
        now_us = stations[0].at_us + self.at_us
        last = max(i for i, station in enumerate(stations) if station.at_us <= now_us)
        if last + 1 >= len(stations):
            return last, 0.0
        here, there = stations[last].at_us, stations[last + 1].at_us
        return last, (now_us - here) / max(there - here, 1)

    def advance(self, elapsed_us: int) -> None:
        """Let this much real time pass, in µs."""
        if self.on:
            self.elapsed_us += elapsed_us

    def apply(self, envelope: Envelope, history: History) -> None:
        """Process one event that the history contains. O(1); O(causes) for the sampled one."""
        if not self.on:
            return
        if isinstance(envelope.event, _OF_LANES):
            self._recent.append(envelope)
        if self._answered:
            self._await_reader(envelope, history)
        match envelope.event:
            case network.ResponseSent(api_key=key) if key == _PRODUCE:
                self._passed["produce requests"] += 1
                wanted = not (self.tasks_first and self._passed["timer tasks"])
                if self.finished and not self._answered and wanted:
                    self._answered = record_stations(history, envelope)
            case timer.TimerTaskAdded() as e:
                self._task(envelope, e.timer, e.task, e.deadline_ms, f"level {e.level} [{e.slot}]")
            case timer.TimerTaskDemoted() as e:
                self._task(envelope, e.timer, e.task, e.deadline_ms, f"level {e.level} [{e.slot}]")
            case timer.TimerTaskExpired() as e:
                self._task(envelope, e.timer, e.task, e.deadline_ms, "runs", ends=True)
            case timer.TimerTaskCancelled() as e:
                self._task(envelope, e.timer, e.task, e.deadline_ms, "cancelled", ends=True)
            case _:
                pass

    def _await_reader(self, envelope: Envelope, history: History) -> None:
        """Begin the journey when a consumer gets the record, or when the wait for a consumer is
        over.
        """
        stations = self._answered
        record = next(s for s in stations if isinstance(s.envelope.event, _APPENDED))
        assert isinstance(record.envelope.event, _APPENDED)
        reads = brings(history, envelope, self._recent, record.envelope.event)
        if not reads and envelope.mono_us <= stations[-1].at_us + _READER_US:
            return
        self._answered = []
        lanes = lanes_of(
            stations[0].envelope,
            record.envelope,
            stations[-1].envelope,
            sorted(self._recent, key=order),
            envelope if reads else None,
        )
        self._begin("record", "produce requests", stations, lanes)

    def _task(
        self,
        envelope: Envelope,
        name: str,
        task: str,
        deadline_ms: int,
        label: str,
        ends: bool = False,
    ) -> None:
        key = envelope.source, name, task, deadline_ms
        stations = self._tasks.setdefault(key, [])
        stations.append(Station(label, envelope.source, envelope.mono_us, envelope))
        if len(self._tasks) > _KEPT_TASKS:
            self._tasks.popitem(last=False)
        if ends:
            self._tasks.pop(key, None)
            self._passed["timer tasks"] += 1
            came_down = len(stations) > 2
            if self.finished and came_down and (self.tasks_first or self.journey is None):
                what = f"task {task} of {name}, {teller(envelope.source)}"
                self._begin(what, "timer tasks", stations)

    def _begin(
        self, what: str, kind: str, stations: list[Station], lanes: Lanes | None = None
    ) -> None:
        if len(stations) < 2:
            return
        if kind == "produce requests":
            what = _record_words(stations)
        if len(stations) > _KEPT_STATIONS:
            stations = [*stations[: _KEPT_STATIONS - 1], stations[-1]]
        self.journey = Journey(what, kind, tuple(stations), self._passed[kind], lanes)
        self._passed[kind] = 0
        self.elapsed_us = 0


def _record_words(stations: list[Station]) -> str:
    """Return the name of the record, such as `web-0 @1,262`."""
    for station in stations:
        match station.envelope.event:
            case replication.ProduceAppended(topic=topic, partition=partition, first_offset=first):
                return f"{topic}-{partition} @{first:,}"
    return "a record"
