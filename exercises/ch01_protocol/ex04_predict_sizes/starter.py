"""Exercise 01-4: write your answers in place of None. questions.md has the questions;
`kafka-edu lab check 01-4` compares, `kafka-edu lab hint 01-4` helps.
"""


def answers() -> dict[str, object]:
    """Return a dict: the name of each question → your answer. All of them are numbers of bytes."""
    return {
        "batch_of_one": None,
        "batch_of_all": None,
        "produce": None,
        "fetch_full": None,
        "fetch_nothing": None,
        "fetch_changes": None,
    }
