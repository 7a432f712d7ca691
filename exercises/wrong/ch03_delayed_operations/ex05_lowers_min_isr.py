"""Exercise 03-5, wrong: it asks for fewer replicas, which changes nothing for acks=all."""

ACTS: list[list[object]] = [["topic-config", "orders", "min.insync.replicas=1"]]


def report() -> dict[str, object]:
    """Return what was found."""
    return {"broker": 2, "cause": "slow"}
