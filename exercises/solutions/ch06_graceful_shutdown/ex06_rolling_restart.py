"""Exercise 06-6: the reference solution, for the work of seed 0."""

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
    """Return what was seen at the beginning."""
    return {"down": 2, "preferred": 2}
