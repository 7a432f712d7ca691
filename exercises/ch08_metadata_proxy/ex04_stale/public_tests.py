"""Public tests of exercise 08-4. `kafka-edu lab check 08-4` runs them. The learner's class runs in
another process, and the fixture `learner` sends each call to it.
"""

from random import Random

from kafka_edu.clients.proxy.coordinators import Coordinators
from kafka_edu.learner.learner import Learner, LearnerObject

from ...runner.diagnosis import two_numbers, wrong_numbers
from ...runner.mismatch import Mismatch
from ..stale_world import GROUPS, NOBODY, StaleWorld
from .material import Run, run

WANTED = "(number of the wrong answer, number of the copy)"


class World(StaleWorld):
    """A cluster, and a proxy with the learner's code. Each answer of the proxy is checked."""

    def __init__(self, learner: Learner) -> None:
        self._made: LearnerObject = learner.make()
        super().__init__(self._ask_learner)

    def _ask_learner(self, group: str, leaders: object, brokers: object) -> int:
        came = self._made.call("find", group, leaders, brokers)
        if isinstance(came, int) and not isinstance(came, bool):
            return came
        raise Mismatch(
            f"find({group!r}, {leaders}, {brokers})", NOBODY, came, "the number of a broker, or -1"
        )

    def run(self, random: Random, turns: int) -> None:
        """Do this number of random steps, and check each answer. Raises Mismatch."""
        for _ in range(turns):
            self.go_on(random)
            self.look()

    def look(self) -> None:
        """Check the last answer of the proxy. Raises Mismatch if it is wrong."""
        last = self.events[-1]
        if last.answer == last.right:
            return
        if last.answer == NOBODY:
            why = f"broker {last.right} leads its partition, and lives"
        elif last.right == NOBODY:
            why = "the leader of its partition does not live"
        elif last.answer not in self.brokers:
            why = f"broker {last.answer} does not live"
        else:
            why = f"broker {last.answer} lives, but does not lead its partition any more"
        first = max(0, len(self.events) - 10)
        raise Mismatch(
            f"find({last.group!r}, {self.leaders}, {self.brokers})",
            last.right,
            last.answer,
            why,
            drawing=tuple(
                f"{number:>3}  {one.text}"
                for number, one in enumerate(self.events[first:], first + 1)
            ),
            read="find",
        )


def test_diagnosis(learner: Learner, material: int) -> None:
    """diagnosis names the first wrong answer, and the copy that made this answer stale"""
    made = run(material)
    answer, copy = came = two_numbers(learner, WANTED, ())
    if answer != made.wrong:
        raise wrong_numbers(WANTED, came, _why_not_answer(made, answer))
    if copy != made.copy:
        raise wrong_numbers(WANTED, came, _why_not_copy(made, copy))


def _why_not_answer(made: Run, answer: int) -> str:
    if not 1 <= answer <= len(made.events):
        return f"events.txt has the events 1 to {len(made.events)}"
    event = made.events[answer - 1]
    if not event.group:
        return f"event {answer} is a copy, not an answer"
    if event.answer == event.right:
        return f"answer {answer} is right: that broker leads the partition in the copy before it"
    return f"answer {answer} is wrong, but not the first that is"


def _why_not_copy(made: Run, copy: int) -> str:
    if not 1 <= copy <= len(made.events) or made.events[copy - 1].group:
        return f"event {copy} is not a copy"
    group = made.events[made.wrong - 1].group
    return f"not with copy {copy} did the partition of {group} get its present leader"


def ask_all(world: World) -> None:
    """Ask for the coordinator of each group, and check the answers. Raises Mismatch."""
    for group in GROUPS:
        world.ask(group)
        world.look()


def test_a_leader_dies(learner: Learner) -> None:
    """a broker dies, and other brokers become the coordinators of its groups"""
    world = World(learner)
    ask_all(world)
    world._dies(1)
    ask_all(world)


def test_a_leader_moves(learner: Learner) -> None:
    """a broker dies, comes back, and leads its partitions again"""
    world = World(learner)
    ask_all(world)
    world._dies(1)
    ask_all(world)
    world.brokers = [0, 1, 2]
    world._prefer()
    ask_all(world)


def check(made: LearnerObject, group: str, leaders: list[int], brokers: list[int]) -> None:
    """Compare the coordinator of one group with the right coordinator. Raises Mismatch."""
    expected = Coordinators().find(group, leaders, brokers)
    came = made.call("find", group, leaders, brokers)
    if came == expected:
        return
    why = "the leader of its partition, if it lives; else -1"
    if not leaders:
        why = "the copy has no __consumer_offsets: nobody coordinates"
    elif expected == NOBODY and came in brokers:
        why = f"broker {came} lives, but it does not lead that partition"
    elif expected == NOBODY:
        why = "the leader of its partition does not live"
    raise Mismatch(f"find({group!r}, {leaders}, {brokers})", expected, came, why, read="find")


def test_nobody(learner: Learner) -> None:
    """the partition has no leader, or a dead leader, or the copy has no __consumer_offsets"""
    made = learner.make()
    check(made, "shop", [0] * 6, [0, 1])
    check(made, "shop", [-1] * 6, [0, 1])
    check(made, "shop", [2] * 6, [0, 1])
    check(made, "shop", [], [0, 1])
    check(made, "shop", [1] * 6, [0, 1])


def test_more_partitions(learner: Learner) -> None:
    """the topic is created again with a different number of partitions"""
    made = learner.make()
    for leaders in ([0, 1, 2], [2, 1, 0, 1, 0], [1], list(range(50))):
        for group in GROUPS:
            check(made, group, leaders, list(range(50)))


def test_any_order(learner: Learner, seed: int) -> None:
    """sixty clusters, each with random events"""
    random = Random(f"any/{seed}")
    for _ in range(60):
        World(learner).run(random, 40)
