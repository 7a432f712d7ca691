"""Exercise 07-6: the reference solution, for the trouble of seed 0."""

#: What an operator does: the longest log that is left leads first, and then come the others.
ACTS = [["start", 2], ["unclean"], ["start", 1], ["start", 0], ["in-sync"]]


def report() -> dict[str, object]:
    """Return the last leader, the broker that must lead first now, and how many orders are lost."""
    return {"led_last": 0, "first": 2, "lost": 9}
