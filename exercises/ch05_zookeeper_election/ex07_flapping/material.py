"""The trouble of exercise 05-7, and its ticket: a broker loses its session again and again."""

from random import Random
from typing import Final, NamedTuple

TOPIC: Final = "orders"
CLUSTER: Final = "lab-05-7"
SESSION_KEY: Final = "zookeeper.session.timeout.ms"
SESSION_MS: Final = 6_000
"""The session time-out in ms that every broker has at first."""
SHORT_SESSION_MS: Final = 1_000
LONGEST_MS: Final = 20_000
"""The longest session time-out in ms that the ticket allows."""
CAUSES: Final = ("machine", "setting")

TICKET: Final = """\
# Ticket {number}

> Since yesterday one of our brokers comes and goes. Every few seconds its
> partitions get other leaders, and then it is back, as if nothing had been.
> Producers retry, and people complain. Please give it peace. If a broker dies
> for good, we still want to know within {longest_s} s. Nothing may be lost:
> {records} orders are in there.

Notes of the night shift:

- The cluster is `{cluster}`: three brokers, topic `{topic}`, one partition, a
  replica on each of them. {key} was {session_ms:,} ms.
- The machines are virtual. While the hosts save them, they stand still. That
  cannot be changed this week. Somebody may have touched other things.
- No broker has crashed. We have restarted nothing.
"""


class Plan(NamedTuple):
    """The broker in trouble, the cause of the trouble, and how long stalls and sessions last."""

    victim: int
    """The broker whose session ends again and again."""
    cause: str
    """"machine": the victim's machine stalls for longer than a session lasts. "setting": all the
    machines stall for a short time, but the victim's session time-out is even shorter.
    """
    stall_ms: int
    every_ms: int
    records: int
    """The number of records that were acknowledged before the trouble began."""

    @property
    def enough_ms(self) -> int:
        """The shortest session time-out (ms) with which a stall does not end the session. A client
        is silent for up to a third of the time-out before it sends a ping. Its machine may stall
        just before the ping.
        """
        return -(-self.stall_ms * 3 // 2)


def plan(seed: int) -> Plan:
    """Return the trouble made from this seed. One seed always gives the same trouble."""
    random = Random(f"flapping/{seed}")
    victim, cause, records = random.randrange(3), random.choice(CAUSES), random.randint(20, 60)
    stall_ms = random.randrange(7_200, 8_000, 100) if cause == "machine" else 2_000
    return Plan(victim, cause, stall_ms, 20_000 if cause == "machine" else 8_000, records)


def make(seed: int) -> dict[str, str]:
    """Return the learner's file ticket.md, as a dict from its name to its text."""
    ticket = TICKET.format(
        number=1_000 + seed % 9_000,
        topic=TOPIC,
        cluster=CLUSTER,
        records=plan(seed).records,
        longest_s=LONGEST_MS // 1_000,
        key=SESSION_KEY,
        session_ms=SESSION_MS,
    )
    return {"ticket.md": ticket}
