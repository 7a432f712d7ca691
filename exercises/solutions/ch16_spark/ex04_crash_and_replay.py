"""Exercise 16-4: the reference solution."""

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
        ends = [[0, 0], *(list(end) for _, end in planned)]
        last_id = planned[-1][0] if planned else -1
        if planned and last_id not in committed:
            return last_id, ends[-2], ends[-1]
        if ends[-1] == list(latest):
            return None
        return last_id + 1, ends[-1], list(latest)

    def transactional_id(self, task: int, partition: int) -> str:
        """Return the transactional id with which a task begins its transaction."""
        return f"web-{partition}"

    def steps(
        self,
        batch_id: int,
        task: int,
        partition: int,
        rows: Sequence[str],
        marks: Mapping[str, int],
    ) -> list[Step]:
        """Return the steps of a task after it has begun its transaction."""
        key = f"web-{partition}"
        if marks.get(key, 0) > batch_id:
            return []
        return [*(("row", row) for row in rows), ("mark", key, batch_id + 1), ("commit",)]
