"""Exercise 07-7: replace each None by your answer. questions.md has the situations.
`kafka-edu lab check 07-7` grades your answers. `kafka-edu lab hint 07-7` gives a hint.
"""


def answers() -> dict[str, object]:
    """Return a dict from the name of each question to your answer, the number of a broker. The
    answer -1 means that nobody leads or that nothing changes.
    """
    return {
        "leader_1": None,
        "leader_2": None,
        "leader_3": None,
        "leader_4": None,
        "leader_5": None,
        "leader_6": None,
        "leader_7": None,
        "leader_8": None,
        "leader_9": None,
        "leader_10": None,
        "lost": None,  # the number of the situation in which acknowledged records may be lost
        "waits": None,  # the number of one in which the partition waits for its ISR
    }
