"""Exercise 03-5: the reference solution, for the trouble of seed 0."""

#: What an operator does: heal the link between broker 2 and the leader, and nothing else.
ACTS = [["heal-link", 2, 1]]


def report() -> dict[str, object]:
    """Return for which broker the produce waited, and whether its link is cut or slow."""
    return {"broker": 2, "cause": "slow"}
