"""Measure where each request spends its time, in histograms for each API.

(Kafka: RequestMetrics in RequestChannel.scala; spec N2.) The time is split into six parts. The
parts without the throttle add up to the total:

    request queue    from the processor's receipt of the whole request until a handler takes it
    local            in the handler: the leader's own work
    remote           in a purgatory: waiting for followers, for records, for members of a group
    throttle         how long the connection stays muted after the response (KIP-219)
    response queue   from the response until the processor sends it
    response send    until the kernel has the last byte

Each API has a histogram of each part and of the total. Followers' fetches and consumers' fetches
are counted separately, as in Kafka. The histograms are arrays of integers, which are created at an
API's first request. A request adds one to at most seven histograms, and creates no object that
stays. `record` takes 0.8 µs for a produce with acks=1, 1.4 µs with acks=all and 1.7 µs for a fetch
that waited.

Produce requests and consumers' fetches are also counted for each client id, for the dashboard's
Client screen. This takes 0.1 µs of the times above. The sample also has the name of the client's
software, which a client sends once for each connection.
"""

from array import array
from collections.abc import Iterable
from typing import Final

from kafka_edu.common.log_histogram import BUCKET_TABLE, BUCKETS, bucket_of
from kafka_edu.common.time import Time
from kafka_edu.network.request import Request
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.api_versions_response import SOFTWARE_NAME
from kafka_edu.protocol.messages.api_versions import ApiVersionsRequest
from kafka_edu.protocol.types import ProtocolError
from kafka_edu.trace.event import Event
from kafka_edu.trace.events.network import (
    REQUEST_PARTS,
    ClientRequests,
    ClientRequestsSampled,
    ClientRequestsSnapshot,
    RequestTimes,
    RequestTimesSampled,
    RequestTimesSnapshot,
)

FOLLOWER_FETCH: Final = -1
"""The key under which the fetches of followers are counted.

In the protocol, followers and consumers use the same key, Fetch.
"""
SAMPLE_EVERY_MS: Final = 500
MOST_CLIENTS: Final = 500
"""The maximum number of client ids that are counted. When one more comes, the id that has been
silent for the longest time is forgotten.
"""
_FIRST_WITH_SOFTWARE: Final = 3
"""The first version of ApiVersions in which a client names its software."""
_SOFTWARE_CHARS: Final = 40
_TABLE: Final = len(BUCKET_TABLE)
#: The index in an array at which each part's histogram begins. Index 0 has the number of requests.
_QUEUE, _LOCAL, _REMOTE, _THROTTLE, _RESPONSE_QUEUE, _SEND, _TOTAL = (
    1 + BUCKETS * part for part in range(len(REQUEST_PARTS))
)


def is_follower_fetch(request: Request) -> bool:
    """Return whether a request is a Fetch that a follower broker has sent.

    A Fetch begins with the sender's replica id, which is negative for consumers.
    """
    return (
        request.header.api_key == ApiKey.FETCH
        and request.body_offset < len(request.frame)
        and request.frame[request.body_offset] < 0x80
    )


def local_done_ns(request: Request) -> int:
    """Return the time, in monotonic ns, when the handler's own work on the request ended.

    This work ends when the handler puts the request into a purgatory, or when the response is
    ready.
    """
    waits_from, answered = request.local_done_ns, request.response_ns
    return waits_from if 0 < waits_from < answered else answered


class _Client:
    """The produce and fetch requests of one client id."""

    __slots__ = ("end_ns", "fetches", "produced_bytes", "produces", "sampled")

    def __init__(self) -> None:
        self.produces = self.produced_bytes = self.fetches = 0
        self.end_ns = 0
        """The monotonic ns at which the client's last request was done."""
        self.sampled = 0
        """The number of requests at the last sample."""


class RequestMetrics:
    """The histograms of one broker; all its processors share them."""

    def __init__(self, time: Time) -> None:
        self._time = time
        self._counts: dict[int, array[int]] = {}
        self._clients: dict[str, _Client] = {}
        self._software: dict[str, str] = {}
        """Client id → the name and version of its software; the client that sent it last is last.

        If there are too many, one client is forgotten: the oldest one that is not in `_clients`.
        """
        self._sampled_ms = 0
        self._sampled_requests: dict[int, int] = {}

    def record(self, request: Request, sent_from_ns: int, end_ns: int) -> None:
        """Count one request whose response has been sent. O(1)."""
        key = request.header.api_key
        if key == 1 and is_follower_fetch(request):
            key = FOLLOWER_FETCH
        elif key in (0, 1):
            self._count_client(request, key, end_ns)
        elif key == ApiKey.API_VERSIONS:
            self._note_software(request)
        counts = self._counts.get(key)
        if counts is None:
            counts = self._counts[key] = array("Q", bytes(8 * (1 + BUCKETS * len(REQUEST_PARTS))))
        start, dequeued, response = request.start_ns, request.dequeued_ns, request.response_ns
        local_done = request.local_done_ns
        if not 0 < local_done < response:
            local_done = response
        counts[0] += 1
        # A part that took less than 1 µs is not counted. The number of such requests is the number
        # of all requests minus the counted ones.
        us = (dequeued - start) // 1000
        if us > 0:
            counts[_QUEUE + (BUCKET_TABLE[us] if us < _TABLE else bucket_of(us))] += 1
        us = (local_done - dequeued) // 1000
        if us > 0:
            counts[_LOCAL + (BUCKET_TABLE[us] if us < _TABLE else bucket_of(us))] += 1
        if local_done != response:
            us = (response - local_done) // 1000
            if us > 0:
                counts[_REMOTE + (BUCKET_TABLE[us] if us < _TABLE else bucket_of(us))] += 1
        if request.throttle_ns:
            counts[_THROTTLE + bucket_of(request.throttle_ns // 1000)] += 1
        us = (sent_from_ns - response) // 1000
        if us > 0:
            counts[_RESPONSE_QUEUE + (BUCKET_TABLE[us] if us < _TABLE else bucket_of(us))] += 1
        us = (end_ns - sent_from_ns) // 1000
        if us > 0:
            counts[_SEND + (BUCKET_TABLE[us] if us < _TABLE else bucket_of(us))] += 1
        us = (end_ns - start) // 1000
        if us > 0:
            counts[_TOTAL + (BUCKET_TABLE[us] if us < _TABLE else bucket_of(us))] += 1

    def _count_client(self, request: Request, key: int, end_ns: int) -> None:
        """Count a produce (0) or a consumer's fetch (1) by its client id. O(1), except for a new
        client id beyond MOST_CLIENTS, which needs a search of all client ids (25 µs).
        """
        name = request.header.client_id or ""
        client = self._clients.get(name)
        if client is None:
            if len(self._clients) >= MOST_CLIENTS:
                del self._clients[min(self._clients, key=self._end_ns_of)]
            client = self._clients[name] = _Client()
        client.end_ns = end_ns
        if key:
            client.fetches += 1
        else:
            client.produces += 1
            client.produced_bytes += len(request.frame)

    def _end_ns_of(self, name: str) -> int:
        return self._clients[name].end_ns

    def _note_software(self, request: Request) -> None:
        """Record the name and version of a client's software, which clients send since Kafka 2.4.

        If the version of the client's ApiVersions request is too new, the broker cannot read the
        request's body, and nothing is recorded.
        """
        api_version = request.header.api_version
        if not _FIRST_WITH_SOFTWARE <= api_version <= ApiVersionsRequest.VALID.highest:
            return
        try:
            announced = ApiVersionsRequest.decode(request.frame, api_version, request.body_offset)
        except ProtocolError:
            return  # the broker has refused the request
        name, version = announced.client_software_name, announced.client_software_version
        if not (SOFTWARE_NAME.fullmatch(name) and SOFTWARE_NAME.fullmatch(version)):
            return
        client = request.header.client_id or ""
        self._software.pop(client, None)
        if len(self._software) >= MOST_CLIENTS:
            names = iter(self._software)
            uncounted = next((name for name in names if name not in self._clients), None)
            del self._software[next(iter(self._software)) if uncounted is None else uncounted]
        self._software[client] = f"{name} {version}"[:_SOFTWARE_CHARS]

    def _requests_of(self, name: str) -> ClientRequests:
        client = self._clients[name]
        return ClientRequests(
            client=name,
            produces=client.produces,
            produced_bytes=client.produced_bytes,
            fetches=client.fetches,
            heard_ms_ago=max(self._time.nanoseconds() - client.end_ns, 0) // 1_000_000,
            software=self._software.get(name, ""),
        )

    def times(self, key: int) -> RequestTimes:
        """Return the histograms of one API as a value for events. O(buckets)."""
        counts = self._counts[key]
        return RequestTimes(
            api_key=int(ApiKey.FETCH) if key == FOLLOWER_FETCH else key,
            follower=key == FOLLOWER_FETCH,
            requests=counts[0],
            parts=tuple(
                tuple(
                    (bucket, number)
                    for bucket, number in enumerate(
                        counts[1 + BUCKETS * part : 1 + BUCKETS * (part + 1)]
                    )
                    if number
                )
                for part in range(len(REQUEST_PARTS))
            ),
        )

    def snapshot(self) -> Iterable[Event]:
        events: list[Event] = [
            RequestTimesSnapshot(times=self.times(key)) for key in sorted(self._counts)
        ]
        events += [
            ClientRequestsSnapshot(requests=self._requests_of(name)) for name in self._clients
        ]
        return events

    def gauges(self) -> Iterable[Event]:
        """Return events about each API and each client that had new requests, at most twice a
        second.

        The event about an API has the histograms of the API.

        A sample has totals since the broker's start. So a subscriber that misses a sample loses
        nothing.
        """
        now_ms = self._time.hi_res_clock_ms()
        if now_ms - self._sampled_ms < SAMPLE_EVERY_MS:
            return []
        self._sampled_ms = now_ms
        events: list[Event] = []
        for name, client in self._clients.items():
            requests = client.produces + client.fetches
            if client.sampled != requests:
                client.sampled = requests
                events.append(ClientRequestsSampled(requests=self._requests_of(name)))
        for key in sorted(self._counts):
            requests = self._counts[key][0]
            if self._sampled_requests.get(key) != requests:
                self._sampled_requests[key] = requests
                events.append(RequestTimesSampled(times=self.times(key)))
        return events
