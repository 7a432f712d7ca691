"""Exercise 03-5, wrong: it names the broker in words."""

ACTS: list[list[object]] = []


def report() -> dict[str, object]:
    """Return what was found."""
    return {"broker": "broker 2", "cause": "slow"}
