"""Exercise 06-7: replace each None by your answer. questions.md has the questions.
`kafka-edu lab check 06-7` grades your answers. `kafka-edu lab hint 06-7` gives a hint.
"""


def answers() -> dict[str, object]:
    """Return a dict from the name of each question to your answer. Times are in ms."""
    return {
        "gap_a": None,  # for how long web-0 has no leader in run a
        "gap_b": None,  # in run b
        "gap_c": None,  # in run c
        "next_a": None,  # the broker that leads then, in run a
        "next_b": None,  # in run b
        "next_c": None,  # in run c
        "reads": None,  # "a", "b" or "c": after which run the start reads segments again
        "attempts": None,  # how many times the broker asks in run d
        "let_go": None,  # True or False: whether its last attempt succeeds
    }
