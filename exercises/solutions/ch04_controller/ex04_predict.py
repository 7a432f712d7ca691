"""Exercise 04-4: the right answers for seed 0."""


def answers() -> dict[str, object]:
    """Return a dict that maps the name of each question to its answer."""
    return {
        "created_leader_and_isr": [0, 1, 2],
        "created_metadata": [0, 1, 2, 3],
        "leaders": [2, 1, 2],
        "elections": 1,
        "new_leaders": [2, 0, 2],
        "failed_leader_and_isr": [0, 2],
        "failed_metadata": [0, 2, 3],
    }
