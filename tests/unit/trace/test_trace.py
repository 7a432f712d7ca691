"""Events: numbers, causes, sinks, the form on the wire, and one history made from several
brokers.
"""

import asyncio
import gc
import io
import json
import weakref
from typing import NamedTuple, get_type_hints

import pytest

from kafka_edu.common.socket_transport import SocketTransport
from kafka_edu.common.time import MockTime, SystemTime
from kafka_edu.trace.event import (
    CLIENT,
    EVENT_TYPES,
    PROXY,
    SUPERVISOR,
    Envelope,
    Event,
    Kind,
    Level,
    Source,
    SourceKind,
    event,
    value_types,
)
from kafka_edu.trace.events.trace import Gap, HopsLeftOut
from kafka_edu.trace.file_sink import FileSink
from kafka_edu.trace.reader import order, read_recording
from kafka_edu.trace.ring_sink import RingSink
from kafka_edu.trace.socket_sink import EventServer
from kafka_edu.trace.trace_client import EventsAddress, LevelSwitch, hello_line, subscribe
from kafka_edu.trace.tracer import Tracer
from kafka_edu.trace.wire_format import Decoder, TraceFormatError, encode, encode_header, name_of
from tests.waiting import PATIENCE_S


@event(joins=("path", "zxid"))
class ProbeZnode(NamedTuple):
    """For these tests: one process changed a znode."""

    path: str
    zxid: int


@event(joins=("path", "zxid"))
class ProbeWatch(NamedTuple):
    """For these tests: another process was notified of the change."""

    path: str
    zxid: int


@event()
class ProbeGrown(NamedTuple):
    """For these tests: it has got another field since."""

    before: int
    later: tuple[str, ...] = ("as it was",)


class ProbeReader(NamedTuple):
    """For these tests: a value within an event."""

    name: str
    behind: tuple[int, ...]
    since_ms: int = 0


@event()
class ProbeReaders(NamedTuple):
    """For these tests: an event that holds values."""

    first: ProbeReader
    others: tuple[ProbeReader, ...]
    note: str | None


@event(kind=Kind.SNAPSHOT)
class ProbeState(NamedTuple):
    """For these tests: the state."""

    values: tuple[tuple[str, int], ...]


def test_facts_are_numbered_and_know_their_cause() -> None:
    tracer = Tracer(Source.of_broker(3), MockTime(5000))
    ring = RingSink()
    tracer.add_sink(ring)
    first = tracer(ProbeZnode(path="/a", zxid=1))
    with tracer.because(first):
        tracer(ProbeZnode(path="/b", zxid=2))
    tracer(ProbeZnode(path="/c", zxid=3))
    assert [(e.broker, e.seq, e.cause, e.wall_ms, e.name) for e in ring.events] == [
        (3, 1, 0, 5000, "ProbeZnode"),
        (3, 2, 1, 5000, "ProbeZnode"),
        (3, 3, 0, 5000, "ProbeZnode"),
    ]


class _Failed(Exception):
    pass


def test_an_error_of_carried_work_leaves_the_memory_without_the_garbage_collector() -> None:
    tracer = Tracer(Source.of_broker(0), MockTime())
    tracer.add_sink(RingSink())

    async def fail_later() -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(future.set_exception, _Failed())
        try:
            await future
        finally:
            del future

    async def main() -> None:
        error = None
        try:
            await tracer.carry(tracer(ProbeZnode(path="/a", zxid=1)), fail_later())
        except _Failed as failure:
            error = weakref.ref(failure)
        assert error is not None
        await asyncio.sleep(
            0
        )  # the turn of the loop that woke this task holds the future until it ends
        assert error() is None

    gc.collect()
    gc.disable()
    try:
        asyncio.run(main())
    finally:
        gc.enable()


def test_levels_follow_those_who_look() -> None:
    tracer = Tracer(Source.of_broker(0), MockTime())
    sink = RingSink(level=Level.HOPS)
    assert (tracer.hops, tracer.all) == (False, False)
    tracer.add_sink(sink)
    assert (tracer.hops, tracer.all) == (True, False)
    tracer.remove_sink(sink)
    assert (tracer.hops, tracer.all) == (False, False)


def test_an_event_survives_the_wire_with_its_types() -> None:
    sent = Envelope(Source.of_broker(1), 2, 1, 3, 4, ProbeState(values=(("ü", 1), ("b", 2))))
    assert Decoder(encode_header(Source.of_broker(1))).decode(encode(sent)) == sent


def test_values_within_an_event_survive_the_wire_with_their_types() -> None:
    slow = ProbeReader(name="b", behind=(3, 4))
    sent = Envelope(
        Source.of_broker(1), 2, 1, 3, 4, ProbeReaders(first=slow, others=(slow, slow), note=None)
    )
    found = Decoder(encode_header(Source.of_broker(1))).decode(encode(sent))
    assert found == sent
    assert found is not None
    assert isinstance(found.event, ProbeReaders)
    assert found.event.others[1].behind == (3, 4)


def test_fields_of_values_within_an_event_are_matched_by_name_too() -> None:
    header = (
        b'{"kafka-edu-events":2,"fields":{"ProbeReaders":["others","first","note"],'
        b'"ProbeReader":["gone","behind","name"]}}'
    )
    line = b'[["broker",1],1,0,0,0,"ProbeReaders",[[],[9,[3],"b"],null]]'
    found = Decoder(header).decode(line)
    assert found is not None
    expected = ProbeReader(name="b", behind=(3,), since_ms=0)
    assert found.event == ProbeReaders(first=expected, others=(), note=None)
    with pytest.raises(TraceFormatError, match="ProbeReader of this stream lacks name"):
        Decoder(header.replace(b'"name"', b'"title"'))


def test_a_client_and_the_second_zookeeper_server_are_two_sources() -> None:
    second = Source(SourceKind.ZOOKEEPER, 2)
    decoder = Decoder(encode_header(CLIENT))
    for source in (CLIENT, second, SUPERVISOR, PROXY, Source.of_broker(0)):
        sent = Envelope(source, 1, 0, 3, 4, ProbeZnode(path="/a", zxid=1))
        assert decoder.decode(encode(sent)) == sent
        assert encode(sent).startswith(f'[["{source.kind}",{source.id}],1,'.encode())
    names = [str(source) for source in (CLIENT, second, Source.of_broker(0))]
    assert names == ["client", "zookeeper 2", "broker 0"]
    assert (second.broker, Source.of_broker(7).broker) == (None, 7)


def test_a_line_with_an_unknown_source_is_refused() -> None:
    decoder = Decoder(encode_header(CLIENT))
    for line in (
        b'[1,1,0,0,0,"ProbeZnode",["/a",1]]',
        b'[["mars",1],1,0,0,0,"ProbeZnode",["/a",1]]',
    ):
        with pytest.raises(TraceFormatError, match="not an event"):
            decoder.decode(line)


def test_two_value_types_of_events_never_have_one_name() -> None:
    found: dict[str, object] = {}
    for known in EVENT_TYPES.values():
        for value in value_types(known.cls):
            assert found.setdefault(value.__name__, value) is value


def test_events_of_another_format_are_refused_with_what_to_do() -> None:
    with pytest.raises(TraceFormatError) as refused:
        Decoder(b'{"kafka-edu-events":1,"broker":-1,"fields":{}}')
    message = str(refused.value)
    assert "have format 1" in message
    assert "reads format 2 alone" in message
    assert "Record again with this program" in message


def test_fields_are_matched_by_name_and_unknown_events_left_out() -> None:
    header = b'{"kafka-edu-events":2,"fields":{"ProbeZnode":["zxid","added_later","path"],"Unheard":["x"]}}'  # noqa: E501
    decoder = Decoder(header)
    assert decoder.decode(b'[["broker",1],1,0,0,0,"Unheard",[1]]') is None
    found = decoder.decode(b'[["broker",1],1,0,0,0,"ProbeZnode",[7,"new","/a"]]')
    assert found is not None
    assert found.event == ProbeZnode(path="/a", zxid=7)
    with pytest.raises(TraceFormatError, match="lacks zxid"):
        Decoder(b'{"kafka-edu-events":2,"fields":{"ProbeZnode":["path"]}}')
    with pytest.raises(TraceFormatError, match="header"):
        Decoder(b"hello")


def test_a_field_that_came_later_has_its_default_in_an_old_recording() -> None:
    header = b'{"kafka-edu-events":2,"fields":{"ProbeGrown":["before","dropped"]}}'
    found = Decoder(header).decode(b'[["broker",1],1,0,0,0,"ProbeGrown",[7,"gone"]]')
    assert found is not None
    assert found.event == ProbeGrown(before=7, later=("as it was",))
    sent = Envelope(Source.of_broker(1), 2, 1, 3, 4, ProbeGrown(before=1, later=("now",)))
    assert Decoder(encode_header(Source.of_broker(1))).decode(encode(sent)) == sent


def test_a_recording_begins_with_a_keyframe_and_bears_a_cut_off_end() -> None:
    time = MockTime()
    tracer = Tracer(Source.of_broker(1), time)
    tracer.on_snapshot(lambda: [ProbeState(values=(("x", 1),))])
    file = io.BytesIO()
    sink = FileSink(tracer, file)
    sink.attach("the recording")
    sink.tick()
    tracer(ProbeZnode(path="/a", zxid=1))
    file.write(b'[["broker",1],2,0,0,0,"ProbeZ')
    file.seek(0)
    assert [e.name for e in read_recording(file)] == [
        "SnapshotBegins",
        "ProbeState",
        "SnapshotEnds",
        "ProbeZnode",
    ]


@pytest.mark.parametrize("gauges", [True, False])
def test_a_recording_has_gauges_only_if_they_are_wanted(gauges: bool) -> None:
    tracer = Tracer(Source.of_broker(1), MockTime())
    tracer.on_gauges(lambda: [ProbeGrown(before=1)])
    file = io.BytesIO()
    sink = FileSink(tracer, file, gauges=gauges)
    sink.attach("the recording")
    tracer(ProbeZnode(path="/a", zxid=1))
    sink.tick()
    file.seek(0)
    names = [e.name for e in read_recording(file)]
    assert "ProbeZnode" in names
    assert ("ProbeGrown" in names) == gauges


class TickingTime(MockTime):
    """A clock that has moved on at each look, as a real one has."""

    def nanoseconds(self) -> int:
        self.advance(1)
        return super().nanoseconds()


def test_a_snapshot_put_in_order_by_time_lies_between_its_marks() -> None:
    tracer = Tracer(Source.of_broker(1), TickingTime())
    tracer.on_snapshot(lambda: [ProbeState(values=(("x", 1),))])
    file = io.BytesIO()
    sink = FileSink(tracer, file)
    sink.attach("the recording")
    sink.tick()
    file.seek(0)
    in_order = sorted(read_recording(file), key=order)
    assert [e.name for e in in_order] == ["SnapshotBegins", "ProbeState", "SnapshotEnds"]


def test_events_have_documentation_and_plain_fields() -> None:
    for name, known in EVENT_TYPES.items():
        assert known.cls.__doc__, name
        inner = {field for value in value_types(known.cls) for field in get_type_hints(value)}
        assert set(known.joins) <= inner, name
    with pytest.raises(ValueError, match="no docstring"):

        @event()
        class ProbeSilent(NamedTuple):
            x: int


def test_a_subscriber_gets_a_snapshot_then_facts_and_a_wrong_token_nothing() -> None:
    async def main() -> None:
        time = SystemTime()
        tracer = Tracer(Source.of_broker(1), time)
        tracer.on_snapshot(lambda: [ProbeState(values=(("x", 1),))])
        server = EventServer(tracer, SocketTransport(), time, "secret")
        port = await server.listen()
        run = asyncio.create_task(server.run())
        names: list[str] = []
        async with asyncio.timeout(PATIENCE_S):
            async for envelope in subscribe(EventsAddress("127.0.0.1", port, "secret", 0)):
                names.append(envelope.name)
                if envelope.name == "SnapshotEnds":
                    tracer(ProbeZnode(path="/a", zxid=1))
                if envelope.name == "ProbeZnode":
                    break
            assert names == ["SnapshotBegins", "ProbeState", "SnapshotEnds", "ProbeZnode"]
            refused = subscribe(EventsAddress("127.0.0.1", port, "wrong", 0))
            with pytest.raises(TraceFormatError):
                await anext(refused)
        run.cancel()
        server.close()

    asyncio.run(main())


def test_a_subscriber_can_choose_by_name_before_events_are_decoded() -> None:
    async def main() -> None:
        tracer = Tracer(Source.of_broker(1), SystemTime())
        server = EventServer(tracer, SocketTransport(), SystemTime(), "secret")
        port = await server.listen()
        run = asyncio.create_task(server.run())
        asked: list[str] = []

        def wanted(name: str) -> bool:
            asked.append(name)
            return name != "SnapshotBegins"

        async with asyncio.timeout(PATIENCE_S):
            address = EventsAddress("127.0.0.1", port, "secret", 0)
            async for envelope in subscribe(address, wanted=wanted):
                assert envelope.name == "SnapshotEnds"
                break
        assert asked == ["SnapshotBegins", "SnapshotEnds"]
        run.cancel()
        server.close()

    asyncio.run(main())


def test_the_name_of_an_event_is_read_without_decoding_it() -> None:
    envelope = Envelope(Source.of_broker(1), 1, 0, 2, 3, ProbeZnode(path='/a"b', zxid=1))
    assert name_of(encode(envelope)) == "ProbeZnode"
    with pytest.raises(TraceFormatError, match="not an event"):
        name_of(b'{"error": 1}\n')


class FakeWire:
    """A wire that takes everything at once, and says that `unsent` bytes of it still wait."""

    peer = local = "x:0"

    def __init__(self) -> None:
        self.unsent = 0
        self.sent: list[bytes] = []

    def send(self, parts: list[bytes]) -> None:
        self.sent += parts

    def pause_reading(self) -> None: ...
    def resume_reading(self) -> None: ...
    def close(self) -> None: ...

    def events(self) -> list[Event]:
        """Return all events that were sent."""
        lines = b"".join(self.sent).splitlines(keepends=True)
        decoder = Decoder(lines[0])
        return [e.event for e in map(decoder.decode, lines[1:]) if e]

    def facts(self) -> list[Event]:
        return [e for e in self.events() if EVENT_TYPES[type(e).__name__].kind is Kind.FACT]


def subscribed(server: EventServer, level: Level, gauges: bool = False) -> FakeWire:
    wire = FakeWire()
    subscriber = server._on_wire(wire)  # type: ignore[arg-type]  # sends bytes alone
    hello = json.dumps({"token": server.token, "level": level.value, "gauges": gauges})
    subscriber.data_received(memoryview(hello.encode() + b"\n"))
    return wire


def test_a_slow_subscriber_gets_a_gap_and_a_new_snapshot() -> None:
    tracer = Tracer(Source.of_broker(1), MockTime())
    tracer.on_snapshot(lambda: [ProbeState(values=())])
    server = EventServer(tracer, SocketTransport(), MockTime(), "secret")
    wire = subscribed(server, Level.STATE)
    wire.unsent = 1 << 30
    for zxid in range(5):
        tracer(ProbeZnode(path="/a", zxid=zxid))
    tracer(ProbeGrown(before=1))
    server.tick()
    wire.unsent = 0
    server.tick()
    told = wire.events()
    assert Gap(dropped=6, by_type=(("ProbeZnode", 5), ("ProbeGrown", 1))) in told
    assert [type(e).__name__ for e in told[-3:]] == ["SnapshotBegins", "ProbeState", "SnapshotEnds"]


def test_a_subscriber_that_missed_gauges_gets_a_new_snapshot() -> None:
    """Many gauges are sent only when they have changed. If one was left out, the subscriber must
    get its value in another way.
    """
    tracer = Tracer(Source.of_broker(1), MockTime())
    tracer.on_snapshot(lambda: [ProbeState(values=())])
    tracer.on_gauges(lambda: [ProbeGrown(before=1)])
    server = EventServer(tracer, SocketTransport(), MockTime(), "secret")
    wire = subscribed(server, Level.STATE, gauges=True)
    wire.unsent = 1 << 30
    server.tick()
    assert ProbeGrown(before=1) not in wire.events()
    wire.unsent = 0
    server.tick()
    names = [type(e).__name__ for e in wire.events()]
    assert names[-5:] == ["Gap", "SnapshotBegins", "ProbeState", "SnapshotEnds", "ProbeGrown"]
    assert Gap(dropped=1, by_type=(("ProbeGrown", 1),)) in wire.events()


@event(level=Level.HOPS)
class ProbeHop(NamedTuple):
    """For these tests: one hop of a request."""

    number: int


def test_a_subscriber_changes_its_level_while_it_listens() -> None:
    """Through real sockets, as the dashboard does for slow motion."""

    async def main() -> None:
        time = SystemTime()
        tracer = Tracer(Source.of_broker(1), time)
        server = EventServer(tracer, SocketTransport(), time, "secret")
        port = await server.listen()
        run = asyncio.create_task(server.run())
        switch = LevelSwitch(Level.STATE)
        numbers: list[object] = []
        async with asyncio.timeout(PATIENCE_S):
            async for envelope in subscribe(EventsAddress("127.0.0.1", port, "secret", 0), switch):
                if envelope.name == "SnapshotEnds":
                    assert not tracer.hops, "nobody wants hops yet"
                    switch.set(Level.HOPS)
                    while not tracer.hops:
                        await asyncio.sleep(0)
                    tracer(ProbeHop(number=2))
                if envelope.name == "ProbeHop":
                    numbers.append(envelope.event[0])
                    switch.set(Level.STATE)
                    while tracer.hops:
                        await asyncio.sleep(0)
                    break
        assert numbers == [2]
        run.cancel()
        server.close()

    asyncio.run(main())


def test_what_a_subscriber_wants_may_come_together_with_its_first_line() -> None:
    """A process that was paused reads both at once."""

    async def main() -> None:
        time = SystemTime()
        tracer = Tracer(Source.of_broker(1), time)
        server = EventServer(tracer, SocketTransport(), time, "secret")
        port = await server.listen()
        run = asyncio.create_task(server.run())
        async with asyncio.timeout(PATIENCE_S):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            hello = hello_line("secret", Level.STATE, False)
            writer.write(hello + b'{"level": "hops"}\n{"snapshot": true}\n')
            while not tracer.hops:
                await asyncio.sleep(0)
            snapshots = 0
            while snapshots < 2:
                snapshots += b'"SnapshotEnds",[' in await reader.readline()
        writer.close()
        run.cancel()
        server.close()

    asyncio.run(main())


def test_a_subscriber_gets_its_own_level_whatever_the_others_ask_for() -> None:
    tracer = Tracer(Source.of_broker(1), MockTime())
    server = EventServer(tracer, SocketTransport(), MockTime(), "secret")
    state, hops = subscribed(server, Level.STATE), subscribed(server, Level.HOPS)
    hop, fact = ProbeHop(number=1), ProbeZnode(path="/a", zxid=1)
    slow, late = ProbeHop(number=2), ProbeHop(number=3)
    told = tracer(hop)
    with tracer.because(told):
        tracer(ProbeHop(number=4), tracer.level_of_cause)
    tracer(fact)
    told = tracer(slow, Level.STATE)
    with tracer.because(told):
        tracer(late, tracer.level_of_cause)
    server.tick()
    assert state.facts() == [fact, slow, late]
    assert hops.facts() == [hop, ProbeHop(number=4), fact, slow, late]


def test_the_last_facts_of_a_process_are_sent_when_its_socket_closes() -> None:
    tracer = Tracer(Source.of_broker(1), MockTime())
    server = EventServer(tracer, SocketTransport(), MockTime(), "secret")
    wire = subscribed(server, Level.STATE)
    last = ProbeZnode(path="/a", zxid=1)
    tracer(last)
    assert wire.facts() == [], "it waits for the next tick"
    server.close()
    assert wire.facts() == [last]


def test_each_event_and_each_gauge_is_encoded_once_for_all_subscribers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tracer = Tracer(Source.of_broker(1), MockTime())
    sampled: list[int] = []

    def gauges() -> list[Event]:
        sampled.append(1)
        return [ProbeState(values=(("gauge", 1),))]

    tracer.on_gauges(gauges)
    server = EventServer(tracer, SocketTransport(), MockTime(), "secret")
    wires = [subscribed(server, Level.STATE, gauges=True) for _ in range(3)]
    encoded: list[str] = []

    def counting(envelope: Envelope) -> bytes:
        encoded.append(envelope.name)
        return encode(envelope)

    monkeypatch.setattr("kafka_edu.trace.socket_sink.encode", counting)
    facts = [ProbeZnode(path="/a", zxid=zxid) for zxid in range(5)]
    for fact in facts:
        tracer(fact)
    server.tick()
    assert [wire.facts() for wire in wires] == [facts] * 3
    assert sorted(encoded) == ["ProbeState"] + ["ProbeZnode"] * 5
    assert len(sampled) == 1
    assert all(wire.sent[-1].endswith(wires[0].sent[-1]) for wire in wires)


def test_a_recording_of_hops_has_a_budget_and_says_what_it_left_out() -> None:
    time = MockTime()
    tracer = Tracer(Source.of_broker(1), time)
    file = io.BytesIO()
    sink = FileSink(tracer, file, Level.HOPS, hops_per_second=100)
    sink.attach("the recording")
    sink.tick()
    made = 0
    for number in range(30):
        if tracer.hops:
            made += 1
            tracer(ProbeHop(number=number))
        tracer(ProbeZnode(path="/a", zxid=number))
        time.advance(1)
    assert made == 5
    assert not tracer.hops
    sink.tick()
    assert tracer.hops
    tracer(ProbeHop(number=99))
    sink.tick()
    file.seek(0)
    events = [e.event for e in read_recording(file)]
    assert [e for e in events if isinstance(e, ProbeHop)] == [
        *(ProbeHop(number=number) for number in range(5)),
        ProbeHop(number=99),
    ]
    assert len([e for e in events if isinstance(e, ProbeZnode)]) == 30
    assert [e for e in events if isinstance(e, HopsLeftOut)] == [HopsLeftOut(for_us=26_000)]


def test_the_level_of_a_fact_is_remembered_after_hops_are_left_out() -> None:
    tracer = Tracer(Source.of_broker(1), MockTime())
    state, hops = RingSink(), RingSink(level=Level.HOPS)
    tracer.add_sink(state)
    tracer.add_sink(hops)
    told = tracer(ProbeHop(number=1))
    hops.level = Level.STATE
    tracer.levels_changed()
    assert tracer.level_of(told) is Level.HOPS
    with tracer.because(told):
        tracer(ProbeHop(number=2), tracer.level_of_cause)
    assert list(state.events) == []
