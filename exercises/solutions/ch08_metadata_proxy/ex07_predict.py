"""Exercise 08-7: the right answers for seed 0."""


def answers() -> dict[str, object]:
    """Return a dict that maps the name of each question to its answer."""
    return {
        "to_1": 1,
        "to_2": 1,
        "to_3": 3,
        "to_4": 0,
        "to_5": -1,
        "to_6": 2,
        "to_7": -1,
        "to_8": 3,
        "to_9": "proxy",
        "to_10": 1,
        "asked": 28,
        "told": 268,
    }
