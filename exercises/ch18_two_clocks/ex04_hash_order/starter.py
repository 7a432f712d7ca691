"""Exercise 18-4: with this class the same calls give different runs. README.md describes the task.
`kafka-edu lab check 18-4` tests your code. `kafka-edu lab hint 18-4` gives a hint.
"""


class Placer:
    """Places partitions on brokers, one after the other."""

    def __init__(self) -> None:
        self.brokers: set[str] = set()
        self.on: dict[str, set[str]] = {}  # broker -> its partitions

    def join(self, broker: str) -> None:
        """Add a broker without partitions."""
        self.brokers.add(broker)
        self.on[broker] = set()

    def place(self, partition: str) -> str:
        """Return the broker that gets the partition."""
        broker = min(self.brokers, key=lambda one: len(self.on[one]))
        self.on[broker].add(partition)
        return broker

    def leave(self, broker: str) -> list[tuple[str, str]]:
        """Remove a broker. Return where each of its partitions goes: (partition, broker)."""
        self.brokers.remove(broker)
        return [(partition, self.place(partition)) for partition in self.on.pop(broker)]

    def diagnosis(self) -> tuple[int, int]:
        """Return the number of the first call in events.txt that has two different answers, and
        how many brokers have the fewest partitions at that moment.
        """
        raise NotImplementedError(
            "Placer.diagnosis is not written yet: it returns (number of the call, brokers)"
        )
