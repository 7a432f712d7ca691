"""Exercise 05-4: the right answers for seed 0."""


def answers() -> dict[str, object]:
    """Return a dict that maps the name of each question to its answer."""
    return {
        "given_a": 6000,
        "given_b": 6700,
        "given_c": 20100,
        "gone_a": 21000,
        "gone_b": 20000,
        "gone_c": 18835,
        "first": "c",
        "believes": "b",
    }
