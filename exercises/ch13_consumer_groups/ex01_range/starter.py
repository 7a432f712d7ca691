"""Exercise 13-1: divide each topic into blocks, as Kafka's RangeAssignor does. README.md describes
the task. `kafka-edu lab check 13-1` tests your code. `kafka-edu lab hint 13-1` gives a hint.
"""

from collections.abc import Mapping, Sequence


class RangeAssignor:
    """Divides the partitions of each topic among the members of a group."""

    def assign(
        self, topics: Mapping[str, int], members: Sequence[tuple[str, str | None, list[str]]]
    ) -> list[tuple[str, str, int, int]]:
        """Return the blocks: (member, topic, first, count)."""
        raise NotImplementedError(
            "RangeAssignor.assign is not written yet: it returns a list of blocks (member, topic,"
            " first, count)"
        )
