"""Exercise 03-5, wrong: it blames the leader, which only waits."""

ACTS: list[list[object]] = []


def report() -> dict[str, object]:
    """Return what was found."""
    return {"broker": 1, "cause": "slow"}
