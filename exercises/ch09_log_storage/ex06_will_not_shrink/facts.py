"""The facts about exercise 09-6's cluster that are graded, and the rules that grade them. This
module needs no running cluster.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from ...lab_cluster import TopicFacts
from ...lab_facts import all_run, isr_whole, same_topic, settings_kept
from ...runner.verdict import Step
from .material import PRICE, TOPIC

FREE: Final = ("min.compaction.lag.ms", "max.compaction.lag.ms", "segment.bytes", "segment.ms")
"""The settings of the topic that may be changed, because one of them may be the cause."""

SHARE: Final = 4
"""At the end a replica must have at most 1/SHARE of the bytes that the largest one had."""


class Facts(NamedTuple):
    """The state of the cluster and of its topic at one moment."""

    states: tuple[str, ...]
    topic: TopicFacts
    sizes: tuple[int, ...]
    """For each broker, the bytes of the batches in its replica."""
    records: tuple[str, ...] = ()
    """The values of all records, in order. A value begins with its key."""


def judge(before: Facts, now: Facts) -> Iterator[Step]:
    """Check the state `now`, and yield each result. `before` is the state with the trouble."""
    yield all_run("three", now.states)
    yield _small(before.sizes, now.sizes)
    yield _prices(before.records, now.records)
    yield same_topic(TOPIC, before.topic, now.topic)
    yield settings_kept(bound(before.topic.settings), bound(now.topic.settings))
    yield isr_whole(before.topic.replicas, now.topic.isr)


def limit(before: Sequence[int]) -> int:
    """Return how many bytes a replica may have at the end: the largest size in `before`, divided by
    SHARE.
    """
    return max(before) // SHARE


def _small(before: Sequence[int], now: Sequence[int]) -> Step:
    says = "each replica has a quarter of the former bytes or less"
    most = limit(before)
    large = [f"broker {number} has {size:,}" for number, size in enumerate(now) if size > most]
    return Step(says, not large, "; ".join(large) or f"{max(now):,} of {max(before):,}")


def table(records: Sequence[str]) -> dict[str, str]:
    """Return the last value of each key, for the keys that are prices."""
    return {value.partition(" ")[0]: value for value in records if value.startswith(PRICE)}


def _prices(before: Sequence[str], now: Sequence[str]) -> Step:
    expected, found = table(before), table(now)
    wrong = [key for key, value in expected.items() if found.get(key) != value]
    seen = f"{len(wrong)} of {len(expected)}, {wrong[0]} for one" if wrong else f"{len(expected)}"
    return Step("each price is the same as before", not wrong, seen)


def bound(settings: str) -> str:
    """Return the settings without the settings that the learner may change."""
    kept = [one for one in settings.split(", ") if not any(f" {key}=" in one for key in FREE)]
    return ", ".join(kept)
