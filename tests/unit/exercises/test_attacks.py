"""Learner's files that try to fake their grade, each in a different way. No file passes.

Each file puts every task into the bucket after the next one, whatever its deadline, and tries to
hide that. A separate process replaces the broker, and installs the file as a broker does, because a
file that breaks out of its process could damage the process of the tests. The separate process
reports what a grader needs: when a task of 350 ms ran, how often the learner's code was called, and
which failures were emitted.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from exercises.runner.check import check_public
from exercises.runner.manifest import find_exercise
from kafka_edu.common.busy_machine import Allowance
from kafka_edu.common.python_process import python_environment
from kafka_edu.learner.learner import Learner, LearnerFailure
from kafka_edu.learner.learner_wall import landlock_version
from tests.waiting import PATIENCE_S

ROOT: Final = Path(__file__).resolve().parents[3]

#: As a broker does it: install first, then import what the seam is in; the tracer tells of the
#: learner's code.
JUDGE: Final = """
import json, sys
from kafka_edu.learner.seams import LearnerError, install
try:
    codes = install("02-1=" + sys.argv[1])
except LearnerError as error:
    print("\\n" + json.dumps({"refused": str(error)}))
    raise SystemExit
from kafka_edu.common.time import MockTime
from kafka_edu.timer.system_timer import SystemTimer
from kafka_edu.timer.timer_task import TimerTask
from kafka_edu.trace.event import Level
from kafka_edu.learner.learner_trace import trace_learner
from kafka_edu.trace.event import Source
from kafka_edu.trace.tracer import Tracer

class Task(TimerTask):
    __slots__ = ()
    def run(self):
        ran.append(time.hi_res_clock_ms())

class Sink:
    level = Level.ALL
    def accept(self, envelope):
        told.append(envelope.name)

ran, told, time = [], [], MockTime(0)
trace = Tracer(Source.of_broker(2), time)
trace.add_sink(Sink())
trace_learner(codes, trace)
timer = SystemTimer("Produce", time.hi_res_clock_ms, trace)
timer.add(Task(350))
for _ in range(100):
    due_ms = timer.next_expiration_ms()
    if due_ms is None:
        break
    time.advance(max(due_ms - time.hi_res_clock_ms(), 0))
    timer.advance_clock(time.hi_res_clock_ms())
gauges = [envelope for envelope in trace.gauges() if envelope.name == "LearnerSampled"]
(sampled,) = [envelope.event.total.calls for envelope in gauges]
print("\\n" + json.dumps({"ran": ran, "calls": sampled, "told": told}))
for code in codes:
    code.close()
"""

#: Places a task two ticks ahead and says that nothing is left over: it runs at 2 ms, whatever its
#: deadline.
WRONG: Final = """
class TimingWheel:
    def __init__(self, tick_ms, slots, start_ms, level=1):
        self.now, self.size = start_ms, slots[0]

    def advance_clock(self, time_ms):
        self.now = time_ms

    def add(self, expiration_ms):
        if expiration_ms <= self.now or self.now >= 2:
            return None
        due = self.now + 2
        return 1, due % self.size, expiration_ms - due
"""

#: The attacks that need our modules look for them in the checkout, which is out of their reach.
FIND: Final = f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"

ATTACKS: Final = {
    "the adapter": (
        """
import kafka_edu.learner.learner_timing_wheel as adapter
from kafka_edu.timer.timing_wheel import TimingWheel as Shipped
def adapt(code):
    def make(*arguments, **keywords):
        code.calls += 1
        return Shipped(*arguments, **keywords)
    return make
adapter.adapt = adapt
"""
    ),
    "the methods of the adapter's class": (
        """
from kafka_edu.learner.learner_timing_wheel import LearnerTimingWheel
from kafka_edu.timer.timing_wheel import TimingWheel as Shipped
LearnerTimingWheel.add = Shipped.add
LearnerTimingWheel.advance_clock = Shipped.advance_clock
"""
    ),
    "the shipped module in sys.modules": (
        """
import types
import kafka_edu.timer.timing_wheel
fake = types.ModuleType("kafka_edu.learner.learner_timing_wheel")
fake.adapt = lambda code: kafka_edu.timer.timing_wheel.TimingWheel
sys.modules["kafka_edu.learner.learner_timing_wheel"] = fake
"""
    ),
    "the door by which learner's code is called": (
        """
import kafka_edu.learner.seams as seams
for name in ("ask", "call", "make"):
    setattr(seams.LearnerCode, name, lambda self, *arguments, **keywords: None)
seams.LearnerCode.failed = lambda self, error: None
"""
    ),
    "builtins": (
        """
import builtins
real = builtins.isinstance
builtins.isinstance = lambda one, kind: kind is not int or real(one, kind)
builtins.divmod = lambda a, b: (0, 0)
builtins.callable = lambda one: False
"""
    ),
    "the events": (
        """
import kafka_edu.trace.tracer as tracer
import kafka_edu.learner.learner_trace as learner_trace
tracer.Tracer.__call__ = lambda self, event, *rest: 0
learner_trace.trace_learner = lambda installed, trace: None
import kafka_edu.trace.events.timer as timer
class Quiet:
    def __init__(self, *arguments): pass
timer.TimerTaskExpired = Quiet
"""
    ),
    "the frames of its caller": (
        """
frame = sys._getframe()
while frame is not None:
    for name in ("install", "wanted", "adapt", "serve", "answer"):
        if name in frame.f_globals:
            frame.f_globals[name] = lambda *arguments: None
            break
    frame = frame.f_back
import __main__
__main__.ran = [350]
"""
    ),
    "objects found by the garbage collector": (
        """
import gc
for one in gc.get_objects():
    if type(one).__name__ == "LearnerCode":
        one.failed = lambda error: None
    if isinstance(one, dict) and "adapt" in one:
        from kafka_edu.timer.timing_wheel import TimingWheel as Shipped
        one["adapt"] = lambda code: Shipped
"""
    ),
}


def judged(file: Path) -> dict[str, Any]:
    """Return what the judging process saw of a learner's file."""
    done = subprocess.run(
        [sys.executable, "-c", JUDGE, str(file)],
        cwd=ROOT,
        env=python_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.rstrip().rpartition("\n")[2])
    return found


def written(folder: Path, source: str) -> Path:
    file = folder / "timing_wheel.py"
    file.write_text(source, encoding="utf-8")
    return file


def test_the_judge_sees_what_is_wrong_and_what_is_right(tmp_path: Path) -> None:
    right = judged(find_exercise("02-1").solution)
    assert right["ran"] == [350]
    assert right["calls"] > 3
    wrong = judged(written(tmp_path, WRONG))
    assert wrong["ran"] == [2]
    assert wrong["calls"] > 1


@pytest.mark.parametrize("door", ATTACKS)
def test_a_file_that_tampers_is_judged_by_its_answers(tmp_path: Path, door: str) -> None:
    """The attack replaces parts of its own process. The learner's wheel is still called, its
    answers are carried out, and the events show these answers.
    """
    found = judged(written(tmp_path, FIND + ATTACKS[door] + WRONG))
    if "refused" in found:  # what it broke was its own process, which could not go on
        assert "timing_wheel.py" in found["refused"]
        return
    assert found["calls"] > 1
    assert "TimerTaskExpired" in found["told"]
    assert found["ran"] == [2]


def test_a_file_that_cannot_find_our_modules_is_refused_by_name_and_line(tmp_path: Path) -> None:
    """The checkout is not on the path of the learner's process."""
    found = judged(written(tmp_path, "import os\nimport kafka_edu.no_such_module\n" + WRONG))
    assert "timing_wheel.py:2: ModuleNotFoundError" in found["refused"]


SOLUTION: Final = find_exercise("02-1").solution

#: Ways to the reference, in a file that would pass if one of them were open.
WAYS_TO_THE_REFERENCE: Final = {
    "open": f"exec(open({str(SOLUTION)!r}).read())",
    "import": f"""
sys.path.insert(0, {str(SOLUTION.parents[3])!r})
from exercises.solutions.ch02_timing_wheel.ex01_timing_wheel_add import TimingWheel""",
    "runpy": f"import runpy; TimingWheel = runpy.run_path({str(SOLUTION)!r})['TimingWheel']",
    "the shipped class": f"""
sys.path.insert(0, {str(ROOT)!r})
from kafka_edu.timer.timing_wheel import TimingWheel""",
    "another program": f"""
import subprocess
exec(subprocess.check_output(["cat", {str(SOLUTION)!r}]))""",
    "a link": f"""
import os
os.symlink({str(SOLUTION)!r}, "link.py")
exec(open("link.py").read())""",
}
#: Ways that Python does not see, so that only the kernel can refuse them.
WAYS_AROUND_PYTHON: Final = {
    "a folder's descriptor": f"""
import os
root = os.open(".", os.O_RDONLY)
up = "../" * 20
exec(os.read(os.open(up + {str(SOLUTION)[1:]!r}, os.O_RDONLY, dir_fd=root), 100000))""",
    "the C library": f"""
import ctypes
libc = ctypes.CDLL(None)
content = ctypes.create_string_buffer(100000)
libc.read(libc.open({str(SOLUTION)!r}.encode(), 0), content, 100000)
exec(content.value or "raise PermissionError")""",
}


@pytest.mark.parametrize("way", WAYS_TO_THE_REFERENCE)
def test_the_reference_and_the_shipped_class_are_out_of_reach(tmp_path: Path, way: str) -> None:
    file = written(tmp_path, "import sys\n" + WAYS_TO_THE_REFERENCE[way])
    verdict = check_public(find_exercise("02-1"), file)
    assert not verdict.public_passed
    with pytest.raises(
        AssertionError, match=r"timing_wheel.py, line \d: (PermissionError|ModuleNotFoundError)"
    ):
        raise AssertionError(verdict.objection)


@pytest.mark.skipif(not landlock_version(), reason="this kernel has no Landlock")
@pytest.mark.parametrize("way", WAYS_AROUND_PYTHON)
def test_the_kernel_refuses_what_python_does_not_see(tmp_path: Path, way: str) -> None:
    verdict = check_public(
        find_exercise("02-1"), written(tmp_path, "import sys\n" + WAYS_AROUND_PYTHON[way])
    )
    assert not verdict.public_passed
    assert "PermissionError" in verdict.objection


def test_a_learner_may_use_the_library_and_its_own_folder(tmp_path: Path) -> None:
    source = """
import ctypes, dataclasses, decimal, heapq, random, sqlite3, ssl
open("notes", "w").write("mine")
assert open("notes").read() == "mine"
"""
    learner = Learner(written(tmp_path, source + WRONG), "TimingWheel")
    try:
        assert learner.make(1, [20], 0).call("add", 350) == (1, 2, 348)
        assert not (tmp_path / "notes").exists()
    finally:
        learner.close()


FORGE: Final = """
import os
def forge(data):
    for number in range(3, 64):
        try:
            os.write(number, data)
        except OSError:
            pass
"""


@pytest.mark.parametrize(
    "data",
    [
        'b\'{"value": [1, 5, 0]}\\n{"value": [1, 5, 0]}\\n\'',
        "b'no answer\\n'",
        "b'[' * 60000 + b'\\n'",
        "b'{\"value\": ' + b'[' * 700 + b']' * 700 + b'}\\n'",
        "b'x' * 200000",
        "b'3\\n'",
    ],
    ids=["two answers", "no JSON", "deep", "deep but whole", "endless", "a number"],
)
def test_who_forges_answers_is_ended_and_told(tmp_path: Path, data: str) -> None:
    add = f"    def add(self, expiration_ms):\n        forge({data})\n        os._exit(0)\n"
    file = written(tmp_path, FORGE + WRONG.partition("    def add")[0] + add)
    learner = Learner(file, "TimingWheel")
    try:
        made = learner.make(1, [20], 0)
        with pytest.raises(
            LearnerFailure, match=r"add\(350\): wrote something that is not an answer"
        ):
            made.call("add", 350)
        with pytest.raises(LearnerFailure, match="its process was ended"):
            made.call("add", 350)
    finally:
        learner.close()


def test_who_sleeps_is_ended(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        "import time\nclass TimingWheel:\n    def __init__(self, *_):\n        time.sleep(3600)\n",
    )
    learner = Learner(file, "TimingWheel", allowance=Allowance(idle_s=0.1))
    try:
        with pytest.raises(LearnerFailure, match=r"within 0.1 s, in which it did nothing"):
            learner.make(1, 20, 0)
    finally:
        learner.close()


def test_the_process_of_a_loop_ends_with_the_one_that_asks(tmp_path: Path) -> None:
    """When a broker is killed, no learner's process stays behind, even one in an endless loop."""
    loop = (
        "    def add(self, expiration_ms):\n        while True:\n            try:\n               "
        " while True: pass\n            except BaseException: pass\n"
    )
    file = written(tmp_path, WRONG.partition("    def add")[0] + loop)
    learner = Learner(file, "TimingWheel")
    process = learner.start()
    assert process.stdin is not None
    process.stdin.write(b'{"make": [1, [20], 0]}\n')
    process.stdin.write(b'{"object": 0, "call": "add", "arguments": [350]}\n')
    process.stdin.flush()
    assert process.stdout is not None
    assert json.loads(process.stdout.readline())["object"] == 0, "next comes the loop"
    process.stdin.close()  # as the kernel does for a process that is killed
    while process.stdout.read(65536):
        pass
    process.wait(PATIENCE_S)  # its pipe is closed a moment before it has ended
    learner.close()
    assert process.returncode == 0, "it ended of itself"


def test_the_public_tests_keep_their_results_to_themselves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The learner's process does not know where the test results are written. A setting of pytest
    in the environment leaves no test out.
    """
    monkeypatch.setenv("PYTEST_ADDOPTS", "-k test_due")
    source = (
        'import os\nif [name for name in os.environ if name.startswith(("KAFKA_EDU", "PYTEST"))]:\n'
        '    raise KeyError("judge")\n'
    )
    verdict = check_public(
        find_exercise("02-1"),
        written(tmp_path, source + find_exercise("02-1").solution.read_text(encoding="utf-8")),
    )
    assert len(verdict.public) == 12
    assert verdict.public_passed
