"""The work of exercise 06-6: which setting, and what is in the way."""

from random import Random
from typing import Final, NamedTuple

TOPIC: Final = "orders"
CLUSTER: Final = "lab-06-6"
SESSION_MS: Final = 30_000
"""Longer than the shop's patience: a broker that is killed is missed too late for it."""
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
    """The work of one learner."""

    down: int
    """The broker that does not run at the beginning."""
    preferred: int
    value: int
    """The new value of the setting."""


def plan(seed: int) -> Plan:
    """Return the work that a seed gives."""
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
