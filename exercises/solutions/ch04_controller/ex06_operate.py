"""Exercise 04-6: the reference solution, for the trouble of seed 0."""

#: What an operator does: heal the link over which nothing came, and wait.
ACTS = [["heal", 0, "3"], ["wait-for-move"]]


def report() -> dict[str, object]:
    """Return the findings: the broker that the move waits for, and what does not reach it."""
    return {"broker": 0, "missing": "records"}
