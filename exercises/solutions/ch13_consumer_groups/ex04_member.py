"""Exercise 13-4: the reference solution (Kafka: AbstractCoordinator.java, MemberState)."""

NEXT = {
    ("Unjoined", "poll"): "Revoking",
    ("Stable", "poll"): "Revoking",
    ("Revoking", "given_up"): "PreparingRebalance",
    ("PreparingRebalance", "joined"): "CompletingRebalance",
    ("CompletingRebalance", "sync_failed"): "PreparingRebalance",
    ("CompletingRebalance", "synced"): "Assigning",
    ("Assigning", "taken"): "Stable",
}
WAITS_FOR_JOIN = "PreparingRebalance"


class Member:
    """The membership of one consumer in its group."""

    def __init__(self) -> None:
        self.leave()

    def leave(self) -> None:
        """Be in no group."""
        self.state = "Unjoined"
        self.member_id = ""
        self.generation = -1

    def happens(self, event: str, member_id: str, generation: int) -> str:
        """Change the state after an event, and return the new state."""
        if event == "expelled":
            self.leave()
        elif (self.state, event) in NEXT:
            self.state = NEXT[self.state, event]
            if event == "joined":
                self.member_id, self.generation = member_id, generation
        return self.state

    def may(self, what: str) -> bool:
        """Return whether the member may send a "heartbeat" or a "commit" now."""
        if self.generation == -1 or self.state == WAITS_FOR_JOIN:
            return False
        return what == "heartbeat" or self.state != "CompletingRebalance"

    def identity(self) -> tuple[str, int]:
        """Return the member's id and its generation."""
        return self.member_id, self.generation
