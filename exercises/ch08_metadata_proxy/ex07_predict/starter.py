"""Exercise 08-7: write your answers in place of None. questions.md has the situations;
`kafka-edu lab check 08-7` compares, `kafka-edu lab hint 08-7` helps.
"""


def answers() -> dict[str, object]:
    """Return a dict: the name of each question → your answer. It is a broker's number, "proxy",
    -1 for nobody, or a number of bytes.
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
