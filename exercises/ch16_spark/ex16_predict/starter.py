"""Exercise 16-16: replace each None by your answer. The questions are in questions.md. Check with
`kafka-edu lab check 16-16`. `kafka-edu lab hint 16-16` gives a hint.
"""


def answers() -> dict[str, object]:
    """Return your answer to each question, by the question's name. All are whole numbers."""
    return {
        "not_planned": None,
        "planned": None,
        "last_batch": None,
        "appended": None,
        "overwritten": None,
        "skipped": None,
        "uncommitted": None,
        "committed": None,
    }
