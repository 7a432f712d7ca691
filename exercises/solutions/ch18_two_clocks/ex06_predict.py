"""Exercise 18-6: the right answers for seed 0."""


def answers() -> dict[str, object]:
    """Return a dict that maps the name of each question to its answer."""
    return {
        "first": 4,
        "third": 2,
        "tie": 8,
        "after_resume": 11,
        "put_aside": 2,
        "never": 1,
        "last": 12,
        "times": 5,
    }
