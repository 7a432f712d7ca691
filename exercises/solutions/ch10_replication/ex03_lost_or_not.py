"""Exercise 10-3: the right answers for seed 0."""


def answers() -> dict[str, object]:
    """Return a dict that maps the name of each question to its answer."""
    return {
        "lost_1": 9,
        "lost_2": 0,
        "lost_3": 4,
        "lost_4": 0,
        "lost_5": 0,
        "lost_6": 0,
        "lost_7": 0,
        "lost_8": 6,
        "refused": 4,
        "there": 6,
    }
