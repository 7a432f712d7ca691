"""Exercise 10-6: the reference solution (Kafka: AbstractFetcherThread; KIP-101, KIP-279)."""

from collections.abc import Sequence

Operation = tuple[object, ...]


class Fetcher:
    """All partitions that this broker follows at one leader."""

    def __init__(self, backoff_ms: int) -> None:
        self.backoff_ms = backoff_ms
        self.does: dict[str, Operation] = {}
        self.until_ms: dict[str, int] = {}

    def follow(self, partition: str, epochs: Sequence[tuple[int, int]]) -> None:
        """Set the partition's state to Truncating, and end its wait."""
        self.does[partition] = ("ask", epochs[-1][0] if epochs else -1)
        self.until_ms.pop(partition, None)

    def leave(self, partition: str) -> None:
        """Forget a partition."""
        self.does.pop(partition)
        self.until_ms.pop(partition, None)

    def plan(self, now_ms: int) -> dict[str, Operation]:
        """Return the current operation of each partition."""
        plan = dict(self.does)
        for partition, until_ms in self.until_ms.items():
            if now_ms < until_ms:
                plan[partition] = ("wait", until_ms)
        return plan

    def answer(
        self,
        partition: str,
        epochs: Sequence[tuple[int, int]],
        leo: int,
        hw: int,
        leader_epoch: int,
        leader_end: int,
    ) -> int:
        """Return the new end of the log. Then the partition asks again, or begins to fetch."""
        self.does[partition] = ("fetch",)
        if leader_end == -1:
            return min(hw, leo)
        newer = [start for epoch, start in epochs if epoch > leader_epoch]
        older = [epoch for epoch, _ in epochs if epoch <= leader_epoch]
        end = newer[0] if newer else leo
        if older and older[-1] < leader_epoch:
            self.does[partition] = ("ask", older[-1])
            return end
        return min(end, leader_end)

    def error(self, partition: str, error: str, now_ms: int) -> Operation:
        """Return the operation of a partition after an error."""
        if error == "OFFSET_OUT_OF_RANGE":
            return ("look",)
        if error == "FENCED_LEADER_EPOCH":
            self.does[partition] = ("failed",)
            return ("failed",)
        self.until_ms[partition] = now_ms + self.backoff_ms
        return "wait", self.until_ms[partition]

    def offsets(self, partition: str, leo: int, leader_start: int, leader_end: int) -> Operation:
        """Return how a log gets back into the range of the leader's log."""
        if leader_end < leo:
            return "cut", leader_end
        if leader_start > leo:
            return "restart", leader_start
        return ("keep",)
