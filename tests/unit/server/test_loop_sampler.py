"""When something has held up the event loop, the sampler reports the call that did it."""

import threading
import time

import pytest

from kafka_edu.common.time import MockTime
from kafka_edu.server.health import loop_sampler
from kafka_edu.server.health.loop_sampler import LoopSampler, ThreadTimes
from kafka_edu.server.health.loop_watchdog import LoopHeld, LoopWatchdog
from kafka_edu.trace.event import Source
from kafka_edu.trace.events.server import LoopStalled
from kafka_edu.trace.ring_sink import RingSink
from kafka_edu.trace.tracer import Tracer
from tests.waiting import PATIENCE_S


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


def test_the_processor_time_of_a_late_loop_is_counted_from_when_it_was_due() -> None:
    """Earlier work of the thread, and the work of other threads, do not count."""
    times = [ThreadTimes(5_000_000_000, 1_000_000_000), ThreadTimes(5_340_000_000, 3_900_000_000)]
    sampler = LoopSampler()
    sampler.times = lambda: times.pop(0)  # type: ignore[method-assign]
    sampler.start()
    try:
        while sampler._when_late is None:
            threading.Event().wait(0.01)
        held = sampler.take()
    finally:
        sampler.stop()
    assert (held.turn_cpu_ms, held.core_wait_ms) == (340, 2900)


def test_where_the_system_says_nothing_the_times_are_unknown() -> None:
    sampler = LoopSampler()
    sampler._when_late = ThreadTimes(0, 0)
    sampler.times = lambda: None  # type: ignore[method-assign]
    assert sampler.take() == LoopHeld("", -1, -1)


def test_the_times_of_a_thread_only_grow() -> None:
    sampler = LoopSampler()
    before = sampler.times()
    sum(range(100_000))
    after = sampler.times()
    assert before is None or (after is not None and after.cpu_ns >= before.cpu_ns)


def test_a_loop_in_time_was_held_by_nothing() -> None:
    sampler = LoopSampler()
    sampler.tick()
    assert sampler.take() == LoopHeld()


def test_the_stacks_of_all_threads_are_told_once_when_the_loop_hangs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(loop_sampler, "HANG_LOOKS", 3)
    told: list[str] = []
    hangs, looked_on = threading.Event(), threading.Event()

    def on_hang(text: str) -> None:
        told.append(text)
        hangs.set()

    sampler = LoopSampler(on_hang)
    pause = sampler._pause

    def looks_on() -> float:
        if len(looks := [*looks_after, 1]) > 5:
            looked_on.set()
        looks_after[:] = looks if hangs.is_set() else []
        return min(pause(), 0.001)

    looks_after: list[int] = []
    monkeypatch.setattr(sampler, "_pause", looks_on)
    sampler.start()
    try:
        assert hangs.wait(PATIENCE_S)
        assert looked_on.wait(PATIENCE_S)
    finally:
        sampler.stop()
    (text,) = told
    assert "thread MainThread:" in text
    assert "thread loop-sampler:" in text
    assert "test_the_stacks_of_all_threads_are_told_once_when_the_loop_hangs" in text


def test_a_process_that_was_paused_for_an_hour_has_not_hung() -> None:
    told: list[str] = []
    sampler = LoopSampler(told.append)
    sampler._ticked = time.monotonic() - 3_600
    sampler.start()
    try:
        _hold_the_loop(sampler)
    finally:
        sampler.stop()
    assert told == [], "it has looked once, an hour after the last tick"
