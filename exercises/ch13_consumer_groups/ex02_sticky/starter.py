"""Exercise 13-2: divide equally, with as few moves as possible. README.md describes the task.
`kafka-edu lab check 13-2` tests your code. `kafka-edu lab hint 13-2` gives a hint.
"""

from collections.abc import Mapping, Sequence


class StickyAssignor:
    """Divides partitions equally among members, and moves as few of them as possible."""

    def assign(
        self,
        topics: Mapping[str, int],
        members: Sequence[tuple[str, list[tuple[str, int]], int]],
    ) -> dict[str, list[tuple[str, int]]]:
        """Return the partitions of each member: {member: [(topic, partition)]}."""
        raise NotImplementedError(
            "StickyAssignor.assign is not written yet: it returns a dict from each member to the"
            " list of its partitions"
        )
