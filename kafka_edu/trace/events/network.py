"""Events of the network layer: connections, and the hops of a request through it (spec N1, N2)."""

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
"""The parts of a request's time, in the order of RequestTimes.parts (Kafka: RequestMetrics)."""


@event(joins=("connection_id",))
class ConnectionOpened(NamedTuple):
    """The acceptor took a connection and gave it to a processor. `connection_id` is Kafka's:
    local-remote-index.
    """

    connection_id: str
    listener: str
    processor: int


@event(joins=("connection_id",))
class ConnectionClosed(NamedTuple):
    """A connection is gone, and why."""

    connection_id: str
    processor: int
    reason: str


@event(joins=("connection_id",))
class ConnectionFailed(NamedTuple):
    """The broker raised an unexpected exception while it worked for this connection, which it
    closes. The log has the stack.

    `doing` says what it worked on. Other connections are not touched.
    """

    connection_id: str
    processor: int
    doing: str
    error: str


@event()
class FrameCaptureStarted(NamedTuple):
    """The broker captures the frames of these clients from now on (`edu.capture.clients`). The wire
    microscope reads the file.

    A name that ends with `*` stands for all client ids that begin so.
    """

    clients: tuple[str, ...]
    file: str
    max_bytes: int


@event()
class FrameCaptureStopped(NamedTuple):
    """The broker captures no more frames, and why. The file stays."""

    file: str
    frames: int
    reason: str


@event(kind=Kind.SNAPSHOT)
class FrameCaptureSnapshot(NamedTuple):
    """The capture that is running."""

    clients: tuple[str, ...]
    file: str
    max_bytes: int
    frames: int


@event()
class ConnectionRefused(NamedTuple):
    """The acceptor closed a connection at once: too many from this address."""

    listener: str
    peer: str
    reason: str


@event()
class AcceptingPaused(NamedTuple):
    """A listener accepts no connection until a connection is closed: max.connections is reached.
    Clients wait in the kernel's queue.
    """

    listener: str
    reason: str


@event()
class AcceptingResumed(NamedTuple):
    """A listener that was full accepts connections again."""

    listener: str


@event(level=Level.HOPS, joins=("connection_id", "correlation_id"))
class RequestReceived(NamedTuple):
    """Hop: a processor has a whole request and puts it into the request channel. Next:
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
    """Hop: the last byte of a response was handed to the kernel. Times split as Kafka splits them
    (RequestChannel.updateRequestMetrics), in µs.
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
    """After the response the connection stays muted for so long (KIP-219); not part of the total.
    """
    client_id: str = ""
    follower: bool = False
    """Whether this is a fetch of another broker."""


@event(kind=Kind.GAUGE)
class NetworkSampled(NamedTuple):
    """Queues and totals of the network layer at this moment; rates are the difference of two
    samples.
    """

    request_queue_size: int
    request_queue_capacity: int
    response_queue_size: int
    connections: int
    requests_total: int
    bytes_in_total: int
    bytes_out_total: int
    slow_left_out_total: int = 0
    """The hops of slow requests that were not sent to everybody, because there were too many
    (kafka_edu/trace/slow_budget.py).
    """


@event(kind=Kind.GAUGE)
class FileBytesSampled(NamedTuple):
    """Sample the bytes of log files that a broker's sockets sent since its start: zero copy,
    counted (spec S6).

    Bytes sent by sendfile never entered the process. Bytes read did: they belong to regions of at
    most 72 KiB, one producer's batch.
    """

    by_sendfile_total: int
    read_total: int


class RequestTimes(NamedTuple):
    """How long the requests of one API took since the broker's start, part by part.

    Each part is a histogram: pairs of a logarithmic bucket and a number of requests
    (kafka_edu.common.log_histogram). Requests that are in no pair took less than 1 µs there.
    """

    api_key: int
    follower: bool
    """Whether these are the fetches of other brokers (Kafka: FetchFollower)."""
    requests: int
    parts: tuple[tuple[tuple[int, int], ...], ...]
    """In the order of REQUEST_PARTS."""


@event(kind=Kind.GAUGE, thing=("api_key", "follower"))
class RequestTimesSampled(NamedTuple):
    """A sample of one API's times. It comes twice a second, for each API that had requests."""

    times: RequestTimes


@event(kind=Kind.SNAPSHOT)
class RequestTimesSnapshot(NamedTuple):
    """One API's times, sent to a new subscriber."""

    times: RequestTimes


@event(kind=Kind.SNAPSHOT)
class ConnectionSnapshot(NamedTuple):
    """One open connection, sent to a new subscriber."""

    connection_id: str
    listener: str
    processor: int
    client_id: str
