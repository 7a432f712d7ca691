"""Exercise 03-6: write your answers in place of None. questions.md has the questions;
`kafka-edu lab check 03-6` compares, `kafka-edu lab hint 03-6` helps.
"""


def answers() -> dict[str, object]:
    """Return a dict: the name of each question → your answer."""
    return {
        "fetch_ends_by": None,  # "bytes" or "time-out"
        "fetch_ends_ms": None,  # ms, 20 more or less
        "fetch_records": None,  # how many
        "produce_ends_by": None,  # "broker 1", "broker 2" or "time-out"
        "produce_ends_ms": None,  # ms, 20 more or less
        "hw_at_answer": None,  # an offset
        "hw_at_end": None,  # an offset
    }
