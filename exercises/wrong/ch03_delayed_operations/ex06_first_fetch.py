"""Exercise 03-6, wrong: a fetch is taken to say that it was successful."""


def answers() -> dict[str, object]:
    """Return the answers by their names."""
    return {
        "fetch_ends_by": "bytes",
        "fetch_ends_ms": 767,
        "fetch_records": 6,
        "produce_ends_by": "time-out",
        "produce_ends_ms": 154,
        "hw_at_answer": 34,
        "hw_at_end": 34,
    }
