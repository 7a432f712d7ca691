"""The ring: what it keeps, what it forgets, what a subscriber gets from it."""

import asyncio
import json
import tracemalloc
from collections.abc import Iterator

from kafka_edu.common.socket_transport import SocketTransport
from kafka_edu.common.time import MockTime, SystemTime
from kafka_edu.trace.event import EVENT_TYPES, Envelope, Event, Kind, Level, Source
from kafka_edu.trace.events.replication import IsrShrunk
from kafka_edu.trace.events.trace import Gap, RingBegins, RingEnds, SnapshotBegins
from kafka_edu.trace.socket_sink import MAX_UNSENT_PAST, EventServer
from kafka_edu.trace.trace_client import EventsAddress, TraceClient, subscribe
from kafka_edu.trace.trace_ring import BLOCK_FACTS, KEYFRAME_SHARE, WAITING_BYTES, TraceRing
from kafka_edu.trace.tracer import Tracer
from kafka_edu.trace.wire_format import Decoder, encode
from tests.waiting import PATIENCE_S

BROKER = Source.of_broker(1)


def shrunk(number: int) -> Event:
    """An event of the usual size."""
    return IsrShrunk(
        topic="web",
        partition=number % 50,
        leader_epoch=number % 7,
        before=(1, 2, 3),
        after=(1, 2),
        zk_version=number,
        reason="the follower fetched nothing for 30 s",
    )


class Clock:
    """The time of the ring's facts, µs."""

    def __init__(self) -> None:
        self.now_us = 0

    def __call__(self) -> int:
        return self.now_us


class RingInTime:
    """A ring, fed by hand."""

    def __init__(self, minutes: float = 10, max_bytes: int = 1 << 26) -> None:
        self.ring = TraceRing(encode, minutes, max_bytes)
        self.clock = Clock()
        self.seq = 0
        self.snapshots = 0

    def facts(self, count: int, every_us: int) -> None:
        for _ in range(count):
            self.clock.now_us += every_us
            self.seq += 1
            event = shrunk(self.seq)
            self.ring.accept(Envelope(BROKER, self.seq, 0, 0, self.clock.now_us, event))

    def tick(self) -> None:
        self.ring.tick(self.clock.now_us, self._snapshot, self.clock)

    def _snapshot(self) -> Iterator[bytes]:
        self.snapshots += 1
        return iter([b"state\n"])

    def tick_with_large_state(self) -> int:
        """Tick, and let a keyframe have ten lines that take 4 ms each. Return how long the tick
        took, in ms.
        """
        began_us = self.clock.now_us

        def lines() -> Iterator[bytes]:
            self.snapshots += 1
            return map(line, range(10))

        def line(number: int) -> bytes:
            self.clock.now_us += 4000
            return b"line %d of keyframe %d\n" % (number, self.snapshots)

        self.ring.tick(self.clock.now_us, lines, self.clock)
        return (self.clock.now_us - began_us) // 1000

    def is_keyframe(self) -> list[bool]:
        ring = self.ring
        return [ring.block(n).is_keyframe for n in range(ring.first_number, ring.end_number)]


def test_facts_older_than_the_age_go_block_by_block() -> None:
    ring = RingInTime(minutes=1)
    ring.tick()
    for _ in range(180):  # three minutes
        ring.facts(10, 100_000)
        ring.tick()
    assert 600 <= ring.ring.facts <= 600 + BLOCK_FACTS
    assert ring.ring.shed_for_bytes == 0


def test_a_flood_shortens_the_age_and_memory_stays_within_the_bytes() -> None:
    """10,000 facts/s for 4 s into a ring of 200 kB."""
    most = 200_000
    ring = RingInTime(max_bytes=most)
    tracemalloc.start()
    try:
        for _ in range(40):
            ring.facts(1000, 100)
            ring.tick()
            assert ring.ring.bytes <= most
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < most * 1.1 + 200_000  # and the open block's lines
    assert ring.ring.shed_for_bytes > 0
    assert ring.ring.shed_for_bytes + ring.ring.facts == 40_000
    oldest = ring.ring.block(ring.ring.first_number)
    assert 0 < ring.clock.now_us - oldest.first_us < 4_000_000
    bytes_a_fact = ring.ring.bytes / ring.ring.facts
    assert bytes_a_fact < 45  # the docstring's range, for events that are all of one kind


def test_a_keyframe_is_taken_once_a_minute_and_only_after_a_fact() -> None:
    ring = RingInTime()
    ring.tick()
    assert ring.snapshots == 1
    ring.clock.now_us += 600_000_000
    ring.tick()
    assert ring.snapshots == 1
    ring.facts(1, 1000)
    ring.tick()
    ring.facts(1, 1000)
    ring.tick()
    assert ring.snapshots == 2


def test_an_expensive_keyframe_is_taken_less_often() -> None:
    ring = RingInTime()

    def slow() -> Iterator[bytes]:
        ring.clock.now_us += 200_000
        ring.snapshots += 1
        return iter([b"state\n"])

    for _ in range(500):
        ring.facts(1, 1_000_000)
        ring.ring.tick(ring.clock.now_us, slow, ring.clock)
    assert ring.snapshots == 3  # every 200 s, a thousand times what one takes


def test_the_lines_of_a_large_keyframe_are_made_over_several_ticks() -> None:
    """The facts that come meanwhile stand behind it."""
    ring = RingInTime()
    took_ms = []
    for _ in range(4):
        took_ms.append(ring.tick_with_large_state())
        ring.facts(BLOCK_FACTS, 1)
    assert took_ms == [12, 12, 12, 4]
    assert ring.is_keyframe() == [True, False]
    assert ring.ring.block(0).lines().count(b"of keyframe 1\n") == 10
    assert [ring.ring.block(n).before for n in range(2)] == [0, 0]
    assert ring.ring.block(1).facts == 3 * BLOCK_FACTS + 1, "with the next fact after it"
    assert ring.tick_with_large_state() == 0, "the next one is not due yet"


def test_a_keyframe_is_given_up_when_a_reader_wants_the_facts_that_came_meanwhile() -> None:
    ring = RingInTime()
    ring.tick_with_large_state()
    ring.ring.close_block()
    ring.tick_with_large_state()
    assert ring.snapshots == 1, "there were none"
    ring.facts(1, 1)
    ring.ring.close_block()
    assert ring.is_keyframe() == [False]
    assert ring.tick_with_large_state() == 0, "the 24 ms count, although nothing came of them"
    ring.clock.now_us += 24 * KEYFRAME_SHARE * 1000
    for _ in range(4):
        ring.tick_with_large_state()
    assert (ring.snapshots, ring.is_keyframe()) == (2, [False, True])
    assert ring.ring.block(1).before == 1
    assert ring.ring.block(1).lines().count(b"of keyframe 2\n") == 10


def test_only_so_many_facts_wait_for_a_keyframe() -> None:
    ring = RingInTime()
    ring.tick_with_large_state()
    size = len(encode(Envelope(BROKER, 1, 0, 0, 1, shrunk(1))))
    ring.facts(2 * WAITING_BYTES // size, 1)
    assert not any(ring.is_keyframe())
    assert WAITING_BYTES <= len(ring.ring.block(0).lines()) < WAITING_BYTES + 2 * size
    assert len(ring.ring.block(1).lines()) < WAITING_BYTES / 4, "no more than usual"


def test_a_keyframe_that_would_fill_the_ring_is_left_out() -> None:
    ring = RingInTime(max_bytes=1000)
    ring.facts(10, 1000)
    noise = [
        bytes((number * number + position) % 251 for position in range(97)) for number in range(50)
    ]
    ring.ring.tick(ring.clock.now_us, lambda: iter(noise), ring.clock)
    ring.ring.close_block()
    assert ring.ring.facts == 10
    assert ring.ring.stateless(ring.ring.first_number) == 10


def test_an_event_larger_than_the_ring_leaves_it_empty_and_whole() -> None:
    ring = RingInTime(max_bytes=300)
    huge = IsrShrunk(
        topic="web",
        partition=0,
        leader_epoch=1,
        before=tuple(n * n * 7919 for n in range(100_000)),
        after=(),
        zk_version=1,
        reason="",
    )
    ring.ring.accept(Envelope(BROKER, 1, 0, 0, 1, huge))
    assert (ring.ring.facts, ring.ring.bytes) == (0, 0)
    ring.facts(3, 1)
    ring.ring.close_block()
    assert ring.ring.facts == 3


def test_a_reader_begins_with_the_last_keyframe_before_the_time_it_wants() -> None:
    ring = RingInTime()
    for _ in range(3):
        ring.tick()
        ring.facts(30, 2_000_000)
    ring.tick()
    blocks = [ring.ring.block(n) for n in range(ring.ring.end_number)]
    assert [block.is_keyframe for block in blocks] == [True, False] * 3 + [True]
    assert ring.ring.start_for(0) == 0
    assert ring.ring.start_for(130_000_000) == 4
    assert ring.ring.start_for(59_000_000) == 0


class SlowWire:
    """A wire whose other side reads when the test says so."""

    peer = local = "x:0"

    def __init__(self) -> None:
        self.unsent = 0
        self.most = 0
        self.closed = False
        self._parts: list[bytes] = []
        self.read: list[bytes] = []

    def send(self, parts: list[bytes]) -> None:
        self._parts += parts
        self.unsent += sum(map(len, parts))
        self.most = max(self.most, self.unsent)

    def reads_all(self) -> None:
        self.read += self._parts
        self._parts, self.unsent = [], 0

    def pause_reading(self) -> None: ...
    def resume_reading(self) -> None: ...
    def close(self) -> None:
        self.closed = True

    def events(self) -> list[Event]:
        lines = b"".join(self.read).splitlines(keepends=True)
        decoder = Decoder(lines[0])
        return [e.event for e in map(decoder.decode, lines[1:]) if e]


def facts_of(events: list[Event]) -> list[Event]:
    return [
        e for e in events if EVENT_TYPES[type(e).__name__].kind is Kind.FACT and type(e) is not Gap
    ]


class Served:
    """A tracer with an event server, in a time that the test moves."""

    def __init__(self, **limits: float) -> None:
        self.time = MockTime()
        self.tracer = Tracer(BROKER, self.time)
        self.tracer.on_snapshot(list)
        self.server = EventServer(
            self.tracer,
            SocketTransport(),
            self.time,
            "secret",
            ring_minutes=limits.get("minutes", 10),
            ring_bytes=int(limits.get("max_bytes", 1 << 26)),
        )
        self.numbers = iter(range(1 << 30))

    def facts(self, count: int) -> list[Event]:
        told = [shrunk(next(self.numbers)) for _ in range(count)]
        for event in told:
            self.tracer(event)
        return told

    def subscribes(self, **hello: object) -> SlowWire:
        wire = SlowWire()
        subscriber = self.server._on_wire(wire)  # type: ignore[arg-type]  # sends bytes alone
        line = json.dumps({"token": "secret", "gauges": False, **hello})
        subscriber.data_received(memoryview(line.encode() + b"\n"))
        return wire


def test_a_subscriber_gets_the_past_then_the_present_and_each_fact_once() -> None:
    served = Served()
    before = served.facts(1000)
    served.server.tick()
    before += served.facts(300)
    wire = served.subscribes(ring=True)
    after = served.facts(5)
    served.server.tick()
    wire.reads_all()
    events = wire.events()
    assert events[0] == RingBegins(
        from_us=served.time.nanoseconds() // 1000, facts=1300, stateless=1000, shed=0
    )
    assert RingEnds(facts=1300) in events
    assert facts_of(events) == before + after
    present = events[events.index(RingEnds(facts=1300)) + 1]
    assert present == SnapshotBegins(as_of=1300)


def test_facts_that_happen_while_the_past_is_sent_are_neither_lost_nor_doubled() -> None:
    served = Served()
    told = served.facts(30_000)
    wire = served.subscribes(ring=True)
    for _ in range(300):
        wire.reads_all()
        told += served.facts(10)
        served.server.tick()
    wire.reads_all()
    events = wire.events()
    assert any(isinstance(event, RingEnds) for event in events)
    assert facts_of(events) == told


def test_a_subscriber_that_stands_still_in_the_past_costs_bounded_memory_and_gets_a_gap() -> None:
    served = Served(max_bytes=60_000)
    served.facts(15_000)
    wire = served.subscribes(ring=True)
    for _ in range(20):
        served.facts(2_000)
        served.server.tick()
    assert wire.most < MAX_UNSENT_PAST + 300_000
    for _ in range(100):
        wire.reads_all()
        served.server.tick()
    wire.reads_all()
    events = wire.events()
    lost = [event.dropped for event in events if isinstance(event, Gap)]
    assert len(lost) == 1
    [began] = [event for event in events if isinstance(event, RingBegins)]
    came_after = 40_000
    assert len(facts_of(events)) + lost[0] == began.facts + came_after


def test_a_process_without_a_ring_says_so() -> None:
    served = Served(minutes=0)
    served.facts(3)
    assert served.server.ring is None
    wire = served.subscribes(since_us=5)
    wire.reads_all()
    assert wire.events()[0] == RingBegins(from_us=0, facts=0, stateless=0, shed=0, enabled=False)


def test_a_subscriber_that_wants_no_past_gets_none() -> None:
    served = Served()
    served.facts(3)
    wire = served.subscribes(ring=False)
    wire.reads_all()
    assert facts_of(wire.events()) == []
    assert not any(isinstance(event, RingBegins) for event in wire.events())


def test_a_wrong_since_is_refused_with_a_message() -> None:
    wire = Served().subscribes(since_us="yesterday")
    wire.reads_all()
    assert wire.closed
    assert b'"since_us": 123' in b"".join(wire.read).replace(b'\\"', b'"')


def test_both_clients_read_the_past_over_a_socket() -> None:
    async def main() -> None:
        time = SystemTime()
        tracer = Tracer(BROKER, time)
        server = EventServer(tracer, SocketTransport(), time, "secret")
        address = EventsAddress("127.0.0.1", await server.listen(), "secret", 0)
        run = asyncio.create_task(server.run())
        for number in range(1000):
            tracer(shrunk(number))
        async with asyncio.timeout(PATIENCE_S):
            names = []
            async for envelope in subscribe(address, since_us=0):
                names.append(envelope.name)
                if names[-1] == "RingEnds":
                    break
            assert names.count("IsrShrunk") == 1000

            def blocking() -> int:
                with TraceClient(address, Level.STATE, since_us=0) as client:
                    end = client.wait_for(lambda e: isinstance(e.event, RingEnds), PATIENCE_S)
                    assert isinstance(end.event, RingEnds)
                    return end.event.facts

            assert await asyncio.to_thread(blocking) == 1000
        run.cancel()
        server.close()

    asyncio.run(main())
