"""The trouble of exercise 09-8, and its ticket: a topic has filled a disk of one broker."""

from random import Random
from typing import Final, NamedTuple

CLUSTER: Final = "lab-09-8"
BROKERS: Final = 3
KEPT: Final = ("invoices", "orders")
"""The topics whose records are all kept. The first one is the largest on the full disk."""
PASSING: Final = ("clicks", "sensors")
"""The topics of which only the last LIMIT bytes are needed."""
TOPICS: Final = (*KEPT, *PASSING)
LIMIT: Final = 400_000
QUOTA: Final = 3_000_000
"""The bytes of segments that fit on a small disk."""
RETENTION, POLICY = "retention.bytes", "cleanup.policy"
SETTINGS: Final = (RETENTION, POLICY)
"""The two settings that can let the topic grow: retention of -1, or the policy compact."""

TICKET: Final = """\
# Ticket {number}

> Two partitions have been under-replicated since the night. A disk of a broker is
> full, says monitoring. The shop works, but with one copy of some topics. Please
> bring the broker back, and let it not happen again tomorrow. There is no larger
> disk this week.

Notes of the night shift:

- The cluster is `{cluster}`: three brokers, and each has the log dirs `disk-1` and
  `disk-2`. One of the brokers is old. On its disks there is room for {quota:,}
  bytes of segments each.
- `invoices` and `orders` are kept for ever. That is the law.
- Of `clicks` and `sensors` the last {limit:,} bytes are needed for reports, and
  no more. Each has the setting for that, or had it.
- Somebody was "tuning" topics last week, and did not write down what.
- The new colleague wants to delete the oldest files on the full disk. Please be
  faster.
"""


class Plan(NamedTuple):
    """The topic that grows, the reason, and the roles of the brokers."""

    topic: str
    """The name of the topic that grows, one of PASSING."""
    setting: str
    """The name of the setting that lets the topic grow, one of SETTINGS."""
    small: int
    """The broker with the small disks. It leads all topics before the trouble."""
    other: int
    """The broker with the second replica of each topic."""
    invoices: int
    """The number of records in the largest topic."""

    @property
    def steady(self) -> str:
        """The topic of PASSING that does not grow, because its old records are deleted."""
        return PASSING[1 - PASSING.index(self.topic)]

    @property
    def replicas(self) -> tuple[int, int]:
        return self.small, self.other


def plan(seed: int) -> Plan:
    """Return the trouble made from this seed. One seed always gives the same trouble."""
    random = Random(f"full/{seed}")
    small, other = random.sample(range(BROKERS), 2)
    return Plan(
        random.choice(PASSING), random.choice(SETTINGS), small, other, random.randint(900, 980)
    )


def make(seed: int) -> dict[str, str]:
    """Return the learner's file ticket.md, as a dict from its name to its text."""
    number = 2_000 + seed % 8_000
    return {"ticket.md": TICKET.format(number=number, cluster=CLUSTER, quota=QUOTA, limit=LIMIT)}
