"""The trouble of exercise 10-5, and its ticket: three partitions lack a replica in the ISR, each
for a different reason.
"""

from random import Random
from typing import Final, NamedTuple

TOPICS: Final = ("carts", "orders", "visits")
CLUSTER: Final = "lab-10-5"
BROKERS: Final = 4
CAUSES: Final = ("link", "process", "throttle")
RATE: Final = 1
"""The rate, in bytes per second, of the throttle that somebody has left behind."""

TICKET: Final = """\
# Ticket {number}

> Monitoring counts three under-replicated partitions: `carts-0`, `orders-0` and
> `visits-0`. Each has two replicas, and one of them is not in the ISR. The shop
> works, with one copy of everything. Somebody said "restart the cluster". Please
> do not: if broker {leader} dies now, all three topics are gone. Find out what is
> wrong with each, mend that, and touch nothing else.

Notes of the night shift:

- The cluster is `{cluster}`: four brokers. Broker {leader} leads all three partitions.
- A broker was taken away for maintenance last night, and came back. Somebody
  limited its copying meanwhile, "so that the shop does not notice".
- We have three alarms and, we think, three different reasons.
"""


class Plan(NamedTuple):
    """The role of each broker, and the cause of each topic's trouble."""

    leader: int
    followers: tuple[int, ...]
    """The follower of each topic, in the order of TOPICS."""
    causes: tuple[str, ...]
    """The cause of each topic's trouble, in the order of TOPICS."""
    records: int
    """The number of records in each topic that were acknowledged before the trouble began."""

    def broker_of(self, cause: str) -> int:
        """Return the follower that is not in sync because of this cause."""
        return self.followers[self.causes.index(cause)]

    def topic_of(self, cause: str) -> str:
        """Return the topic with this cause."""
        return TOPICS[self.causes.index(cause)]


def plan(seed: int) -> Plan:
    """Return the trouble made from this seed. One seed always gives the same trouble."""
    random = Random(f"three/{seed}")
    leader, *followers = random.sample(range(BROKERS), BROKERS)
    causes = tuple(random.sample(CAUSES, len(CAUSES)))
    return Plan(leader, tuple(followers), causes, random.randint(20, 60))


def make(seed: int) -> dict[str, str]:
    """Return the learner's file ticket.md, as a dict from its name to its text."""
    fields = {"number": 1_000 + seed % 9_000, "cluster": CLUSTER, "leader": plan(seed).leader}
    return {"ticket.md": TICKET.format(**fields)}
