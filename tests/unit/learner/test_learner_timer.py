"""A learner's Timer in a purgatory: its decisions are carried out, and events report them. Our own
timer takes over the tasks that it forgets.
"""

import importlib
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest

from exercises.runner.manifest import find_exercise
from kafka_edu.common.time import MockTime
from kafka_edu.learner.learner_timer import adapt
from kafka_edu.learner.learner_timing_wheel import adapt as adapt_wheel
from kafka_edu.learner.seams import SEAMS, LearnerCode, LearnerError
from kafka_edu.timer import system_timer
from kafka_edu.timer.system_timer import SystemTimer
from kafka_edu.timer.timer_task import TimerTask
from kafka_edu.trace.event import Envelope, Level, Source
from kafka_edu.trace.events.timer import TimerTaskCancelled, TimerTaskDemoted, TimerTaskExpired
from kafka_edu.trace.tracer import Tracer

SOLUTION = find_exercise("02-2").solution.read_text(encoding="utf-8")
ADVANCE = "    def advance_clock("


class Task(TimerTask):
    __slots__ = ("_ran", "name", "then")

    def __init__(self, name: str, delay_ms: int, ran: Callable[[str], None]) -> None:
        super().__init__(delay_ms)
        self.name = name
        self._ran = ran
        self.then: Callable[[], None] | None = None

    @property
    def label(self) -> str:
        return self.name

    def run(self) -> None:
        self._ran(self.name)
        if self.then is not None:
            self.then()


class Run:
    """A timer, its clock, what ran when, and its events."""

    level = Level.ALL

    def __init__(self, make: Callable[..., SystemTimer]) -> None:
        self.time = MockTime(0)
        trace = Tracer(Source.of_broker(2), self.time)
        trace.add_sink(self)
        self.events: list[object] = []
        self.ran: list[tuple[int, str]] = []
        self.timer = make("Produce", self.time.hi_res_clock_ms, trace)

    def accept(self, envelope: Envelope) -> None:
        self.events.append(envelope.event)

    def task(self, name: str, delay_ms: int) -> Task:
        task = Task(name, delay_ms, lambda one: self.ran.append((self.time.hi_res_clock_ms(), one)))
        self.timer.add(task)
        return task

    def go_to(self, time_ms: int) -> None:
        self.time.advance(time_ms - self.time.hi_res_clock_ms())
        self.timer.advance_clock(time_ms)

    def go_on(self) -> None:
        """Do what the reaper does: sleep until the next bucket is due, and repeat until there is
        none.
        """
        for _ in range(2_000):
            due_ms = self.timer.next_expiration_ms()
            if due_ms is None:
                return
            self.go_to(max(due_ms, self.time.hi_res_clock_ms()))
        raise AssertionError("the timer never comes to rest")


@pytest.fixture
def learner_timer(tmp_path: Path) -> Iterator[Callable[[str], tuple[Run, list[LearnerError]]]]:
    codes: list[LearnerCode] = []

    def make(source: str) -> tuple[Run, list[LearnerError]]:
        file = tmp_path / "timer.py"
        file.write_text(source, encoding="utf-8")
        code = LearnerCode(SEAMS["02-2"], file)
        codes.append(code)
        failures: list[LearnerError] = []
        code.on_failure = failures.append
        return Run(adapt(code)), failures

    yield make
    for code in codes:
        code.close()


MakeRun = Callable[[str], tuple[Run, list[LearnerError]]]


def advancing(body: str) -> str:
    """The solution with another `advance_clock`, of that one line."""
    return SOLUTION.partition(ADVANCE)[0] + f"{ADVANCE}self, time_ms):\n        {body}\n"


def test_the_seam_is_where_the_purgatory_looks() -> None:
    seam = SEAMS["02-2"]
    assert vars(importlib.import_module(seam.module))[seam.name] is SystemTimer


def test_the_reference_runs_every_task_when_the_shipped_timer_does(learner_timer: MakeRun) -> None:
    runs = [learner_timer(SOLUTION)[0], Run(SystemTimer)]
    for run in runs:
        random = Random(5)
        waiting: list[Task] = []
        for step in range(150):
            waiting.append(run.task(f"t{step}", random.randint(1, 10 ** random.randint(1, 5))))
            if random.random() < 0.3:
                waiting.pop(random.randrange(len(waiting))).cancel()
            if random.random() < 0.3:
                run.go_to(run.time.hi_res_clock_ms() + random.randrange(300))
        run.go_on()
    learners, shipped = runs
    assert learners.ran
    assert sorted(learners.ran) == sorted(shipped.ran)
    assert learners.timer.cancelled_total == shipped.timer.cancelled_total > 0


def test_it_tells_of_what_the_learner_decided(learner_timer: MakeRun) -> None:
    run, failures = learner_timer(SOLUTION)
    run.task("a", 450)
    run.task("b", 450).cancel()
    run.go_on()
    assert failures == []
    down = [event for event in run.events if isinstance(event, TimerTaskDemoted)]
    assert [(e.from_level, e.from_slot, e.level, e.slot, e.left_ms) for e in down] == [
        (3, 1, 2, 10, 210),
        (2, 10, 1, 10, 10),
    ]
    (expired,) = [event for event in run.events if isinstance(event, TimerTaskExpired)]
    assert (expired.task, expired.late_ms, expired.level, expired.slot) == ("a", 0, 1, 10)
    (cancelled,) = [event for event in run.events if isinstance(event, TimerTaskCancelled)]
    assert (cancelled.task, cancelled.level, cancelled.slot) == ("b", 3, 1)


def test_a_late_call_makes_all_moves_at_once(learner_timer: MakeRun) -> None:
    run, failures = learner_timer(SOLUTION)
    run.task("a", 450)
    run.task("b", 7)
    run.go_to(1_000)
    assert run.ran == [(1_000, "b"), (1_000, "a")]
    assert failures == []
    assert run.timer.size == 0


def test_a_task_may_add_and_cancel_others(learner_timer: MakeRun) -> None:
    run, failures = learner_timer(SOLUTION)
    first, second = run.task("first", 100), run.task("second", 100)

    def then() -> None:
        second.cancel()
        run.task("third", 25)

    first.then = then
    run.go_on()
    assert run.ran == [(100, "first"), (125, "third")]
    assert failures == []


def test_a_task_that_runs_too_early_does_so_for_all_to_see(learner_timer: MakeRun) -> None:
    early = advancing(
        "return [(time_ms, t, None) for p in list(self.buckets) if self.due_ms(*p) <= time_ms"
        " for t, _ in self.buckets.pop(p)]"
    )
    run, failures = learner_timer(early)
    run.task("a", 450)
    run.go_on()
    assert run.ran == [(240, "a")]
    assert failures == []


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("return []", "did not move task 1, with deadline 450"),
        ("return 1 // 0", "ZeroDivisionError"),
        ("return 5", "expected a list of moves"),
        ("return [(time_ms, 1)]", "answered a move"),
        ("return [(time_ms, 1, (0, 3))]", r"expected \(level, slot\), or None"),
        ("return [(time_ms, 1, (1, 400))]", "slot 400 of level 1 cannot take a task"),
        ("return [(time_ms, 1, (1, time_ms % 20))]", "is under the hand"),
        ("return [(time_ms, 999, None)]", "did not move task 1"),
    ],
)
def test_what_cannot_be_is_told_and_the_shipped_code_takes_over(
    learner_timer: MakeRun, body: str, told: str
) -> None:
    run, failures = learner_timer(advancing(body))
    run.task("a", 450)
    run.go_on()
    assert run.ran == [(450, "a")]
    with pytest.raises(LearnerError, match=told):
        raise failures[0]


def test_an_error_of_a_task_does_not_lose_the_others(learner_timer: MakeRun) -> None:
    run, _ = learner_timer(SOLUTION)

    def fail() -> None:
        raise RuntimeError("of the task")

    run.task("a", 5).then = fail
    run.task("b", 5)
    with pytest.raises(RuntimeError, match="of the task"):
        run.go_to(5)
    assert run.ran == [(5, "a"), (5, "b")]


def test_one_bad_call_is_one_failure_and_after_three_the_shipped_timer_stays(
    learner_timer: MakeRun,
) -> None:
    run, failures = learner_timer(advancing("return 1 // 0"))
    for name, delay_ms in (("a", 5), ("b", 5), ("c", 5), ("d", 8), ("e", 11), ("f", 450)):
        run.task(name, delay_ms)
    run.go_to(5)
    assert len(failures) == 1, "three tasks were due in one call"
    run.task("late comer", 700)
    run.go_on()
    assert [failure.line > 0 for failure in failures] == [True] * 3
    run.task("after", 30).cancel()
    run.task("last", 30)
    run.go_on()
    assert len(failures) == 3
    assert run.ran == [
        *((5, name) for name in "abc"),
        (8, "d"),
        (11, "e"),
        (450, "f"),
        (705, "late comer"),
        (735, "last"),
    ]
    assert run.timer.size == 0


WHEEL = find_exercise("02-1").solution.read_text(encoding="utf-8")


class Both:
    """A timer of 02-3 and a wheel of 02-1 in one broker."""

    def __init__(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, timer: str, wheel: str
    ) -> None:
        self.wheel_code = self._code(folder / "wheel.py", "02-1", wheel)
        self.timer_code = self._code(folder / "timer.py", "02-3", timer)
        self.failures: list[LearnerError] = []
        self.wheel_code.on_failure = self.timer_code.on_failure = self.failures.append
        monkeypatch.setattr(system_timer, "TimingWheel", adapt_wheel(self.wheel_code))
        self.run = Run(adapt(self.timer_code))

    def _code(self, file: Path, exercise: str, text: str) -> LearnerCode:
        file.write_text(text, encoding="utf-8")
        return LearnerCode(SEAMS[exercise], file)

    def close(self) -> None:
        self.wheel_code.close()
        self.timer_code.close()


@pytest.fixture
def both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, str], Both]]:
    made: list[Both] = []

    def make(timer: str, wheel: str) -> Both:
        made.append(Both(tmp_path, monkeypatch, timer, wheel))
        return made[-1]

    yield make
    for one in made:
        one.close()


TIMER = find_exercise("02-3").solution.read_text(encoding="utf-8")


def test_the_wheel_is_asked_for_each_new_task_beside_the_timer(
    both: Callable[[str, str], Both],
) -> None:
    serving = both(TIMER, WHEEL)
    random = Random(1)
    tasks = 0
    for time_ms in range(0, 60_000, 250):
        for _ in range(2):
            tasks += 1
            serving.run.task(str(tasks), random.choice([1, 19, 21, 250, 7_000, 90_000]))
        serving.run.go_to(time_ms + 1)
    serving.run.go_on()
    assert serving.failures == []
    assert len(serving.run.ran) == tasks
    assert serving.wheel_code.calls >= tasks
    assert serving.timer_code.calls >= tasks


def test_a_wrong_wheel_is_named_and_the_timer_goes_on(both: Callable[[str, str], Both]) -> None:
    wrong = WHEEL.replace("tick % self.slots[0], left_over_ms", "(tick + 1) % self.slots[0], 0")
    assert wrong != WHEEL
    serving = both(TIMER, wrong)
    serving.run.task("a", 350)
    serving.run.go_on()
    assert serving.run.ran == [(350, "a")]
    [failure] = serving.failures
    assert failure.exercise == "02-1"
    assert failure.message == "add(350) at 0 ms answered level 3, slot 2; it is level 3, slot 1"


@pytest.mark.parametrize("answer", ["None", "7", "(1, 'x', 0)", "1 / 0"])
def test_a_wheel_that_names_no_place_is_named_too(
    both: Callable[[str, str], Both], answer: str
) -> None:
    """The timer says that the task is not due."""
    head = WHEEL.partition("        if expiration_ms < self.current_time_ms + self.tick_ms:")[0]
    serving = both(TIMER, f"{head}        return {answer}\n")
    serving.run.task("a", 350)
    serving.run.go_on()
    assert serving.run.ran == [(350, "a")]
    [failure] = serving.failures
    assert failure.exercise == "02-1"
    assert "expected (level, slot, left_over_ms)" in failure.message or "Zero" in failure.message


def test_a_wrong_timer_is_named_where_the_wheel_is_right(both: Callable[[str, str], Both]) -> None:
    wrong = TIMER.replace(
        "return level, deadline_ms // tick_ms % self.size(level)",
        "return level, (deadline_ms // tick_ms + 1) % self.size(level)",
    )
    assert wrong != TIMER
    serving = both(wrong, WHEEL)
    serving.run.task("a", 15)
    serving.run.go_on()
    assert serving.run.ran == [(15, "a")], "ours looks after it"
    failure = serving.failures[0]
    assert failure.exercise == "02-3"
    assert "your wheel of 02-1 says level 1, slot 15" in failure.message
