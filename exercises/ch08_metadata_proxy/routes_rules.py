"""Compute the right answers of exercise 08-2 with the proxy's own rules."""

from collections.abc import Collection, Sequence

from kafka_edu.clients.proxy.routes import Route, Routes

Rule = tuple[str, str | None, tuple[str, ...]]


def _routes(rules: Sequence[Rule]) -> Routes:
    return Routes(tuple(Route(*rule) for rule in rules))


def right_clusters(rules: Sequence[Rule], client_id: str, topic: str | None) -> tuple[str, ...]:
    """Return the clusters of the first rule that matches this client and topic."""
    return _routes(rules).clusters_for(client_id, topic)


def right_choice(
    rules: Sequence[Rule], client_id: str, address: str, topic: str | None, serving: Collection[str]
) -> str | None:
    """Return the right cluster for this client, or None if none of its clusters is serving."""
    return _routes(rules).choose(client_id, address, topic, lambda one: one in serving).cluster
