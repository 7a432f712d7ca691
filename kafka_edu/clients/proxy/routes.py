"""Choose a cluster for a client (spec B3): by client id or by topic, or spread over several.

    client=billing-* to=money          one rule a line; the first that matches counts
    topic=audit.* to=archive
    to=east,west                       everybody else, spread over two

A client belongs to one cluster, because a Metadata answer names the brokers of one cluster, and
broker ids are unique only within a cluster. If a request names several topics, the first topic
decides. For this client, topics that lead to another cluster do not exist. A client's first request
may name no topic. Such a request matches only rules without a topic, so there must be such a rule.

Clients are spread by rendezvous hashing of client id and address. The same client always reaches
the same cluster, on every connection and on every proxy with the same rules. If a cluster is left
out, only the clients of this cluster move, and they move back when it returns.
"""

from collections.abc import Callable, Collection, Sequence
from fnmatch import fnmatchcase
from hashlib import blake2b
from typing import Final, NamedTuple

_EVERYTHING: Final = "*"


class RouteError(Exception):
    """A rule is wrong. The text says what is wrong, and where."""


class Route(NamedTuple):
    """One rule. `client` and `topic` are patterns for names, with * ? [abc] as in a shell."""

    client: str
    topic: str | None
    """Pattern for the topic. None if the rule fits requests with any topic or without a topic."""
    clusters: tuple[str, ...]

    def __str__(self) -> str:
        topic = "" if self.topic is None else f" topic={self.topic}"
        return f"client={self.client}{topic} to={','.join(self.clusters)}"

    def matches(self, client_id: str, topic: str | None) -> bool:
        if self.topic is not None and (topic is None or not fnmatchcase(topic, self.topic)):
            return False
        return fnmatchcase(client_id, self.client)

    def covers(self, other: "Route") -> bool:
        """Return whether every request that matches `other` matches this rule too.

        Only equal patterns and the pattern * are recognised.
        """
        return self.client in (_EVERYTHING, other.client) and self.topic in (None, other.topic)


def parse_route(text: str, where: str, clusters: Collection[str]) -> Route:
    """Turn the text `client=… topic=… to=a,b` into a rule. The parts may have any order.

    Only `to` is required. `where` is used in error messages. Raises RouteError.
    """
    values: dict[str, str] = {}
    for word in text.split():
        key, equals, value = word.partition("=")
        if key not in ("client", "topic", "to") or not equals or not value:
            raise RouteError(
                f"{where}: {word} is not client=PATTERN, topic=PATTERN or to=CLUSTER[,CLUSTER…]"
            )
        if key in values:
            raise RouteError(f"{where}: {key} is given twice")
        values[key] = value
    if "to" not in values:
        raise RouteError(f"{where}: it does not say where to: to=CLUSTER[,CLUSTER…]")
    targets = tuple(values["to"].split(","))
    for target in targets:
        if target not in clusters:
            raise RouteError(
                f"{where}: there is no cluster {target or '(empty name)'}, only"
                f" {', '.join(clusters)}"
            )
    if len(set(targets)) < len(targets):
        raise RouteError(f"{where}: to names a cluster twice")
    return Route(values.get("client", _EVERYTHING), values.get("topic"), targets)


def parse_routes(lines: Sequence[tuple[str, str]], clusters: Collection[str]) -> "Routes":
    """Turn pairs (where, text) into rules. Empty texts and texts that begin with # are left out.

    Without any rule, all clients are spread over all clusters. Raises RouteError.
    """
    rules: list[tuple[str, Route]] = []
    for where, line in lines:
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        route = parse_route(text, where, clusters)
        for earlier_where, earlier in rules:
            if earlier.covers(route):
                raise RouteError(
                    f"{where}: {route} is never used, because {earlier} comes first"
                    f" ({earlier_where})"
                )
        rules.append((where, route))
    if not rules:
        return Routes((Route(_EVERYTHING, None, tuple(clusters)),))
    if all(route.topic is not None for _, route in rules):
        raise RouteError("no rule says where a request without a topic goes: end with to=CLUSTER")
    return Routes(tuple(route for _, route in rules))


class Choice(NamedTuple):
    """The cluster to which a request is sent. If `cluster` is None, `reason` says why."""

    cluster: str | None
    reason: str


class Routes:
    """All rules, in their order. The object never changes."""

    def __init__(self, routes: tuple[Route, ...]) -> None:
        self.routes = routes

    def clusters_for(self, client_id: str, topic: str | None) -> tuple[str, ...]:
        """Return the clusters of the first rule that matches, or () if no rule matches.

        O(rules).
        """
        return next(
            (route.clusters for route in self.routes if route.matches(client_id, topic)), ()
        )

    def reachable(self, client_id: str) -> frozenset[str]:
        """Return all clusters that this client can reach, with any topic. O(rules)."""
        found: set[str] = set()
        for route in self.routes:
            if fnmatchcase(client_id, route.client):
                found.update(route.clusters)
                if route.topic is None:
                    break
        return frozenset(found)

    def choose(
        self, client_id: str, address: str, topic: str | None, serves: Callable[[str], bool]
    ) -> Choice:
        """Choose the cluster for this request.

        Only clusters for which `serves(name)` is true can be chosen.
        """
        wanted = self.clusters_for(client_id, topic)
        if not wanted:
            return Choice(
                None,
                f"no route for client {client_id or '(no id)'}"
                + ("" if topic is None else f" and topic {topic}"),
            )
        living = [cluster for cluster in wanted if serves(cluster)]
        if not living:
            return Choice(None, f"no target answers of {', '.join(wanted)}")
        return Choice(max(living, key=lambda cluster: _weight(client_id, address, cluster)), "")


def _weight(client_id: str, address: str, cluster: str) -> bytes:
    return blake2b(
        "\0".join((client_id, address, cluster)).encode("utf-8", "replace"), digest_size=8
    ).digest()
