"""Exercise 12-6: replace each None by your answer. questions.md has the programs.
`kafka-edu lab check 12-6` grades your answers. `kafka-edu lab hint 12-6` gives a hint.
"""


def answers() -> dict[str, object]:
    """Return a dict from the name of each question to your answer, a number."""
    return {
        "one_burst": None,  # batches
        "slow": None,  # batches
        "no_linger": None,  # batches
        "brokers": None,  # requests
        "flush": None,  # batches
        "sticky": None,  # batches
        "round_robin": None,  # batches
        "large": None,  # batches
        "request_size": None,  # requests
    }
