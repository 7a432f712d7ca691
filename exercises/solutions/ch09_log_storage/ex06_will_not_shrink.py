"""Exercise 09-6: the reference solution, for the trouble of seed 0."""

#: What an operator does: the damaged replica comes again from the leader.
ACTS = [["fresh-replica", 0], ["small", 40_000]]


def report() -> dict[str, object]:
    """Return what keeps the partition from shrinking, and on which broker."""
    return {"cause": "batch", "broker": 0}
