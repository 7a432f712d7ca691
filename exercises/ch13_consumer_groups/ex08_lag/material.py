"""The trouble of exercise 13-8, its ticket, and the settings of the workers."""

from random import Random
from typing import Final, NamedTuple

TOPIC: Final = "orders"
GROUP: Final = "office"
CLUSTER: Final = "lab-13-8"
BROKERS: Final = 3
POLL, PARTITIONS, WORKERS = "poll", "partitions", "workers"
CAUSES: Final = (POLL, PARTITIONS, WORKERS)
RATE: Final = 50
"""Orders a second."""
WORK_MS: Final = 42
"""The time that a worker needs for one order: it handles fewer than 24 orders a second."""
MOST_WORKERS: Final = 6
SETTINGS: Final = "workers.properties"

TICKET: Final = """\
# Ticket {number}

> Customers wait for their orders, and each hour they wait longer. The group `{group}`
> has a lag that grows. Please find out why, and mend it, without losing an order.

Notes of the night shift:

- The cluster is `{cluster}`: three brokers, and topic `{topic}`. {rate} orders a second
  come, day and night, and are spread evenly over its partitions.
- A worker needs {work_ms} ms for each order. After each poll it handles what came, and
  then commits. All workers are in one process, the office. It has room for {most}.
- The workers have the settings in `{settings}`, next to this ticket. The office reads
  the file again whenever it changes.
- Three things happened last week: the topic was made again by another team, somebody
  saved on workers, and somebody "made the polls larger, for the throughput". Each of
  them says that it was one of the others.
"""
PROPERTIES: Final = """\
# The settings of the office's workers. The office reads this file again when it changes.
workers={workers}
max.poll.records={records}
max.poll.interval.ms={interval_ms}
session.timeout.ms=10000
heartbeat.interval.ms=500
partition.assignment.strategy=range
"""


class Plan(NamedTuple):
    """The state of the trouble, and its cause."""

    cause: str
    """One of CAUSES."""
    partitions: int
    workers: int
    records: int
    """The max.poll.records of a worker."""
    interval_ms: int
    """The max.poll.interval.ms of a worker."""

    @property
    def at_work(self) -> int:
        """How many workers can have a partition at the same moment."""
        return min(self.workers, self.partitions)


def plan(seed: int) -> Plan:
    """Return the trouble made from this seed. One seed always gives the same trouble."""
    random = Random(f"lag/{seed}")
    cause = random.choice(CAUSES)
    partitions = random.randint(6, 8)
    workers = random.randint(4, 5)
    if cause == POLL:
        return Plan(cause, partitions, workers, random.randint(300, 500), 4_000)
    few = random.randint(1, 2)
    if cause == PARTITIONS:
        partitions = few
    else:
        workers = few
    return Plan(cause, partitions, workers, random.randint(15, 20), 60_000)


def settings(seed: int) -> str:
    """Return the text of the workers' settings."""
    made = plan(seed)
    return PROPERTIES.format(
        workers=made.workers, records=made.records, interval_ms=made.interval_ms
    )


def make(seed: int) -> dict[str, str]:
    """Return the learner's files, as a dict from name to text."""
    ticket = TICKET.format(
        number=1_000 + seed % 9_000,
        group=GROUP,
        cluster=CLUSTER,
        topic=TOPIC,
        rate=RATE,
        work_ms=WORK_MS,
        most=MOST_WORKERS,
        settings=SETTINGS,
    )
    return {"ticket.md": ticket, SETTINGS: settings(seed)}
