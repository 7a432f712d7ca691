"""Public tests of exercise 05-1. `kafka-edu lab check 05-1` runs them. The learner's class runs in
another process, and the fixture `learner` sends each call to it.
"""

from random import Random

import pytest

from kafka_edu.learner.learner import Learner

from ...runner.mismatch import Mismatch
from ..election_rules import Came, ElectionWorld, Operation, RightCandidate

WHY = {
    "look": "a broker that does not know the controller reads the znode, which sets the watch",
    "wait": "there is a controller, you or another broker: do nothing before an event comes",
    "resign": "you lead, but the znode is not yours any more: resign first",
    "read_epoch": "to run or to delete, you need the version that the epoch has now",
    "create_epoch": "the first controller ever has to make the znode of the epoch",
    "run": "there is no controller: run with the next epoch, and the version that you have read",
    "delete": "the znode is yours and you do not lead: delete it, so that a broker can run",
    "lead": "you have created the znode and set the epoch: you lead that epoch",
}


class Compared:
    """A candidate of the learner's class. Each of its answers is compared with the right answer."""

    def __init__(self, learner: Learner, broker: int) -> None:
        self._made = learner.make(broker)
        self._right = RightCandidate(broker)
        self._broker = broker
        self._story: list[str] = []

    def next(self, came: Came) -> Operation:
        """Call `next`. Compare the answer, and the controller and epoch that the candidate then
        knows. Raises Mismatch.
        """
        expected = self._right.next(came)
        answer = self._made.call("next", came)
        self._story.append(f"{came} → {expected}")
        if answer != expected:
            raise Mismatch(
                f"next({came}) of broker {self._broker}, after the story below",
                expected,
                answer,
                WHY[str(expected[0])],
                drawing=tuple(self._story[-8:]),
                read="the line of the table for this result",
            )
        for name, knows in (
            ("controller", self._right.controller()),
            ("epoch", self._right.epoch()),
        ):
            said = self._made.call(name)
            if said != knows or isinstance(said, bool):
                raise Mismatch(
                    f"{name}() of broker {self._broker}, after the story below",
                    knows,
                    said,
                    "controller() is what was last read or won, and epoch() is 0 unless you lead",
                    drawing=tuple(self._story[-8:]),
                    read=name,
                )
        return expected

    def story(self, *came: Came) -> None:
        """Give the candidate these events and results in order, and compare each answer."""
        for each in came:
            self.next(each)


@pytest.fixture
def alone(learner: Learner) -> Compared:
    """A candidate with broker id 1. The test itself gives it each event and result."""
    return Compared(learner, 1)


def world(learner: Learner, brokers: int) -> ElectionWorld:
    """Return a ZooKeeper, and brokers that try to become the controller with the learner's code."""
    return ElectionWorld([lambda broker: Compared(learner, broker)] * brokers)


START: tuple[Came, ...] = (
    ("start",),
    ("office", None, False),
    ("epoch", None, None),
    ("created",),
    ("epoch", 0, 0),
    ("won",),
)


def test_example(alone: Compared) -> None:
    """the example of README.md"""
    alone.story(*START)


def test_somebody_is_in_office(alone: Compared) -> None:
    """a broker starts when there is a controller: it waits, and looks again when the watch fires"""
    alone.story(("start",), ("office", 2, False), ("fired",), ("office", 0, False))


def test_others_are_faster(alone: Compared) -> None:
    """other brokers are faster: with the epoch's znode, with /controller, and with the version"""
    alone.story(("start",), ("office", None, False), ("epoch", None, None), ("node_exists",))
    alone.story(("epoch", 0, 0), ("node_exists",), ("office", None, False), ("epoch", 4, 7))
    alone.story(("bad_version",), ("office", 2, False))


def test_it_is_deleted(alone: Compared) -> None:
    """the controller finds that /controller is gone: it resigns, and runs again"""
    alone.story(*START, ("fired",), ("office", None, False), ("resigned",))
    alone.story(("epoch", 1, 1), ("won",), ("fired",), ("office", 1, True))


def test_another_won_meanwhile(alone: Compared) -> None:
    """the controller finds another broker in /controller: it resigns, and waits"""
    alone.story(*START, ("fired",), ("office", 2, False), ("resigned",))


def test_session_lost(alone: Compared) -> None:
    """after the loss of its session a controller resigns and looks; any other broker looks"""
    alone.story(*START, ("session_lost",), ("resigned",), ("office", 0, False))
    alone.story(("session_lost",), ("office", 1, False))


def test_another_id_is_written(alone: Compared) -> None:
    """/controller belongs to the controller, but has a different id: it resigns and deletes it"""
    alone.story(*START, ("fired",), ("office", 2, True), ("resigned",))
    alone.story(("epoch", 1, 1), ("deleted",), ("office", None, False))


def test_your_own_id_is_not_enough(alone: Compared) -> None:
    """/controller has the broker's own id, but this broker did not create it"""
    alone.story(("start",), ("office", 1, False), ("fired",), ("office", 1, False))


def test_three_brokers_start(learner: Learner, seed: int) -> None:
    """three brokers run for controller at a ZooKeeper, in random orders"""
    random = Random(seed)
    for _ in range(6):
        world(learner, 3).settle(random)


def test_deleted_by_hand(learner: Learner, seed: int) -> None:
    """/controller is deleted again and again, and sessions expire"""
    random = Random(f"deleted/{seed}")
    three = world(learner, 3)
    for _ in range(8):
        three.settle(random)
        if random.random() < 0.5:
            three.delete_by_hand()
        else:
            three.expire(random.choice(three.runners))
    three.settle(random)
