"""Exercise 04-4: replace each None by your answer. questions.md has the questions.
`kafka-edu lab check 04-4` grades your answers. `kafka-edu lab hint 04-4` gives a hint.
"""


def answers() -> dict[str, object]:
    """Return a dict from the name of each question to your answer."""
    return {
        "created_leader_and_isr": None,  # broker ids, ascending, such as [0, 3]
        "created_metadata": None,  # broker ids
        "leaders": None,  # a broker for each partition, in the order of the table
        "elections": None,  # how many
        "new_leaders": None,  # a broker for each partition
        "failed_leader_and_isr": None,  # broker ids
        "failed_metadata": None,  # broker ids
    }
