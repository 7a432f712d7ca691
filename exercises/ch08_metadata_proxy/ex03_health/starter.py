"""Exercise 08-3: is a target up or down? README.md describes the task. `kafka-edu lab check 08-3`
tests your code. `kafka-edu lab hint 08-3` gives a hint.
"""


class Health:
    """Keeps the state of one target of a proxy: up or down."""

    def __init__(self, down_after: int, up_after: int) -> None:
        self.down_after = down_after
        self.up_after = up_after

    def saw(self, answered: bool) -> str:
        """Record whether the target answered this check. Return its state now, "Up" or "Down"."""
        raise NotImplementedError("Health.saw is not written yet: it returns 'Up' or 'Down'")
