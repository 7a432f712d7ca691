"""Public tests of exercise 10-2. `kafka-edu lab check 10-2` runs them. The learner's class runs in
another process, and the fixture `learner` sends each call to it.
"""

from random import Random
from typing import Final

from kafka_edu.learner.learner import Learner, LearnerObject

from ...runner.mismatch import Mismatch
from ..selector_rules import Choice, Near, right

RACKS: Final = ("north", "east", "west")


def choose(made: LearnerObject, choice: Choice) -> None:
    """Compare the answer of `select`. Raises Mismatch."""
    expected = right(choice)
    came = made.call("select", *choice.arguments())
    if came == expected and not isinstance(came, bool):
        return
    raise Mismatch(
        f"select({choice.client_rack!r}, {choice.leader}, {choice.leader_rack!r}, …)",
        expected,
        came,
        _why(choice, expected, came),
        drawing=(
            f"the consumer is in rack {choice.client_rack or 'none'}",
            f"broker {choice.leader}, the leader, is in rack {choice.leader_rack or 'none'}",
            *(
                f"broker {one.broker}: rack {one.rack or 'none'}, log end {one.leo},"
                f" caught up {one.lag_ms:,} ms ago"
                for one in choice.followers[:10]
            ),
        ),
        read="select",
    )


def _why(choice: Choice, expected: int, came: object) -> str:
    if expected == choice.leader:
        if not choice.client_rack:
            return "the consumer names no rack, so it reads from the leader"
        if choice.client_rack == choice.leader_rack:
            return "the leader is in the consumer's rack"
        return f"no replica is in rack {choice.client_rack}, so the consumer reads from the leader"
    best = next(one for one in choice.followers if one.broker == expected)
    other = next((one for one in choice.followers if one.broker == came), None)
    if other is None or other.rack != choice.client_rack:
        return f"broker {expected} is in the consumer's rack"
    if other.leo != best.leo:
        return f"broker {came} is in the rack too, but broker {expected} has more records"
    if other.lag_ms != best.lag_ms:
        return f"both have as many records, and broker {expected} had caught up later"
    return f"both are equal, and {expected} is the larger number"


def test_example(learner: Learner) -> None:
    """the example of README.md"""
    made = learner.make()
    for client, followers in (
        ("east", (Near(0, "east", 90, 10), Near(1, "west", 99, 10))),
        ("east", (Near(0, "east", 90, 10), Near(1, "east", 99, 800))),
        ("east", (Near(0, "east", 99, 10), Near(1, "east", 99, 800))),
        ("north", (Near(0, "north", 99, 10), Near(1, "east", 99, 10))),
        ("south", (Near(0, "east", 99, 10), Near(1, None, 99, 10))),
        ("", (Near(0, "east", 99, 10), Near(1, None, 99, 10))),
    ):
        choose(made, Choice(client, 2, "north", followers))


def test_no_racks(learner: Learner) -> None:
    """no broker has a rack, and the consumer has one or none"""
    made = learner.make()
    for client in ("", "east"):
        choose(made, Choice(client, 7, None, (Near(5, None, 9, 0), Near(6, None, 9, 0))))


def test_nobody_follows(learner: Learner) -> None:
    """there is no follower that has the offset"""
    made = learner.make()
    choose(made, Choice("east", 3, "north", ()))
    choose(made, Choice("east", 3, None, ()))


def test_equal_followers(learner: Learner) -> None:
    """followers of one rack have the same log end, the same lag, or both"""
    made = learner.make()
    for rows in (
        ((4, 50, 10), (5, 50, 10), (1, 50, 10)),
        ((5, 50, 10), (4, 50, 10)),
        ((4, 50, 11), (5, 50, 12), (3, 50, 10)),
        ((4, 51, 900), (5, 50, 0), (3, 50, 0)),
        ((9, 50, 0), (8, 50, 0), (10, 49, 0)),
    ):
        followers = tuple(Near(broker, "east", leo, lag) for broker, leo, lag in rows)
        choose(made, Choice("east", 2, "north", followers))


def test_the_leader_has_most_but_is_elsewhere(learner: Learner) -> None:
    """a near follower is chosen even if it lags far behind the leader"""
    made = learner.make()
    choose(made, Choice("east", 0, "north", (Near(1, "east", 3, 29_000), Near(2, "west", 99, 0))))


def test_random(learner: Learner, seed: int) -> None:
    """a hundred random clusters"""
    random = Random(f"near/{seed}")
    made = learner.make()
    for _ in range(100):
        choose(made, random_choice(random))


def random_choice(random: Random) -> Choice:
    """Return a random choice. Equal followers are frequent."""
    leader, *others = random.sample(range(9), random.randint(1, 6))
    followers = tuple(
        Near(one, random.choice((*RACKS, None)), random.randint(7, 9), 10 * random.randrange(3))
        for one in others
    )
    client = random.choice((*RACKS, "south", ""))
    return Choice(client, leader, random.choice((*RACKS, None)), followers)
