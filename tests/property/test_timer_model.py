"""The timer compared with a sorted list: each task runs once, never early, in its tick.

Tasks are added, cancelled and added again in any order.
"""

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from kafka_edu.common.time import MockTime
from kafka_edu.timer.system_timer import SystemTimer
from kafka_edu.timer.timer_task import TimerTask
from kafka_edu.timer.timing_wheel import TimingWheel

DELAYS = st.one_of(
    st.integers(-5, 50),
    st.integers(0, 1_000),
    st.integers(0, 200_000),
    st.sampled_from([19, 20, 21, 399, 400, 401, 7_999, 8_000, 8_001]),
)


class Recorded(TimerTask):
    __slots__ = ("machine", "number")

    def __init__(self, number: int, delay_ms: int, machine: "TimerMachine") -> None:
        super().__init__(delay_ms)
        self.number = number
        self.machine = machine

    def run(self) -> None:
        self.machine.ran.append(self.number)


class TimerMachine(RuleBasedStateMachine):
    """The model is a dict with the deadline of each waiting task. The timer's clock moves in steps,
    as with a reaper that wakes up too late.
    """

    @initialize(
        start_ms=st.integers(0, 10**12),
        tick_ms=st.sampled_from([1, 2, 7, 1000]),
        wheel_size=st.sampled_from([2, 8, 20]),
    )
    def start(self, start_ms: int, tick_ms: int, wheel_size: int) -> None:
        self.time = MockTime(start_ms)
        self.tick_ms = tick_ms
        self.timer = SystemTimer(
            "model", self.time.hi_res_clock_ms, tick_ms=tick_ms, wheel_size=wheel_size
        )
        self.tasks: list[Recorded] = []
        self.deadlines: dict[int, int] = {}
        self.ran: list[int] = []
        self.cancelled = 0

    @property
    def now_ms(self) -> int:
        return self.time.hi_res_clock_ms()

    def _take_what_ran(self, due_at_ms: int) -> None:
        """Check the tasks that ran: each was waiting, and was not due later than in the tick of
        `due_at_ms`.
        """
        for number in self.ran:
            deadline_ms = self.deadlines.pop(number)
            assert deadline_ms - deadline_ms % self.tick_ms <= due_at_ms, "early"
        self.ran.clear()

    @rule(delay_ms=DELAYS)
    def add(self, delay_ms: int) -> None:
        task = Recorded(len(self.tasks), delay_ms, self)
        self.tasks.append(task)
        self._add(task)

    @rule(pick=st.integers(0, 10**6), delay_ms=DELAYS)
    def add_again(self, pick: int, delay_ms: int) -> None:
        if self.tasks:
            task = self.tasks[pick % len(self.tasks)]
            task.delay_ms = delay_ms
            self._add(task)

    def _add(self, task: Recorded) -> None:
        self.cancelled += task.number in self.deadlines
        self.deadlines[task.number] = self.now_ms + task.delay_ms
        self.timer.add(task)
        self._take_what_ran(self.now_ms)

    @rule(pick=st.integers(0, 10**6))
    def cancel(self, pick: int) -> None:
        if self.tasks:
            task = self.tasks[pick % len(self.tasks)]
            task.cancel()
            self.cancelled += self.deadlines.pop(task.number, None) is not None

    @rule(ms=st.one_of(st.integers(0, 30), st.integers(0, 10_000), st.integers(0, 300_000)))
    def advance(self, ms: int) -> None:
        self.time.advance(ms)
        expected = [
            number
            for number, deadline_ms in self.deadlines.items()
            if deadline_ms <= self.now_ms - self.tick_ms + 1
        ]
        count = self.timer.advance_clock(self.now_ms)
        assert count == len(self.ran) == len(set(self.ran))
        ran = set(self.ran)
        assert ran.issuperset(expected), "late by more than its tick"
        if self.tick_ms == 1:
            order = [self.deadlines[number] for number in self.ran]
            assert order == sorted(order), "out of order"
        self._take_what_ran(self.now_ms)

    @rule()
    def sleep_until_the_next_bucket(self) -> None:
        due_ms = self.timer.next_expiration_ms()
        if due_ms is not None:
            self.advance(max(due_ms - self.now_ms, 0))

    @invariant()
    def the_timer_holds_what_the_model_holds(self) -> None:
        assert self.timer.size == len(self.deadlines)
        assert self.timer.cancelled_total == self.cancelled
        assert [task.number for task in self.tasks if task.entry is not None] == sorted(
            self.deadlines
        )

    @invariant()
    def the_wheels_keep_their_rules(self) -> None:
        for wheel in self.timer.wheel.wheels():
            check_wheel(wheel)
        earliest = min(self.deadlines.values(), default=None)
        due_ms = self.timer.next_expiration_ms()
        if earliest is not None:
            assert due_ms is not None
            assert due_ms <= earliest, "the reaper would oversleep"


def check_wheel(wheel: TimingWheel) -> None:
    """Check that a wheel's hand is on its tick, and that each bucket holds tasks of one tick in the
    wheel's range.
    """
    assert wheel.current_time_ms % wheel.tick_ms == 0
    above = wheel.overflow_wheel
    if above is not None:
        assert above.tick_ms == wheel.interval_ms
        assert above.current_time_ms <= wheel.current_time_ms
    for slot, bucket in enumerate(wheel.buckets):
        if bucket is None or bucket.size == 0:
            continue
        assert (bucket.level, bucket.slot) == (wheel.level, slot)
        assert (
            wheel.current_time_ms < bucket.expiration_ms < wheel.current_time_ms + wheel.interval_ms
        )
        entries = list(bucket)
        assert len(entries) == bucket.size
        for entry in entries:
            assert entry.bucket is bucket
            assert entry.task.entry is entry
            assert (
                bucket.expiration_ms <= entry.expiration_ms < bucket.expiration_ms + wheel.tick_ms
            )


TimerMachine.TestCase.settings = settings(max_examples=30, stateful_step_count=40, deadline=None)
TestTimerModel = TimerMachine.TestCase


class Once(TimerTask):
    __slots__ = ("ran_at", "time")

    def __init__(self, delay_ms: int, time: MockTime) -> None:
        super().__init__(delay_ms)
        self.time = time
        self.ran_at: list[int] = []

    def run(self) -> None:
        self.ran_at.append(self.time.hi_res_clock_ms())


@settings(max_examples=60, deadline=None)
@given(delays=st.lists(st.integers(0, 10_000_000), max_size=30), start_ms=st.integers(0, 10**9))
def test_an_owner_that_wakes_for_each_bucket_runs_each_task_to_the_millisecond(
    delays: list[int], start_ms: int
) -> None:
    time = MockTime(start_ms)
    timer = SystemTimer("model", time.hi_res_clock_ms)
    tasks = [Once(delay_ms, time) for delay_ms in delays]
    for task in tasks:
        timer.add(task)
    rounds = 0
    while (due_ms := timer.next_expiration_ms()) is not None:
        time.advance(max(due_ms - time.hi_res_clock_ms(), 0))
        timer.advance_clock(time.hi_res_clock_ms())
        rounds += 1
    assert [task.ran_at for task in tasks] == [[start_ms + delay_ms] for delay_ms in delays]
    levels = len(list(timer.wheel.wheels()))
    assert rounds <= levels * len(delays), (
        "the clock goes from bucket to bucket, not from tick to tick"
    )
    assert timer.demoted_total <= (levels - 1) * len(delays)
