"""Events of a metadata proxy: its copies of the metadata, the state of its targets, and its answers
to clients (spec B1, B3; book §6.5.2).
"""

from typing import NamedTuple

from kafka_edu.trace.event import Kind, event


@event()
class ProxyStarted(NamedTuple):
    """The proxy accepts connections from now on."""

    listener: str
    targets: tuple[str, ...]
    routes: tuple[str, ...]


@event(joins=("cluster_id",))
class MetadataCopied(NamedTuple):
    """A broker of the target sent the cluster's metadata. The proxy has replaced its earlier copy
    of them.
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
    """None of the target's brokers sent the metadata. The proxy keeps its earlier copy. `failures`
    counts the failed attempts since the last success.
    """

    target: str
    failures: int
    reason: str


@event()
class TargetStateChanged(NamedTuple):
    """The state of a target changed: Unknown, Up, Down or Recorded. A target that is Down gets no
    requests.
    """

    target: str
    before: str
    after: str
    reason: str


@event(joins=("connection_id", "correlation_id"))
class ProxyAnswered(NamedTuple):
    """The proxy answered a client. `target` is empty if the answer needs no metadata (ApiVersions).
    `topics` is the number of topics in the answer.
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
    """The proxy closed a client's connection instead of answering. The reason is an API that the
    proxy does not serve, no matching route, or no target that works.
    """

    connection_id: str
    correlation_id: int
    client_id: str
    api_key: int
    api_version: int
    reason: str


@event()
class ProxyStopped(NamedTuple):
    """The last event of a proxy: why it stops, the number of requests by API key, the number of
    refused requests, and how many bytes it received and sent in total.
    """

    reason: str
    requests: tuple[tuple[int, int], ...]
    refused: int
    bytes_in: int
    bytes_out: int


@event(kind=Kind.SNAPSHOT)
class TargetSnapshot(NamedTuple):
    """The state of one target, sent to a new subscriber."""

    target: str
    state: str
    source: str
    brokers: tuple[int, ...]
    topics: int
    last_error: str
