"""Exercise 08-7: replace each None by your answer. questions.md has the situations.
`kafka-edu lab check 08-7` grades your answers. `kafka-edu lab hint 08-7` gives a hint.
"""


def answers() -> dict[str, object]:
    """Return a dict from the name of each question to your answer. An answer is the number of a
    broker, "proxy", -1 for nobody, or a number of bytes.
    """
    return {
        "to_1": None,
        "to_2": None,
        "to_3": None,
        "to_4": None,
        "to_5": None,
        "to_6": None,
        "to_7": None,
        "to_8": None,
        "to_9": None,
        "to_10": None,
        "asked": None,  # the size of the request, in bytes
        "told": None,  # the size of the answer, in bytes
    }
