"""Exercise 01-4: the right answers for the numbers of seed 0. You get other numbers."""


def answers() -> dict[str, object]:
    """Return a dict that maps the name of each question to its answer."""
    return {
        "batch_of_one": 131,
        "batch_of_all": 6387,
        "produce": 6442,
        "fetch_full": 12992,
        "fetch_nothing": 66,
        "fetch_changes": 282,
    }
