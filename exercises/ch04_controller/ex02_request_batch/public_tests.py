"""Public tests of exercise 04-2. `kafka-edu lab check 04-2` runs them. The learner's class runs in
another process, and the fixture `learner` sends each call to it.
"""

from collections.abc import Sequence
from random import Random

from kafka_edu.learner.learner import Learner

from ...runner.mismatch import Mismatch
from ..batch_rules import KINDS, RightBatch

FORM = "send returns a list of (broker, kind, rows); the rows are a list of tuples"


class Checked:
    """A request batch that the learner's code has made. Its requests are compared with those of
    `RightBatch`.
    """

    def __init__(self, learner: Learner, *live: int) -> None:
        self.made = learner.make(list(live))
        self.live = live
        self.right = RightBatch(live)
        self.noted: list[str] = []

    def elected(self, name: str, leader: int, epoch: int, *replicas: int) -> None:
        self.right.elected(name, leader, epoch, replicas)
        self.made.call("elected", name, leader, epoch, list(replicas))
        self.noted.append(f"elected: {name}, leader {leader}, epoch {epoch}, replicas {replicas}")

    def stop(self, name: str, broker: int, delete: bool) -> None:
        self.right.stop(name, broker, delete)
        self.made.call("stop", name, broker, delete)
        self.noted.append(f"stop: {name} on broker {broker}, delete {delete}")

    def members_changed(self) -> None:
        self.right.members_changed()
        self.made.call("members_changed")
        self.noted.append("members_changed")

    def send(self) -> None:
        """Call `send`, and compare its requests with the right requests. Raises Mismatch if they
        differ.
        """
        expected, came = self.right.send(), self.made.call("send")
        noted, self.noted = self.noted, []
        if came == expected:
            return
        raise Mismatch(
            f"send(), where the brokers {self.live} live",
            expected,
            came,
            _why(self.live, expected, came),
            drawing=tuple(noted),
            read="send",
        )


def _why(live: Sequence[int], expected: tuple[object, ...], came: object) -> str:
    if not isinstance(came, tuple) or not all(
        isinstance(each, tuple) and len(each) == 3 for each in came
    ):
        return FORM
    dead = {each[0] for each in came} - {*live}
    if dead:
        return f"broker {min(dead, key=str)} does not live: it gets nothing"
    kinds = [each[1] for each in came if each[1] in KINDS]
    if kinds != sorted(kinds, key=KINDS.index):
        return "all LeaderAndIsr leave first, then all UpdateMetadata, then all StopReplica"
    for kind in KINDS:
        mine = tuple(each for each in came if each[1] == kind)
        right = tuple(each for each in expected if isinstance(each, tuple) and each[1] == kind)
        if mine != right:
            return (
                f"the {kind} requests differ: {right} is right. Each broker gets one request of"
                " each kind, with its rows in the order of their names; the last note counts"
            )
    return FORM


THREE = (0, 1, 2)


def test_example(learner: Learner) -> None:
    """the example of README.md"""
    batch = Checked(learner, *THREE)
    batch.elected("web-0", 1, 5, 1, 3)
    batch.stop("web-0", 2, False)
    batch.send()
    batch.send()


def test_who_gets_what(learner: Learner) -> None:
    """LeaderAndIsr goes to the brokers with a replica, UpdateMetadata to all live brokers"""
    batch = Checked(learner, *THREE)
    batch.elected("web-0", 0, 1, 0, 1)
    batch.send()
    batch.elected("web-1", 2, 1, 2)
    batch.send()


def test_one_request_of_a_kind(learner: Learner) -> None:
    """many partitions fit into few requests, and the rows are sorted"""
    batch = Checked(learner, *THREE)
    for number in (3, 1, 0, 2):
        batch.elected(f"web-{number}", number % 3, number, number % 3, (number + 1) % 3)
    batch.send()


def test_dead_brokers(learner: Learner) -> None:
    """a dead broker gets no request"""
    batch = Checked(learner, 0, 2)
    batch.elected("web-0", 0, 4, 1, 0, 2)
    batch.elected("pay-0", -1, 2, 1)
    batch.stop("log-0", 1, True)
    batch.send()


def test_members(learner: Learner) -> None:
    """a broker has come: every broker gets an UpdateMetadata, though no partition changed"""
    batch = Checked(learner, *THREE)
    batch.members_changed()
    batch.send()
    batch.send()
    batch.members_changed()
    batch.elected("web-0", 1, 5, 1)
    batch.send()


def test_noted_twice(learner: Learner) -> None:
    """two notes about the same partition: only the last one is sent"""
    batch = Checked(learner, *THREE)
    batch.elected("web-0", 0, 5, 0, 1)
    batch.elected("web-0", 1, 6, 1, 0)
    batch.send()
    batch.elected("web-0", 1, 6, 0, 1)
    batch.elected("web-0", 2, 7, 2, 1)
    batch.send()


def test_stop(learner: Learner) -> None:
    """StopReplica alone; a replica that was once noted with delete=True stays a deletion"""
    batch = Checked(learner, *THREE)
    batch.stop("web-1", 2, False)
    batch.stop("web-0", 2, True)
    batch.stop("web-0", 1, False)
    batch.send()
    batch.stop("web-0", 2, True)
    batch.stop("web-0", 2, False)
    batch.send()
    batch.stop("web-0", 2, False)
    batch.send()


def test_ids(learner: Learner) -> None:
    """broker ids come in any order, and the requests are sorted by broker id"""
    batch = Checked(learner, 11, 2, 7)
    batch.elected("web-0", 7, 1, 11, 7, 2)
    batch.stop("pay-0", 11, False)
    batch.stop("pay-0", 2, True)
    batch.send()


def test_random(learner: Learner, seed: int) -> None:
    """twenty random batches"""
    random = Random(f"batch/{seed}")
    batch = Checked(learner, *random.sample(range(6), random.randint(1, 4)))
    for _ in range(20):
        for _ in range(random.randint(0, 6)):
            something(batch, random)
        batch.send()


def something(batch: Checked, random: Random) -> None:
    """Add one random note to the batch."""
    name = f"{random.choice(('web', 'pay'))}-{random.randint(0, 2)}"
    match random.randint(0, 5):
        case 0:
            batch.members_changed()
        case 1 | 2:
            batch.stop(name, random.randint(0, 5), random.random() < 0.5)
        case _:
            replicas = random.sample(range(6), random.randint(1, 3))
            batch.elected(name, replicas[0], random.randint(0, 9), *replicas)
