"""Exercise 15-6: the reference solution, for the trouble that seed 0 makes."""

#: What an operator does: a program with the same transactional id ends its open transaction.
ACTS = [["fence", "fraud-check"]]


def report() -> dict[str, object]:
    """Return where the last stable offset stood, who held it, and how many payments it hid."""
    return {"lso": 17, "holder": "fraud-check", "hidden": 9}
