"""The trouble of exercise 04-6: which move, what stops it, and what the ticket says."""

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
    """Who is who. The controller is `old` or `far`: neither leads, nor comes."""

    leader: int
    old: int
    """The replica that goes."""
    new: int
    """The replica that comes, and is in trouble."""
    far: int
    """A broker whose link to `old` is a little slow, as it should be."""
    missing: str
    """"orders": the link between `new` and the controller is cut. "records": that to the leader."""
    records: int
    """How many records were acknowledged before the trouble began."""


def plan(seed: int) -> Plan:
    """Return the trouble that a seed gives."""
    random = Random(f"move/{seed}")
    leader, old, new, far = random.sample(range(BROKERS), BROKERS)
    return Plan(leader, old, new, far, random.choice(MISSING), random.randint(20, 60))


def make(seed: int) -> dict[str, str]:
    """Return the file ticket.md."""
    made = plan(seed)
    fields = made._asdict() | {
        "number": 1_000 + seed % 9_000,
        "topic": TOPIC,
        "cluster": CLUSTER,
        "far_ms": FAR_MS,
    }
    return {"ticket.md": TICKET.format(**fields)}
