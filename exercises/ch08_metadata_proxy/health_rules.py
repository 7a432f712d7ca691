"""Compute the right answers of exercise 08-3 with the proxy's own rule."""

from collections.abc import Iterable

from kafka_edu.clients.proxy.health import Health


def right_states(down_after: int, up_after: int, looks: Iterable[bool]) -> list[str]:
    """Return the right state after each check. In `looks`, True means that the target answered."""
    health = Health(down_after, up_after)
    return [health.saw(answered).value for answered in looks]
