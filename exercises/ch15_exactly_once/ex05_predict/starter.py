"""Exercise 15-5: replace each None by your answer. questions.md has the two logs. `kafka-edu lab
check 15-5` grades your answers. `kafka-edu lab hint 15-5` gives a hint.
"""


def answers() -> dict[str, object]:
    """Return a dict from the name of each question to your answer, a number."""
    return {
        "uncommitted": None,  # how many records
        "lso": None,  # an offset
        "holder": None,  # a producer
        "committed": None,  # how many records
        "plain": None,  # how many records
        "last": None,  # an offset
        "after_abort": None,  # how many records
        "behind": None,  # an offset
        "caught_up": None,  # how many records
        "named": None,  # how many transactions
    }
