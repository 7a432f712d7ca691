"""A sink that fails is removed and says so. What emits the events never gets the exception."""

import asyncio
import io
import json
import logging
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from kafka_edu.cli.proxy_process import TerminalSink
from kafka_edu.clients.admin.first_contact import FailedServers
from kafka_edu.common.socket_transport import SocketTransport
from kafka_edu.common.time import MockTime
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.common.user_files import naming
from kafka_edu.replication.isr import IsrState
from kafka_edu.server.health.repairs import Repairs
from kafka_edu.server.health.troubles import Troubles
from kafka_edu.tools.client_settings import ConnectionWarnings
from kafka_edu.trace.event import Envelope, Event, Level, Source
from kafka_edu.trace.events.log import CheckpointUnreadable
from kafka_edu.trace.events.producer import ClientDisconnected
from kafka_edu.trace.events.proxy import ProxyStarted
from kafka_edu.trace.events.server import SessionLost
from kafka_edu.trace.events.trace import EventConnectionFailed, SampleFailed, SinkFailed
from kafka_edu.trace.file_sink import FileSink
from kafka_edu.trace.recording_file import open_events
from kafka_edu.trace.ring_sink import RingSink
from kafka_edu.trace.socket_sink import EventServer
from kafka_edu.trace.trace_ring import TraceRing
from kafka_edu.trace.tracer import Sink, Tracer

FULL = OSError(28, "No space left on device")


class _Full(io.BytesIO):
    """A file on a full disk."""

    def write(self, _: object) -> int:
        raise FULL


class _Fails:
    """A sink with a bug."""

    def __init__(self, level: Level = Level.STATE) -> None:
        self.level = level
        self.accepted = 0

    def accept(self, envelope: Envelope) -> None:
        self.accepted += 1
        raise KeyError("a bug")


class _Wire:
    """A wire that fails to send as soon as the test orders it."""

    peer = local = "127.0.0.1:50000"
    unsent = 0

    def __init__(self) -> None:
        self.fails = self.closed = False
        self.sent: list[bytes] = []

    def send(self, parts: list[bytes]) -> None:
        if self.fails:
            raise RuntimeError("the wire is broken")
        self.sent += parts

    def close(self) -> None:
        self.closed = True


def lost(number: int) -> SessionLost:
    """Return some event."""
    return SessionLost(broker_id=1, session_id=number)


def tracer() -> tuple[Tracer, RingSink]:
    """Return a tracer and a sink that gets every event, even the reports about sinks that
    failed.
    """
    trace, witness = Tracer(Source.of_broker(1), MockTime()), RingSink()
    return trace, witness


def _told(witness: RingSink) -> list[Event]:
    return [envelope.event for envelope in witness.events]


def test_the_others_get_the_event_and_then_how_the_sink_failed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    trace, behind = tracer()
    before, fails, ended = RingSink(), _Fails(), []
    trace.add_sink(before)
    trace.add_sink(fails, "the broken one", lambda: ended.append(True))
    trace.add_sink(behind)
    seq = trace(lost(7))
    trace(lost(8))
    assert (seq, fails.accepted, ended) == (1, 1, [True])
    assert (
        _told(before)
        == _told(behind)
        == [
            lost(7),
            SinkFailed(sink="the broken one", reason="KeyError: 'a bug'", after=1),
            lost(8),
        ]
    )
    assert "the broken one has failed" in caplog.text
    assert "KeyError" in caplog.text


def test_all_sinks_may_fail_at_once_and_one_that_fails_at_the_news_of_it() -> None:
    trace, _ = tracer()
    sinks = [_Fails(), _Fails(Level.HOPS), _Fails()]
    for sink in sinks:
        trace.add_sink(sink)
    assert trace.hops
    trace(lost(7))
    assert [sink.accepted for sink in sinks] == [1, 1, 1]
    assert not trace.hops, "nobody wants hops any more"
    assert trace(lost(8)) == 5, "three of them failed, each with an event"


def test_an_owner_that_cannot_close_its_sink_disturbs_nobody() -> None:
    trace, witness = tracer()
    trace.add_sink(_Fails(), "x", lambda: [][0])
    trace.add_sink(witness)
    trace(lost(7))
    assert len(_told(witness)) == 2


def _file(trace: Tracer) -> Sink:
    sink = FileSink(trace, file := io.BytesIO())
    sink.attach("the recording /disk/x")
    file.write = _Full().write  # type: ignore[method-assign]
    return sink


def _subscriber(trace: Tracer) -> Sink:
    server = EventServer(trace, SocketTransport(), MockTime(), "secret", ring_bytes=0)
    wire = _Wire()
    receiver = server._on_wire(wire)  # type: ignore[arg-type]  # sends bytes alone
    receiver.data_received(memoryview(json.dumps({"token": "secret"}).encode() + b"\n"))
    sink: Sink = server._subscribers[0]
    wire.fails = True
    server._subscribers[0]._lines = [b"x"] * 255  # the next one is sent at once
    return sink


def _ring(trace: Tracer) -> Sink:
    def line(_: Envelope) -> bytes:
        raise MemoryError("no memory for a line")

    ring = TraceRing(line)
    trace.add_sink(ring)
    return ring


def _last_events(trace: Tracer) -> Sink:
    ring = RingSink()
    ring.events = None  # type: ignore[assignment]  # any bug
    trace.add_sink(ring)
    return ring


def _troubles(trace: Tracer) -> Sink:
    troubles = Troubles(None)  # type: ignore[arg-type]  # any bug
    trace.add_sink(troubles)
    return troubles


def _repairs(trace: Tracer) -> Sink:
    repairs = Repairs()
    repairs._last = None  # type: ignore[assignment]  # any bug
    trace.add_sink(repairs)
    return repairs


def _terminal(trace: Tracer) -> Sink:
    def say(_: str) -> None:
        raise BrokenPipeError(32, "Broken pipe")

    sink = TerminalSink(say)
    trace.add_sink(sink)
    return sink


def _connection_warnings(trace: Tracer) -> Sink:
    sink = ConnectionWarnings()
    sink._written_us = None  # type: ignore[assignment]  # any bug
    trace.add_sink(sink)
    return sink


def _failed_servers(trace: Tracer) -> Sink:
    sink = FailedServers(1)
    sink._left = None  # type: ignore[assignment]  # any bug
    trace.add_sink(sink)
    return sink


#: What a client says when it loses a broker.
GONE: Final = ClientDisconnected(client="c", broker_id=1, local="", reason="refused", in_flight=0)
#: Events that a sink looks at which leaves out others.
LOOKED_AT: Final[dict[Callable[[Tracer], Sink], Event]] = {
    _terminal: ProxyStarted(listener="x", targets=(), routes=()),
    _repairs: CheckpointUnreadable(log_dir="/d", file="f", reason="it is empty"),
    _connection_warnings: GONE,
    _failed_servers: GONE,
}


@pytest.mark.parametrize(
    "make",
    [
        _file,
        _subscriber,
        _ring,
        _last_events,
        _troubles,
        _repairs,
        _terminal,
        _connection_warnings,
        _failed_servers,
    ],
)
def test_each_sink_of_ours_is_removed_when_it_fails(make: Callable[[Tracer], Sink]) -> None:
    trace, witness = tracer()
    sink = make(trace)
    trace.add_sink(witness)
    event = LOOKED_AT.get(make, lost(7))
    trace(event)
    told = _told(witness)
    assert told[0] == event
    assert isinstance(told[1], SinkFailed)
    assert sink not in [each.sink for each in trace._attached]
    trace(event)
    assert _told(witness)[2:] == [event]


def test_the_classes_above_are_all_that_are_attached_to_a_tracer() -> None:
    """Every sink class must be in this list, and be tested above. The sinks of the simulator,
    chapters and exercises are left out: they keep events in a list, in a process that is not
    measured.
    """
    root = Path(__file__).parents[3] / "kafka_edu"
    found = {
        line.partition("class ")[2].partition(":")[0]
        for path in root.rglob("*.py")
        if path.parts[-2] != "sim"
        for text in [path.read_text(encoding="utf-8")]
        if "def accept(self, envelope: Envelope)" in text
        for line in text[: text.index("def accept(self, envelope")].splitlines()
        if line.startswith("class ")
    }
    assert found == {
        "Block(NamedTuple)",
        "ConnectionWarnings",
        "FileSink",
        "Keyframe",
        "Repairs",
        "RingSink",
        "Sink(Protocol)",
        "Subscriber",
        "TerminalSink",
        "TraceRing",
        "Troubles",
        "FailedServers",
    }


@pytest.mark.parametrize("when", ["at a tick", "at the end"])
def test_a_recording_that_fails_outside_an_event(when: str, tmp_path: Path) -> None:
    trace, witness = tracer()
    trace.add_sink(witness)
    file = open_events(tmp_path / "x", "wb")
    sink = FileSink(trace, file)
    sink.attach("the recording x")
    trace(lost(7))
    file._out.close()  # type: ignore[attr-defined]
    file._out = _Full()  # type: ignore[attr-defined]
    if when == "at a tick":
        sink.tick()
    sink.close()
    sink.tick()
    trace(lost(8))
    assert _told(witness) == [
        lost(7),
        SinkFailed(sink="the recording x", reason="No space left on device", after=1),
        lost(8),
    ]


def test_a_part_that_cannot_be_sampled_is_left_out_and_said_once() -> None:
    trace, witness = tracer()
    trace.add_sink(witness)

    def broken() -> list[Event]:
        raise KeyError("a bug")

    for register, sample in (
        (trace.on_snapshot, trace.snapshot),
        (trace.on_gauges, trace.gauges),
    ):
        witness.events.clear()
        register(lambda: [lost(1)])
        register(broken)
        register(lambda: [lost(2)])
        for _ in range(2):
            assert [e.event for e in sample()] == [lost(1), lost(2)]
        (failed,) = _told(witness)
        assert isinstance(failed, SampleFailed)
        assert failed.sample.endswith("broken")
        assert failed.reason == "KeyError: 'a bug'"


def test_a_tick_serves_the_others_when_a_subscriber_or_the_ring_fails() -> None:
    trace, witness = tracer()
    trace.add_sink(witness)
    server = EventServer(trace, SocketTransport(), MockTime(), "secret")
    wires = [_Wire(), _Wire()]
    for wire in wires:
        receiver = server._on_wire(wire)  # type: ignore[arg-type]  # sends bytes alone
        receiver.data_received(memoryview(json.dumps({"token": "secret"}).encode() + b"\n"))
    assert server.ring is not None
    server.ring._blocks = None  # type: ignore[assignment]  # any bug
    wires[0].fails = True
    trace(lost(7))
    server.tick()
    assert server.ring is None
    assert (wires[0].closed, wires[1].closed) == (True, False)
    assert b"SessionLost" in wires[1].sent[-1]
    assert [event.sink for event in _told(witness) if isinstance(event, SinkFailed)] == [
        "the ring of facts",
        "the subscriber 127.0.0.1:50000",
    ]
    server.tick()


class _Case(NamedTuple):
    line: bytes
    answer: str
    failed: bool


@pytest.mark.parametrize(
    "case",
    [
        _Case(b'{"token": "secret", "control": "break"}\n', "TypeError: no client id", True),
        _Case(b'{"token": "secret", "control": "refuse"}\n', "not now", False),
        _Case(b'{"token": "secret", "control": []}\n', "KeyError", True),
        _Case(b'{"token": "\\ud800"}\n', "the first line must be", False),
        _Case(b'{"token": "secret", "since_us": 1e999}\n', "the first line must be", False),
        _Case(b"[" * 4000 + b"\n", "the first line must be", False),
        _Case(b"\xff\xfe\n", "the first line must be", False),
    ],
    ids=lambda case: case.answer + case.line[:40].decode("latin-1"),
)
def test_no_line_to_the_event_socket_stops_the_process(
    case: _Case, caplog: pytest.LogCaptureFixture
) -> None:
    async def control(request: object) -> dict[str, object]:
        match request:
            case {"control": "break"}:
                raise TypeError("no client id")
            case {"control": "refuse"}:
                raise ValueError("not now")
        raise KeyError("control")

    async def main() -> bytes:
        trace, witness = tracer()
        trace.add_sink(witness)
        stopped: list[object] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: stopped.append(context))
        server = EventServer(trace, SocketTransport(), MockTime(), "secret", on_control=control)
        reader, writer = await asyncio.open_connection("127.0.0.1", await server.listen())
        writer.write(case.line)
        answer = await reader.read()  # up to the end: the connection is closed
        writer.close()
        server.close()
        assert stopped == []
        failures = [e for e in _told(witness) if isinstance(e, EventConnectionFailed)]
        assert len(failures) == case.failed
        return answer

    answer = json.loads(asyncio.run(main()))
    assert case.answer in answer["error"]
    assert ("Traceback" in caplog.text) == case.failed


#: Mounts a disk of 64 KB, records there until it is full, and proposes an ISR with each event.
SCRIPT = """
import sys
from pathlib import Path
from chapters.demo_parts.private_mounts import enter
from kafka_edu.common.time import SystemTime
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.common.user_files import naming
from kafka_edu.clients.admin.first_contact import FailedServers
from kafka_edu.replication.isr import IsrState
from kafka_edu.instruments.recording import read_recordings
from kafka_edu.trace.event import Source
from kafka_edu.trace.file_sink import FileSink
from kafka_edu.trace.recording_file import open_events
from kafka_edu.trace.ring_sink import RingSink
from kafka_edu.trace.tracer import Tracer

folder = Path(sys.argv[1])
mounts = enter()
if mounts.refused:
    sys.exit("skip: " + mounts.refused)
mounts.small_disk(folder, 65536)
trace = Tracer(Source.of_broker(1), SystemTime())
sink = FileSink(trace, open_events(folder / "x", "xb"))
sink.attach("the recording x")
witness = RingSink()
trace.add_sink(witness)
handed_on = 0
for n in range(1000):
    isr = IsrState(TopicPartition("web", n), trace)
    isr.take((1, 2, 3), 7)
    proposal = isr.propose((1, 2), 1, 5, 3, "x" * 100)
    assert proposal is isr.proposal
    handed_on += 1
sink.tick()
sink.close()
print(handed_on, [e.event.sink for e in witness.events if e.name == "SinkFailed"])
warnings = []
found = read_recordings([folder / "x"], warnings.append)
print(len(found) > 100, [e.seq for e in found] == list(range(1, len(found) + 1)), warnings)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="a small disk of its own needs Linux")
def test_every_proposal_is_handed_on_while_the_recordings_disk_fills(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
    )
    if done.stderr.startswith("skip: "):
        pytest.skip(done.stderr.removeprefix("skip: ").strip())
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["1000 ['the recording x']", "True True []"]
    assert done.stderr.splitlines() == [
        "the recording x has failed and is left out from now on: No space left on device"
    ]


def test_a_proposal_is_handed_on_when_the_file_fails(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    trace, witness = tracer()
    _file(trace)
    trace.add_sink(witness)
    isr = IsrState(TopicPartition("web", 0), trace)
    isr.take((1, 2, 3), 7)
    proposal = isr.propose((1, 2), 1, 5, 3, "a test")
    assert proposal is isr.proposal
    assert [type(event).__name__ for event in _told(witness)] == ["IsrChangeProposed", "SinkFailed"]
    assert "Traceback" not in caplog.text, "a full disk is no bug"


def test_an_event_socket_that_cannot_be_published_is_said_and_costs_nothing(tmp_path: Path) -> None:
    tracer = Tracer(Source.of_broker(0), MockTime())
    ring = RingSink()
    tracer.add_sink(ring)
    file = tmp_path / "gone" / "events.json"

    async def publish() -> tuple[bool, bool]:
        events = EventServer(tracer, SocketTransport(), MockTime(), "secret", ring_bytes=0)
        try:
            before = await events.publish(file)
            file.parent.mkdir()
            return before, await events.publish(file)
        finally:
            events.close()

    assert asyncio.run(publish()) == (False, True)
    assert [e.event for e in ring.events] == [
        SinkFailed(sink=f"the event socket of {file}", reason="No such file or directory", after=0)
    ]
    assert json.loads(file.read_text(encoding="utf-8"))["token"] == "secret"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full is Linux's")
def test_the_error_of_a_full_disk_names_the_file() -> None:
    with (
        pytest.raises(OSError, match="No space left on device: '/dev/full'"),
        naming("/dev/full"),
        open("/dev/full", "w", encoding="utf-8") as file,
    ):
        file.write("x" * 100_000)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full is Linux's")
@pytest.mark.parametrize("name", ["/dev/full", "packed.gz"])
def test_a_recording_on_a_full_device_costs_the_recording_alone(name: str, tmp_path: Path) -> None:
    """A file that is compressed is written in blocks, so it may fail only at its end."""
    path = tmp_path / name
    if path.suffix:
        path.symlink_to("/dev/full")
    trace, witness = tracer()
    trace.add_sink(witness)
    sink = FileSink(trace, open_events(path, "wb"))
    sink.attach("the recording")
    facts = [lost(number) for number in range(3000)]
    for fact in facts:
        trace(fact)
    sink.tick()
    sink.close()
    told = _told(witness)
    assert [event for event in told if isinstance(event, SessionLost)] == facts
    (failed,) = [event for event in told if isinstance(event, SinkFailed)]
    assert failed.reason == "No space left on device"
