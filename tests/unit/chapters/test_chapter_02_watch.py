"""Chapter 02's view of a live broker, from a real timer's and purgatory's events over a socket."""

import io

from rich.console import Console

import kafka_edu.trace.events.all  # noqa: F401 - fills the registry of event types
from chapters.ch02_timing_wheel.watch import Seen
from kafka_edu.common.time import MockTime
from kafka_edu.purgatory.delayed_operation import DelayedOperation
from kafka_edu.purgatory.delayed_operation_purgatory import DelayedOperationPurgatory
from kafka_edu.trace.event import Envelope, Level, Source
from kafka_edu.trace.events.purgatory import Requirement
from kafka_edu.trace.tracer import Tracer
from kafka_edu.trace.wire_format import Decoder, encode, encode_header


class Waits(DelayedOperation):
    """Waits for a high watermark of 4 that broker 2 holds back."""

    @property
    def label(self) -> str:
        return "produce web-0"

    def try_complete(self) -> bool:
        return False

    def on_complete(self) -> None:
        """Do nothing, because nobody waits for an answer."""

    def why_waiting(self) -> tuple[Requirement, ...]:
        return (Requirement("web-0", "high watermark", 4, 2, (("broker 1", 4), ("broker 2", 2))),)


class OverTheWire:
    level = Level.ALL

    def __init__(self, seen: Seen) -> None:
        self.seen = seen
        self.decoder = Decoder(encode_header(Source.of_broker(1)))

    def accept(self, envelope: Envelope) -> None:
        decoded = self.decoder.decode(encode(envelope))
        assert decoded is not None
        self.seen.take(decoded.event)


def shown(seen: Seen) -> str:
    console = Console(record=True, width=160, file=io.StringIO())
    console.print(seen.picture("under load"))
    return console.export_text()


def test_shows_wheels_rates_and_why_an_operation_waits() -> None:
    time, seen = MockTime(100_000), Seen()
    trace, wire = Tracer(Source.of_broker(1), time), OverTheWire(seen)
    trace.add_sink(wire)
    purgatory = DelayedOperationPurgatory[Waits]("Produce", time.hi_res_clock_ms, trace)
    for gauge in trace.gauges():
        wire.accept(gauge)
    operation = Waits(30_000)
    purgatory.try_complete_else_watch(operation, ("web-0",))
    time.advance(2_000)
    for gauge in trace.gauges():
        wire.accept(gauge)
    text = shown(seen)
    assert "Produce purgatory, broker 1 · 1 tasks · next bucket in 26,000 ms · inserted 0/s" in text
    assert "level 4 · 8 s x 20" in text
    assert "waiting 2,000 ms: produce web-0" in text
    assert "web-0 needs high watermark 4, has 2.  broker 1 ✓ 4  broker 2 ✗ 2" in text
    assert [made.level for made in seen.made] == [2, 3, 4]

    operation.force_complete()
    for gauge in trace.gauges():
        wire.accept(gauge)
    assert "waiting" not in shown(seen)
    assert [done.by for done in seen.completed] == ["forced"]
