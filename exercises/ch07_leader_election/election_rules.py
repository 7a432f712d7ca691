"""Compute the right answers of exercise 07-1 with the controller's own strategies."""

from collections.abc import Sequence
from typing import NamedTuple

from kafka_edu.cluster.leader_and_isr import LeaderAndIsr
from kafka_edu.controller.leader_election import ElectionStrategy, elect

Answer = tuple[int, tuple[int, ...]]


class Case(NamedTuple):
    """The input of one election: the strategy, and the lists of brokers."""

    strategy: str
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    live: tuple[int, ...]
    going: tuple[int, ...] = ()
    unclean: bool = False

    def arguments(self) -> list[object]:
        """Return the case as the list of arguments for the learner's `elect`."""
        return [
            self.strategy,
            list(self.replicas),
            list(self.isr),
            list(self.live),
            list(self.going),
            self.unclean,
        ]


def right(case: Case) -> Answer | None:
    """Return the right leader and the right new ISR, or None if no broker may lead."""
    current = LeaderAndIsr(-1, 0, case.isr, 0)
    elected = elect(
        ElectionStrategy(case.strategy),
        current,
        case.replicas,
        case.live,
        case.going,
        case.unclean,
    )
    return None if elected is None else (elected.leader, tuple(elected.isr))


def in_words(brokers: Sequence[int]) -> str:
    """Return the broker ids as readable text, such as `2, 0`."""
    return ", ".join(map(str, brokers)) or "nobody"
