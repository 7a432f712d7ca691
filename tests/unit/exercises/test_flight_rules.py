"""The rules of exercise 12-3 keep the order of batches, whatever the brokers do."""

from random import Random

import pytest

from exercises.ch12_producer.flight_rules import FlightWorld, Result, RightInFlight

SEEDS = range(40)


class Careless(RightInFlight):
    """Wrong rules: no partition is muted, and batches that come back may be sent again together."""

    def may_send(self, broker: int, partition: str, batch: int) -> bool:
        return self.requests.get(broker, 0) < self.max_in_flight


def world_of(rules: RightInFlight, seed: int) -> FlightWorld:
    world = FlightWorld(rules, Random(seed), 3, 2, rules.idempotent)
    world.run(400, expire=False)
    world.settle()
    return world


def in_order(world: FlightWorld) -> bool:
    """Return whether the first copies of the batches of each partition are in order."""
    return all(list(dict.fromkeys(one)) == sorted({*one}) for one in world.stored.values())


@pytest.mark.parametrize("idempotent", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_order_is_kept(seed: int, idempotent: bool) -> None:
    world = world_of(RightInFlight(5 if idempotent else 1, idempotent, 1_000), seed)
    assert sum(map(len, world.stored.values())) > 50
    assert in_order(world)
    if idempotent:
        assert all(len({*one}) == len(one) for one in world.stored.values())


@pytest.mark.parametrize("limit", [1, 5])
def test_without_the_rules_it_is_lost(limit: int) -> None:
    worlds = [world_of(Careless(limit, False, 1_000), seed) for seed in SEEDS]
    assert not all(map(in_order, worlds))


def test_an_answer_is_judged_batch_by_batch() -> None:
    right = RightInFlight(1, False, 1)
    right.sent(0, [("a", 1), ("b", 2)])
    results = [Result("a", 1, "NONE", False), Result("b", 2, "NETWORK_EXCEPTION", True)]
    assert right.answered(0, results) == ["done", "again"]
