"""The time a learner's code may spend. Time in the queue of a core does not count."""

import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from kafka_edu.common.busy_machine import Allowance, Usage
from kafka_edu.learner.learner import Learner, LearnerFailure

#: Answers when a file `go` is in its working folder.
WAITS = """
import os, time
class Waiting:
    def answer(self):
        while not os.path.exists("go"):
            time.sleep(0.001)
        return 42
"""
#: Nothing in its own process ends it.
LOOPS = """
import signal
class Waiting:
    def answer(self):
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        while True: pass
"""


@pytest.fixture
def learner_of(tmp_path: Path) -> Iterator[Callable[..., Learner]]:
    made: list[Learner] = []

    def make(source: str, **options: object) -> Learner:
        file = tmp_path / "waiting.py"
        file.write_text(source, encoding="utf-8")
        made.append(Learner(file, "Waiting", **options))  # type: ignore[arg-type]  # of the test
        return made[-1]

    yield make
    for learner in made:
        learner.close()


class Accounts:
    """Made-up processor times: one minute passes between two looks. At the third look the code may
    end.

    `waits` says whether the code waits for a core all the time. Otherwise the code sleeps.
    """

    def __init__(self, waits: bool) -> None:
        self._waits = waits
        self._looks = count(1)
        self.go: Callable[[], object] | None = None
        """Lets the code go. Until there is one, no time passes: the file is loaded meanwhile."""

    def __call__(self, pid: int) -> Usage:
        if self.go is None:
            return Usage(0.0, 0.0)
        look = next(self._looks)
        if look == 3:
            self.go()
        return Usage(60.0 * look, 0.1, {7: 60.0 * look if self._waits else 0.0})


def asked(learner: Learner, accounts: Accounts) -> object:
    made = learner.make()
    folder = learner._folder
    assert folder is not None
    accounts.go = (folder.path / "go").touch
    return made.call("answer")


def test_who_waits_minutes_for_a_core_is_waited_for(learner_of: Callable[..., Learner]) -> None:
    accounts = Accounts(waits=True)
    assert asked(learner_of(WAITS, usage_of=accounts), accounts) == 42


def test_who_sleeps_for_minutes_is_ended(learner_of: Callable[..., Learner]) -> None:
    accounts = Accounts(waits=False)
    with pytest.raises(LearnerFailure, match=r"answer\(\): did not come back within 5 s, in") as it:
        asked(learner_of(WAITS, usage_of=accounts), accounts)
    assert it.value.timed_out


def test_a_loop_that_switches_its_own_limit_off_is_ended_from_outside(
    learner_of: Callable[..., Learner],
) -> None:
    """This one is real: the processor time is the kernel's."""
    learner = learner_of(LOOPS, allowance=Allowance(processor_s=0.05))
    made = learner.make()
    with pytest.raises(LearnerFailure, match=r"within 1.05 s of processor time") as it:
        made.call("answer")
    assert it.value.timed_out
    with pytest.raises(LearnerFailure, match="its process was ended"):
        made.call("answer")


def test_the_time_of_the_most_expensive_call_is_known(learner_of: Callable[..., Learner]) -> None:
    source = (
        "import time\nclass Waiting:\n    def spend(self, seconds):\n"
        "        end = time.process_time() + seconds\n"
        "        while time.process_time() < end: pass\n"
    )
    learner = learner_of(source)
    began = time.monotonic()
    made = learner.make()  # also a call: on a busy machine it may be the longest one
    for seconds in (0.0, 0.1, 0.0):
        made.call("spend", seconds)
    assert 0.1 <= learner.used.processor_s < 1.0
    assert 0 < learner.used.clock_s <= time.monotonic() - began


def test_objects_that_nobody_asks_any_more_are_forgotten(tmp_path: Path) -> None:
    """A live broker makes one object for each request that waits, as long as the broker runs."""
    file = tmp_path / "thing.py"
    file.write_text(
        "class Thing:\n"
        "    alive = 0\n"
        "    def __init__(self): Thing.alive += 1\n"
        "    def __del__(self): Thing.alive -= 1\n"
        "    def count(self): return Thing.alive\n",
        encoding="utf-8",
    )
    learner = Learner(file, "Thing")
    try:
        kept = learner.make()
        for _ in range(50):
            assert learner.make().call("count") <= 3  # type: ignore[operator]  # it is a number
        assert kept.call("count") == 1
    finally:
        learner.close()
