"""Exercise 03-5, wrong: it heals every link, the one to the other building too."""

ACTS: list[list[object]] = [["heal-link", 2, 1], ["heal-link", 0, 1]]


def report() -> dict[str, object]:
    """Return what was found."""
    return {"broker": 2, "cause": "slow"}
