"""Public tests of exercise 04-3. `kafka-edu lab check 04-3` runs them. The learner's class runs in
another process, and the fixture `learner` sends each call to it.
"""

from collections.abc import Sequence
from random import Random
from typing import Final

from kafka_edu.learner.learner import Learner

from ...runner.mismatch import Mismatch
from ..reassignment_rules import RightReassignment

ALL: Final = (0, 1, 2, 3)
WHY: Final = {
    "done": "no replica is added or removed: the reassignment is over",
    "wait": "some target replicas are not in the ISR yet; no replica leaves before all of them are",
    "elect": "the leader has to go, or is dead: the first of the target that lives and is in the"
    " ISR takes over before anything else",
    "leave_isr": "a replica that goes leaves the ISR before it stops: else produces wait for it",
    "stop": "a leaving replica on a live broker must stop, and its broker must have confirmed it",
    "write": "all steps are done: write the target as the assignment, and wait for no dead broker",
}


class Checked:
    """A reassignment of the learner's class. Each of its answers is compared with the right
    answer.
    """

    def __init__(self, learner: Learner, *replicas: int) -> None:
        self.made = learner.make(list(replicas))
        self.right = RightReassignment(replicas)
        self.orders = [f"replicas {replicas}"]

    def order(self, *target: int) -> None:
        self.right.order(target)
        self.made.call("order", list(target))
        self.orders.append(f"order {target}")
        self._sets()

    def cancel(self) -> None:
        self.right.order(None)
        self.made.call("order", None)
        self.orders.append("cancel")
        self._sets()

    def _sets(self) -> None:
        expected, came = self.right.sets(), self.made.call("sets")
        if came != expected:
            raise Mismatch(
                "sets()",
                expected,
                came,
                "replicas: the target, then the brokers that are only in the origin; adding: the"
                " brokers that are only in the target; removing: the brokers that are only in"
                " the origin. The origin is the list before the first order, in the order of the"
                " present replicas",
                drawing=tuple(self.orders),
                read="order",
            )

    def next(
        self,
        leader: int,
        isr: Sequence[int],
        live: Sequence[int] = ALL,
        stopped: Sequence[int] = (),
    ) -> str:
        """Call `next`, and return the right step. Raises Mismatch if the learner's answer is
        wrong.
        """
        now = self.right.assignment
        step, brokers = self.right.next(leader, isr, live, stopped)
        came = self.made.call("next", leader, list(isr), list(live), list(stopped))
        if came != (step, brokers):
            raise Mismatch(
                f"next({leader}, {list(isr)}, {list(live)}, {list(stopped)})",
                (step, brokers),
                came,
                WHY[step],
                drawing=(
                    f"target {now.target_replicas}",
                    f"adding {now.adding_replicas}",
                    f"removing {now.removing_replicas}",
                ),
                read="next",
            )
        return step


def test_example(learner: Learner) -> None:
    """the example of README.md"""
    one = Checked(learner, 0, 1)
    one.order(1, 2)
    one.next(0, (0, 1))
    one.next(0, (0, 1, 2))
    one.next(1, (0, 1, 2))
    one.next(1, (1, 2))
    one.next(1, (1, 2), stopped=(0,))
    one.next(1, (1, 2), stopped=(0,))


def test_at_rest(learner: Learner) -> None:
    """a partition that does not move, and a move to the brokers that it is already on"""
    one = Checked(learner, 0, 1)
    one.next(0, (0,))
    one.cancel()
    one.order(1, 0)
    one.next(0, (0, 1))


def test_other_brokers(learner: Learner) -> None:
    """a move to brokers that are all new"""
    one = Checked(learner, 0, 1)
    one.order(2, 3)
    for isr in ((0, 1), (0, 1, 3), (2, 0, 1)):
        one.next(0, isr)
    one.next(0, (0, 1, 2, 3))
    one.next(2, (0, 1, 2, 3))
    one.next(2, (2, 3, 1))
    one.next(2, (2, 3))
    one.next(2, (2, 3), stopped=(1,))
    one.next(2, (2, 3), stopped=(0, 1))


def test_leader_stays(learner: Learner) -> None:
    """the leader belongs to the target, so it stays the leader"""
    one = Checked(learner, 0, 1, 2)
    one.order(3, 0)
    one.next(0, (0, 1, 2, 3))
    one.next(0, (0, 3))


def test_leader_died(learner: Learner) -> None:
    """the leader belongs to the target, but its broker is dead"""
    one = Checked(learner, 0, 1)
    one.order(0, 2)
    one.next(0, (0, 1, 2), live=(1, 2, 3))
    one.next(-1, (0, 1, 2), live=(1, 2, 3))
    one.next(1, (0, 2), live=(1, 3))


def test_dead_broker_stops_nothing(learner: Learner) -> None:
    """a replica has to be removed and its broker is dead: the move does not wait for its answer"""
    one = Checked(learner, 0, 1, 2)
    one.order(3, 2)
    one.next(3, (2, 3), live=(1, 2, 3))
    one.next(3, (2, 3), live=(2, 3))


def test_new_order(learner: Learner) -> None:
    """a new order during a move starts from the replicas before that move"""
    one = Checked(learner, 1, 2, 3)
    one.order(3, 4, 5)
    one.order(1, 2, 6)
    one.next(1, (1, 2, 3), live=range(7))
    one.order(3, 4)
    one.next(1, (1, 2, 3, 4), live=range(7))


def test_cancelled(learner: Learner) -> None:
    """a move is cancelled, once in the middle and once at its end"""
    one = Checked(learner, 1, 2, 3)
    one.order(3, 4, 5)
    one.cancel()
    one.next(1, (1, 2, 3))
    one.order(3, 2)
    one.next(3, (3, 2), stopped=(1,))
    one.cancel()
    one.next(3, (3, 2), stopped=(1,))


def test_random(learner: Learner, seed: int) -> None:
    """a hundred random orders, cancellations and calls of `next`"""
    random = Random(f"moves/{seed}")
    one = Checked(learner, *random.sample(range(6), 3))
    for _ in range(100):
        something(one, random)


def something(one: Checked, random: Random) -> None:
    """Do one random action: order a move, cancel a move, or call `next`, mostly with arguments from
    late in a move.
    """
    chance = random.random()
    if chance < 0.15:
        one.order(*random.sample(range(6), random.randint(1, 4)))
    elif chance < 0.2:
        one.cancel()
    else:
        now = one.right.assignment
        isr = [b for b in now.replicas if b in now.target_replicas or random.random() < 0.3]
        if random.random() < 0.2:
            isr = random.sample(now.replicas, random.randint(0, len(now.replicas)))
        live = [broker for broker in range(6) if random.random() < 0.8]
        stopped = [broker for broker in now.removing_replicas if random.random() < 0.6]
        leader = random.choice((-1, *now.replicas, *now.target_replicas))
        one.next(leader, random.sample(isr, len(isr)), live, stopped)
