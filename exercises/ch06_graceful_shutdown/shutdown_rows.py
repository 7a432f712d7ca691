"""Compute the right answers of exercise 06-2 with the controller's own rule."""

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.controller.shutdown_rule import Concerned, ShutdownRule

_RULE = ShutdownRule()


class Row(NamedTuple):
    """A partition, as the learner gets it. `leader` is -1 if the partition has no leader now, and
    None if it never had one.
    """

    name: str
    replicas: tuple[int, ...]
    leader: int | None
    deleting: bool = False

    def argument(self) -> list[object]:
        """Return the partition as a list, in the form that the learner's methods get."""
        return [self.name, list(self.replicas), self.leader, self.deleting]

    def concerned(self) -> Concerned:
        """Return the partition in the form that the controller's ShutdownRule gets."""
        topic, _, number = self.name.rpartition("-")
        return Concerned(
            TopicPartition(topic, int(number)), self.replicas, self.leader, self.deleting
        )


def right_refusal(asked_epoch: int, live_epoch: int | None) -> str:
    """Return the name of the error that refuses the request, or "NONE"."""
    return _RULE.refusal(asked_epoch, live_epoch).name


def right_sort(broker: int, rows: Sequence[Row]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the right answer of `sort`: the names of the partitions whose leader has to move, and
    of those whose replica has to stop.
    """
    led, followed = _RULE.sort(broker, [row.concerned() for row in rows])
    return tuple(map(str, led)), tuple(map(str, followed))


def right_remaining(broker: int, rows: Sequence[Row]) -> tuple[str, ...]:
    """Return the names of the partitions that the broker still leads."""
    return tuple(map(str, _RULE.remaining(broker, [row.concerned() for row in rows])))


def some_rows(random: Random, count: int, brokers: int = 4) -> list[Row]:
    """Return random partitions. A partition's leader is one of its replicas, -1 (it has no leader
    now), or None (it never had one).
    """
    rows = []
    for number in range(count):
        replicas = tuple(random.sample(range(brokers), random.choice((1, 2, 3, 3))))
        leader = random.choice((replicas[0], random.choice(replicas), -1, None))
        rows.append(Row(f"t{number % 3}-{number}", replicas, leader, random.random() < 0.15))
    return rows
