"""Exercise 04-3: the reference solution."""

from collections.abc import Sequence

Sets = tuple[list[int], list[int], list[int]]  # (replicas, adding, removing)
Step = tuple[str, list[int]]  # (what to do, with which brokers)


class Reassignment:
    """One partition, which is at rest or is being moved to other brokers."""

    def __init__(self, replicas: Sequence[int]) -> None:
        """Begin with a partition at rest. Its replicas are on these brokers."""
        self.replicas = list(replicas)
        self.adding: list[int] = []
        self.removing: list[int] = []

    def order(self, target: Sequence[int] | None) -> None:
        """Order a move to the brokers `target`. None cancels the move that is under way."""
        origin = [broker for broker in self.replicas if broker not in self.adding]
        wanted = origin if target is None else list(target)
        self.replicas = wanted + [broker for broker in origin if broker not in wanted]
        self.adding = [broker for broker in self.replicas if broker not in origin]
        self.removing = [broker for broker in self.replicas if broker not in wanted]

    def sets(self) -> Sets:
        """Return three lists of brokers: all replicas, those being added, those being removed."""
        return self.replicas, self.adding, self.removing

    def next(
        self, leader: int, isr: Sequence[int], live: Sequence[int], stopped: Sequence[int]
    ) -> Step:
        """Return the next step of the move, and the brokers that this step concerns."""
        if not self.adding and not self.removing:
            return "done", []
        target = [broker for broker in self.replicas if broker not in self.removing]
        missing = [broker for broker in target if broker not in isr]
        if missing:
            return "wait", missing
        if leader not in target or leader not in live:
            able = [broker for broker in target if broker in live]
            return ("elect", able[:1]) if able else ("wait", target)
        leaving = [broker for broker in self.removing if broker in isr]
        if leaving:
            return "leave_isr", leaving
        running = [broker for broker in self.removing if broker in live and broker not in stopped]
        if running:
            return "stop", running
        self.replicas, self.adding, self.removing = target, [], []
        return "write", target
