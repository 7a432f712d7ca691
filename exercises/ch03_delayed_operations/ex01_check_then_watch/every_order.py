"""Find the shortest order in which the learner's thread goes wrong (`lab replay 03-1`)."""

from collections.abc import Callable
from typing import Final

from kafka_edu.common.time import MockTime
from kafka_edu.learner.learner import Learner
from kafka_edu.sim.all_orders import LIMITS
from kafka_edu.trace.event import Envelope, Event, Level, Source
from kafka_edu.trace.events.controller import ControllerElected
from kafka_edu.trace.events.learner import OrderFailed, OrderStepped
from kafka_edu.trace.events.purgatory import (
    OperationCompleted,
    OperationWatched,
    PurgatorySampled,
    PurgatoryState,
    Requirement,
    WaitingOperation,
    WaitingOperationSampled,
)
from kafka_edu.trace.tracer import Tracer

from ...runner.searched import Searched, SearchError
from .. import check_world as rules
from ..check_world import LEARNER, CheckWorld
from ..orders import (
    BadStepError,
    EndlessThreadError,
    LearnersThread,
    Order,
    ScriptedThread,
    Thread,
    draw,
    shown,
    try_all_orders,
)

#: The keys in each simulated world. Each key has one event. The smallest world is searched first.
WORLDS: Final = (("web-0",), ("web-0", "web-1"), ("web-0", "web-1", "web-2"))
FAULTS: Final[tuple[Callable[[CheckWorld], str], ...]] = (
    rules.lost_wake_up,
    rules.wrong_result,
    rules.time_out_left,
    rules.goes_on,
    rules.too_many_tries,
    rules.dead_entries,
)
STEP_MS: Final = 500
TIME_OUT_MS: Final = 30_000
PURGATORY: Final = "Produce"
OPERATION: Final = 1


def search(learner: Learner, file: str) -> Searched:
    """Try every order of the learner's steps and the events of one, two and three keys. Raises
    LearnerFailure and SearchError.
    """
    tried: list[str] = []
    for keys in WORLDS:
        made = LearnersThread("your thread", learner.make(keys))
        threads: tuple[Thread, ...] = (
            made,
            *(ScriptedThread(f"event of {k}", (("ready", k), ("check", k))) for k in keys),
        )
        try:
            found = try_all_orders(
                CheckWorld(keys), threads, fault_of, limits=LIMITS, counts_all=False
            )
        except BadStepError as error:
            raise SearchError(f"{error} ({file}, line {error.line})") from error
        except EndlessThreadError as error:
            raise SearchError(str(error)) from error
        what = f"keys {', '.join(keys)}"
        if found.first is not None:
            tried.append(f"{what}: an order goes wrong, and no shorter one does")
            events = recording(found.first, threads, file)
            return Searched(tuple(tried), draw(found.first, threads), events)
        tried.append(f"{what}: {found.orders:,} orders are right")
        if found.left_out:
            tried.append(f"{what}: {found.left_out}")
    return Searched(tuple(tried))


def fault_of(world: CheckWorld) -> str:
    """Return the first fault of the final state, or an empty text if the state has no fault."""
    return next(filter(None, (fault(world) for fault in FAULTS)), "")


class _Kept:
    """A sink that stores all events."""

    level = Level.ALL

    def __init__(self) -> None:
        self.events: list[Envelope] = []

    def accept(self, envelope: Envelope) -> None:
        self.events.append(envelope)


def recording(order: Order[CheckWorld], threads: tuple[Thread, ...], file: str) -> list[Envelope]:
    """Return an order of steps as events of a broker, with half a second between two steps."""
    time, kept = MockTime(), _Kept()
    trace = Tracer(Source.of_broker(0), time)
    trace.add_sink(kept)
    rows = [row for row in order.rows if not (row.ended and row.step is None)]
    world = CheckWorld(order.world.keys)
    began_ms = time.hi_res_clock_ms()
    trace(ControllerElected(epoch=1, epoch_zk_version=0))  # else the dashboard says "no controller"
    for number, row in enumerate(rows, 1):
        time.advance(STEP_MS)
        who = threads[row.thread].title
        text = shown(row._replace(line=0), {})
        step = OrderStepped(number=number, steps=len(rows), who=who, step=text, line=row.line)
        with trace.because(trace(step)):
            before = world
            if row.ended:
                world = world.end(row.thread, row.step)
            else:
                world, _ = world.do(row.thread, row.step)
            for event in _effects(before, world, row.thread, row.step, time, began_ms):
                trace(event)
        for sample in _samples(world, began_ms, time.hi_res_clock_ms()):
            wall_ms, mono_us = time.milliseconds(), time.nanoseconds() // 1000
            kept.accept(Envelope(trace.source, trace.seq, 0, wall_ms, mono_us, sample))
    trace(OrderFailed(fault=order.fault, file=file))
    return kept.events


def _effects(
    before: CheckWorld, after: CheckWorld, thread: int, step: object, time: MockTime, began_ms: int
) -> list[Event]:
    """Return the events that a purgatory emits for this step."""
    waited_ms = time.hi_res_clock_ms() - began_ms
    if after.completed and not before.completed:
        key = str(step[1]) if isinstance(step, tuple) else ""
        return [
            OperationCompleted(
                purgatory=PURGATORY,
                operation=OPERATION,
                label="the operation",
                by="at once" if not before.watched else "event" if thread != LEARNER else "forced",
                key=key,
                waited_ms=waited_ms,
                cause=f"news of {key}" if key else "your thread tried it",
            )
        ]
    if after.watched != before.watched:
        return [
            OperationWatched(
                purgatory=PURGATORY,
                operation=OPERATION,
                label="the operation",
                keys=after.watched,
                deadline_ms=began_ms + TIME_OUT_MS,
                why=_why(after),
            )
        ]
    return []


def _why(world: CheckWorld) -> tuple[Requirement, ...]:
    return tuple(
        Requirement(subject=key, needs="events", at_least=1, have=int(key in world.ready))
        for key in world.keys
    )


def _samples(world: CheckWorld, began_ms: int, now_ms: int) -> list[Event]:
    """Return the samples that a purgatory emits for this state."""
    state = PurgatoryState(
        purgatory=PURGATORY,
        watched=len(world.watched),
        delayed=int(world.armed),
        keys=len(world.watched),
        completed_at_once=int(world.completed and not world.watched),
        completed_by_event=int(world.completed and bool(world.watched)),
        completed_by_timeout=0,
        completed_forced=0,
    )
    samples: list[Event] = [PurgatorySampled(state=state)]
    if world.watched and not world.completed:
        waiting = WaitingOperation(
            purgatory=PURGATORY,
            operation=OPERATION,
            label="the operation",
            keys=world.watched,
            age_ms=now_ms - began_ms,
            deadline_ms=began_ms + TIME_OUT_MS,
            why=_why(world),
        )
        samples.append(WaitingOperationSampled(waiting=waiting))
    return samples
