"""Public tests of exercise 05-2. `kafka-edu lab check 05-2` runs them. The learner's class runs in
another process, and the fixture `learner` sends each call to it.
"""

from collections.abc import Callable
from random import Random

import pytest

from kafka_edu.learner.learner import Learner

from ...runner.mismatch import Mismatch
from ..session_rules import RightTracker

WHY = {
    "add": "now and the time-out together, rounded up to the end of a tick",
    "touch": "the time-out of a session that is there starts again",
    "remove": "it returns nothing",
    "poll": (
        "all sessions of the ticks that have ended, the oldest tick first, each in the order in"
        " which it came into its bucket"
    ),
    "buckets": (
        "each session is in one bucket: the one of its last message, rounded up. A session that"
        " moves comes last in the new bucket, and one that stays keeps its place. Empty buckets"
        " are removed"
    ),
}


class Checked:
    """A session tracker of the learner's class. Each answer is compared with the right answer."""

    def __init__(self, learner: Learner, tick_ms: int, now_ms: int = 0) -> None:
        self._made = learner.make(tick_ms, now_ms)
        self._calls = [f"SessionTracker({tick_ms}, {now_ms})"]
        self.right = RightTracker(tick_ms, now_ms)

    def add(self, session: int, timeout_ms: int, now_ms: int) -> None:
        self._compare("add", session, timeout_ms, now_ms)

    def touch(self, session: int, now_ms: int) -> None:
        self._compare("touch", session, now_ms)

    def remove(self, session: int) -> None:
        self._compare("remove", session)

    def poll(self, now_ms: int) -> None:
        self._compare("poll", now_ms)

    def _compare(self, name: str, *arguments: int) -> None:
        """Make one call. Compare the answer, and the buckets after the call. Raises Mismatch."""
        self._one(name, *arguments)
        self._one("buckets")

    def _one(self, name: str, *arguments: int) -> None:
        method: Callable[..., object] = getattr(self.right, name)
        expected = method(*arguments)
        came = self._made.call(name, *arguments)
        call = f"{name}({', '.join(map(str, arguments))})"
        if arguments:
            self._calls.append(call)
        if came != expected or (name == "add" and isinstance(came, bool)):
            raise Mismatch(
                f"{call}, after the calls below",
                expected,
                came,
                WHY[name],
                drawing=tuple(self._calls[-8:]),
                read=name,
            )


def test_example(learner: Learner) -> None:
    """the example of README.md"""
    one = Checked(learner, 2_000)
    one.add(1, 6_000, 300)
    one.add(2, 6_000, 900)
    one.touch(1, 2_300)
    one.poll(7_999)
    one.poll(8_000)
    one.touch(2, 8_100)


def test_exactly_at_a_tick(learner: Learner) -> None:
    """a session that would end exactly at a tick goes into the next bucket"""
    one = Checked(learner, 500)
    one.add(1, 1_000, 0)
    one.add(2, 999, 0)
    one.add(3, 1_001, 0)
    for now_ms in (999, 1_000, 1_499, 1_500, 2_000):
        one.poll(now_ms)


def test_order_in_a_bucket(learner: Learner) -> None:
    """a session that moves becomes the last of its bucket; one that stays keeps its place"""
    one = Checked(learner, 1_000)
    for session in (7, 3, 5):
        one.add(session, 4_000, 100)
    one.touch(3, 200)  # the same bucket
    one.touch(7, 1_100)
    one.touch(5, 1_200)
    one.add(9, 4_000, 1_300)
    for now_ms in range(1_500, 8_000, 500):
        one.poll(now_ms)


def test_never_earlier(learner: Learner) -> None:
    """the clock goes back: no session moves to an earlier bucket"""
    one = Checked(learner, 1_000)
    one.add(1, 4_000, 2_500)
    one.touch(1, 400)
    one.touch(1, 3_100)


def test_closed(learner: Learner) -> None:
    """a removed session is gone, and so is its empty bucket; a second removal does no harm"""
    one = Checked(learner, 1_000)
    one.add(1, 4_000, 100)
    one.add(2, 9_000, 100)
    for session in (1, 1, 44):
        one.remove(session)
    one.touch(1, 200)
    one.poll(6_000)


def test_begins_late(learner: Learner) -> None:
    """the clock of the machine does not start at zero"""
    one = Checked(learner, 2_000, 71_234_567)
    one.add(1, 6_000, 71_234_600)
    for now_ms in (71_236_000, 71_238_000, 71_240_000, 71_242_000):
        one.poll(now_ms)


def test_many(learner: Learner, seed: int) -> None:
    """sessions with different time-outs send hundreds of messages, with a poll at each tick"""
    random = Random(seed)
    one = Checked(learner, 500)
    play(one, random, ticks=60, step_ms=500)


def play(one: Checked, random: Random, *, ticks: int, step_ms: int, longest: int = 6_000) -> None:
    """Make `ticks` polls. Between them, random sessions are added, touched and removed."""
    now_ms, new = 0, 0
    for tick in range(ticks):
        for _ in range(random.randint(0, 4)):
            now_ms = tick * step_ms + random.randrange(step_ms)
            alive = sorted(one.right.sessions)
            match random.randrange(5):
                case 0 | 1:
                    new += 1
                    one.add(new, random.randint(1, longest), now_ms)
                case 2 | 3 if alive:
                    one.touch(random.choice(alive), now_ms)
                case _:
                    one.remove(random.randint(0, new + 1))
        one.poll((tick + 1) * step_ms)


@pytest.mark.parametrize("sessions", [200])
def test_all_at_once(learner: Learner, sessions: int) -> None:
    """many sessions end in one tick"""
    one = Checked(learner, 2_000)
    for session in range(sessions):
        one.right.add(session, 6_000, session)
    made = learner.make(2_000, 0)
    for session in range(sessions):
        made.call("add", session, 6_000, session)
    came, expected = made.call("poll", 8_000), one.right.poll(8_000)
    if came != expected:
        raise Mismatch(f"poll(8000) with {sessions} sessions", expected, came, WHY["poll"])
