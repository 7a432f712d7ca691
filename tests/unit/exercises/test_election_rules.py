"""Exercise 05-1: brokers that follow the rules have one controller, whatever happens."""

from random import Random

import pytest

from exercises.ch05_zookeeper_election.election_rules import ElectionWorld, RightCandidate


class Led:
    """A candidate, and every epoch that it has led."""

    def __init__(self, broker: int, epochs: list[int]) -> None:
        self.right = RightCandidate(broker)
        self._epochs = epochs

    def next(self, came: tuple[object, ...]) -> tuple[object, ...]:
        operation = self.right.next(came)
        if operation[0] == "lead":
            self._epochs.append(self.right.epoch())
        return operation


@pytest.mark.parametrize("seed", range(40))
def test_there_is_one_controller_and_no_epoch_twice(seed: int) -> None:
    random = Random(seed)
    epochs: list[int] = []
    candidates: list[Led] = []

    def make(broker: int) -> Led:
        candidates.append(Led(broker, epochs))
        return candidates[-1]

    world = ElectionWorld([make] * 3)
    for _ in range(12):
        world.go_on(random, random.choice((0, 2, 9, 60)))
        world.disturb(random)
    world.settle(random)
    leading = [one.right for one in candidates if one.right.epoch()]
    assert len(leading) == 1
    assert leading[0].broker == world.office()
    assert leading[0].epoch() == world.epoch() == max(epochs)
    assert len(epochs) == len(set(epochs)), "an epoch was won twice"
    assert {one.right.controller() for one in candidates} == {world.office()}
