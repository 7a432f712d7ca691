"""A learner's timing wheel: the timer uses it, cannot be broken by it, and reports its errors as
errors of the learner's code.
"""

import importlib
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kafka_edu.common.time import MockTime
from kafka_edu.learner import seams
from kafka_edu.learner.learner_trace import trace_learner
from kafka_edu.learner.seams import (
    FAILURES_ALLOWED,
    LIVE_CALL,
    LearnerCode,
    LearnerError,
    install,
    parse,
)
from kafka_edu.timer import system_timer
from kafka_edu.timer.system_timer import SystemTimer
from kafka_edu.timer.timer_task import TimerTask
from kafka_edu.timer.timing_wheel import TimingWheel
from kafka_edu.trace.event import Envelope, Level, Source
from kafka_edu.trace.events.learner import (
    LearnerCalls,
    LearnerFailed,
    LearnerInstalled,
    LearnerRetired,
    LearnerSampled,
    LearnerServed,
    LearnerSnapshot,
)
from kafka_edu.trace.tracer import Tracer

RIGHT = """
class TimingWheel:
    def __init__(self, tick_ms, slots, start_ms, level=1):
        self.tick, self.slots, self.level, self.above = tick_ms, slots, level, None
        self.size = slots[0]
        self.now = start_ms - start_ms % tick_ms

    def advance_clock(self, time_ms):
        if time_ms >= self.now + self.tick:
            self.now = time_ms - time_ms % self.tick
            if self.above:
                self.above.advance_clock(self.now)

    def add(self, expiration_ms):
        if expiration_ms < self.now + self.tick:
            return None
        if expiration_ms < self.now + self.tick * self.size:
            return self.level, expiration_ms // self.tick % self.size, expiration_ms % self.tick
        if self.above is None:
            slots = self.slots[1:] or self.slots
            self.above = TimingWheel(self.tick * self.size, slots, self.now, self.level + 1)
        return self.above.add(expiration_ms)
"""


#: What tests have installed; each code has a process.
INSTALLED: list[LearnerCode] = []


@pytest.fixture
def _unpatched() -> Iterator[None]:
    """Whatever a test installs is gone after it."""
    yield
    while INSTALLED:
        INSTALLED.pop().close()
    seam = seams.SEAMS["02-1"]
    setattr(importlib.import_module(seam.module), seam.name, TimingWheel)


pytestmark = pytest.mark.usefixtures("_unpatched")


class Task(TimerTask):
    __slots__ = ("ran", "time")

    def __init__(self, delay_ms: int, time: MockTime) -> None:
        super().__init__(delay_ms)
        self.time = time
        self.ran: list[int] = []

    def run(self) -> None:
        self.ran.append(self.time.hi_res_clock_ms())


def learner(tmp_path: Path, source: str) -> tuple[LearnerCode, list[LearnerError]]:
    path = tmp_path / "timing wheel é.py"
    path.write_text(textwrap.dedent(source), encoding="utf-8")
    (code,) = install(f"02-1={path}")
    INSTALLED.append(code)
    failures: list[LearnerError] = []
    code.on_failure = failures.append
    return code, failures


def live(delays_ms: list[int]) -> list[list[int]]:
    """Return when each task ran, in a timer whose owner wakes up for each bucket."""
    time = MockTime(0)
    timer = SystemTimer("Produce", time.hi_res_clock_ms)
    tasks = [Task(delay_ms, time) for delay_ms in delays_ms]
    for task in tasks:
        timer.add(task)
    rounds = 0
    while (due_ms := timer.next_expiration_ms()) is not None:
        time.advance(max(due_ms - time.hi_res_clock_ms(), 0))
        timer.advance_clock(time.hi_res_clock_ms())
        rounds += 1
        assert rounds < 1000
    return [task.ran for task in tasks]


def test_a_right_one_serves_in_place_of_ours(tmp_path: Path) -> None:
    code, failures = learner(tmp_path, RIGHT)
    assert live([2, 0, 350, 450, 446, 30_000, 19, 20]) == [
        [2],
        [0],
        [350],
        [450],
        [446],
        [30_000],
        [19],
        [20],
    ]
    assert failures == []
    assert code.calls > 10


def test_what_raises_is_told_with_its_line_and_the_shipped_code_serves(tmp_path: Path) -> None:
    code, failures = learner(
        tmp_path,
        """
        class TimingWheel:
            def __init__(self, tick_ms, slots, start_ms): pass
            def advance_clock(self, time_ms): pass
            def add(self, expiration_ms):
                return 1 // 0
        """,
    )
    assert live([350]) == [[350]]
    assert failures[0].line == 6
    assert failures[0].file == str(code.path)
    assert "ZeroDivisionError" in failures[0].message
    assert code.failures == len(failures) == FAILURES_ALLOWED


def test_a_loop_that_never_ends_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seams, "LIVE_CALL", LIVE_CALL._replace(processor_s=0.05))
    _, failures = learner(
        tmp_path,
        """
        class TimingWheel:
            def __init__(self, tick_ms, slots, start_ms): pass
            def advance_clock(self, time_ms): pass
            def add(self, expiration_ms):
                while True:
                    try:
                        expiration_ms += 1
                    except Exception:
                        pass
        """,
    )
    assert live([5]) == [[5]]
    assert "never ends" in failures[0].message
    assert 6 <= failures[0].line <= 10


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("True", r"answered True; expected"),
        ("(1, 5)", r"answered \(1, 5\)"),
        ("(0, 5, 0)", "levels count from 1"),
        ("(10**6, 5, 0)", "levels count from 1"),
        ("(1, 20, 0)", "slots of level 1 are 0 to 19"),
        ("(2, 12, 0)", "slots of level 2 are 0 to 11"),
        ("(1, 5, 10**9)", "its time does not come again"),
    ],
)
def test_an_answer_that_cannot_be_is_told(tmp_path: Path, answer: str, told: str) -> None:
    _, failures = learner(
        tmp_path,
        RIGHT.replace(
            "    def add(self, expiration_ms):",
            f"    def add(self, expiration_ms):\n        return {answer}",
        ),
    )
    assert live([350]) == [[350]]
    assert failures
    with pytest.raises(LearnerError, match=told):
        raise failures[0]


def test_one_bucket_has_one_time(tmp_path: Path) -> None:
    _, failures = learner(
        tmp_path,
        RIGHT.replace(
            "    def add(self, expiration_ms):",
            "    def add(self, expiration_ms):\n        return 1, expiration_ms % 20, 0",
        ),
    )
    assert live([10, 350]) == [[10], [350]]
    assert "a bucket has only one time" in failures[0].message


def test_a_wrong_answer_that_can_be_carried_out_is_carried_out(tmp_path: Path) -> None:
    _, failures = learner(
        tmp_path,
        RIGHT.replace("expiration_ms % self.tick\n", "expiration_ms % self.tick - self.tick + 1\n"),
    )
    assert live([2, 350]) == [[2], [479]], "late, for all to see"
    assert failures == []


def test_a_file_that_cannot_be_used_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.py"
    path.write_text("class TimingWheel:\n    def add(self:\n", encoding="utf-8")
    with pytest.raises(LearnerError, match="SyntaxError") as raised:
        install(f"02-1={path}")
    assert raised.value.line == 2
    path.write_text("", encoding="utf-8")
    with pytest.raises(LearnerError, match="does not define TimingWheel"):
        install(f"02-1={path}")
    with pytest.raises(LearnerError, match="no such file"):
        install(f"02-1={tmp_path / 'y.py'}")
    assert vars(system_timer)["TimingWheel"] is TimingWheel


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("02-1", "is not EXERCISE=FILE"),
        ("99-9=/x.py", "no seam for exercise '99-9'"),
        ("02-1=", "is not"),
    ],
)
def test_a_spec_that_means_nothing_is_refused(spec: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        parse(spec)


def test_a_spec_names_several_files_paths_with_spaces_and_equals() -> None:
    assert [path for _, path in parse(" 02-1=/a b/c=d.py ; 02-1=/e.py; ")] == [
        Path("/a b/c=d.py"),
        Path("/e.py"),
    ]


class Told:
    level = Level.STATE

    def __init__(self) -> None:
        self.events: list[object] = []

    def accept(self, envelope: Envelope) -> None:
        self.events.append(envelope.event)


def test_installation_and_failures_are_events(tmp_path: Path) -> None:
    code, _ = learner(tmp_path, RIGHT.replace("return None", "raise KeyError(7)"))
    trace, told = Tracer(Source.of_broker(2), MockTime()), Told()
    trace.add_sink(told)
    trace_learner([code], trace)
    live([2])
    replaces = "kafka_edu.timer.system_timer.TimingWheel"
    assert told.events[0] == LearnerInstalled(
        exercise="02-1", replaces=replaces, file=str(code.path)
    )
    assert told.events[1] == LearnerFailed(
        exercise="02-1", message="KeyError: 7", file=str(code.path), line=16, failures=1
    )
    assert [e.event for e in trace.snapshot()] == [
        LearnerSnapshot(
            exercise="02-1",
            replaces=replaces,
            file=str(code.path),
            total=LearnerCalls(calls=code.calls, failures=1),
        )
    ]
    assert [e.event for e in trace.gauges()] == [
        LearnerSampled(exercise="02-1", total=LearnerCalls(calls=code.calls, failures=1))
    ]


def test_a_failure_in_a_worker_is_told_in_turn_and_the_end_has_the_counts(tmp_path: Path) -> None:
    code, _ = learner(tmp_path, RIGHT.replace("return None", "raise KeyError(7)"))
    trace, told = Tracer(Source.of_broker(2), MockTime()), Told()
    trace.add_sink(told)
    later: list[Callable[[], object]] = []
    ended = trace_learner([code], trace, later.append)
    live([0, 350, 2])
    assert not [event for event in told.events if isinstance(event, LearnerFailed)]
    for emit in later:
        emit()
    assert [event for event in told.events if isinstance(event, LearnerFailed)]
    ended()
    counts = LearnerCalls(calls=code.calls, failures=code.failures)
    assert told.events[-1] == LearnerServed(exercise="02-1", total=counts)


def test_after_three_failures_the_shipped_code_stays_by_an_event(tmp_path: Path) -> None:
    code, _ = learner(tmp_path, RIGHT.replace("return None", "raise KeyError(7)"))
    trace, told = Tracer(Source.of_broker(2), MockTime()), Told()
    trace.add_sink(told)
    trace_learner([code], trace)
    assert live([0, 350, 2, 0, 0, 19]) == [[0], [350], [2], [0], [0], [19]]
    failed = [event for event in told.events if isinstance(event, LearnerFailed)]
    assert [event.failures for event in failed] == [1, 2, 3]
    assert told.events[-1] == LearnerRetired(
        exercise="02-1",
        replaces="kafka_edu.timer.system_timer.TimingWheel",
        file=str(code.path),
        failures=FAILURES_ALLOWED,
    )
    calls = code.calls
    assert live([350, 450]) == [[350], [450]]
    assert code.calls == calls, "nobody asks it any more, in a new timer either"


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("while True: pass", "within 0.2 s of processor time"),
        ("import time; time.sleep(3600)", "within 1 s, in which it did nothing"),
        ("import os; os._exit(3)", "ended the process (exit code 3)"),
        ("import os; os.write(1, b'lies'); return 1, 5, 0", ""),
    ],
    ids=["loops", "sleeps", "crashes", "writes to the output"],
)
def test_a_part_that_crashes_or_hangs_costs_one_wait_and_every_task_runs(
    tmp_path: Path, body: str, told: str
) -> None:
    code, failures = learner(
        tmp_path,
        RIGHT.replace(
            "    def add(self, expiration_ms):",
            f"    def add(self, expiration_ms):\n        {body}",
        ),
    )
    assert live([5, 350, 30_000]) == [[5], [350], [30_000]]
    if told:
        assert told in failures[0].message
        assert failures[0].file == str(code.path)
        assert code.retired


def test_a_file_may_take_longer_to_load_than_a_call_may(tmp_path: Path) -> None:
    spend = "import time\nwhile time.process_time() < 0.4: pass\n"
    code, failures = learner(tmp_path, spend + RIGHT)
    assert live([350]) == [[350]]
    assert failures == []
    assert not code.retired
