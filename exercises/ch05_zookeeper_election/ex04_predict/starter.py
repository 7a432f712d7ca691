"""Exercise 05-4: replace each None by your answer. questions.md has the questions.
`kafka-edu lab check 05-4` grades your answers. `kafka-edu lab hint 05-4` gives a hint.
"""


def answers() -> dict[str, object]:
    """Return a dict from the name of each question to your answer. Times are in ms."""
    return {
        "given_a": None,  # the time-out that the session of run a gets
        "given_b": None,  # the time-out in run b
        "given_c": None,  # the time-out in run c
        "gone_a": None,  # when /controller is gone in run a
        "gone_b": None,  # in run b
        "gone_c": None,  # in run c
        "first": None,  # "a", "b" or "c": the run whose /controller is vacant soonest
        "believes": None,  # "a", "b" or "c": the run whose old controller still thinks it leads
    }
