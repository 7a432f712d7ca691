"""Exercise 12-7: the reference solution, for the trouble of seed 0."""

#: What an operator does: give the follower its leader back. The orders in the buffer are stored.
ACTS = [["heal-link", 1, 0]]


def report() -> dict[str, object]:
    """Return why the buffer is full, and the broker that an order waits for."""
    return {"cause": "link", "waits_for": 0}
