"""The trouble of exercise 14-6, its ticket, and the settings of the billing program."""

from datetime import UTC, datetime
from random import Random
from typing import Final, NamedTuple

TOPIC: Final = "orders"
OTHER: Final = "refunds"
GROUP: Final = "billing"
CLUSTER: Final = "lab-14-6"
BROKERS: Final = 2
PARTITIONS: Final = 3
MEMBERS: Final = 2
RATE: Final = 20
"""The orders and the refunds that come in a second."""
REFUNDS: Final = 60
"""The refunds that were paid before the trouble."""
SETTINGS: Final = "billing.properties"
BEGIN_MS: Final = 1_715_580_000_000
"""13 May 2024, 06:00 UTC. The orders of the seeds are of the hours after that."""
HOUR_MS: Final = 3_600_000
LATE_MS: Final = 300_000
"""An order from a phone whose clock is late has a timestamp that is too early by this."""

TICKET: Final = """\
# Ticket {number}

> At {time} we put a new price list into the billing. It was wrong. It is mended now,
> and each order since then has to be billed again, the new ones too. The orders
> before that are billed and paid: nobody may get a second bill for them. Refunds are
> right, and none may be paid twice. The shop stays open, so orders come all the time.

Notes of the night shift:

- The time above is UTC. It is the time in the orders' timestamps that counts.
- The cluster is `{cluster}`: two brokers. Topic `{topic}` has {partitions} partitions,
  and topic `{other}` has one. Group `{group}` reads both, and bills and pays.
- The billing is one program with {members} members of the group. It reads
  `{settings}`, next to this ticket, again whenever the file changes. With `members=0`
  they leave the group. It bills each record that it reads, and then commits.
- The shop behind partition {closed} of `{topic}` was closed early that day. It has no
  order since the new price list. Let nobody send its customers a bill.
- One of the phones has a clock that is five minutes late.
"""
PROPERTIES: Final = """\
# The settings of the billing. The billing reads this file again when it changes.
# How many members of the group it has, from 0 to 4:
members={members}
"""


class Plan(NamedTuple):
    """The orders of the day, and the time of the wrong price list."""

    time_ms: int
    """The time at which the wrong price list came."""
    timestamps: tuple[tuple[int, ...], ...]
    """Partition → the timestamp of each order, in ms, from offset 0 on."""
    begins: tuple[int, ...]
    """Partition → the offset of the first order that has to be billed again."""
    closed: int
    """The partition without an order since that time."""

    @property
    def time(self) -> str:
        """Return the time as the ticket and the tool write it, without a zone."""
        when = datetime.fromtimestamp(self.time_ms / 1_000, UTC)
        return when.strftime("%Y-%m-%dT%H:%M:%S.") + f"{self.time_ms % 1_000:03}"

    @property
    def open(self) -> tuple[int, ...]:
        """Return the partitions whose shops are open."""
        return tuple(n for n in range(PARTITIONS) if n != self.closed)


def plan(seed: int) -> Plan:
    """Return the trouble made from this seed. One seed always gives the same trouble."""
    random = Random(f"reset/{seed}")
    time_ms = BEGIN_MS + random.randint(2 * HOUR_MS, 6 * HOUR_MS)
    closed = random.randrange(PARTITIONS)
    timestamps, begins = [], []
    for partition in range(PARTITIONS):
        before = random.randint(80, 160)
        after = 0 if partition == closed else random.randint(40, 90)
        stamps = sorted(time_ms - random.randint(500, HOUR_MS) for _ in range(before))
        later = sorted(time_ms + random.randint(0, HOUR_MS) for _ in range(after))
        if later:
            later[random.randint(3, 9)] = time_ms - LATE_MS
        timestamps.append((*stamps, *later))
        begins.append(before)
    return Plan(time_ms, tuple(timestamps), tuple(begins), closed)


def make(seed: int) -> dict[str, str]:
    """Return the learner's files, as a dict from name to text."""
    made = plan(seed)
    ticket = TICKET.format(
        number=1_000 + seed % 9_000,
        time=made.time.replace("T", " "),
        cluster=CLUSTER,
        topic=TOPIC,
        other=OTHER,
        partitions=PARTITIONS,
        group=GROUP,
        members=MEMBERS,
        settings=SETTINGS,
        closed=made.closed,
    )
    return {"ticket.md": ticket, SETTINGS: PROPERTIES.format(members=MEMBERS)}
