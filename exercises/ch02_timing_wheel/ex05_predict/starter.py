"""Exercise 02-5: write your answers in place of None. questions.md has the questions;
`kafka-edu lab check 02-5` compares, `kafka-edu lab hint 02-5` helps.
"""


def answers() -> dict[str, object]:
    """Return a dict: the name of each question → your answer."""
    return {
        "a_first": None,  # (level, slot)
        "a_due_ms": None,  # ms
        "a_comes_down": None,  # how many times
        "a_last": None,  # (level, slot)
        "b_first": None,  # (level, slot)
        "c_comes_down": None,  # how many times
    }
