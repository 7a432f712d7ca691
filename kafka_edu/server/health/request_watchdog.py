"""Find requests that get no response (Kafka has nothing like this). docs/answers.md describes the
hops, which are the stations of a request in the broker, and the time limit in each of them.

Once a second the watchdog checks the request in progress on every connection. For this, each
channel has an attribute with its current request. The request has a time stamp for each hop, which
shows in which hop the request is.
"""

import logging
from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Final

from kafka_edu.common.log_limiter import LogLimiter
from kafka_edu.common.time import Time
from kafka_edu.network.channel import KafkaChannel
from kafka_edu.network.request import Request
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.trace.events.server import RequestStuck
from kafka_edu.trace.tracer import Tracer

log = logging.getLogger(__name__)

PERIOD_MS: Final = 1000
GRACE_MS: Final = 1000
NO_TIMEOUT_MS: Final = 30_000
"""The time-out in ms for requests that contain no time-out, and for responses that the client does
not read. It is the default of request.timeout.ms in Kafka's clients.
"""
NS_A_MS: Final = 1_000_000


class Hop(StrEnum):
    """The station in the broker where a request is."""

    UNREAD = "unread"
    """The request's bytes have arrived and the connection is free, but the broker does not read
    them.
    """
    REQUEST_QUEUE = "request queue"
    HANDLER = "handler"
    PURGATORY = "purgatory"
    RESPONSE_QUEUE = "response queue"
    SOCKET = "socket"


def hop_of(request: Request) -> Hop:
    """Return the hop in which a request is, from its time stamps. O(1)."""
    if request.response_sent_from_ns:
        return Hop.SOCKET
    if request.response_ns:
        return Hop.RESPONSE_QUEUE
    if request.local_done_ns:
        return Hop.PURGATORY
    return Hop.HANDLER if request.dequeued_ns else Hop.REQUEST_QUEUE


class _Look:
    """The state of one connection at the watchdog's last check."""

    __slots__ = ("bytes_left", "is_reported", "last_active_ms", "late", "request", "since_ns")

    def __init__(self, request: Request | None, since_ns: int) -> None:
        self.request = request
        self.since_ns = since_ns
        """When the wait began (monotonic ns). While a response is being sent, the wait begins again
        whenever the client has read some bytes.
        """
        self.bytes_left = 0
        self.last_active_ms = 0
        self.late = False
        self.is_reported = False


class RequestWatchdog:
    """Checks all connections once a second. The broker runs `run` as a task. The watchdog emits
    `RequestStuck` once for each request that is too late in two checks in a row.

    One check is not enough. After a pause of the process (SIGSTOP), requests are late although the
    loop is about to answer them.
    """

    def __init__(
        self,
        channels: Callable[[], Iterable[KafkaChannel]],
        timeout_ms: Callable[[Request], int | None],
        time: Time,
        trace: Tracer | None,
    ) -> None:
        """`timeout_ms` returns the time-out that a request contains, or None. It is called once for
        each request that is older than one second.
        """
        self._channels = channels
        self._timeout_ms = timeout_ms
        self._time = time
        self._trace = trace
        self._looks: dict[str, _Look] = {}
        self._logged = LogLimiter(time.hi_res_clock_ms)
        self.stuck = 0
        """The number of stuck requests found so far."""

    async def run(self) -> None:
        while True:
            await self._time.sleep(PERIOD_MS)
            self.look()

    def look(self) -> None:
        """Check all connections once. O(connections). No memory is allocated for connections whose
        request is younger than one second.
        """
        now_ns = self._time.nanoseconds()
        looks: dict[str, _Look] = {}
        for channel in self._channels():
            request = channel.request
            if request is None:
                look = self._look_at_unread(channel, now_ns)
            elif now_ns - request.start_ns >= PERIOD_MS * NS_A_MS:
                look = self._look_at(channel, request, now_ns)
            else:
                continue
            if look is not None:
                looks[channel.connection_id] = look
        self._looks = looks

    def _look_at(self, channel: KafkaChannel, request: Request, now_ns: int) -> _Look:
        look = self._looks.get(channel.connection_id)
        if look is None or look.request is not request:
            look = _Look(request, request.start_ns)
        hop = hop_of(request)
        if request.timeout_ms is None:
            own = self._timeout_ms(request)
            request.timeout_ms = NO_TIMEOUT_MS if own is None else max(own, 0)
        timeout_ms = request.timeout_ms
        if hop is Hop.SOCKET:
            timeout_ms = NO_TIMEOUT_MS
            unsent = channel.wire.unsent
            if look.since_ns < request.response_sent_from_ns or unsent != look.bytes_left:
                look.since_ns, look.bytes_left = now_ns, unsent
        self._judge(look, channel, hop, timeout_ms, now_ns)
        return look

    def _look_at_unread(self, channel: KafkaChannel, now_ns: int) -> _Look | None:
        """Check a connection that has no request in progress. If its socket has bytes, the loop
        should read them in its next turn.
        """
        unread = channel.wire.unread
        if not unread or channel.waits_for_memory:
            return None
        look = self._looks.get(channel.connection_id)
        if (
            look is None
            or look.request is not None
            or (look.last_active_ms, look.bytes_left) != (channel.last_active_ms, unread)
        ):
            look = _Look(None, now_ns)
            look.last_active_ms, look.bytes_left = channel.last_active_ms, unread
        self._judge(look, channel, Hop.UNREAD, 0, now_ns)
        return look

    def _judge(
        self, look: _Look, channel: KafkaChannel, hop: Hop, timeout_ms: int, now_ns: int
    ) -> None:
        waited_ms = (now_ns - look.since_ns) // NS_A_MS
        was_late, look.late = look.late, waited_ms > timeout_ms + GRACE_MS
        if look.late and was_late and not look.is_reported:
            look.is_reported = True
            self._tell(channel, look.request, hop, waited_ms, timeout_ms)

    def _tell(
        self,
        channel: KafkaChannel,
        request: Request | None,
        hop: Hop,
        waited_ms: int,
        timeout_ms: int,
    ) -> None:
        """Write a stuck request to the log, and emit `RequestStuck`."""
        self.stuck += 1
        api_key, correlation_id = (
            (-1, -1) if request is None else (request.header.api_key, request.header.correlation_id)
        )
        if self._logged.allows():
            what = "unread bytes" if request is None else f"{ApiKey(api_key).name} {correlation_id}"
            log.warning(
                "%s of connection %s (%s) waits in the hop '%s' for %d ms; its time-out is %d ms",
                what,
                channel.connection_id,
                channel.client_id,
                hop.value,
                waited_ms,
                timeout_ms,
            )
        if self._trace:
            self._trace(
                RequestStuck(
                    connection_id=channel.connection_id,
                    correlation_id=correlation_id,
                    api_key=api_key,
                    client_id=channel.client_id,
                    hop=hop.value,
                    waited_ms=waited_ms,
                    timeout_ms=timeout_ms,
                )
            )
