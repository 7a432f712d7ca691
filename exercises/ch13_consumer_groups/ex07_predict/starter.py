"""Exercise 13-7: replace each None by your answer. questions.md has the situations.
`kafka-edu lab check 13-7` grades your answers. `kafka-edu lab hint 13-7` gives a hint.
"""


def answers() -> dict[str, object]:
    """Return a dict from the name of each question to your answer, a number."""
    return {
        "block": None,  # partitions
        "many_topics": None,  # partitions
        "round_robin": None,  # partitions
        "static": None,  # the lowest partition
        "idle": None,  # members
        "range_leaves": None,  # partitions
        "sticky_leaves": None,  # partitions
        "cooperative": None,  # partitions
        "copies": None,  # times
    }
