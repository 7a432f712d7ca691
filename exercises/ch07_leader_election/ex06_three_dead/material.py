"""The trouble of exercise 07-6, and its ticket: all three brokers die, and a disk may be empty."""

from random import Random
from typing import Final, NamedTuple

TOPIC: Final = "orders"
CLUSTER: Final = "lab-07-6"

TICKET: Final = """\
# Ticket {number}

> Nothing works. All three brokers are down, and {acked} orders were acknowledged.
> Please bring the topic `{topic}` back, with as many of them as can be saved. The
> boss wants it fast. We want it right.

Notes of the night shift:

- The cluster is `{cluster}`: three brokers, topic `{topic}`, one partition, a
  replica on each of them. min.insync.replicas was 1, so orders went on to the end.
- The brokers died one after another, within a minute. We have started nothing.
- One machine may have got a new disk before somebody told us. We do not know
  which one, and whether it was copied.
- Unclean elections are not allowed by any setting. You may ask for one.
"""


class Plan(NamedTuple):
    """The order in which the brokers died, and how many orders were written between the deaths."""

    deaths: tuple[int, int, int]
    """The ids of the brokers, in the order in which they died."""
    written: tuple[int, int, int]
    """How many orders were acknowledged while three brokers, then two brokers, and then one broker
    lived.
    """
    disk_gone: bool
    """Whether the disk of the broker that died last is empty."""

    @property
    def acked(self) -> int:
        """The number of all acknowledged orders."""
        return sum(self.written)

    @property
    def saved(self) -> int:
        """The number of acknowledged orders that can be saved."""
        return self.acked - (self.written[2] if self.disk_gone else 0)

    @property
    def first(self) -> int:
        """The id of the broker that must become the leader first, so that most orders are saved."""
        return self.deaths[1] if self.disk_gone else self.deaths[2]


def plan(seed: int) -> Plan:
    """Return the trouble made from this seed. One seed always gives the same trouble."""
    random = Random(f"three/{seed}")
    first, second, third = random.sample(range(3), 3)
    written = (random.randint(12, 30), random.randint(5, 15), random.randint(3, 9))
    return Plan((first, second, third), written, random.random() < 0.6)


def make(seed: int) -> dict[str, str]:
    """Return the learner's file ticket.md, as a dict from its name to its text."""
    ticket = TICKET.format(
        number=1_000 + seed % 9_000, topic=TOPIC, cluster=CLUSTER, acked=plan(seed).acked
    )
    return {"ticket.md": ticket}
