"""Exercise 16-4: write a sink that survives every crash. README.md has the task.
`kafka-edu lab check 16-4` tests your code, and `kafka-edu lab hint 16-4` gives you a hint.
"""

from collections.abc import Mapping, Sequence

Batch = tuple[int, list[int], list[int]]  # batch id, start and end of each partition
Step = tuple[str] | tuple[str, str] | tuple[str, str, int]


class ExactlyOnce:
    """Decides what the driver and the tasks of a streaming query do."""

    def next_batch(
        self,
        planned: Sequence[tuple[int, Sequence[int]]],
        committed: Sequence[int],
        latest: Sequence[int],
    ) -> Batch | None:
        """Return the batch to run now, or None if there is nothing to do."""
        raise NotImplementedError(
            "ExactlyOnce.next_batch is not written yet: it returns (batch_id, start, end) or None"
        )

    def transactional_id(self, task: int, partition: int) -> str:
        """Return the transactional id with which a task begins its transaction."""
        raise NotImplementedError(
            "ExactlyOnce.transactional_id is not written yet: it returns a text"
        )

    def steps(
        self,
        batch_id: int,
        task: int,
        partition: int,
        rows: Sequence[str],
        marks: Mapping[str, int],
    ) -> list[Step]:
        """Return the steps of a task after it has begun its transaction."""
        raise NotImplementedError(
            "ExactlyOnce.steps is not written yet: it returns a list of steps"
        )
