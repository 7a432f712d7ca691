"""Exercise 13-8: the reference solution, for the trouble that seed 0 makes."""

#: What an operator does: more workers. There are partitions enough for them.
ACTS = [["set", "workers", 5]]


def report() -> dict[str, object]:
    """Return why the lag grows, and how many workers can have a partition."""
    return {"cause": "workers", "at_work": 2}
