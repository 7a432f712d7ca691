"""Exercise 04-1: write the two tables of states. README.md describes the task.
`kafka-edu lab check 04-1` tests your code. `kafka-edu lab hint 04-1` gives a hint.
"""

from collections.abc import Sequence

Named = list[tuple[str, str]]  # (name, the state that it had)


class StateMachine:
    """Keeps the state of each partition (or of each replica). Makes only changes that the table
    allows.
    """

    def __init__(self, machine: str) -> None:
        """`machine` is "partition" or "replica"."""
        self.machine = machine

    def handle(self, names: Sequence[str], wanted: str) -> tuple[Named, Named]:
        """Change each of `names` to the state `wanted`, if the table allows it. Return two lists:
        the names that were changed, and the names whose change was refused. Each element is (name,
        state that it had until then).
        """
        raise NotImplementedError(
            "StateMachine.handle is not written yet: it returns two lists, (changed, refused)"
        )

    def states(self) -> Named:
        """Return (name, state) of each name that exists now, sorted by name."""
        raise NotImplementedError(
            "StateMachine.states is not written yet: it returns a list of (name, state)"
        )
