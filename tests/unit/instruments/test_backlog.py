"""Which events a late feed leaves out, and which it keeps. The tests use virtual time."""

import random

import pytest

from kafka_edu.instruments.backlog import (
    BEHIND_US,
    CALM_US,
    ENTRY_BYTES,
    FIRST_PAUSE_US,
    HOLD_BACK_US,
    LONGEST_PAUSE_US,
    LOOKED_AT_PAUSES,
    MAX_BYTES,
    SKIP_US,
    SNAPSHOT_PATIENCE_US,
    Backlog,
    Stream,
)
from kafka_edu.trace.event import EVENT_TYPES, Envelope, Event, Kind, Source, leaves
from kafka_edu.trace.events.replication import PartitionOffsets, PartitionProgress
from kafka_edu.trace.events.server import RequestDequeued
from kafka_edu.trace.events.supervisor import ActionAsked
from kafka_edu.trace.events.timer import WheelSampled, WheelState
from kafka_edu.trace.events.trace import Gap, SnapshotBegins, SnapshotEnds
from kafka_edu.trace.wire_format import Decoder, encode, encode_header, head_of, thing_of

BROKER = Source.of_broker(1)
ALL = 10**9


class Process:
    """A process, its connection, and the backlog that reads its events. The test sets the time."""

    def __init__(self, *, sheds: bool = True) -> None:
        self.backlog = Backlog(sheds=sheds)
        self.stream = Stream(BROKER, Decoder(encode_header(BROKER)), 0, past=False)
        self.seq = 0
        self.now = 0

    def tell(self, event: Event) -> None:
        """Emit an event now; it is read at once."""
        if EVENT_TYPES[type(event).__name__].kind is Kind.FACT:
            self.seq += 1
        line = encode(Envelope(BROKER, self.seq, 0, self.now // 1000, self.now, event))
        self.backlog.take_line(self.stream, line, self.now)
        self.stream.empty_us = self.now

    def pass_time(self, us: int) -> list[Stream]:
        """Let time pass, and let the backlog leave out what it has to."""
        self.now += us
        return self.backlog.shed(self.now, [self.stream])

    def take(self, most: int = ALL) -> list[Event]:
        return [e.event for e in self.backlog.hand_out(self.now - HOLD_BACK_US, most)]


def moved(partition: int, leo: int) -> PartitionOffsets:
    progress = PartitionProgress(log_start=0, hw=0, leo=leo, remote_leos=(), min_isr=1)
    return PartitionOffsets(topic="web", partition=partition, progress=progress)


def asked(action: str) -> ActionAsked:
    return ActionAsked(action=action, target=BROKER)


def hop(number: int) -> RequestDequeued:
    return RequestDequeued(
        connection_id="c", correlation_id=number, api_key=0, handler=1, queued_us=50
    )


def test_who_takes_events_in_time_gets_every_sample() -> None:
    process = Process()
    got: list[Event] = []
    for tick in range(20):
        process.tell(moved(0, tick))
        process.pass_time(100_000)
        got += process.take()
    for _ in range(3):
        process.pass_time(100_000)
        got += process.take()
    assert got == [moved(0, tick) for tick in range(20)]
    assert not process.backlog.left_out


def test_of_each_thing_the_newest_sample_is_kept_and_all_facts_in_their_order() -> None:
    process = Process()
    for tick in range(10):
        process.tell(moved(0, tick))
        process.tell(moved(1, 100 + tick))
        process.tell(asked(str(tick)))
        process.pass_time(100_000)
    process.pass_time(HOLD_BACK_US)
    assert process.take() == [
        *(asked(str(tick)) for tick in range(9)),
        moved(0, 9),
        moved(1, 109),
        asked("9"),
    ]
    assert process.backlog.left_out == {"PartitionOffsets": 18}


def test_a_sample_that_was_handed_on_is_not_missed_by_the_next() -> None:
    process = Process()
    for leo in range(3):
        process.tell(moved(0, leo))
        process.pass_time(HOLD_BACK_US)
        assert process.take(most=1) == [moved(0, leo)]


def wheel_at(now_ms: int, level: int = 1) -> WheelSampled:
    return WheelSampled(
        state=WheelState(
            timer='a "timer", b',
            level=level,
            tick_ms=1,
            wheel_size=2,
            current_time_ms=now_ms,
            tasks_by_slot=(0, 1),
            made_ms=0,
            made_for_delay_ms=0,
        )
    )


def test_two_wheels_of_one_timer_are_two_things() -> None:
    process = Process()
    wheels = [wheel_at(now, level) for now in (5, 6) for level in (1, 2)]
    for wheel in wheels:
        process.tell(wheel)
    process.pass_time(HOLD_BACK_US)
    assert process.take() == wheels[2:]


@pytest.mark.parametrize(
    "name", sorted(n for n, known in EVENT_TYPES.items() if known.kind is Kind.GAUGE)
)
def test_the_thing_of_each_gauge_is_read_off_its_line(name: str) -> None:
    known = EVENT_TYPES[name]
    hints = [hint for _, hint in leaves(known.cls)][: len(known.thing)]
    values = [{int: "-7", bool: "true", str: r'"a, \"b\" ]"'}[hint] for hint in hints]
    line = f'[["broker",1],1,0,0,5,"{name}",[[{",".join([*values, "3"])}]]]'.encode()
    assert thing_of(line, head_of(line)) == ",".join(values).encode()


def test_facts_are_all_there_up_to_ten_seconds_and_hops_and_samples_less_long() -> None:
    process = Process()
    process.tell(asked("first"))
    process.tell(hop(1))
    process.tell(moved(0, 1))
    process.pass_time(HOLD_BACK_US + BEHIND_US)
    assert not process.backlog.left_out
    process.pass_time(1)
    process.tell(hop(2))
    process.tell(asked("second"))
    assert process.backlog.left_out == {"RequestDequeued": 2, "PartitionOffsets": 1}
    process.pass_time(SKIP_US - BEHIND_US - 1)
    assert process.take() == [asked("first"), asked("second")]
    process.pass_time(1)  # it has caught up
    process.tell(asked("third"))
    process.pass_time(HOLD_BACK_US)
    gap = Gap(dropped=2, by_type=(("RequestDequeued", 2),))
    assert process.take() == [gap, asked("third")]


def late_once(process: Process, number: int) -> None:
    """Let events be late, and then be taken."""
    process.tell(asked(str(number)))
    process.pass_time(HOLD_BACK_US + BEHIND_US + 1)
    process.take()
    process.pass_time(1)


def samples_in(process: Process, seconds: int) -> tuple[int, int]:
    """Emit ten samples a second of a wheel and ten of a partition. Return how many of each
    arrived.
    """
    got: list[Event] = []
    for tick in range(10 * seconds):
        process.tell(moved(0, tick))
        process.tell(wheel_at(tick))
        process.pass_time(100_000)
        got += process.take()
    names = [type(event) for event in got]
    return names.count(WheelSampled), names.count(PartitionOffsets)


def test_after_events_were_late_samples_come_more_seldom_most_of_all_those_nobody_looks_at() -> (
    None
):
    process = Process()
    process.backlog.looked_at = {"WheelSampled"}
    late_once(process, 1)
    assert process.backlog.pause_us == FIRST_PAUSE_US
    wheels, offsets = samples_in(process, 8)
    assert wheels >= 8 * LOOKED_AT_PAUSES // 2, "at most 125 ms apart: one of two ticks"
    assert 7 <= offsets <= 9, "one a second"
    for number in range(9):
        late_once(process, number)
    assert process.backlog.pause_us == LONGEST_PAUSE_US
    assert samples_in(process, 8) == (16, 2), "of eight seconds"
    calm_s = 4 * CALM_US // 1_000_000
    samples_in(process, calm_s)
    assert process.backlog.pause_us == 0
    assert samples_in(process, 2) == (20, 20), "nothing is left out any more"


def test_past_ten_seconds_it_goes_on_with_a_new_snapshot_and_a_gap_counts_what_is_missing() -> None:
    process = Process()
    for number in range(5):
        process.tell(asked(str(number)))
        process.tell(moved(0, number))
    assert process.pass_time(HOLD_BACK_US + SKIP_US) == []
    assert process.pass_time(1) == [process.stream], "of it a snapshot has to be asked for"
    process.tell(asked("still before the snapshot"))
    process.tell(hop(1))
    process.tell(SnapshotBegins(as_of=process.seq))
    process.tell(SnapshotEnds(events=0))
    process.tell(asked("after it"))
    process.pass_time(HOLD_BACK_US)
    assert process.take() == [
        Gap(dropped=7, by_type=(("ActionAsked", 6), ("RequestDequeued", 1))),
        SnapshotBegins(as_of=7),
        SnapshotEnds(events=0),
        asked("after it"),
    ]
    assert process.backlog.left_out["PartitionOffsets"] == 5


def test_a_paused_process_that_owes_a_snapshot_does_not_make_the_others_late() -> None:
    process = Process()
    paused = Stream(Source.of_broker(2), Decoder(encode_header(Source.of_broker(2))), 0, past=False)
    streams = [process.stream, paused]

    def late(us: int) -> list[Stream]:
        process.tell(asked("x"))
        process.now += HOLD_BACK_US + us
        return process.backlog.shed(process.now, streams)

    assert late(SKIP_US + 1) == streams, "both owe a snapshot, and one is paused"
    process.tell(SnapshotBegins(as_of=process.seq))
    assert late(SKIP_US + 1) == [], "a snapshot that comes in is read"
    process.tell(SnapshotEnds(events=0))
    process.take()
    process.now += HOLD_BACK_US
    process.take()
    assert late(SKIP_US + 1) == [process.stream], "the paused one has been asked already"
    assert process.backlog.late_us(process.now) == 0


def test_a_process_that_stops_within_its_snapshot_is_waited_for_a_limited_time() -> None:
    process = Process()
    process.tell(asked("x"))
    assert process.pass_time(HOLD_BACK_US + SKIP_US + 1) == [process.stream]
    process.tell(SnapshotBegins(as_of=process.seq))
    assert process.pass_time(SNAPSHOT_PATIENCE_US) == []
    assert process.pass_time(1) == [process.stream]
    assert [type(event) for event in process.take()] == [Gap]
    assert process.backlog.late_us(process.now) == 0


def test_events_that_the_process_could_not_send_count_as_left_out_too() -> None:
    process = Process()
    gap = Gap(dropped=7, by_type=(("ActionAsked", 5), ("RequestDequeued", 2)))
    process.tell(gap)
    process.pass_time(HOLD_BACK_US)
    assert process.backlog.left_out == {"ActionAsked": 5, "RequestDequeued": 2}
    assert process.take() == [gap]
    process.stream.past = True
    process.tell(gap)
    assert process.backlog.left_out.total() == 7, "a gap in a ring is of the past"


def test_a_slow_consumer_of_a_flood_is_never_more_than_some_seconds_late() -> None:
    """2,000 events a second come, and 500 a second are taken."""
    process = Process()
    late, most_bytes = [], 0
    dice = random.Random(7)
    skipped = 0
    for tick in range(600):
        for _ in range(200):
            event = asked("x") if dice.random() < 0.9 else moved(dice.randrange(20), tick)
            process.tell(event)
        streams = process.pass_time(100_000)
        if streams:
            skipped += 1
            process.tell(SnapshotBegins(as_of=process.seq))
            process.tell(SnapshotEnds(events=0))
        process.take(most=50)
        late.append(process.backlog.late_us(process.now))
        most_bytes = max(most_bytes, process.backlog.bytes)
    assert skipped > 3
    assert max(late) <= SKIP_US + 100_000
    assert most_bytes <= MAX_BYTES


def test_the_backlog_is_bounded_in_bytes() -> None:
    process = Process()
    big = asked("x" * 100_000)
    sent = 0
    while not process.pass_time(1):
        process.tell(big)
        sent += 1
        assert process.backlog.bytes <= MAX_BYTES + 100_000 + 2 * ENTRY_BYTES
    assert process.backlog.bytes == 0
    assert process.backlog.left_out == {"ActionAsked": sent}


def test_types_that_somebody_waits_for_are_never_left_out() -> None:
    process = Process()
    process.backlog.keeps = frozenset({"ActionAsked"})
    process.tell(asked("awaited"))
    process.tell(hop(1))
    process.pass_time(HOLD_BACK_US + SKIP_US + 1)
    process.tell(asked("awaited too"))
    process.pass_time(HOLD_BACK_US)
    assert process.take() == [asked("awaited"), asked("awaited too")]


def test_what_a_paused_process_sends_late_is_not_late_here() -> None:
    process = Process()
    process.tell(asked("before its pause"))
    told_at = process.now
    process.now += 60_000_000
    process.stream.empty_us = process.now  # nothing came until now
    line = encode(Envelope(BROKER, 2, 0, 0, told_at, asked("sent late")))
    assert process.take() == [asked("before its pause")]
    process.backlog.take_line(process.stream, line, process.now)
    assert process.backlog.late_us(process.now) == 0
    assert process.pass_time(0) == []
    assert process.take() == [asked("sent late")]


def test_without_shedding_nothing_is_left_out() -> None:
    process = Process(sheds=False)
    events = [moved(0, 1), hop(1), moved(0, 2), asked("a")]
    for event in events:
        process.tell(event)
    assert process.pass_time(HOLD_BACK_US + 2 * SKIP_US) == []
    assert process.take() == events
