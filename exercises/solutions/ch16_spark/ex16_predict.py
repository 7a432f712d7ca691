"""Exercise 16-16: the right answers for the numbers of seed 0. You get other numbers."""


def answers() -> dict[str, object]:
    """Return a dict that maps the name of each question to its answer."""
    return {
        "not_planned": 219,
        "planned": 192,
        "last_batch": 5,
        "appended": 425,
        "overwritten": 388,
        "skipped": 361,
        "uncommitted": 425,
        "committed": 388,
    }
