"""The trouble of exercise 09-6, and its ticket: a compacted partition is not compacted."""

from random import Random
from typing import Final, NamedTuple

TOPIC: Final = "prices"
CLUSTER: Final = "lab-09-6"
IMPORT: Final = "night-import"
"""The transactional.id of the job that may have left a transaction open."""
TRANSACTION, LAG, ROLL, BATCH = "transaction", "lag", "roll", "batch"
KINDS: Final = (TRANSACTION, LAG, ROLL, BATCH)
"""The possible causes: an open transaction, min.compaction.lag.ms, no roll, an unreadable batch."""
EVERYWHERE: Final = -1
KEYS: Final = 40
PRICE: Final = "price-"
"""The prefix of the keys whose values are prices."""

TICKET: Final = """\
# Ticket {number}

> The topic `{topic}` is compacted. It has {keys} keys, and {records:,} records. It
> should have some hundreds. Each restart of our service reads all of it, and the
> disk fills up. Please let it shrink. No price may be lost.

Notes of the night shift:

- The cluster is `{cluster}`: three brokers, topic `{topic}`, one partition, a
  replica on each of them. The cleaner is on, and looks every second.
- The job `{job}` (its transactional.id is the same) writes prices at night. It was
  killed some days ago, and has been on another machine since then.
- Somebody was "tuning" topics last week. Broker {suspect} had a new disk controller.
- The service reads {topic} without a group, and does not want to miss anything.
"""


class Plan(NamedTuple):
    """The cause that keeps the partition large."""

    kind: str
    """One of KINDS."""
    replicas: tuple[int, ...]
    """The replicas of the topic. The first one leads."""
    records: int
    suspect: int
    """The broker that the ticket mentions. It has nothing to do with the cause."""

    @property
    def broker(self) -> int:
        """The broker on which the cause of the trouble lies; EVERYWHERE if it lies on all
        brokers.
        """
        return self.replicas[-1] if self.kind == BATCH else EVERYWHERE


def plan(seed: int) -> Plan:
    """Return the trouble made from this seed. One seed always gives the same trouble."""
    random = Random(f"shrink/{seed}")
    replicas = tuple(random.sample(range(3), 3))
    return Plan(random.choice(KINDS), replicas, random.randint(1_500, 2_500), random.randrange(3))


def make(seed: int) -> dict[str, str]:
    """Return the learner's file ticket.md, as a dict from its name to its text."""
    made = plan(seed)
    ticket = TICKET.format(
        number=3_000 + seed % 7_000,
        topic=TOPIC,
        cluster=CLUSTER,
        keys=KEYS,
        records=made.records,
        job=IMPORT,
        suspect=made.suspect,
    )
    return {"ticket.md": ticket}
