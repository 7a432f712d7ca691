"""Exercise 02-5, wrong: the slot is rounded up, to the bucket after the deadline."""


def answers() -> dict[str, object]:
    """Return the answers by their names."""
    return {
        "a_first": (3, 9),
        "a_due_ms": 3200,
        "a_comes_down": 1,
        "a_last": (1, 15),
        "b_first": (3, 7),
        "c_comes_down": 2,
    }
