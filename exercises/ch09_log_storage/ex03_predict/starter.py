"""Exercise 09-3: replace each None by your answer. questions.md has the situations.
`kafka-edu lab check 09-3` grades your answers. `kafka-edu lab hint 09-3` gives a hint.
"""


def answers() -> dict[str, object]:
    """Return a dict from the name of each question to your answer, a number."""
    return {
        "time_count": None,  # how many segments
        "time_when": None,  # the minute
        "time_start": None,  # the offset
        "files_when": None,  # the minute
        "size_count": None,  # how many segments
        "size_left": None,  # bytes
        "not_committed": None,  # how many segments
        "by_start": None,  # how many segments
        "young_first": None,  # how many segments
        "rolls": None,  # bytes
    }
