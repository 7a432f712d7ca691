"""Exercise 01-4: replace each None by your answer. The questions are in questions.md. Check with
`kafka-edu lab check 01-4`. `kafka-edu lab hint 01-4` gives a hint.
"""


def answers() -> dict[str, object]:
    """Return your answer to each question, by the question's name. All are numbers of bytes."""
    return {
        "batch_of_one": None,
        "batch_of_all": None,
        "produce": None,
        "fetch_full": None,
        "fetch_nothing": None,
        "fetch_changes": None,
    }
