"""The trouble of exercise 08-6, and its ticket: a broker advertises a wrong address to clients."""

from random import Random
from typing import Final, NamedTuple

TOPIC: Final = "orders"
CLUSTER: Final = "lab-08-6"
INSIDE, OUTSIDE = "INSIDE", "OUTSIDE"
NOBODY, ANOTHER, NO_NAME = "nobody", "another broker", "no such name"
KINDS: Final = (NOBODY, ANOTHER, NO_NAME)
"""What is wrong with the address: no server is there, a different broker is there, or there is no
host of this name.
"""

TICKET: Final = """\
# Ticket {number}

> Since the machines were moved our shop cannot place orders. It starts, it finds
> the cluster, it knows the topic `{topic}` and its leader. Then nothing. After half
> a minute each order is given up. You say that Kafka is fine. We say it is not.

Notes of the night shift:

- The cluster is `{cluster}`: three brokers, topic `{topic}`, one partition, all
  replicas in sync. Records that our own tools send inside arrive.
- Each broker has two listeners: {inside} for brokers and our tools, {outside} for
  everybody else. The shop comes by {outside}. The firewall lets only the ports
  through that stand in `listeners`, so `listeners` stays as it is.
- Somebody has edited one server.properties by hand. We do not know which.
"""


class Plan(NamedTuple):
    """The broker whose advertised address is wrong, and what is wrong with it."""

    broker: int
    kind: str
    """What is at the wrong address that clients receive: one of KINDS."""
    mixed_up_with: int
    """A second broker. If `kind` is ANOTHER, clients receive the address of this broker. Otherwise
    it plays no role.
    """

    @property
    def replicas(self) -> tuple[int, ...]:
        """The replicas of the topic. The broker with the wrong address is first, and leads."""
        return (self.broker, *(one for one in range(3) if one != self.broker))


def plan(seed: int) -> Plan:
    """Return the trouble made from this seed. One seed always gives the same trouble."""
    random = Random(f"boots/{seed}")
    broker, other, _ = random.sample(range(3), 3)
    return Plan(broker, random.choice(KINDS), other)


def make(seed: int) -> dict[str, str]:
    """Return the learner's file ticket.md, as a dict from its name to its text."""
    ticket = TICKET.format(
        number=2_000 + seed % 8_000, topic=TOPIC, cluster=CLUSTER, inside=INSIDE, outside=OUTSIDE
    )
    return {"ticket.md": ticket}
