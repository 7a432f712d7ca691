"""Exercise 03-5, wrong: it blames the broker of the other building, which is a little slow."""

ACTS: list[list[object]] = []


def report() -> dict[str, object]:
    """Return what was found."""
    return {"broker": 0, "cause": "slow"}
