"""Exercise 08-6: replace each None by what you found. ticket.md describes the trouble. `kafka-edu
lab check 08-6` examines your cluster. `kafka-edu lab hint 08-6` gives a hint.
"""


def report() -> dict[str, object]:
    """Return your findings in a dict. Replace each None by your answer."""
    return {
        "broker": None,  # the number of the broker whose address for clients is wrong
        "there": None,  # what is at that address: "nobody", "another broker" or "no such name"
        "answered": None,  # the last API with a successful answer to its client, such as "Fetch"
    }
