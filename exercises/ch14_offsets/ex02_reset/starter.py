"""Exercise 14-2: decide where a consumer reads. README.md describes the task.
`kafka-edu lab check 14-2` tests your code. `kafka-edu lab hint 14-2` gives a hint.
"""

Place = str | int  # "earliest", "latest", or a time in ms since 1970
Answer = tuple[str, Place] | tuple[str] | None


class Reset:
    """Decides where one consumer reads."""

    def __init__(self, policy: str) -> None:
        """The policy is auto.offset.reset: "earliest", "latest" or "none"."""
        self.policy = policy

    def begin(self, partition: str, committed: int | None) -> Answer:
        """Return where the consumer begins to read a new partition."""
        raise NotImplementedError(
            'Reset.begin is not written yet: it returns ("go", offset), ("look", place) or'
            ' ("fail",)'
        )

    def asked(self, partition: str, place: Place) -> Answer:
        """Return what to do when the program asks to read from a place."""
        raise NotImplementedError('Reset.asked is not written yet: it returns ("look", place)')

    def sought(self, partition: str, offset: int) -> None:
        """The program has called seek() with this offset."""

    def out_of_range(self, partition: str, offset: int) -> Answer:
        """Return what to do when the leader does not have the position's offset."""
        raise NotImplementedError(
            'Reset.out_of_range is not written yet: it returns ("look", place) or ("fail",)'
        )

    def truncated(self, partition: str, offset: int, end: int | None) -> Answer:
        """Return what to do when the leader has said where its log begins to differ."""
        raise NotImplementedError(
            'Reset.truncated is not written yet: it returns ("go", offset), ("look", place) or'
            ' ("fail",)'
        )

    def found(self, partition: str, place: Place, offset: int | None) -> Answer:
        """Return what to do when the leader has answered with the offset of a place."""
        raise NotImplementedError(
            'Reset.found is not written yet: it returns ("go", offset), ("look", place) or None'
        )

    def gone(self, partition: str) -> None:
        """Forget a partition."""
