"""Exercise 03-5, wrong: it moves the replica away from the broker that is behind."""

ACTS: list[list[object]] = [["reassign", "orders-0", "1,0"]]


def report() -> dict[str, object]:
    """Return what was found."""
    return {"broker": 2, "cause": "slow"}
