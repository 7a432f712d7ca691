from kafka_edu.common.time import MockTime
from kafka_edu.server.loop_watchdog import LoopWatchdog
from kafka_edu.trace.event import Source
from kafka_edu.trace.events.server import LoopStalled
from kafka_edu.trace.ring_sink import RingSink
from kafka_edu.trace.tracer import Tracer


def test_a_stall_is_told_and_a_late_tick_is_not() -> None:
    time = MockTime()
    tracer, ring = Tracer(Source.of_broker(1), time), RingSink()
    tracer.add_sink(ring)
    wound: list[int] = []
    watchdog = LoopWatchdog(time, tracer, lambda: 0, lambda: wound.append(1))
    watchdog.on_tick(130, 0)
    watchdog.on_tick(100 + 900, 850)
    assert [envelope.event for envelope in ring.events] == [LoopStalled(stalled_ms=900, cpu_ms=850)]
    assert len(wound) == 2
