"""Exercise 06-6: the reference solution, for the cluster that seed 0 makes."""

#: What an operator does: first the one that is down, and last the controller.
ACTS = [
    ["set", 11500],
    ["start", 2],
    ["in-sync"],
    ["restart-others", 2],
    ["restart-controller"],
    ["in-sync"],
    ["prefer"],
]


def report() -> dict[str, object]:
    """Return the broker that was down at the beginning, and the preferred leader of orders-0."""
    return {"down": 2, "preferred": 2}
