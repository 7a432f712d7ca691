"""The four assignors on the same groups: who gets what, and what moves when the members change."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from kafka_edu.clients.consumer.assignors import Assignment, MemberSubscription
from kafka_edu.clients.consumer.consumer_coordinator import ASSIGNORS
from kafka_edu.common.topic_partition import TopicPartition

COOPERATIVE: Final = "cooperative-sticky"
#: The topics of the comparison, with their numbers of partitions.
TOPICS: Final[Mapping[str, int]] = {"o": 4, "p": 4}
MEMBERS: Final = ("a", "b", "c")
GROWN: Final = (*MEMBERS, "d")
SHRUNK: Final = MEMBERS[:-1]


class Change(NamedTuple):
    """The cost of one change of the members with one assignor."""

    before: Assignment
    after: tuple[Assignment, ...]
    """The assignment of each rebalance that follows the change. The last one is the result."""
    moved: int
    """How many partitions moved to another member although the old one is still in the group."""
    given_up: int
    """How many partitions the members gave up, so that nobody read them for a time."""


def shares(
    assignor: str,
    members: Sequence[str],
    topics: Mapping[str, int] = TOPICS,
    had: Assignment | None = None,
    generation: int = 1,
) -> Assignment:
    """Return each member's partitions, if all members subscribe to all topics. `had` has the
    partitions of each member before.
    """
    subscriptions = {
        member: MemberSubscription(
            topics=tuple(topics),
            owned=tuple((had or {}).get(member, ())),
            generation=generation if member in (had or {}) else -1,
        )
        for member in members
    }
    return ASSIGNORS[assignor](topics, subscriptions)


def change(assignor: str, before: Sequence[str], after: Sequence[str]) -> Change:
    """Change the members of a group, and return the cost of all the rebalances that this takes."""
    old = shares(assignor, before)
    steps: list[Assignment] = []
    had = old
    while not steps or (assignor == COOPERATIVE and _withheld(steps[-1])):
        had = shares(assignor, after, had=had, generation=len(steps) + 1)
        steps.append(had)
    last = steps[-1]
    stay = [member for member in before if member in after]
    lost = [tp for member in stay for tp in old[member] if tp not in last[member]]
    kept_until_then = [tp for member in stay for tp in old[member]]
    given_up = len(lost) if assignor == COOPERATIVE else len(kept_until_then)
    return Change(old, tuple(steps), len(lost), given_up)


def _withheld(assignment: Assignment) -> bool:
    """Return whether a partition has no new owner yet, because its old owner still has it."""
    return sum(map(len, assignment.values())) < sum(TOPICS.values())


def short(partitions: Sequence[TopicPartition]) -> str:
    """Return `o0 o1 p0`, sorted; "-" for none."""
    return " ".join(f"{tp.topic}{tp.partition}" for tp in sorted(partitions)) or "-"
