"""Hidden tests of exercise 05-3: only `kafka-edu lab grade 05-3` runs them."""

from random import Random

from kafka_edu.learner.learner import Learner

from .public_tests import PATHS, Compared, play

DEEP = (*PATHS, "/a/x/1", "/a/x/2", "/a/x/1/z")


def test_a_deep_tree(learner: Learner, seed: int) -> None:
    """znodes four levels deep: a new znode fires only the watch on its parent's children"""
    zookeeper = Compared(learner)
    zookeeper.tree("/a", "/a/x")
    zookeeper.ask(1, "children", "/a", watch=True)
    zookeeper.ask(2, "create", "/a/x/1")
    play(zookeeper, Random(f"deep/{seed}"), clients=(1, 2), requests=220, paths=DEEP)


def test_connections_come_and_go(learner: Learner, seed: int) -> None:
    """clients close their connections, connect again, and watch again"""
    random = Random(f"come/{seed}")
    zookeeper = Compared(learner)
    for _ in range(25):
        play(zookeeper, random, clients=(1, 2, 3), requests=7)
        zookeeper.closed(random.randint(1, 4))


def test_two_servers(learner: Learner, seed: int) -> None:
    """two servers at once, which do not affect each other"""
    random = Random(f"two/{seed}")
    both = (Compared(learner), Compared(learner))
    for _ in range(60):
        play(random.choice(both), random, clients=(1, 2), requests=2)


def test_a_hundred_watchers(learner: Learner, seed: int) -> None:
    """a hundred clients watch one znode, and set their watches in random order"""
    random = Random(f"hundred/{seed}")
    zookeeper = Compared(learner)
    zookeeper.tree("/a")
    for client in random.sample(range(1, 101), 100):
        zookeeper.ask(client, random.choice(("get", "children")), "/a", watch=True)
    zookeeper.ask(7, "set", "/a")
    zookeeper.ask(7, "delete", "/a")
