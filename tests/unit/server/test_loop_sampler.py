"""When a loop that was held runs again, it reports the call that held it."""

import threading

from kafka_edu.common.time import MockTime
from kafka_edu.server.loop_sampler import LoopSampler
from kafka_edu.server.loop_watchdog import LoopWatchdog
from kafka_edu.trace.event import Source
from kafka_edu.trace.events.server import LoopStalled
from kafka_edu.trace.ring_sink import RingSink
from kafka_edu.trace.tracer import Tracer


def _hold_the_loop(sampler: LoopSampler) -> None:
    """Return when the sampler has seen this very call."""
    while not sampler._held_by:
        threading.Event().wait(0.01)


def test_the_call_that_holds_the_loop_is_told() -> None:
    tracer, ring = Tracer(Source.of_broker(1), MockTime()), RingSink()
    tracer.add_sink(ring)
    sampler = LoopSampler()
    watchdog = LoopWatchdog(MockTime(), tracer, lambda: 0, sampler.tick, sampler.take)
    sampler.start()
    try:
        _hold_the_loop(sampler)
        watchdog.on_tick(1100, 20)
    finally:
        sampler.stop()
    (stalled,) = [envelope.event for envelope in ring.events]
    assert isinstance(stalled, LoopStalled)
    assert (stalled.stalled_ms, stalled.cpu_ms) == (1000, 20)
    assert "wait" in stalled.held_by
    assert watchdog.longest_ms == 1000


def test_a_loop_in_time_was_held_by_nothing() -> None:
    sampler = LoopSampler()
    sampler.tick()
    assert sampler.take() == ""
