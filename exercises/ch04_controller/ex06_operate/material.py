"""The trouble of exercise 04-6, and its ticket: a partition moves, and the move does not end."""

from random import Random
from typing import Final, NamedTuple

TOPIC: Final = "orders"
CLUSTER: Final = "lab-04-6"
BROKERS: Final = 4
FAR_MS: Final = 40
MISSING: Final = ("orders", "records")

TICKET: Final = """\
# Ticket {number}

> Tonight we ordered `{topic}-0` to move from the brokers {leader}, {old} to the
> brokers {leader}, {new}. It was to take some seconds. It still stands in the
> list of running moves, and broker {old} cannot be switched off. The shop works,
> so please restart nothing that is well. Nothing may be lost: {records} orders
> are in there.

Notes of the night shift:

- The cluster is `{cluster}`: four brokers, topic `{topic}`, one partition.
  Broker {leader} leads it.
- Broker {far} stands in another building. Its link to broker {old} has
  {far_ms} ms in each direction. That is known, paid for, and fast enough.
- No broker has crashed. We have restarted nothing since the order.
"""


class Plan(NamedTuple):
    """The role of each broker. The controller is `old` or `far`."""

    leader: int
    old: int
    """The broker whose replica the move removes."""
    new: int
    """The broker whose new replica cannot join, because one of its links is cut."""
    far: int
    """The broker without a replica. Its link to `old` is a little slow. This is no fault."""
    missing: str
    """"orders" if the link from `new` to the controller is cut, "records" if to the leader."""
    records: int
    """The number of records that were acknowledged before the trouble began."""


def plan(seed: int) -> Plan:
    """Return the trouble made from this seed. One seed always gives the same trouble."""
    random = Random(f"move/{seed}")
    leader, old, new, far = random.sample(range(BROKERS), BROKERS)
    return Plan(leader, old, new, far, random.choice(MISSING), random.randint(20, 60))


def make(seed: int) -> dict[str, str]:
    """Return the learner's file ticket.md, as a dict from its name to its text."""
    made = plan(seed)
    fields = made._asdict() | {
        "number": 1_000 + seed % 9_000,
        "topic": TOPIC,
        "cluster": CLUSTER,
        "far_ms": FAR_MS,
    }
    return {"ticket.md": TICKET.format(**fields)}
