"""The task of exercise 06-6: the setting to change, the broker that is down, and the ticket."""

from random import Random
from typing import Final, NamedTuple

TOPIC: Final = "orders"
CLUSTER: Final = "lab-06-6"
SESSION_MS: Final = 30_000
"""The session time-out in ms. It exceeds GIVES_UP_MS, so the shop gives up an order earlier."""
GIVES_UP_MS: Final = 20_000
SETTING: Final = "replica.lag.time.max.ms"

TICKET: Final = """\
# Ticket {number}

> Our brokers take a follower for lagging too late. Please set
> {setting}={value}
> on all three. The shop is open, and it stays open: nobody may notice. It has had
> no lost order for two years.

Notes of the night shift:

- The cluster is `{cluster}`: three brokers, topic `{topic}`, one partition, a
  replica on each of them; two have to be in sync (min.insync.replicas). Sessions
  last {session_s} s.
- Somebody has worked on a machine yesterday evening. We do not know whether he
  was done.
- The controller works hard. Please let its office change hands once at most.
"""


class Plan(NamedTuple):
    """The task of one learner: which broker is down, and which value the setting has to get."""

    down: int
    """The broker that is down at the beginning."""
    preferred: int
    value: int
    """The value in ms that the setting has to get."""


def plan(seed: int) -> Plan:
    """Return the task that this seed determines. One seed always gives the same task."""
    random = Random(f"rolling/{seed}")
    return Plan(random.randrange(3), random.randrange(3), random.randrange(11_000, 20_000, 500))


def make(seed: int) -> dict[str, str]:
    """Return the learner's file ticket.md, as a dict from its name to its text."""
    ticket = TICKET.format(
        number=1_000 + seed % 9_000,
        setting=SETTING,
        value=plan(seed).value,
        cluster=CLUSTER,
        topic=TOPIC,
        session_s=SESSION_MS // 1_000,
    )
    return {"ticket.md": ticket}
