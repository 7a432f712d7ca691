"""Exercise 02-5: the right answers for the run of seed 0. Your run has other answers."""


def answers() -> dict[str, object]:
    """Return a dict that maps the name of each question to its answer."""
    return {
        "a_first": (3, 8),
        "a_due_ms": 3200,
        "a_comes_down": 1,
        "a_last": (1, 15),
        "b_first": (3, 7),
        "c_comes_down": 2,
    }
