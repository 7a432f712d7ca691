"""Public tests of exercise 01-6. Run them by `kafka-edu lab check 01-6`: the learner's class lives
in another process, and `learner` asks it.
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
    """The learner's session next to the right one."""

    def __init__(self, learner: Learner, max_epoch: int) -> None:
        self._made = learner.make(max_epoch)
        self._course = Course(max_epoch)

    def fetches(self, wanted: Sequence[Row]) -> None:
        """Raise Mismatch unless the next fetch says what it should."""
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
                reason = "four things are asked for: session id, epoch, rows, partitions"
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
        """Raise Mismatch unless the response is taken as it should be."""
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
        """The connection ends before the response comes."""
        self._course.on_disconnect()
        self._made.call("on_disconnect")


Open = Callable[..., Checked]


@pytest.fixture
def session(learner: Learner) -> Open:
    """A session of the learner's: session(max_epoch)."""
    return lambda max_epoch=2**31 - 1: Checked(learner, max_epoch)


def test_full(session: Open) -> None:
    """the first fetch is full, and names all partitions"""
    session().fetches(THREE)


def test_nothing_has_changed(session: Open) -> None:
    """in a session, a fetch names nothing when nothing has changed"""
    one = session()
    one.fetches(THREE)
    one.gets(NAMES)
    for _ in range(3):
        one.fetches(THREE)
        one.gets(())


def test_moved(session: Open) -> None:
    """a partition whose offset has moved is named, and so is a new one"""
    one = session()
    one.fetches(THREE)
    one.gets(NAMES)
    moved = (("web-0", 5), ("web-1", 12), ("web-2", 0), ("web-3", 0))
    one.fetches(moved)
    one.gets(("web-1",))
    one.fetches(moved)


def test_order(session: Open) -> None:
    """the rows are in the order of wanted, which need not be that of the names"""
    one = session()
    one.fetches(THREE[::-1])
    one.gets(NAMES)
    one.fetches((("web-2", 3), ("web-0", 8), ("web-1", 9)))


def test_there_and_back(session: Open) -> None:
    """what counts is the broker's list, not how often something has changed"""
    one = session()
    one.fetches(THREE)
    one.gets(NAMES)
    one.fetches((("web-0", 6), *THREE[1:]))
    one.gets(("web-0",))
    one.fetches(THREE)
    one.gets(())
    one.fetches(THREE)


def test_forgotten(session: Open) -> None:
    """a partition that is not wanted any more is forgotten, once"""
    one = session()
    one.fetches(THREE)
    one.gets(NAMES)
    for wanted in (THREE[1:2], THREE[1:2], THREE):
        one.fetches(wanted)
        one.gets(())


def test_no_session(session: Open) -> None:
    """a broker without room for a session answers 0, and the next fetch is full"""
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
    """error 70: the broker does not know the session, so it begins again"""
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
    """a lost connection: what the broker knows is not certain any more"""
    one = session()
    one.loses_connection()
    one.fetches(THREE)
    one.gets(NAMES)
    one.fetches((("web-0", 6), *THREE[1:]))
    one.loses_connection()
    one.fetches((("web-0", 6), *THREE[1:]))


def test_strange_partitions(session: Open) -> None:
    """a response that does not fit its fetch is not used"""
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
    """after the highest epoch comes 1, because 0 means full"""
    one = session(3)
    for number in range(9):
        one.fetches(THREE)
        one.gets(() if number else NAMES)


def test_any(session: Open, seed: int) -> None:
    """long lives of sessions, as the seed chooses"""
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
