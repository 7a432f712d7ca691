"""Exercise 08-3: the reference solution."""


class Health:
    """The health of one target of a proxy."""

    def __init__(self, down_after: int, up_after: int) -> None:
        self.needed = {"Down": down_after, "Up": up_after}
        self.state = ""
        self.against = 0

    def saw(self, answered: bool) -> str:
        """Record whether the target answered this check. Return its state now: "Up" or "Down"."""
        seen = "Up" if answered else "Down"
        self.against = 0 if seen == self.state else self.against + 1
        if not self.state or self.against == self.needed[seen]:
            self.state = seen
            self.against = 0
        return self.state
