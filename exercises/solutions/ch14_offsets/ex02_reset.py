"""Exercise 14-2: the reference solution (Kafka: SubscriptionState, Fetcher)."""

Place = str | int
Answer = tuple[str, Place] | tuple[str] | None


class Reset:
    """Decides where one consumer reads."""

    def __init__(self, policy: str) -> None:
        self.policy = policy
        self.places: dict[str, Place] = {}

    def go(self, partition: str, offset: int) -> Answer:
        """Read from this offset on."""
        self.places.pop(partition, None)
        return ("go", offset)

    def look(self, partition: str, place: Place) -> Answer:
        """Ask the leader for the offset of a place."""
        self.places[partition] = place
        return ("look", place)

    def by_policy(self, partition: str) -> Answer:
        """Do what auto.offset.reset says."""
        if self.policy != "none":
            return self.look(partition, self.policy)
        self.places.pop(partition, None)
        return ("fail",)

    def begin(self, partition: str, committed: int | None) -> Answer:
        """Return where the consumer begins to read a new partition."""
        if committed is None:
            return self.by_policy(partition)
        return self.go(partition, committed)

    def asked(self, partition: str, place: Place) -> Answer:
        """Return what to do when the program asks for a place."""
        return self.look(partition, place)

    def sought(self, partition: str, offset: int) -> None:
        """Note that the program has called seek()."""
        self.go(partition, offset)

    def out_of_range(self, partition: str, offset: int) -> Answer:
        """Return what to do when the leader does not have the position's offset."""
        return self.by_policy(partition)

    def truncated(self, partition: str, offset: int, end: int | None) -> Answer:
        """Return what to do when the leader has said where its log begins to differ."""
        if end is not None and offset <= end:
            return self.go(partition, offset)
        if end is None or self.policy == "none":
            return self.by_policy(partition)
        return self.go(partition, end)

    def found(self, partition: str, place: Place, offset: int | None) -> Answer:
        """Return what to do when the leader has answered with the offset of a place."""
        if partition not in self.places or self.places[partition] != place:
            return None
        if offset is None:
            return self.look(partition, "latest")
        return self.go(partition, offset)

    def gone(self, partition: str) -> None:
        """Forget a partition."""
        self.places.pop(partition, None)
