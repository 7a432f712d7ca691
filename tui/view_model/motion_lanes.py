"""The path of one record through the cluster, drawn to scale.

Each process is a lane. Marks show its events at their times, and moves connect the marks.

    producer  ■ sends ┐                                    ┌──▶■ has its answer
    broker 1  └──────▶■ appends                   ┌──▶■ HW 5
    broker 0          └────▶■ stores    ■ fetches
    broker 2          └─────────▶■ stores       ■ decides

Every mark is an event. The record is committed when the last follower sends its next fetch. This
fetch is an event of the leader, because only then does the leader know that the follower has stored
the record.
"""

from collections.abc import Iterable
from typing import NamedTuple

from kafka_edu.trace.event import Envelope, Source
from kafka_edu.trace.events import log, network, replication
from kafka_edu.trace.reader import History

_FETCH = 1
_STEPS = 50


class Mark(NamedTuple):
    """An event on a lane of the picture."""

    lane: int
    label: str
    at_us: int
    """The time of the event in µs since the request arrived."""


class Move(NamedTuple):
    """A movement of the record, or of a message about it, from one mark to another."""

    begins: Mark
    ends: Mark


class Lane(NamedTuple):
    """One process of the picture. A client has no source."""

    name: str
    source: Source | None


class Lanes(NamedTuple):
    """The whole picture. The marks are sorted by time, for all lanes together and within each
    lane.
    """

    lanes: tuple[Lane, ...]
    marks: tuple[Mark, ...]
    moves: tuple[Move, ...]

    @property
    def length_us(self) -> int:
        return max((mark.at_us for mark in self.marks), default=0)


def column(at_us: int, length_us: int, width: int) -> int:
    """Return the column of a time on an axis of `width` columns: 0 to width - 1."""
    return round(min(max(at_us, 0), length_us) / max(length_us, 1) * (width - 1))


def axis(length_us: int, width: int) -> str:
    """Return the axis: `0────────1────────2──── ms`, with each number at its own column.

    The distance of the numbers is 1, 2 or 5 times a power of ten. The axis has as many numbers as
    fit.
    """
    wanted = length_us / max(width // 12, 1)
    step = next(
        step for power in range(9) for one in (1, 2, 5) if (step := one * 10**power) >= wanted
    )
    row = ["─"] * width
    unit = 1000 if step < 1_000_000 else 1_000_000
    for at in range(0, length_us + 1, step):
        words = f"{at / unit:g}"
        left = column(at, length_us, width)
        if left + len(words) <= width - 3:
            row[left : left + len(words)] = words
    row[-3:] = " ms" if unit == 1000 else "  s"
    return "".join(row)


def lanes_of(
    received: Envelope,
    appended: Envelope,
    answer: Envelope,
    others: Iterable[Envelope],
    reader: Envelope | None,
) -> Lanes:
    """Return the path of the first record of a produce request.

    `others` are events of the same time, in order. They include the followers' appends and fetches
    and the advance of the high watermark. `reader` is the response that brought the record to a
    consumer.
    """
    record = appended.event
    assert isinstance(record, replication.ProduceAppended)
    begin_us = received.mono_us
    stored: dict[int, Envelope] = {}
    fetched: dict[int, Envelope] = {}
    committed: Envelope | None = None
    for envelope in others:
        match envelope.event:
            case replication.FollowerAppended() as e if _is_of(e, record):
                if e.fetch_offset <= record.first_offset < e.log_end_offset:
                    stored.setdefault(e.follower, envelope)
            case replication.FollowerFetched() as e if _is_of(e, record):
                if e.fetch_offset > record.first_offset:
                    fetched.setdefault(e.follower, envelope)
            case replication.HighWatermarkAdvanced(is_leader=True) as e if _is_of(e, record):
                if committed is None and e.before <= record.first_offset < e.after:
                    committed = envelope
    followers = sorted(stored.keys() | fetched.keys())
    client = received.event.client_id if isinstance(received.event, network.RequestReceived) else ""
    lanes = [Lane(f"producer {client}".strip(), None), Lane("leads", appended.source)]
    lanes += [Lane("follows", Source.of_broker(follower)) for follower in followers]

    def mark(lane: int, label: str, envelope: Envelope) -> Mark:
        return Mark(lane, label, envelope.mono_us - begin_us)

    sent = Mark(0, "sends", 0)
    written = mark(1, "appends", appended)
    marks, moves = [sent, written], [Move(sent, written)]
    decides: Mark | None = None
    for lane, follower in enumerate(followers, 2):
        if follower in stored:
            copy = mark(lane, "stores", stored[follower])
            marks.append(copy)
            moves.append(Move(written, copy))
        if follower in fetched:
            asks = mark(lane, "fetches", fetched[follower])
            marks.append(asks)
            if committed is not None and asks.at_us <= committed.mono_us - begin_us:
                decides = asks if decides is None or asks.at_us >= decides.at_us else decides
    known = written
    if committed is not None:
        assert isinstance(committed.event, replication.HighWatermarkAdvanced)
        known = mark(1, f"HW {committed.event.after:,}", committed)
        marks.append(known)
        if decides is not None:
            at = marks.index(decides)
            marks[at] = decides._replace(label="decides")
            moves.append(Move(marks[at], known))
    acked = mark(0, "acked", answer)
    marks.append(acked)
    moves.append(Move(known if known.at_us <= acked.at_us else written, acked))
    if reader is not None:
        assert isinstance(reader.event, network.ResponseSent)
        reads = mark(len(lanes), "reads", reader)
        lanes.append(Lane(f"consumer {reader.event.client_id}".strip(), None))
        marks.append(reads)
        moves.append(Move(known, reads))
    return Lanes(tuple(lanes), tuple(sorted(marks, key=lambda one: one.at_us)), tuple(moves))


def _is_of(
    event: replication.FollowerAppended
    | replication.FollowerFetched
    | replication.HighWatermarkAdvanced,
    record: replication.ProduceAppended,
) -> bool:
    return (event.topic, event.partition) == (record.topic, record.partition)


def brings(
    history: History,
    answer: Envelope,
    recent: Iterable[Envelope],
    record: replication.ProduceAppended,
) -> bool:
    """Return whether this response to a consumer's fetch contains the record. O(causes +
    recent).
    """
    event = answer.event
    if not isinstance(event, network.ResponseSent) or event.api_key != _FETCH or event.follower:
        return False
    before = {answer.cause}
    waiting = [answer]
    while waiting and len(before) < _STEPS:
        for link in history.parents(waiting.pop()):
            if link.cause.source == answer.source and link.cause.seq not in before:
                before.add(link.cause.seq)
                before.add(link.cause.cause)
                waiting.append(link.cause)
    return any(
        isinstance(read.event, log.SegmentRead)
        and read.source == answer.source
        and read.cause in before
        and read.cause != 0
        and (read.event.topic, read.event.partition) == (record.topic, record.partition)
        and read.event.start_offset <= record.first_offset
        and read.event.size > 0
        for read in recent
    )
