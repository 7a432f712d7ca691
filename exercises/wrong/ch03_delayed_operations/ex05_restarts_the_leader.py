"""Exercise 03-5, wrong: it restarts the leader, so that another broker leads."""

ACTS: list[list[object]] = [["restart", 1]]


def report() -> dict[str, object]:
    """Return what was found."""
    return {"broker": 2, "cause": "slow"}
