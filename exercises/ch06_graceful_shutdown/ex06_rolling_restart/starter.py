"""Exercise 06-6: replace each None by what you saw before you began. ticket.md describes the task.
`kafka-edu lab check 06-6` examines your cluster. `kafka-edu lab hint 06-6` gives a hint.
"""


def report() -> dict[str, object]:
    """Return what you saw at the beginning. Replace each None by your answer."""
    return {
        "down": None,  # the number of the broker that did not run
        "preferred": None,  # the number of the broker that should lead orders-0
    }
