"""The world of exercise 08-4: a proxy gets new copies of a cluster's metadata, and clients ask the
proxy for the coordinators of their groups.
"""

from collections.abc import Callable, Sequence
from random import Random
from typing import Final, NamedTuple

from kafka_edu.clients.proxy.coordinators import Coordinators
from kafka_edu.coordinator.coordinator_type import partition_for

GROUPS: Final = ("billing", "shop", "audit", "search", "mail")
PARTITIONS: Final = 6
BROKERS: Final = (0, 1, 2)
NOBODY: Final = -1

Find = Callable[[str, Sequence[int], Sequence[int]], int]


class Event(NamedTuple):
    """One event of a run: a new copy of the metadata, or an answer of the proxy."""

    text: str
    group: str = ""
    """The group that the proxy was asked about; "" for a copy."""
    answer: int = NOBODY
    right: int = NOBODY
    since: int = 0
    """The number of the event with the copy in which the right coordinator first appeared."""


class StaleWorld:
    """A cluster whose leaders move, and a proxy that gets a new copy after each change."""

    def __init__(self, find: Find) -> None:
        self._find = find
        self.brokers = list(BROKERS)
        self._preferred = [number % len(BROKERS) for number in range(PARTITIONS)]
        self.leaders = list(self._preferred)
        self.since = [1] * PARTITIONS
        self.events: list[Event] = []
        self._copied("all brokers live")

    def go_on(self, random: Random) -> None:
        """Do one random step: change the cluster, or let a client ask for a coordinator."""
        match random.randrange(6):
            case 0 if len(self.brokers) > 1:
                self._dies(random.choice(self.brokers))
            case 1 | 2 if len(self.brokers) < len(BROKERS):
                gone = [one for one in BROKERS if one not in self.brokers]
                back = random.choice(gone)
                self.brokers = sorted([*self.brokers, back])
                self._copied(f"broker {back} is back, and follows")
            case 3 if self.leaders != self._preferred:
                self._prefer()
            case _:
                self.ask(random.choice(GROUPS))

    def _dies(self, broker: int) -> None:
        self.brokers.remove(broker)
        for number, leader in enumerate(self.leaders):
            if leader == broker:
                self._lead(number, self.brokers[number % len(self.brokers)])
        self._copied(f"broker {broker} is gone, and others lead")

    def _prefer(self) -> None:
        moved = False
        for number, leader in enumerate(self._preferred):
            if leader in self.brokers and self.leaders[number] != leader:
                self._lead(number, leader)
                moved = True
        if moved:
            self._copied("a preferred election: leaders are back where they were")

    def _lead(self, partition: int, leader: int) -> None:
        self.leaders[partition] = leader
        self.since[partition] = len(self.events) + 1

    def _copied(self, why: str) -> None:
        leaders = ", ".join(map(str, self.leaders))
        brokers = ", ".join(map(str, self.brokers))
        self.events.append(
            Event(f"a new copy: {why}. Brokers {brokers}; leaders of 0 to 5: {leaders}")
        )

    def ask(self, group: str) -> None:
        """Let a client ask for the coordinator of its group, and record the proxy's answer."""
        answer = self._find(group, list(self.leaders), list(self.brokers))
        right = Coordinators().find(group, self.leaders, self.brokers)
        number = partition_for(group, PARTITIONS)
        where = "nobody" if answer == NOBODY else f"broker {answer}"
        self.events.append(
            Event(
                f"group {group} (partition {number}): the proxy answers {where}",
                group,
                answer,
                right,
                self.since[number],
            )
        )
