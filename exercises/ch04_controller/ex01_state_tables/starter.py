"""Exercise 04-1: write the two tables of states. README.md says what is asked;
`kafka-edu lab check 04-1` tries it, `kafka-edu lab hint 04-1` helps.
"""

from collections.abc import Sequence

Named = list[tuple[str, str]]  # (name, the state that it had)


class StateMachine:
    """The states of all partitions, or of all replicas."""

    def __init__(self, machine: str) -> None:
        """`machine` is "partition" or "replica"."""
        self.machine = machine

    def handle(self, names: Sequence[str], wanted: str) -> tuple[Named, Named]:
        """Bring each name into the state `wanted`. Return those that changed, and those for which
        the table has no such change.
        """
        raise NotImplementedError(
            "StateMachine.handle is not written yet: it returns two lists, (changed, refused)"
        )

    def states(self) -> Named:
        """Return (name, state) of all that exist, in the order of their names."""
        raise NotImplementedError(
            "StateMachine.states is not written yet: it returns a list of (name, state)"
        )
