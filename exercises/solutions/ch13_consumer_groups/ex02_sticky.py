"""Exercise 13-2: the reference solution (Kafka: AbstractStickyAssignor.java; KIP-54, KIP-341)."""

from collections.abc import Mapping, Sequence


class StickyAssignor:
    """Divides partitions equally among members, and moves as few of them as possible."""

    def assign(
        self,
        topics: Mapping[str, int],
        members: Sequence[tuple[str, list[tuple[str, int]], int]],
    ) -> dict[str, list[tuple[str, int]]]:
        """Return the partitions of each member: {member: [(topic, partition)]}."""
        left = {(topic, number) for topic, count in topics.items() for number in range(count)}
        share, more = divmod(len(left), len(members))
        newest = max(generation for _, _, generation in members)
        assignment: dict[str, list[tuple[str, int]]] = {}
        for member, owned, generation in members:
            had = [(topic, number) for topic, number in owned if generation == newest]
            had = [one for one in had if one in left]
            larger = len(had) > share and more > 0
            more -= larger
            assignment[member] = had[: share + larger]
            left -= {*assignment[member]}
        rest = sorted(left)
        for has in assignment.values():
            while len(has) < share:
                has.append(rest.pop())
        for has in assignment.values():
            if rest and len(has) == share:
                has.append(rest.pop())
        return assignment
