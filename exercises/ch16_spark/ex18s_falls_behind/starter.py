"""Exercise 16-18s: replace each None by what you found. ticket.md describes the trouble.
`kafka-edu lab check 16-18s` examines your cluster. `kafka-edu lab hint 16-18s` gives a hint.
"""


def report() -> dict[str, object]:
    """Return your findings in a dict. Replace each None by your answer."""
    return {
        "cause": None,  # why the query falls behind: "limit", "partition", "key" or "fetch"
        "busy": None,  # how many tasks have at least a tenth of the clicks of a micro-batch
    }
