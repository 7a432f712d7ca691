"""Exercise 03-6: replace each None by your answer. The questions are in questions.md. Check with
`kafka-edu lab check 03-6`. `kafka-edu lab hint 03-6` gives a hint.
"""


def answers() -> dict[str, object]:
    """Return your answer to each question, by the question's name."""
    return {
        "fetch_ends_by": None,  # "bytes" or "time-out"
        "fetch_ends_ms": None,  # ms, 20 more or less
        "fetch_records": None,  # how many
        "produce_ends_by": None,  # "broker 1", "broker 2" or "time-out"
        "produce_ends_ms": None,  # ms, 20 more or less
        "hw_at_answer": None,  # an offset
        "hw_at_end": None,  # an offset
    }
