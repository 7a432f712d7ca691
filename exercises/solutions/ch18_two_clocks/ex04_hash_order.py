"""Exercise 18-4: the reference solution. A dict keeps the order of its keys, and a set does not."""


class Placer:
    """Places partitions on brokers, one after the other."""

    def __init__(self) -> None:
        self.on: dict[str, list[str]] = {}  # broker -> its partitions

    def join(self, broker: str) -> None:
        """Add a broker without partitions."""
        self.on[broker] = []

    def place(self, partition: str) -> str:
        """Return the broker that gets the partition."""
        broker = min(self.on, key=lambda one: len(self.on[one]))
        self.on[broker].append(partition)
        return broker

    def leave(self, broker: str) -> list[tuple[str, str]]:
        """Remove a broker. Return where each of its partitions goes: (partition, broker)."""
        return [(partition, self.place(partition)) for partition in self.on.pop(broker)]

    def diagnosis(self) -> tuple[int, int]:
        """Return the number of the first call in events.txt that has two different answers, and
        how many brokers have the fewest partitions at that moment.
        """
        return 10, 2
