"""Hidden tests of exercise 13-1: only `kafka-edu lab grade 13-1` runs them."""

from random import Random

from kafka_edu.learner.learner import Learner

from ..assignor_rules import Member
from .public_tests import check, random_group


def test_a_large_group(learner: Learner, seed: int) -> None:
    """three hundred members, and topics with hundreds of partitions"""
    random = Random(f"large/{seed}")
    check(learner, *random_group(random, most_members=90, most_topics=3, most_partitions=40))
    members = [Member(f"m{n}", None, ("web",)) for n in range(300)]
    for partitions in (299, 300, 301, 1_000):
        check(learner, {"web": partitions}, members)


def test_ids_are_texts(learner: Learner) -> None:
    """ids are compared as texts: 10 comes before 9, and capital letters before small ones"""
    names = ["9", "10", "a", "B", "100", "_"]
    check(learner, {"web": 8}, [Member(name, None, ("web",)) for name in names])
    members = [Member(name, name[::-1], ("web",)) for name in ("x9", "y10", "z2", "u1", "v02")]
    check(learner, {"web": 8}, members)


def test_a_restart(learner: Learner) -> None:
    """a static member is back under a different id, and has the same block"""
    for name in ("a-old", "z-new"):
        rest = [Member("m-1", "two", ("web",)), Member("m-0", None, ("web",))]
        check(learner, {"web": 7}, [*rest, Member(name, "one", ("web",))])


def test_many_groups(learner: Learner, seed: int) -> None:
    """two hundred random groups"""
    random = Random(f"many/{seed}")
    for _ in range(200):
        check(learner, *random_group(random, most_members=9, most_topics=6, most_partitions=20))
