"""The trouble of exercise 03-5: the broker that causes it, what is wrong there, and the text of the
ticket.
"""

from random import Random
from typing import Final, NamedTuple

TOPIC: Final = "orders"
CLUSTER: Final = "lab-03-5"
SLOW_MS: Final = 8_000
FAR_MS: Final = 40
CAUSES: Final = ("cut", "slow")
TIMEOUT_MS: Final = 5_000

TICKET: Final = """\
# Ticket {number}

> Since this morning our shop cannot take orders. The producer of topic
> `{topic}` uses acks=all and waits {seconds:g} s. Then it gets
> REQUEST_TIMED_OUT. Reading works. Please mend this soon. Nothing may be lost:
> {records} orders are in there.

Notes of the night shift:

- The cluster is `{cluster}`: three brokers, topic `{topic}`, one partition, a
  replica on each of them. Broker {leader} leads it.
- Broker {far} stands in another building. Its link to broker {leader} has
  {far_ms} ms in each direction. That is known, paid for, and fast enough.
- No broker has crashed. We have restarted nothing.
"""


class Plan(NamedTuple):
    """The roles of the brokers, and the cause of the trouble."""

    leader: int
    victim: int
    """The number of the follower that has the trouble."""
    far: int
    """The number of the follower in the other building. Its link is always a little slow."""
    cause: str
    records: int
    """The number of records that were acknowledged before the trouble."""


def plan(seed: int) -> Plan:
    """Return the trouble that the seed determines."""
    random = Random(seed)
    leader, victim, far = random.sample(range(3), 3)
    return Plan(leader, victim, far, random.choice(CAUSES), random.randint(20, 60))


def make(seed: int) -> dict[str, str]:
    """Return the learner's file ticket.md, as a dict from its name to its text."""
    made = plan(seed)
    ticket = TICKET.format(
        number=1_000 + seed % 9_000,
        topic=TOPIC,
        seconds=TIMEOUT_MS / 1_000,
        records=made.records,
        cluster=CLUSTER,
        leader=made.leader,
        far=made.far,
        far_ms=FAR_MS,
    )
    return {"ticket.md": ticket}
