"""Exercise 05-7: the reference solution, for the trouble of seed 0."""

KEY = "zookeeper.session.timeout.ms"
#: What an operator does: a session that a stall and a third of itself fit into, read by a restart.
ACTS = [["set", 1, KEY, "18000"], ["restart", 1]]


def report() -> dict[str, object]:
    """Return the findings: the broker, how many ms it stands still each time, and the cause."""
    return {"broker": 1, "stands_still_ms": 7500, "cause": "machine"}
