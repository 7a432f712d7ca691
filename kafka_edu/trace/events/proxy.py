"""Events of a metadata proxy: the copies it takes, the targets that come and go, and every answer
it gives (spec B1, B3; book §6.5.2).
"""

from typing import NamedTuple

from kafka_edu.trace.event import Kind, event


@event()
class ProxyStarted(NamedTuple):
    """The proxy takes connections."""

    listener: str
    targets: tuple[str, ...]
    routes: tuple[str, ...]


@event(joins=("cluster_id",))
class MetadataCopied(NamedTuple):
    """A broker of the target returned the cluster's metadata; the copy that was there before is
    replaced.
    """

    target: str
    cluster_id: str
    source: str
    version: int
    brokers: tuple[int, ...]
    topics: int
    partitions: int
    took_ms: int


@event()
class MetadataCopyFailed(NamedTuple):
    """None of the target's brokers returned its metadata; the copy stays as it was. `failures`: in
    a row.
    """

    target: str
    failures: int
    reason: str


@event()
class TargetStateChanged(NamedTuple):
    """A target answers, or is left out: Unknown, Up, Down, Recorded."""

    target: str
    before: str
    after: str
    reason: str


@event(joins=("connection_id", "correlation_id"))
class ProxyAnswered(NamedTuple):
    """A client was answered; `target` is empty where no copy was needed (ApiVersions), `topics`
    counts those in the answer.
    """

    connection_id: str
    correlation_id: int
    client_id: str
    api_key: int
    api_version: int
    target: str
    topics: int
    error: str


@event(joins=("connection_id", "correlation_id"))
class ProxyRefused(NamedTuple):
    """A client was answered by closing its connection, and why: an API that a proxy does not serve,
    no route, no living target.
    """

    connection_id: str
    correlation_id: int
    client_id: str
    api_key: int
    api_version: int
    reason: str


@event()
class ProxyStopped(NamedTuple):
    """A proxy's last event: why, how many requests by API key, how many refused, and the
    bytes that came and went in all.
    """

    reason: str
    requests: tuple[tuple[int, int], ...]
    refused: int
    bytes_in: int
    bytes_out: int


@event(kind=Kind.SNAPSHOT)
class TargetSnapshot(NamedTuple):
    """One target, sent to a new subscriber."""

    target: str
    state: str
    source: str
    brokers: tuple[int, ...]
    topics: int
    last_error: str
