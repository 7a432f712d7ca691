"""Exercise 13-1: the reference solution (Kafka: RangeAssignor.java; KIP-345)."""

from collections.abc import Mapping, Sequence


class RangeAssignor:
    """Divides the partitions of each topic among the members of a group."""

    def assign(
        self, topics: Mapping[str, int], members: Sequence[tuple[str, str | None, list[str]]]
    ) -> list[tuple[str, str, int, int]]:
        """Return the blocks: (member, topic, first, count)."""
        ordered = sorted(members, key=lambda row: (row[1] is None, row[1] or "", row[0]))
        blocks = []
        for topic, partitions in topics.items():
            takers = [member for member, _, reads in ordered if topic in reads]
            if not takers:
                continue
            share, more = divmod(partitions, len(takers))
            first = 0
            for place, member in enumerate(takers):
                count = share + (place < more)
                if count:
                    blocks.append((member, topic, first, count))
                first += count
        return blocks
