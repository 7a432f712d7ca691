"""Where a learner's code can stand in place of ours: the one table of seams (spec E1).

A seam is a name in one of our modules that one caller looks up when it needs it. To install learner's code is to put something else under
that name, in this process alone, before anybody has looked it up: so one broker of three can run it. What is put there is not the learner's
object itself but an *adapter*, a module beside the shipped class: it asks the learner's code, checks the answer, does with it what the shipped
code would do, and falls back on the shipped code when the answer is no answer. Only pure code is asked: numbers in, numbers out. The door
that emits events stays in the caller, so a learner's code can neither forge an event nor forget one.

    installed = install("02-1=/home/me/lab/02-1/timing_wheel.py")       # what server.properties has as edu.learner; several are parted by ;
    trace_learner(installed, tracer)                                    # kafka_edu.trace.learner_trace: from here on failures are told

A learner's exception is caught and told as the learner's, with file and line; a loop that never ends is stopped after a second.
"""

import importlib
import importlib.util
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Final, NamedTuple, ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

TIME_LIMIT_S: Final = 1.0
"""The longest that one call into learner's code may take."""


class Seam(NamedTuple):
    """One row of the table."""

    exercise: str
    module: str
    name: str
    """`module.name` is what is replaced."""
    adapter: str
    """`module:function`; the function takes a LearnerCode and returns the replacement."""
    wanted: str
    """The name that the learner's file must define."""
    signature: str
    """What the learner's code is asked, and what it is to answer."""


SEAMS: Final[Mapping[str, Seam]] = {
    seam.exercise: seam
    for seam in (
        Seam(
            "02-1",
            "kafka_edu.timer.system_timer",
            "TimingWheel",
            "kafka_edu.timer.learner_timing_wheel:adapt",
            "TimingWheel",
            "TimingWheel(tick_ms, wheel_size, start_ms, level=1).add(expiration_ms) -> (level, slot, left_over_ms) | None",
        ),
    )
}


class LearnerError(Exception):
    """Learner's code cannot be read, raised, took too long, or answered what cannot be. `file` and `line` are the learner's; line 0: unknown."""

    def __init__(self, exercise: str, message: str, file: str, line: int = 0) -> None:
        where = f"{file}:{line}" if line else file
        super().__init__(f"{where}: {message}")
        self.exercise = exercise
        self.message = message
        self.file = file
        self.line = line


class _TimeIsUp(BaseException):
    """Raised inside learner's code by the watchdog; no Exception, so that `except Exception` in a loop does not swallow it."""


class LearnerCode:
    """One learner's file, loaded: every call into it goes through `call`."""

    def __init__(self, seam: Seam, path: Path) -> None:
        """Loads the file. Raises LearnerError when it cannot be run or does not define what is wanted."""
        self.seam = seam
        self.path = path
        self.calls = 0
        self.failures = 0
        self.on_failure: Callable[[LearnerError], None] | None = None
        """Told of each failure, as it happens."""
        self.namespace: dict[str, object] = {}
        if not path.is_file():
            raise LearnerError(seam.exercise, "there is no such file", str(path))
        self.namespace = self.call(self._load)
        if seam.wanted not in self.namespace:
            raise LearnerError(seam.exercise, f"does not define {seam.wanted}; asked is {seam.signature}", str(path))

    @property
    def wanted(self) -> object:
        """What the file defines under the wanted name."""
        return self.namespace[self.seam.wanted]

    def call(self, function: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        """Call learner's code. Raises LearnerError for whatever it raises, and when it does not come back in time."""
        self.calls += 1
        try:
            with _time_limit(TIME_LIMIT_S):
                return function(*args, **kwargs)
        except _TimeIsUp as up:
            message = f"did not come back within {TIME_LIMIT_S:g} s: is there a loop that never ends?"
            raise self.blame(message, up) from None
        except Exception as error:  # whatever a learner's code raises is the learner's, and must not stop the broker
            raise self.blame(f"{type(error).__name__}: {error}", error) from error

    def blame(self, message: str, error: BaseException | None = None) -> LearnerError:
        """A LearnerError that names the line of the learner's file where `error` came from."""
        line = 0
        if isinstance(error, SyntaxError) and error.filename == str(self.path):
            line = error.lineno or 0
        elif error is not None:
            lines = [frame.lineno or 0 for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(self.path)]
            line = lines[-1] if lines else 0
        return LearnerError(self.seam.exercise, message, str(self.path), line)

    def failed(self, error: LearnerError) -> None:
        """Count a failure and tell of it; the adapter calls this and falls back on the shipped code."""
        self.failures += 1
        if self.on_failure is not None:
            self.on_failure(error)

    def _load(self) -> dict[str, object]:
        name = f"learner_{self.seam.exercise.replace('-', '_')}"
        spec = importlib.util.spec_from_file_location(name, self.path)
        if spec is None or spec.loader is None:
            raise ValueError("is no Python file: its name must end in .py")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
        return vars(module)


def parse(spec: str) -> list[tuple[Seam, Path]]:
    """`02-1=/path/file.py;03-1=/other.py`. Raises ValueError, which says what is wrong."""
    result = []
    for part in filter(None, (part.strip() for part in spec.split(";"))):
        exercise, equals, path = part.partition("=")
        if not equals or not path:
            raise ValueError(f"'{part}' is not EXERCISE=FILE")
        if exercise not in SEAMS:
            raise ValueError(f"there is no seam for exercise '{exercise}'; there are: {', '.join(SEAMS)}")
        result.append((SEAMS[exercise], Path(path).expanduser().absolute()))
    return result


def install(spec: str) -> list[LearnerCode]:
    """Load the files of `spec` and put them under the names of their seams, in this process. Raises ValueError or LearnerError; then nothing is."""
    codes = [LearnerCode(seam, path) for seam, path in parse(spec)]
    for code in codes:
        module, _, function = code.seam.adapter.partition(":")
        adapt: Callable[[LearnerCode], object] = vars(importlib.import_module(module))[function]
        setattr(importlib.import_module(code.seam.module), code.seam.name, adapt(code))
    return codes


@contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    """Raise _TimeIsUp in the block after `seconds`. Only the main thread has a watchdog: signals come there, and so does the broker's loop."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    def on_alarm(_: int, __: FrameType | None) -> None:
        raise _TimeIsUp

    before = signal.signal(signal.SIGALRM, on_alarm)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
