"""Exercise 02-5: replace each None by your answer. The questions are in questions.md. Check with
`kafka-edu lab check 02-5`. `kafka-edu lab hint 02-5` gives a hint.
"""


def answers() -> dict[str, object]:
    """Return your answer to each question, by the question's name."""
    return {
        "a_first": None,  # (level, slot)
        "a_due_ms": None,  # ms
        "a_comes_down": None,  # how many times
        "a_last": None,  # (level, slot)
        "b_first": None,  # (level, slot)
        "c_comes_down": None,  # how many times
    }
