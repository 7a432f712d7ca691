"""Exercise 14-5: the right answers for seed 0."""


def answers() -> dict[str, object]:
    """Return a dict that maps the name of each question to its answer."""
    return {
        "kill": 15,
        "close": 0,
        "each": 0,
        "batch": 17,
        "before": 2,
        "low": 11,
        "high": 4,
        "gone": 3,
        "latest": 8,
        "rebalance": 0,
    }
