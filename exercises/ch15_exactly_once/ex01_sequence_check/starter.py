"""Exercise 15-1: check the sequence numbers of a producer. README.md describes the task.
`kafka-edu lab check 15-1` tests your code. `kafka-edu lab hint 15-1` gives a hint.
"""

Answer = str | tuple[str, int]


class SequenceCheck:
    """The check of one idempotent producer's batches, in one partition."""

    def check(self, epoch: int, first: int, count: int) -> Answer:
        """Return "write", ("duplicate", offset) or the name of an error."""
        raise NotImplementedError("SequenceCheck.check is not written yet: it returns an answer")

    def written(self, epoch: int, first: int, count: int, offset: int) -> None:
        """Store that a batch was written at this offset."""
        raise NotImplementedError("SequenceCheck.written is not written yet: it notes a batch")

    def fence(self, epoch: int) -> None:
        """The coordinator has raised the epoch to this one."""
        raise NotImplementedError("SequenceCheck.fence is not written yet: it notes an epoch")
