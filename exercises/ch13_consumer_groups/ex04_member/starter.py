"""Exercise 13-4: write the state machine of a group's member. README.md describes the task.
`kafka-edu lab check 13-4` tests your code. `kafka-edu lab hint 13-4` gives a hint.
"""


class Member:
    """The membership of one consumer in its group."""

    def __init__(self) -> None:
        """The member is Unjoined, without an id and without a generation."""

    def happens(self, event: str, member_id: str, generation: int) -> str:
        """Change the state after an event, and return the new state."""
        raise NotImplementedError("Member.happens is not written yet: it returns the state")

    def may(self, what: str) -> bool:
        """Return whether the member may send a "heartbeat" or a "commit" now."""
        raise NotImplementedError("Member.may is not written yet: it returns True or False")

    def identity(self) -> tuple[str, int]:
        """Return the member's id and its generation."""
        raise NotImplementedError(
            "Member.identity is not written yet: it returns (member_id, generation)"
        )
