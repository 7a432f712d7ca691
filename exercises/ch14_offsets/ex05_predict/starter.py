"""Exercise 14-5: replace each None by your answer. questions.md has the situations.
`kafka-edu lab check 14-5` grades your answers. `kafka-edu lab hint 14-5` gives a hint.
"""


def answers() -> dict[str, object]:
    """Return a dict from the name of each question to your answer, a number of records."""
    return {
        "kill": None,  # come again
        "close": None,  # come again
        "each": None,  # are done and come again
        "batch": None,  # come again
        "before": None,  # are missed
        "low": None,  # come again
        "high": None,  # are missed
        "gone": None,  # are missed
        "latest": None,  # are missed
        "rebalance": None,  # come again
    }
