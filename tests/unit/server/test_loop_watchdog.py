from kafka_edu.common.time import MockTime
from kafka_edu.server.health.loop_watchdog import LoopHeld, LoopWatchdog
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


def test_a_stall_tells_how_much_of_it_was_our_own_work() -> None:
    time = MockTime()
    tracer, ring = Tracer(Source.of_broker(1), time), RingSink()
    tracer.add_sink(ring)
    held = [LoopHeld("log.open:7", turn_cpu_ms=340, core_wait_ms=2900), LoopHeld()]
    watchdog = LoopWatchdog(time, tracer, lambda: 0, lambda: None, lambda: held.pop(0))
    watchdog.on_tick(100 + 3400, 390)
    watchdog.on_tick(100 + 300, 10)
    assert [envelope.event for envelope in ring.events] == [
        LoopStalled(
            stalled_ms=3400,
            cpu_ms=390,
            held_by="log.open:7",
            turn_cpu_ms=340,
            core_wait_ms=2900,
        ),
        LoopStalled(stalled_ms=300, cpu_ms=10),
    ]
