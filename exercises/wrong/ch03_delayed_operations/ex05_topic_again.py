"""Exercise 03-5, wrong: it heals the link, and makes the topic again to be sure."""

ACTS: list[list[object]] = [["heal-link", 2, 1], ["topic-again", 1]]


def report() -> dict[str, object]:
    """Return what was found."""
    return {"broker": 2, "cause": "slow"}
