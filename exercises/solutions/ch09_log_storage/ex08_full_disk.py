"""Exercise 09-8: the reference solution, for the trouble of seed 0."""

#: What an operator does: let the topic become small where it can be written, and then bring the
#: full disk back. The second start removes the files of the segments that the first one deleted.
ACTS = [
    ["set", "sensors", "retention.bytes=400000"],
    ["small", "sensors", 0],
    ["restart", 2],
    ["settled"],
    ["restart", 2],
    ["in-sync"],
    ["small", "sensors", 2],
]


def report() -> dict[str, object]:
    """Return the broker with the full disk, the topic that filled it, and the setting."""
    return {"broker": 2, "topic": "sensors", "setting": "retention.bytes"}
