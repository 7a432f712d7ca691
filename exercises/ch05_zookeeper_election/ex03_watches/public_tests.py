"""Public tests of exercise 05-3. `kafka-edu lab check 05-3` runs them. The learner's class runs in
another process, and the fixture `learner` sends each call to it.
"""

from collections.abc import Sequence
from random import Random

import pytest

from kafka_edu.learner.learner import Learner

from ...runner.mismatch import Mismatch
from ..watch_rules import READS, WRITES, RightZooKeeper

WHY = (
    "the notifications come first, by the columns of the table from the left, in each in the order"
    " in which the watches were set; then the answer. A watch fires once"
)
PATHS = ("/a", "/b", "/a/x", "/a/y")


class Compared:
    """A ZooKeeper of the learner's class. Each of its answers is compared with the right answer."""

    def __init__(self, learner: Learner) -> None:
        self._made = learner.make()
        self._right = RightZooKeeper()
        self._calls: list[str] = []

    def ask(self, client: int, verb: str, path: str, *, watch: bool = False) -> None:
        """Send one request, and compare the messages that it causes with the right messages. Raises
        Mismatch.
        """
        expected = self._right.request(client, verb, path, watch)
        came = self._made.call("request", client, verb, path, watch)
        call = f"request({client}, {verb!r}, {path!r}, {watch})"
        self._calls.append(call)
        if came != expected:
            raise Mismatch(
                f"{call}, after the calls below",
                expected,
                came,
                WHY,
                drawing=tuple(self._calls[-9:]),
                read=f"what {verb} does, and the method that fires",
            )

    def closed(self, client: int) -> None:
        """Close the connection of a client."""
        self._right.closed(client)
        self._made.call("closed", client)
        self._calls.append(f"closed({client})")

    def tree(self, *paths: str) -> None:
        """Create these znodes, as client 9."""
        for path in paths:
            self.ask(9, "create", path)


@pytest.fixture
def zookeeper(learner: Learner) -> Compared:
    """A ZooKeeper of the learner's class that has only the znode /."""
    return Compared(learner)


def test_example(zookeeper: Compared) -> None:
    """the example of README.md"""
    zookeeper.ask(1, "exists", "/controller", watch=True)
    zookeeper.ask(2, "children", "/", watch=True)
    zookeeper.ask(3, "create", "/controller")
    zookeeper.ask(3, "delete", "/controller")


def test_errors(zookeeper: Compared) -> None:
    """a refused request changes nothing and fires no watch"""
    zookeeper.tree("/a", "/a/x")
    zookeeper.ask(1, "get", "/a", watch=True)
    zookeeper.ask(1, "children", "/a", watch=True)
    for verb, path in (
        ("create", "/a"),
        ("create", "/b/x"),
        ("set", "/b"),
        ("delete", "/b"),
        ("delete", "/a"),
        ("get", "/b"),
        ("children", "/b"),
        ("exists", "/b"),
    ):
        zookeeper.ask(2, verb, path)
    zookeeper.ask(2, "set", "/a")


@pytest.mark.parametrize("verb", READS)
def test_once(zookeeper: Compared, verb: str) -> None:
    """a watch fires only once, even if the client has set it twice"""
    zookeeper.tree("/a")
    for _ in range(2):
        zookeeper.ask(1, verb, "/a", watch=True)
    for _ in range(2):
        zookeeper.ask(2, "set", "/a")
    zookeeper.ask(2, "create", "/a/x")
    zookeeper.ask(2, "create", "/a/y")


@pytest.mark.parametrize("verb", READS)
def test_missing(zookeeper: Compared, verb: str) -> None:
    """a znode does not exist: only `exists` sets a watch on it"""
    zookeeper.ask(1, verb, "/a", watch=True)
    zookeeper.ask(2, "create", "/a")
    zookeeper.ask(2, "set", "/a")


def test_without_watch(zookeeper: Compared) -> None:
    """a client that reads without a watch gets no notification"""
    zookeeper.tree("/a")
    for verb in READS:
        zookeeper.ask(1, verb, "/a")
    zookeeper.ask(2, "set", "/a")
    zookeeper.ask(2, "delete", "/a")


def test_order(zookeeper: Compared) -> None:
    """notifications come in the order of the watches, data watches before child watches"""
    zookeeper.tree("/a")
    for client, verb in ((3, "children"), (1, "get"), (2, "exists"), (4, "children")):
        zookeeper.ask(client, verb, "/a", watch=True)
    zookeeper.ask(5, "children", "/", watch=True)
    zookeeper.ask(1, "delete", "/a")


def test_deleted_once(zookeeper: Compared) -> None:
    """a deletion notifies each client once, even one with two watches; both are gone then"""
    zookeeper.tree("/a")
    zookeeper.ask(1, "children", "/a", watch=True)
    zookeeper.ask(1, "get", "/a", watch=True)
    zookeeper.ask(2, "delete", "/a")
    zookeeper.tree("/a", "/a/x")


def test_closed(zookeeper: Compared) -> None:
    """a client that has closed its connection gets nothing, and the other clients get theirs"""
    zookeeper.tree("/a")
    for client in (1, 2):
        zookeeper.ask(client, "get", "/a", watch=True)
        zookeeper.ask(client, "children", "/", watch=True)
    zookeeper.closed(1)
    zookeeper.ask(3, "set", "/a")
    zookeeper.ask(3, "create", "/b")


def test_your_own_watch(zookeeper: Compared) -> None:
    """a client that changes a znode it watches gets its notification before its answer"""
    zookeeper.ask(1, "exists", "/a", watch=True)
    zookeeper.ask(1, "create", "/a")


def test_many(zookeeper: Compared, seed: int) -> None:
    """hundreds of random requests"""
    play(zookeeper, Random(seed), clients=range(1, 5), requests=160)


def play(
    zookeeper: Compared,
    random: Random,
    *,
    clients: Sequence[int],
    requests: int,
    paths: Sequence[str] = PATHS,
) -> None:
    """Make this number of random requests, by these clients on these paths."""
    for _ in range(requests):
        client, path = random.choice(clients), random.choice(paths)
        if random.random() < 0.6:
            zookeeper.ask(client, random.choice(READS), path, watch=random.random() < 0.8)
        else:
            zookeeper.ask(client, random.choice(WRITES), path)
