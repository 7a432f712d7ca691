"""Exercise 08-6: the reference solution, for the trouble of seed 0."""

#: What an operator does: clients receive the address at which the broker listens for them.
ACTS = [["advertise", 2, 2], ["restart", 2], ["in-sync"]]


def report() -> dict[str, object]:
    """Return the broker with the wrong address, what is there, and the last API that worked."""
    return {"broker": 2, "there": "no such name", "answered": "Metadata"}
