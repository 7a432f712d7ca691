"""Exercise 05-4: replace each None by your answer. questions.md has the questions.
`kafka-edu lab check 05-4` grades your answers. `kafka-edu lab hint 05-4` gives a hint.
"""


def answers() -> dict[str, object]:
    """Return a dict from the name of each question to your answer. Times are in ms."""
    return {
        "given_a": None,  # the time-out that the session of run a gets
        "given_b": None,  # that of run b
        "given_c": None,  # that of run c
        "gone_a": None,  # when /controller is gone in run a
        "gone_b": None,  # in run b
        "gone_c": None,  # in run c
        "first": None,  # "a", "b" or "c": where it is vacant soonest after the act
        "believes": None,  # "a", "b" or "c": where the old one still takes itself for controller
    }
