"""Events of the network layer: connections, and the hops of a request on its way through the
network layer (spec N1, N2).
"""

from typing import Final, NamedTuple

from kafka_edu.trace.event import Kind, Level, event

REQUEST_PARTS: Final = (
    "request queue",
    "local",
    "remote",
    "throttle",
    "response queue",
    "response send",
    "total",
)
"""The names of the parts of a request's time, in the order of RequestTimes.parts (Kafka:
RequestMetrics).
"""


@event(joins=("connection_id",))
class ConnectionOpened(NamedTuple):
    """The acceptor accepted a connection and gave it to a processor. `connection_id` has Kafka's
    form, local-remote-index.
    """

    connection_id: str
    listener: str
    processor: int


@event(joins=("connection_id",))
class ConnectionClosed(NamedTuple):
    """A connection was closed. The event says why."""

    connection_id: str
    processor: int
    reason: str


@event(joins=("connection_id",))
class ConnectionFailed(NamedTuple):
    """The broker got an unexpected exception while it served this connection, and closes the
    connection. The broker's log has the stack trace.

    `doing` says what the broker was working on. Other connections are not affected.
    """

    connection_id: str
    processor: int
    doing: str
    error: str


@event()
class FrameCaptureStarted(NamedTuple):
    """The broker begins to write the frames of these clients (`edu.capture.clients`) into a file,
    which the wire microscope can read.

    A name that ends with `*` stands for all client ids with this beginning.
    """

    clients: tuple[str, ...]
    file: str
    max_bytes: int


@event()
class FrameCaptureStopped(NamedTuple):
    """The broker stops capturing frames. The event says why. The file with the frames is kept."""

    file: str
    frames: int
    reason: str


@event(kind=Kind.SNAPSHOT)
class FrameCaptureSnapshot(NamedTuple):
    """The capture of frames that runs now, sent to a new subscriber."""

    clients: tuple[str, ...]
    file: str
    max_bytes: int
    frames: int


@event()
class ConnectionRefused(NamedTuple):
    """The acceptor closed a new connection at once, because there are too many connections from its
    address.
    """

    listener: str
    peer: str
    reason: str


@event()
class AcceptingPaused(NamedTuple):
    """A listener accepts no more connections, because max.connections is reached. New clients wait
    in the kernel's queue until another connection is closed.
    """

    listener: str
    reason: str


@event()
class AcceptingResumed(NamedTuple):
    """A listener accepts connections again, after another connection was closed."""

    listener: str


@event(level=Level.HOPS, joins=("connection_id", "correlation_id"))
class RequestReceived(NamedTuple):
    """Hop: a processor received a whole request and put it into the request channel. Next:
    RequestDequeued.
    """

    connection_id: str
    correlation_id: int
    api_key: int
    api_version: int
    client_id: str
    size_bytes: int
    processor: int
    queue_size: int


@event(level=Level.HOPS, joins=("connection_id", "correlation_id"))
class ResponseSent(NamedTuple):
    """Hop: the last byte of a response was passed to the kernel. The request's time is divided into
    parts as in Kafka (RequestChannel.updateRequestMetrics), in µs.
    """

    connection_id: str
    correlation_id: int
    api_key: int
    size_bytes: int
    request_queue_us: int
    local_us: int
    remote_us: int
    response_queue_us: int
    send_us: int
    total_us: int
    throttle_us: int = 0
    """How long the connection stays muted after the response, in µs (KIP-219). It is not part of
    `total_us`.
    """
    client_id: str = ""
    follower: bool = False
    """Whether the request is the fetch of another broker."""


@event(kind=Kind.GAUGE)
class NetworkSampled(NamedTuple):
    """A sample of the network layer's queues and totals. The difference of two samples gives a
    rate.
    """

    request_queue_size: int
    request_queue_capacity: int
    response_queue_size: int
    connections: int
    requests_total: int
    bytes_in_total: int
    bytes_out_total: int
    slow_left_out_total: int = 0
    """How many hops of slow requests were not sent to every subscriber, because there were too many
    (kafka_edu/trace/slow_budget.py).
    """


@event(kind=Kind.GAUGE)
class FileBytesSampled(NamedTuple):
    """A sample: how many bytes of log files the broker's sockets have sent since its start, with
    and without zero copy (spec S6).

    The bytes sent with sendfile were never copied into the broker's process (zero copy). The other
    bytes were first read into the process, and so they were copied. The broker does this with
    pieces of at most 72 KiB, the size of one producer's batch.
    """

    by_sendfile_total: int
    read_total: int


class RequestTimes(NamedTuple):
    """How long the requests of one API have taken since the broker's start, divided into parts.

    Each part is a histogram: pairs of a bucket and the number of requests in it. The buckets are
    logarithmic (kafka_edu.common.log_histogram). A request that is in no bucket took less than 1 µs
    in this part.
    """

    api_key: int
    follower: bool
    """Whether these requests are the fetches of other brokers (Kafka: FetchFollower)."""
    requests: int
    parts: tuple[tuple[tuple[int, int], ...], ...]
    """One histogram for each part, in the order of REQUEST_PARTS."""


@event(kind=Kind.GAUGE, thing=("api_key", "follower"))
class RequestTimesSampled(NamedTuple):
    """A sample of how long the requests of one API take. It is taken twice a second, for each API
    that had requests.
    """

    times: RequestTimes


@event(kind=Kind.SNAPSHOT)
class RequestTimesSnapshot(NamedTuple):
    """How long the requests of one API take, sent to a new subscriber."""

    times: RequestTimes


class ClientRequests(NamedTuple):
    """The produce and fetch requests of one client id that a broker has handled since its start.
    The fetches of other brokers are not among them. Events have this value as a field.
    """

    client: str
    produces: int
    produced_bytes: int
    """The bytes of the produce requests, with their headers."""
    fetches: int
    heard_ms_ago: int
    """How long ago the broker finished the last of these requests, in ms."""
    software: str = ""
    """The name and version of the client's software, such as `librdkafka 2.3.0`, as its last
    ApiVersions request said. Empty if it said nothing.
    """


@event(kind=Kind.GAUGE, thing=("client",))
class ClientRequestsSampled(NamedTuple):
    """A sample of what a broker knows about a client from the client's requests. It is taken twice
    a second, for each client that had requests.
    """

    requests: ClientRequests


@event(kind=Kind.SNAPSHOT)
class ClientRequestsSnapshot(NamedTuple):
    """What a broker knows about a client from its requests, sent to a new subscriber."""

    requests: ClientRequests


@event(kind=Kind.SNAPSHOT)
class ConnectionSnapshot(NamedTuple):
    """One open connection, sent to a new subscriber."""

    connection_id: str
    listener: str
    processor: int
    client_id: str
