"""Exercise 10-5: the reference solution, for the trouble of seed 0."""

#: What an operator does: start what is down, heal the link, remove the throttle, and wait.
ACTS = [
    ["start", 1],
    ["heal-link", 3, 0],
    ["throttle", "orders", 2],
    ["in-sync", "carts", "orders", "visits"],
]


def report() -> dict[str, object]:
    """Return the findings: why a replica of each topic is not in the ISR."""
    return {"carts": "process", "orders": "throttle", "visits": "link"}
