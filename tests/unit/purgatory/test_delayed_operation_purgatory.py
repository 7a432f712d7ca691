"""A purgatory completes each operation once: by an event, by its time-out or by force (spec D1)."""

from collections.abc import Callable, Hashable
from typing import Any

import pytest

from kafka_edu.common.log_histogram import bucket_range
from kafka_edu.common.time import MockTime
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.purgatory.delayed_operation import CompletedBy, DelayedOperation
from kafka_edu.purgatory.delayed_operation_purgatory import (
    CAUSES_COUNTED,
    OTHER_CAUSES,
    DelayedOperationPurgatory,
)
from kafka_edu.trace.event import Envelope, Level, Source
from kafka_edu.trace.events.purgatory import (
    WAIT_SUB_BITS,
    EndedBy,
    OperationCompleted,
    OperationsEnded,
    OperationsEndedSampled,
    OperationsEndedSnapshot,
    OperationWatched,
    PurgatoryPurged,
    PurgatorySampled,
    PurgatorySnapshot,
    PurgatoryState,
    Requirement,
    WaitingOperation,
    WaitingOperationSampled,
    WaitingOperationSnapshot,
)
from kafka_edu.trace.tracer import Tracer

KEY = TopicPartition("web", 0)
OTHER = TopicPartition("web", 1)


class WaitsForOffset(DelayedOperation):
    """Completes when a watermark has reached `at_least`, like a small DelayedProduce."""

    __slots__ = ("answers", "at_least", "hw", "then")

    def __init__(
        self, delay_ms: int, at_least: int, hw: list[int], then: Callable[[], Any] = lambda: None
    ) -> None:
        super().__init__(delay_ms)
        self.at_least = at_least
        self.hw = hw
        self.then = then
        self.answers: list[str] = []

    @property
    def label(self) -> str:
        return f"wait for {self.at_least}"

    def try_complete(self) -> bool:
        return self.hw[0] >= self.at_least and self.force_complete()

    def on_complete(self) -> None:
        self.answers.append("answer")
        self.then()

    def on_expiration(self) -> None:
        self.answers.append("expired")

    def why_waiting(self) -> tuple[Requirement, ...]:
        return (
            Requirement(
                "web-0", "high watermark", self.at_least, self.hw[0], (("broker 2", self.hw[0]),)
            ),
        )


class Told:
    level = Level.HOPS

    def __init__(self) -> None:
        self.envelopes: list[Envelope] = []

    def accept(self, envelope: Envelope) -> None:
        self.envelopes.append(envelope)

    def of(self, cls: type[Any]) -> list[Any]:
        return [e.event for e in self.envelopes if isinstance(e.event, cls)]


@pytest.fixture
def time() -> MockTime:
    return MockTime(1000)


@pytest.fixture
def hw() -> list[int]:
    return [2]


@pytest.fixture
def purgatory(time: MockTime) -> DelayedOperationPurgatory[WaitsForOffset]:
    return DelayedOperationPurgatory("Produce", time.hi_res_clock_ms)


Purgatory = DelayedOperationPurgatory[WaitsForOffset]


def test_completes_at_once_when_it_can(purgatory: Purgatory, hw: list[int]) -> None:
    operation = WaitsForOffset(30_000, 2, hw)
    assert purgatory.try_complete_else_watch(operation, (KEY,))
    assert operation.answers == ["answer"]
    assert (purgatory.watched, purgatory.num_delayed) == (0, 0)
    assert purgatory.completed[CompletedBy.AT_ONCE] == 1


def test_completes_by_an_event_and_leaves_the_timer(
    purgatory: Purgatory, hw: list[int], time: MockTime
) -> None:
    operation = WaitsForOffset(30_000, 4, hw)
    assert not purgatory.try_complete_else_watch(operation, (KEY,))
    assert purgatory.check_and_complete(KEY) == 0
    hw[0] = 4
    assert purgatory.check_and_complete(OTHER) == 0
    assert purgatory.check_and_complete(KEY) == 1
    assert operation.answers == ["answer"]
    assert (purgatory.watched, purgatory.num_delayed) == (0, 0)
    time.advance(40_000)
    assert purgatory.advance_clock(time.hi_res_clock_ms()) == 0
    assert operation.answers == ["answer"]
    assert purgatory.check_and_complete(KEY) == 0


def test_completes_by_time_out_never_early(
    purgatory: Purgatory, hw: list[int], time: MockTime
) -> None:
    operation = WaitsForOffset(30_000, 4, hw)
    purgatory.try_complete_else_watch(operation, (KEY,))
    time.advance(29_999)
    assert purgatory.advance_clock(time.hi_res_clock_ms()) == 0
    assert operation.answers == []
    time.advance(1)
    assert purgatory.advance_clock(time.hi_res_clock_ms()) == 1
    assert operation.answers == ["answer", "expired"]
    hw[0] = 4
    assert purgatory.check_and_complete(KEY) == 0
    assert operation.answers == ["answer", "expired"]
    assert purgatory.completed[CompletedBy.TIMEOUT] == 1


def test_completes_by_force_once(purgatory: Purgatory, hw: list[int]) -> None:
    operation = WaitsForOffset(30_000, 4, hw)
    purgatory.try_complete_else_watch(operation, (KEY,))
    assert operation.force_complete()
    assert not operation.force_complete()
    assert operation.answers == ["answer"]
    assert purgatory.completed[CompletedBy.FORCED] == 1
    assert purgatory.num_delayed == 0


def test_a_time_out_of_zero_completes_inside_the_call(purgatory: Purgatory, hw: list[int]) -> None:
    operation = WaitsForOffset(0, 4, hw)
    assert not purgatory.try_complete_else_watch(operation, (KEY,))
    assert operation.answers == ["answer", "expired"]
    assert purgatory.completed[CompletedBy.TIMEOUT] == 1


def test_an_operation_under_two_keys_is_completed_by_either(
    purgatory: Purgatory, hw: list[int]
) -> None:
    operation = WaitsForOffset(30_000, 4, hw)
    purgatory.try_complete_else_watch(operation, (KEY, OTHER))
    assert purgatory.watched == 2
    hw[0] = 5
    assert purgatory.check_and_complete(OTHER) == 1
    assert purgatory.watched == 1, "the list of the other key still names it"
    assert list(purgatory.waiting()) == []
    assert purgatory.check_and_complete(KEY) == 0
    assert purgatory.watched == 0


def test_cancel_for_key_returns_what_waits_uncompleted(
    purgatory: Purgatory, hw: list[int], time: MockTime
) -> None:
    operations = [WaitsForOffset(100, 4 + n, hw) for n in range(3)]
    for operation in operations:
        purgatory.try_complete_else_watch(operation, (KEY,))
    operations[1].force_complete()
    assert purgatory.cancel_for_key(KEY) == [operations[0], operations[2]]
    time.advance(200)
    assert purgatory.advance_clock(time.hi_res_clock_ms()) == 0
    assert operations[0].answers == []
    assert purgatory.cancel_for_key(KEY) == []


def test_purges_the_completed_after_the_interval(time: MockTime, hw: list[int]) -> None:
    told = Told()
    trace = Tracer(Source.of_broker(1), time)
    trace.add_sink(told)
    purgatory = DelayedOperationPurgatory[WaitsForOffset](
        "Fetch", time.hi_res_clock_ms, trace, purge_interval=10
    )
    operations = [WaitsForOffset(30_000, 4, hw) for _ in range(11)]
    for operation in operations:
        purgatory.try_complete_else_watch(operation, (KEY,))
    for operation in operations[:10]:
        operation.force_complete()
    purgatory.advance_clock(time.hi_res_clock_ms())
    assert purgatory.watched == 11, "10 completed are not more than the interval"
    operations[10].force_complete()
    purgatory.advance_clock(time.hi_res_clock_ms())
    assert purgatory.watched == 0
    assert told.of(PurgatoryPurged) == [PurgatoryPurged(purgatory="Fetch", purged=11, watched=0)]


def test_completions_caused_by_a_completion_are_processed_in_the_same_call(
    purgatory: Purgatory, hw: list[int]
) -> None:
    def raise_hw() -> None:
        hw[0] += 1
        assert purgatory.check_and_complete(KEY) == 0, "inside another check it waits in line"

    later = WaitsForOffset(30_000, 5, hw)
    first = WaitsForOffset(30_000, 4, hw, raise_hw)
    for operation in (later, first):
        purgatory.try_complete_else_watch(operation, (KEY,))
    hw[0] = 4
    assert purgatory.check_and_complete(KEY) == 2
    assert (first.answers, later.answers) == (["answer"], ["answer"])


def test_a_chain_of_completions_costs_no_stack(purgatory: Purgatory, hw: list[int]) -> None:
    def next_one() -> None:
        hw[0] += 1
        purgatory.check_and_complete(KEY)

    operations = [WaitsForOffset(30_000, 3 + n, hw, next_one) for n in reversed(range(1200))]
    for operation in operations[:200]:
        purgatory.try_complete_else_watch(operation, (KEY,))
    for n, operation in enumerate(operations[200:]):
        purgatory.try_complete_else_watch(operation, (TopicPartition("other", n), KEY))
    hw[0] = 3
    assert purgatory.check_and_complete(KEY) == 1200


def test_an_operation_watched_by_a_completion_is_kept(purgatory: Purgatory, hw: list[int]) -> None:
    again = WaitsForOffset(30_000, 9, hw)
    first = WaitsForOffset(30_000, 4, hw, lambda: purgatory.try_complete_else_watch(again, (KEY,)))
    purgatory.try_complete_else_watch(first, (KEY,))
    hw[0] = 4
    assert purgatory.check_and_complete(KEY) == 1
    assert list(purgatory.waiting()) == [again]
    assert purgatory.num_delayed == 1


def test_an_operation_needs_a_key(purgatory: Purgatory, hw: list[int]) -> None:
    with pytest.raises(ValueError, match="needs at least one key"):
        purgatory.try_complete_else_watch(WaitsForOffset(1, 1, hw), ())


def test_an_operation_that_raises_leaves_the_purgatory_usable(
    purgatory: Purgatory, hw: list[int]
) -> None:
    def fail() -> None:
        raise RuntimeError("a bug")

    purgatory.try_complete_else_watch(WaitsForOffset(30_000, 4, hw, fail), (KEY,))
    hw[0] = 4
    with pytest.raises(RuntimeError, match="a bug"):
        purgatory.check_and_complete(KEY)
    fine = WaitsForOffset(30_000, 5, hw)
    purgatory.try_complete_else_watch(fine, (KEY,))
    hw[0] = 5
    assert purgatory.check_and_complete(KEY) == 1


def test_emits_what_waits_why_and_what_completed_it(time: MockTime, hw: list[int]) -> None:
    told = Told()
    trace = Tracer(Source.of_broker(1), time)
    trace.add_sink(told)
    purgatory = DelayedOperationPurgatory[WaitsForOffset]("Produce", time.hi_res_clock_ms, trace)
    operation = WaitsForOffset(30_000, 4, hw)
    purgatory.try_complete_else_watch(operation, (KEY,))
    why = (Requirement("web-0", "high watermark", 4, 2, (("broker 2", 2),)),)
    assert told.of(OperationWatched) == [
        OperationWatched(
            purgatory="Produce",
            operation=1,
            label="wait for 4",
            keys=("web-0",),
            deadline_ms=31_000,
            why=why,
        )
    ]
    time.advance(412)
    gauges = [e.event for e in trace.gauges()]
    assert (
        PurgatorySampled(
            state=PurgatoryState(
                purgatory="Produce",
                watched=1,
                delayed=1,
                keys=1,
                completed_at_once=0,
                completed_by_event=0,
                completed_by_timeout=0,
                completed_forced=0,
            )
        )
        in gauges
    )
    assert (
        WaitingOperationSampled(
            waiting=WaitingOperation(
                purgatory="Produce",
                operation=1,
                label="wait for 4",
                keys=("web-0",),
                age_ms=412,
                deadline_ms=31_000,
                why=why,
            )
        )
        in gauges
    )
    snapshot = [e.event for e in trace.snapshot()]
    assert (
        PurgatorySnapshot(
            state=PurgatoryState(
                purgatory="Produce",
                watched=1,
                delayed=1,
                keys=1,
                completed_at_once=0,
                completed_by_event=0,
                completed_by_timeout=0,
                completed_forced=0,
            )
        )
        in snapshot
    )
    assert (
        WaitingOperationSnapshot(
            waiting=WaitingOperation(
                purgatory="Produce",
                operation=1,
                label="wait for 4",
                keys=("web-0",),
                age_ms=412,
                deadline_ms=31_000,
                why=why,
            )
        )
        in snapshot
    )
    hw[0] = 4
    with trace.because(77):
        purgatory.check_and_complete(KEY)
    assert told.of(OperationCompleted) == [
        OperationCompleted(
            purgatory="Produce",
            operation=1,
            label="wait for 4",
            by="event",
            key="web-0",
            waited_ms=412,
            cause="event",
        )
    ]
    assert told.envelopes[-1].cause == 77


class Kcat:
    client_id = "kcat"
    correlation_id = 88


def test_an_operation_carries_the_request_that_waits(time: MockTime, hw: list[int]) -> None:
    trace = Tracer(Source.of_broker(1), time)
    told = Told()
    trace.add_sink(told)
    purgatory = DelayedOperationPurgatory[WaitsForOffset]("Produce", time.hi_res_clock_ms, trace)
    operation = WaitsForOffset(30_000, 4, hw)
    operation.requester = Kcat()
    purgatory.try_complete_else_watch(operation, (KEY,))
    hw[0] = 4
    sampled = [e.event for e in trace.gauges() if isinstance(e.event, WaitingOperationSampled)]
    purgatory.check_and_complete(KEY)
    watched, completed = told.of(OperationWatched)[0], told.of(OperationCompleted)[0]
    for one in (sampled[0].waiting, watched, completed):
        assert (one.client, one.correlation_id) == ("kcat", 88)


def ends(trace: Tracer) -> list[OperationsEndedSampled]:
    return [e.event for e in trace.gauges() if isinstance(e.event, OperationsEndedSampled)]


def test_causes_are_counted_while_somebody_looks(time: MockTime, hw: list[int]) -> None:
    trace = Tracer(Source.of_broker(1), time)
    purgatory = DelayedOperationPurgatory[WaitsForOffset]("Produce", time.hi_res_clock_ms, trace)

    def complete_one(after_ms: int) -> None:
        hw[0] = 2
        purgatory.try_complete_else_watch(WaitsForOffset(5_000, 4, hw), (KEY,))
        time.advance(after_ms)
        purgatory.advance_clock(time.hi_res_clock_ms())
        hw[0] = 4
        purgatory.check_and_complete(KEY)

    complete_one(3)
    assert ends(trace) == [], "nobody looked before, so nothing was counted"
    complete_one(0)
    complete_one(5)
    complete_one(900)
    purgatory.try_complete_else_watch(WaitsForOffset(5_000, 4, hw), (KEY,))
    waits = ((0, 1), (5, 1), (184, 1))  # 0 ms, 5 ms, 896 to 911 ms
    assert bucket_range(184, WAIT_SUB_BITS) == (896, 16)
    expected = OperationsEnded(
        "Produce", (EndedBy("event", (), waits), EndedBy("at once", (), ((0, 1),)))
    )
    assert ends(trace) == [OperationsEndedSampled(state=expected)]
    assert ends(trace) == [], "nothing has changed since"
    assert OperationsEndedSnapshot(state=expected) in [e.event for e in trace.snapshot()]

    time.advance(1_001)
    purgatory.advance_clock(time.hi_res_clock_ms())
    complete_one(3)
    assert ends(trace) == [], "the last look was more than a second ago"
    purgatory.try_complete_else_watch(WaitsForOffset(500, 5, hw), (KEY,))
    time.advance(540)
    purgatory.advance_clock(time.hi_res_clock_ms())
    assert [one.cause for one in ends(trace)[0].state.ended] == ["event", "at once", "time-out"]


def test_the_causes_are_bounded(time: MockTime, hw: list[int]) -> None:
    class EndsByItself(WaitsForOffset):
        __slots__ = ()

        def ended_by(self, by: CompletedBy, key: Hashable | None) -> str:
            return f"its own cause {self.number}"

    trace = Tracer(Source.of_broker(1), time)
    purgatory = DelayedOperationPurgatory[WaitsForOffset]("Produce", time.hi_res_clock_ms, trace)
    trace.gauges()
    for _ in range(CAUSES_COUNTED + 30):
        purgatory.try_complete_else_watch(EndsByItself(500, 1, hw), (KEY,))
    counted = ends(trace)[0].state.ended
    assert len(counted) == CAUSES_COUNTED + 1
    assert counted[-1] == EndedBy(OTHER_CAUSES, (), ((0, 30),))


def test_gauges_list_at_most_fifty_operations_the_oldest_first(
    time: MockTime, hw: list[int]
) -> None:
    trace = Tracer(Source.of_broker(1), time)
    purgatory = DelayedOperationPurgatory[WaitsForOffset]("Produce", time.hi_res_clock_ms, trace)
    for n in range(60):
        purgatory.try_complete_else_watch(
            WaitsForOffset(30_000, 4, hw), (TopicPartition("web", n % 7), TopicPartition("web", 7))
        )
    named = [e.event for e in trace.gauges() if isinstance(e.event, WaitingOperationSampled)]
    assert [event.waiting.operation for event in named] == list(range(1, 51))


class Breaks(WaitsForOffset):
    """An operation with a bug in it."""

    __slots__ = ("breaks_in",)

    def __init__(self, delay_ms: int, breaks_in: str, hw: list[int]) -> None:
        super().__init__(delay_ms, 3, hw)
        self.breaks_in = breaks_in

    def _may_break(self, where: str) -> None:
        if where == self.breaks_in and self.door is not None and self.watched_ms and self.hw[0] > 2:
            raise ZeroDivisionError(where)

    def try_complete(self) -> bool:
        self._may_break("try_complete")
        return super().try_complete()

    def on_complete(self) -> None:
        self._may_break("on_complete")
        super().on_complete()


@pytest.mark.parametrize("where", ["try_complete", "on_complete"])
@pytest.mark.parametrize("somebodys", [True, False])
def test_a_bug_of_an_operation_fails_only_its_own_request(
    time: MockTime, hw: list[int], where: str, somebodys: bool
) -> None:
    purgatory = DelayedOperationPurgatory[WaitsForOffset]("Produce", time.hi_res_clock_ms)
    failures: list[Exception] = []
    elsewhere = WaitsForOffset(500, 3, hw)
    before = WaitsForOffset(500, 3, hw, then=lambda: purgatory.check_and_complete(OTHER))
    broken, after = Breaks(500, where, hw), WaitsForOffset(500, 3, hw)
    if somebodys:
        broken.on_failure = failures.append
    for operation in (before, broken, after):
        purgatory.try_complete_else_watch(operation, (KEY,))
    purgatory.try_complete_else_watch(elsewhere, (OTHER,))
    hw[0] = 3
    if somebodys:
        purgatory.check_and_complete(KEY)
        assert [type(error) for error in failures] == [ZeroDivisionError]
    else:
        with pytest.raises(ZeroDivisionError):
            purgatory.check_and_complete(KEY)
    assert [operation.answers for operation in (before, broken, after, elsewhere)] == [
        ["answer"],
        [],
        ["answer"],
        ["answer"],
    ]
    assert purgatory.num_delayed == 0
    assert purgatory.advance_clock(time.hi_res_clock_ms() + 1000) == 0, (
        "what has failed is not answered by its time-out too"
    )


def test_an_interrupted_check_is_not_the_cause_of_later_completions(
    time: MockTime, hw: list[int]
) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    told = Told()
    trace = Tracer(Source.of_broker(1), time)
    trace.add_sink(told)
    purgatory = DelayedOperationPurgatory[WaitsForOffset]("Produce", time.hi_res_clock_ms, trace)
    interrupted, other = WaitsForOffset(500, 3, hw, then=interrupt), WaitsForOffset(500, 9, hw)
    purgatory.try_complete_else_watch(interrupted, (KEY,))
    purgatory.try_complete_else_watch(other, (OTHER,))
    hw[0] = 3
    with pytest.raises(KeyboardInterrupt):
        purgatory.check_and_complete(KEY)
    other.force_complete()
    completed = told.of(OperationCompleted)[-1]
    assert (completed.by, completed.key) == (CompletedBy.FORCED, "")


@pytest.mark.parametrize("somebodys", [True, False])
def test_a_bug_when_the_time_is_up_leaves_the_other_time_outs_alone(
    time: MockTime, hw: list[int], somebodys: bool
) -> None:
    purgatory = DelayedOperationPurgatory[WaitsForOffset]("Produce", time.hi_res_clock_ms)
    failures: list[Exception] = []
    before, broken, after = (
        WaitsForOffset(500, 9, hw),
        Breaks(500, "on_complete", hw),
        WaitsForOffset(500, 9, hw),
    )
    if somebodys:
        broken.on_failure = failures.append
    for operation in (before, broken, after):
        purgatory.try_complete_else_watch(operation, (KEY,))
    hw[0] = 3
    time.advance(500)
    if somebodys:
        assert purgatory.advance_clock(time.hi_res_clock_ms()) == 3
        assert [type(error) for error in failures] == [ZeroDivisionError]
    else:
        with pytest.raises(ZeroDivisionError):
            purgatory.advance_clock(time.hi_res_clock_ms())
    assert before.answers == after.answers == ["answer", "expired"]


def test_an_operation_whose_event_failed_is_not_answered_later(
    time: MockTime, hw: list[int]
) -> None:
    tracer = Tracer(Source.of_broker(1), time)
    tracer.add_sink(Told())
    purgatory = DelayedOperationPurgatory[WaitsForOffset]("Produce", time.hi_res_clock_ms, tracer)

    class Unspeakable(WaitsForOffset):
        def why_waiting(self) -> tuple[Requirement, ...]:
            raise KeyError("a bug in an instrument")

    operation = Unspeakable(500, 3, hw)
    with pytest.raises(KeyError):
        purgatory.try_complete_else_watch(operation, (KEY,))
    hw[0] = 3
    purgatory.check_and_complete(KEY)
    purgatory.advance_clock(time.hi_res_clock_ms() + 1000)
    assert operation.answers == [], "its request was answered with the error already"
