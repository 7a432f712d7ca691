"""Exercise 16-18s: the reference solution, for the trouble that seed 0 makes."""

#: What an operator does: fetches that do not wait, and micro-batches as large as the memory allows.
ACTS = [["set", "kafka.fetch.min.bytes", 1], ["set", "maxOffsetsPerTrigger", 1000]]


def report() -> dict[str, object]:
    """Return why the query falls behind, and how many tasks have work."""
    return {"cause": "fetch", "busy": 4}
