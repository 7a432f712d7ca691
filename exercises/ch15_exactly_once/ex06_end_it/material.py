"""The trouble of exercise 15-6, and its ticket: one of the jobs has left a transaction open."""

from random import Random
from typing import Final, NamedTuple

TOPIC: Final = "payments"
CLUSTER: Final = "lab-15-6"
LONG_JOB: Final = "export"
JOBS: Final = ("billing", "refunds", "shop", "fraud-check", "loyalty")

TICKET: Final = """\
# Ticket {number}

> The accounts have not seen a payment since this morning. Payments are written:
> the shop sees them being acknowledged. But our reader, with
> `isolation.level=read_committed`, gets nothing new. Please make it read on. Not one
> committed payment may be lost, and our job `{long}` must not be disturbed.

Notes of the night shift:

- The cluster is `{cluster}`: three brokers, topic `{topic}`, one partition, a replica on
  each of them. `__transaction_state` has one partition too.
- These programs write to it, each in transactions, and each with its name as the
  `transactional.id`: {jobs}, and `{long}`.
- `{long}` writes for hours in one transaction. That is as it should be. It will commit
  when it is done, and readers may wait for it, but for nothing that is older.
- One of the other programs was killed this morning with a transaction open. We do not
  know which. It will not come back, and its last payments do not count.
- The `transaction.timeout.ms` of all of them is a day, so the coordinator will not
  end anything in time.
"""


class Plan(NamedTuple):
    """The jobs that write, and how many records each writes, in the order of the log."""

    before: tuple[tuple[str, int], ...]
    """The job and the number of records of each transaction that is committed at first."""
    holder: str
    """The job that leaves its transaction open."""
    left_open: int
    """How many records its transaction has."""
    behind: tuple[tuple[str, int], ...]
    """The transactions that are committed after the hanging transaction."""
    exported: int
    """How many records the long job has written, in its open transaction."""
    later: tuple[tuple[str, int], ...]
    """The transactions that are committed after the first record of the long job."""

    @property
    def lso(self) -> int:
        """The last stable offset during the trouble. Each transaction also has a marker."""
        return sum(count + 1 for _, count in self.before)

    @property
    def export_at(self) -> int:
        """The offset of the long job's first record."""
        return self.lso + self.left_open + sum(count + 1 for _, count in self.behind)

    @property
    def hidden(self) -> int:
        """How many more committed records readers get when the transaction has ended."""
        return sum(count for _, count in self.behind)

    @property
    def readable(self) -> list[str]:
        """The values that readers of committed records get when the trouble is over."""
        rows = enumerate((*self.before, *self.behind))
        return [value for number, (job, count) in rows for value in values_of(number, job, count)]


def values_of(number: int, job: str, count: int) -> list[str]:
    """Return the values of the transaction with this number."""
    return [f"{job} {number}.{one}" for one in range(count)]


def plan(seed: int) -> Plan:
    """Return the trouble made from this seed. One seed always gives the same trouble."""
    random = Random(f"hanging/{seed}")
    holder = random.choice(JOBS)
    others = [job for job in JOBS if job != holder]

    def transactions(jobs: list[str]) -> tuple[tuple[str, int], ...]:
        random.shuffle(jobs)
        return tuple((job, random.randint(1, 4)) for job in jobs)

    before = transactions([*JOBS])
    behind = transactions([*others])
    later = transactions(others[:2])
    return Plan(before, holder, random.randint(1, 4), behind, random.randint(2, 5), later)


def make(seed: int) -> dict[str, str]:
    """Return the learner's file ticket.md, as a dict from its name to its text."""
    ticket = TICKET.format(
        number=1_000 + seed % 9_000,
        topic=TOPIC,
        cluster=CLUSTER,
        long=LONG_JOB,
        jobs=", ".join(f"`{job}`" for job in JOBS),
    )
    return {"ticket.md": ticket}
