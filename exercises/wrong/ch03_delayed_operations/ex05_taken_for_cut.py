"""Exercise 03-5, wrong: it takes a slow link for one that is cut."""

ACTS: list[list[object]] = []


def report() -> dict[str, object]:
    """Return what was found."""
    return {"broker": 2, "cause": "cut"}
