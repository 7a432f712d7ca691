"""The trouble of exercise 16-18s, its ticket, and the settings of the query."""

from random import Random
from typing import Final, NamedTuple

TOPIC: Final = "clicks"
CLUSTER: Final = "lab-16-18s"
LIMIT, PARTITION, KEY, FETCH = "limit", "partition", "key", "fetch"
CAUSES: Final = (LIMIT, PARTITION, KEY, FETCH)
RATE: Final = 20
"""Clicks a second."""
WORK_MS: Final = 75
"""The time that the query needs for one click: a task handles fewer than 14 clicks a second."""
SLOTS: Final = 4
"""How many tasks of the query work at the same time."""
MOST_ROWS: Final = 1_000
"""The executor has memory for a micro-batch of at most this number of clicks."""
KEPT_BACK: Final = 3 * MOST_ROWS
"""If this number of clicks wait, the shop stops writing until the query has read some. With
two micro-batches less, even a query that is too slow would have no lag.
"""
HOT_KEY: Final = "shop-1"
OTHER_KEYS: Final = tuple(f"shop-{number}" for number in range(2, 40))
HOT_OF: Final = 20
"""With the cause KEY, one of this number of clicks has another key; the rest have the hot key."""
SETTINGS: Final = "query.properties"
PROGRESS: Final = "progress.json"

TICKET: Final = """\
# Ticket {number}

> The report on clicks is late, and each minute it gets later. It is written by a
> streaming query of Spark. Please find out why the query falls behind, and let it catch
> up, without losing a click or counting one twice.

Notes of the night shift:

- The cluster is `{cluster}`: one broker, and topic `{topic}`. {rate} clicks a second
  come, day and night. If {kept} clicks wait, the shop keeps the next ones back.
- The query looks each click up in the catalogue, which takes {work_ms} ms. {slots} tasks
  work at the same time. There is memory for {most:,} clicks in a micro-batch.
- The query has the settings in `{settings}`, next to this ticket. It stops and starts
  again whenever that file changes, and goes on from its checkpoint.
- Its rows are in `rows`, its checkpoint is in `checkpoint`. `{progress}` has Spark's
  progress of the last micro-batches.
- Four things happened last week: another team made the topic again, the shop's team gave
  keys to the clicks, somebody made the micro-batches smaller "to be careful", and
  somebody tuned the fetches "to save requests". Each of them says that it was one of the
  others.
"""
PROPERTIES: Final = """\
# The settings of the query. It starts again when this file changes.
# All but `trigger` are options of format("kafka-edu").
trigger={trigger}
maxOffsetsPerTrigger={limit}
kafka.fetch.min.bytes={min_bytes}
kafka.fetch.max.wait.ms={wait_ms}
kafka.max.partition.fetch.bytes={most_bytes}
"""


class Plan(NamedTuple):
    """The state of the trouble, and its cause."""

    cause: str
    """One of CAUSES."""
    partitions: int
    limit: int = 300
    """The maxOffsetsPerTrigger of the query."""
    trigger: str = "1 second"
    min_bytes: int = 1
    """The kafka.fetch.min.bytes of the query."""
    wait_ms: int = 500
    """The kafka.fetch.max.wait.ms of the query."""
    most_bytes: int = 1_048_576
    """The kafka.max.partition.fetch.bytes of the query."""

    @property
    def has_keys(self) -> bool:
        """Whether the clicks have keys. Without keys, the partitions take turns."""
        return self.cause == KEY

    @property
    def busy(self) -> int:
        """How many tasks have at least a tenth of the clicks of a micro-batch."""
        return 1 if self.has_keys else self.partitions


def plan(seed: int) -> Plan:
    """Return the trouble made from this seed. One seed always gives the same trouble."""
    random = Random(f"behind/{seed}")
    cause = random.choice(CAUSES)
    partitions = random.randint(3, 4)
    if cause == LIMIT:
        return Plan(cause, partitions, limit=random.randint(16, 24), trigger="2 seconds")
    if cause == FETCH:
        few = random.randint(350, 450)
        return Plan(cause, partitions, min_bytes=100_000, wait_ms=1_000, most_bytes=few)
    return Plan(cause, 1 if cause == PARTITION else partitions)


def settings(seed: int) -> str:
    """Return the text of the query's settings."""
    return PROPERTIES.format(**plan(seed)._asdict())


def make(seed: int) -> dict[str, str]:
    """Return the learner's files, as a dict from name to text."""
    ticket = TICKET.format(
        number=1_000 + seed % 9_000,
        cluster=CLUSTER,
        topic=TOPIC,
        rate=RATE,
        kept=f"{KEPT_BACK:,}",
        work_ms=WORK_MS,
        slots=SLOTS,
        most=MOST_ROWS,
        settings=SETTINGS,
        progress=PROGRESS,
    )
    return {"ticket.md": ticket, SETTINGS: settings(seed)}
