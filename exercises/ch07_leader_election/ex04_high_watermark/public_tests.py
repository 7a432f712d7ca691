"""Public tests of exercise 07-4. `kafka-edu lab check 07-4` runs them. The learner's class runs in
another process, and the fixture `learner` sends each call to it.
"""

from random import Random

from kafka_edu.learner.learner import Learner

from ...runner.diagnosis import two_numbers, wrong_numbers
from ..two_brokers import BadAnswerError, Epochs, TwoBrokers
from ..two_brokers_mismatch import refusal
from .material import Run, joins, run

WANTED = "(number of the record, number of the event that cut it off)"


class Asked:
    """A follower with the learner's code, as the simulated world calls it."""

    def __init__(self, learner: Learner) -> None:
        self._made = learner.make()

    def follow(self, epochs: Epochs, leo: int, hw: int) -> object:
        """Return the follower's first operation: ("cut", offset) or ("ask", epoch)."""
        return self._made.call("follow", epochs, leo, hw)

    def answer(self, epoch: int, end: int) -> object:
        """Return the follower's operation after the leader's answer."""
        return self._made.call("answer", epoch, end)


class World:
    """Two brokers with the learner's code. After each step, acknowledged records are checked."""

    def __init__(self, learner: Learner) -> None:
        self.world = TwoBrokers(lambda: Asked(learner), joins)

    def run(self, random: Random, turns: int) -> None:
        """Do this number of random steps, and then let both brokers catch up. Raises Mismatch."""
        try:
            for _ in range(turns):
                self.world.go_on(random)
                self.look()
            self.world.settle()
        except BadAnswerError as error:
            raise refusal(self.world, "cut or ask", f"{error}", "README.md has a table") from None
        self.look()
        self.compare()

    def look(self) -> None:
        """Check that the leader has all acknowledged records. Raises Mismatch if one is missing."""
        missing = self.world.missing()
        if missing:
            raise refusal(
                self.world,
                f"record {missing[0]} is in the leader's log",
                "it is gone",
                "it was acknowledged, so both brokers had it, and one has cut it off",
            )

    def compare(self) -> None:
        """Check that the logs of both brokers have the same records. Raises Mismatch."""
        offset = self.world.differ_at()
        if offset is not None:
            one, other = (replica.log[offset].record for replica in self.world.replicas)
            raise refusal(
                self.world,
                "both logs have the same records",
                f"at offset {offset} they have record {one} and record {other}",
                "the follower has kept something that the leader never had",
            )


def test_diagnosis(learner: Learner, material: int) -> None:
    """diagnosis names the record that is lost, and the event that first cut it off"""
    made = run(material)
    record, event = came = two_numbers(learner, WANTED, ())
    if record != made.lost:
        raise wrong_numbers(WANTED, came, _why_not_record(made, record))
    if event != made.cut:
        raise wrong_numbers(WANTED, came, _why_not_event(made, event))


def _why_not_record(made: Run, record: int) -> str:
    if record not in made.acked:
        return f"record {record} was never acknowledged: it may be lost"
    return f"record {record} is there at the end"


def _why_not_event(made: Run, event: int) -> str:
    if not 1 <= event <= len(made.events):
        return f"events.txt has the events 1 to {len(made.events)}"
    cut = made.events[event - 1].cut
    if not cut:
        return f"event {event} cuts off nothing: {made.events[event - 1].text}"
    if made.lost in cut:
        return f"event {event} cuts it off too, but not first"
    return f"event {event} does not cut off record {made.lost}"


def test_the_case_of_kip_101(learner: Learner) -> None:
    """the follower restarts, the leader dies, the follower leads, and the old leader comes back"""
    world = World(learner)
    one = world.world
    one.produce()
    for _ in range(3):
        one.fetch()
    one.produce()
    one.fetch()
    one.fetch()
    one.produce()
    one.fetch()
    one.restart_follower()
    one.kill(0)
    world.look()
    one.produce()
    one.come_back(0)
    one.settle()
    world.look()
    world.compare()


def test_what_was_never_acknowledged_goes(learner: Learner) -> None:
    """the leader writes and dies; the other broker leads, and the old leader comes back"""
    world = World(learner)
    one = world.world
    one.produce()
    for _ in range(2):
        one.fetch()
    one.produce()
    one.produce()
    one.kill(0)
    one.produce()
    one.come_back(0)
    one.settle()
    world.look()
    world.compare()


def test_empty_logs(learner: Learner) -> None:
    """two brokers whose logs have no record"""
    world = World(learner)
    world.world.restart_follower()
    world.world.kill(0)
    world.world.come_back(0)
    world.world.settle()
    world.compare()


def test_any_order(learner: Learner, seed: int) -> None:
    """forty partitions, each with random steps"""
    random = Random(f"any/{seed}")
    for _ in range(40):
        World(learner).run(random, 40)
