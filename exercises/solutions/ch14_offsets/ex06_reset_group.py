"""Exercise 14-6: the reference solution, for the trouble that seed 0 makes."""

#: What an operator does: let the members leave, reset the one topic, and let them join again.
ACTS: list[list[object]] = [
    ["members", 0],
    ["reset", "--topic", "orders", "--to-datetime", "2024-05-13T09:37:09.565"],
    ["members", 2],
]


def report() -> dict[str, object]:
    """Return the offset at which the group has to begin in each partition of the orders."""
    return {"orders-0": 123, "orders-1": 150, "orders-2": 80}
