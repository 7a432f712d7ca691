"""The trouble of exercise 12-7, its ticket, and the settings of the shop's producer."""

from random import Random
from typing import Final, NamedTuple

TOPIC: Final = "orders"
CLUSTER: Final = "lab-12-7"
BROKERS: Final = 3
LINK, BATCHES = "link", "batches"
CAUSES: Final = (LINK, BATCHES)
"""The causes: a follower gets nothing from the leader, or each request carries one order."""
FAR_MS: Final = 200
"""The delay of the link to the other building, in ms, in each direction."""
RATE: Final = 100
"""Orders a second."""
SETTINGS: Final = "shop.properties"
BUFFER: Final = 65_536

TICKET: Final = """\
# Ticket {number}

> The shop sends customers away. Its page says "please come back later", because
> `send()` of its producer waits: buffer.memory is full. Yesterday the shop took {rate}
> orders a second, and each was acknowledged within a second. Please find out why,
> and mend that. A larger buffer would be full a minute later.

Notes of the night shift:

- The cluster is `{cluster}`: three brokers, topic `{topic}`, one partition, a replica
  on each of them. Broker {far} is in another building. Its link to broker {leader} is
  slow by {far_ms} ms, and stays so: it is a long way.
- replica.lag.time.max.ms is 30 minutes, since the move to that building. It stays.
- The shop's producer has the settings in `{settings}`, next to this ticket. The shop
  reads the file again whenever it changes. Orders are paid: acks=all stays.
- Two things happened last night: the network people worked on the cables, and
  somebody "tidied up" the shop's settings. Each of them says that it was the other.
"""
PROPERTIES: Final = """\
# The settings of the shop's producer. The shop reads this file again when it changes.
acks=all
batch.size={batch_size}
linger.ms=0
max.in.flight.requests.per.connection=1
buffer.memory={buffer}
max.block.ms=600000
request.timeout.ms=600000
delivery.timeout.ms=1800000
"""


class Plan(NamedTuple):
    """The role of each broker, and the cause."""

    leader: int
    near: int
    """The follower in the same building."""
    far: int
    cause: str
    """One of CAUSES."""

    @property
    def waits_for(self) -> int:
        """The follower that an order waits for."""
        return self.near if self.cause == LINK else self.far

    @property
    def far_link(self) -> str:
        """The link to the other building, as the supervisor describes it."""
        one, other = sorted((self.leader, self.far))
        return f"{one}-{other} slow by {FAR_MS} ms"


def plan(seed: int) -> Plan:
    """Return the trouble made from this seed. One seed always gives the same trouble."""
    random = Random(f"buffer/{seed}")
    leader, near, far = random.sample(range(BROKERS), BROKERS)
    return Plan(leader, near, far, random.choice(CAUSES))


def settings(seed: int) -> str:
    """Return the text of the shop's settings."""
    batch_size = 0 if plan(seed).cause == BATCHES else 16_384
    return PROPERTIES.format(batch_size=batch_size, buffer=BUFFER)


def make(seed: int) -> dict[str, str]:
    """Return the learner's files, as a dict from name to text."""
    made = plan(seed)
    ticket = TICKET.format(
        number=1_000 + seed % 9_000,
        cluster=CLUSTER,
        topic=TOPIC,
        rate=RATE,
        leader=made.leader,
        far=made.far,
        far_ms=FAR_MS,
        settings=SETTINGS,
    )
    return {"ticket.md": ticket, SETTINGS: settings(seed)}
