"""The trouble of exercise 05-8, and its ticket: two of three ZooKeeper servers are down, and the
data of one of them are damaged.
"""

from random import Random
from typing import Final, NamedTuple

TOPIC: Final = "orders"
CLUSTER: Final = "lab-05-8"
SERVERS: Final = 3
FILES: Final = ("currentEpoch", "snapshot")

TICKET: Final = """\
# Ticket {number}

> At 3:10 a rack lost its power. Since then our shop cannot take orders: topic
> `{topic}` has no leader, and nobody elects one. Whoever creates a topic waits
> for ever. Please bring everything back. Nothing may be lost: {records} orders
> are in there, and ZooKeeper knows where they are.

Notes of the night shift:

- The cluster is `{cluster}`: three brokers, three Apache ZooKeeper servers,
  topic `{topic}`, one partition, a replica on each broker.
- In that rack stood broker {leader} and two of the ZooKeeper servers. One of
  these two has a disk that did not like it.
- What ran on we have not touched. Please do not either: it has the data.
"""


class Plan(NamedTuple):
    """The role of each server and broker. The ZooKeeper servers have the numbers 1, 2 and 3."""

    survivor: int
    """The ZooKeeper server that still runs, alone."""
    stopped: int
    """The ZooKeeper server that was killed, but whose data are good."""
    damaged: int
    """The ZooKeeper server that was killed, and cannot start with its damaged data."""
    file: str
    """The damaged data: "currentEpoch" (this file is empty), or "snapshot" (all are gone)."""
    leader: int
    """The broker that was killed. It led the partition before."""
    records: int
    """The number of records that were acknowledged before the trouble began."""


def plan(seed: int) -> Plan:
    """Return the trouble made from this seed. One seed always gives the same trouble."""
    random = Random(f"majority/{seed}")
    survivor, stopped, damaged = random.sample(range(1, SERVERS + 1), SERVERS)
    file, leader = random.choice(FILES), random.randrange(3)
    return Plan(survivor, stopped, damaged, file, leader, random.randint(20, 60))


def make(seed: int) -> dict[str, str]:
    """Return the learner's file ticket.md, as a dict from its name to its text."""
    made = plan(seed)
    ticket = TICKET.format(
        number=1_000 + seed % 9_000,
        topic=TOPIC,
        cluster=CLUSTER,
        records=made.records,
        leader=made.leader,
    )
    return {"ticket.md": ticket}
