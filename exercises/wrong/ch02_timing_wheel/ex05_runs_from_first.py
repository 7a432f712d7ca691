"""Exercise 02-5, wrong: a task is taken to run out of the bucket that it was first in."""


def answers() -> dict[str, object]:
    """Return the answers by their names."""
    return {
        "a_first": (3, 8),
        "a_due_ms": 3200,
        "a_comes_down": 1,
        "a_last": (3, 8),
        "b_first": (3, 7),
        "c_comes_down": 2,
    }
