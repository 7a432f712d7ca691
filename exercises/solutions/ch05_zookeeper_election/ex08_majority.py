"""Exercise 05-8: the reference solution, for the trouble of seed 0."""

#: What an operator does: first a majority, then a server that learns from it, then the broker.
ACTS = [["start-server", 1], ["wipe", 3], ["start-server", 3], ["start", 2]]


def report() -> dict[str, object]:
    """Return which server is damaged, which file, and which server's start makes a majority."""
    return {"damaged": 3, "file": "currentEpoch", "enough": 1}
