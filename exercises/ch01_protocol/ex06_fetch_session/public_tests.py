"""Public tests of exercise 01-6, run by `kafka-edu lab check 01-6`. The learner's class runs in
another process, and the fixture `learner` sends it the calls.
"""

from collections.abc import Callable, Sequence
from random import Random

import pytest

from kafka_edu.learner.learner import Learner

from ...runner.mismatch import Mismatch
from ..fetches import INVALID_SESSION_EPOCH, SESSION_ID_NOT_FOUND, Course, Row, draw

THREE: tuple[Row, ...] = (("web-0", 5), ("web-1", 9), ("web-2", 0))
NAMES = tuple(name for name, _ in THREE)


class Checked:
    """The learner's FetchSession. Each answer is compared with the answer of a correct client."""

    def __init__(self, learner: Learner, max_epoch: int) -> None:
        self._made = learner.make(max_epoch)
        self._course = Course(max_epoch)

    def fetches(self, wanted: Sequence[Row]) -> None:
        """Call `next_fetch`. Raises Mismatch if the fetch is wrong."""
        listed, why = self._course.listed, self._course.why
        expected = self._course.next_fetch(wanted)
        came = self._made.call("next_fetch", list(wanted))
        if came == tuple(expected):
            return
        match came:
            case (session_id, epoch, named, _):
                if (session_id, epoch) != expected[:2]:
                    reason = why
                elif named != expected.named:
                    reason = f"{why}. " if expected.epoch == 0 else ""
                    reason += (
                        "a full fetch names every wanted partition"
                        if expected.epoch == 0
                        else "an incremental fetch names what is new or has another offset than the"
                        " broker's list, in the order of `wanted`"
                    )
                else:
                    reason = (
                        "forgotten are the partitions in the broker's list that are not wanted any"
                        " more, sorted; a full fetch has none"
                    )
            case _:
                reason = "the answer has four values: session id, epoch, rows, partitions"
        raise Mismatch(
            f"next_fetch({list(wanted)})",
            tuple(expected),
            came,
            reason,
            drawing=draw(listed, wanted, came),
        )

    def gets(
        self, partitions: Sequence[str], *, session_id: int = 4711, error_code: int = 0
    ) -> None:
        """Call `on_response`. Raises Mismatch if the answer is wrong."""
        expected = self._course.on_response(error_code, session_id, partitions)
        came = self._made.call("on_response", error_code, session_id, list(partitions))
        if came is not expected:
            raise Mismatch(
                f"on_response({error_code}, {session_id}, {list(partitions)})",
                expected,
                came,
                self._course.why,
            )

    def loses_connection(self) -> None:
        """Let the connection end before the response has come."""
        self._course.on_disconnect()
        self._made.call("on_disconnect")


Open = Callable[..., Checked]


@pytest.fixture
def session(learner: Learner) -> Open:
    """A function that makes the learner's FetchSession: session(max_epoch)."""
    return lambda max_epoch=2**31 - 1: Checked(learner, max_epoch)


def test_full(session: Open) -> None:
    """the first fetch is full, and names all partitions"""
    session().fetches(THREE)


def test_nothing_has_changed(session: Open) -> None:
    """in a session, a fetch names no partition when nothing has changed"""
    one = session()
    one.fetches(THREE)
    one.gets(NAMES)
    for _ in range(3):
        one.fetches(THREE)
        one.gets(())


def test_moved(session: Open) -> None:
    """a partition with a new offset is named, and so is a new partition"""
    one = session()
    one.fetches(THREE)
    one.gets(NAMES)
    moved = (("web-0", 5), ("web-1", 12), ("web-2", 0), ("web-3", 0))
    one.fetches(moved)
    one.gets(("web-1",))
    one.fetches(moved)


def test_order(session: Open) -> None:
    """the rows have the order of `wanted`, which need not be alphabetical"""
    one = session()
    one.fetches(THREE[::-1])
    one.gets(NAMES)
    one.fetches((("web-2", 3), ("web-0", 8), ("web-1", 9)))


def test_there_and_back(session: Open) -> None:
    """an offset that has changed back is not named: only the broker's list counts"""
    one = session()
    one.fetches(THREE)
    one.gets(NAMES)
    one.fetches((("web-0", 6), *THREE[1:]))
    one.gets(("web-0",))
    one.fetches(THREE)
    one.gets(())
    one.fetches(THREE)


def test_forgotten(session: Open) -> None:
    """a partition that is no longer wanted is forgotten, and only once"""
    one = session()
    one.fetches(THREE)
    one.gets(NAMES)
    for wanted in (THREE[1:2], THREE[1:2], THREE):
        one.fetches(wanted)
        one.gets(())


def test_no_session(session: Open) -> None:
    """the broker opens no session (its id is 0): the next fetch names all partitions"""
    one = session()
    for _ in range(2):
        one.fetches(THREE)
        one.gets(NAMES, session_id=0)
    one.fetches(THREE)
    one.gets(NAMES)
    one.fetches(THREE)
    one.gets((), session_id=0)
    one.fetches(THREE)


def test_lost(session: Open) -> None:
    """error 70: the broker does not know the session, so a new one is needed"""
    one = session()
    one.fetches(THREE)
    one.gets(NAMES)
    one.fetches(THREE)
    one.gets((), session_id=0, error_code=SESSION_ID_NOT_FOUND)
    one.fetches(THREE[:2])
    one.gets(NAMES[:2], session_id=99)
    one.fetches(THREE[:2])


def test_wrong_epoch(session: Open) -> None:
    """error 71: the next fetch is full, and closes the old session"""
    one = session()
    one.fetches(THREE)
    one.gets(NAMES)
    one.fetches(THREE)
    one.gets((), session_id=0, error_code=INVALID_SESSION_EPOCH)
    one.fetches(THREE)
    one.gets(NAMES, session_id=4712)
    one.fetches(THREE)


def test_disconnect(session: Open) -> None:
    """after a lost connection the next fetch is full, because the broker's list is unknown"""
    one = session()
    one.loses_connection()
    one.fetches(THREE)
    one.gets(NAMES)
    one.fetches((("web-0", 6), *THREE[1:]))
    one.loses_connection()
    one.fetches((("web-0", 6), *THREE[1:]))


def test_strange_partitions(session: Open) -> None:
    """a response with the wrong partitions is not used"""
    one = session()
    one.fetches(THREE)
    one.gets(NAMES[:2])
    one.fetches(THREE)
    one.gets((*NAMES, "log-7"))
    one.fetches(THREE)
    one.gets(NAMES)
    one.fetches(THREE[1:])
    one.gets(("web-0",))
    one.fetches(THREE)


def test_epochs_go_round(session: Open) -> None:
    """after the highest epoch comes epoch 1, because 0 means a full fetch"""
    one = session(3)
    for number in range(9):
        one.fetches(THREE)
        one.gets(() if number else NAMES)


def test_any(session: Open, seed: int) -> None:
    """random sessions with many fetches"""
    random = Random(seed)
    for _ in range(4):
        one = session(random.choice((2, 5, 1_000)))
        offsets = {f"log-{number}": 0 for number in range(random.randint(1, 8))}
        for step in range(40):
            for name in random.sample(sorted(offsets), random.randint(0, len(offsets) // 2)):
                offsets[name] += random.choice((0, 1, 7))
            if random.random() < 0.2:
                offsets.pop(random.choice(sorted(offsets)), None)
            if random.random() < 0.25 or not offsets:
                offsets[f"log-{random.randrange(9)}"] = step
            one.fetches(tuple(offsets.items()))
            chance = random.random()
            names = list(offsets)
            if chance < 0.05:
                one.loses_connection()
            elif chance < 0.15:
                error_code = random.choice((SESSION_ID_NOT_FOUND, INVALID_SESSION_EPOCH, 42))
                one.gets((), session_id=0, error_code=error_code)
            elif chance < 0.25:
                one.gets(random.sample(names, len(names) // 2), session_id=step + 1)
            else:
                one.gets(names, session_id=random.choice((0, 4711, 4711, 4711)))
