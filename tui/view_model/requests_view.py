"""The state of the Requests screen: times by broker and API, and single requests."""

from collections import OrderedDict, deque
from collections.abc import Iterable
from typing import Final, NamedTuple

from kafka_edu.instruments.request_times import (
    SIX_PARTS,
    ApiTimes,
    RequestTimesView,
    SlowRequest,
    Split,
    verdict,
)
from kafka_edu.trace.event import Envelope, Event
from kafka_edu.trace.events.network import RequestReceived, ResponseSent
from kafka_edu.trace.events.server import (
    HandlerPoolResized,
    ProduceAnswered,
    RequestDequeued,
    RequestHandled,
)

from .glow import Glow

HOP_EVENTS: Final[tuple[type[Event], ...]] = (
    RequestReceived,
    RequestDequeued,
    RequestHandled,
    ProduceAnswered,
    ResponseSent,
)
KEPT_REQUESTS: Final = 500
KEPT_HOPS: Final = 16
KEPT_LATEST: Final = 100


class RequestId(NamedTuple):
    """The key of one request."""

    broker: int
    connection_id: str
    correlation_id: int


def request_id(envelope: Envelope) -> RequestId | None:
    """Return the request to which a hop belongs. None if the event is not a hop."""
    match envelope.event:
        case (
            RequestReceived(connection_id=connection, correlation_id=correlation)
            | RequestDequeued(connection_id=connection, correlation_id=correlation)
            | RequestHandled(connection_id=connection, correlation_id=correlation)
            | ProduceAnswered(connection_id=connection, correlation_id=correlation)
            | ResponseSent(connection_id=connection, correlation_id=correlation)
        ) if envelope.broker is not None:
            return RequestId(envelope.broker, connection, correlation)
    return None


def id_of(slow: SlowRequest) -> RequestId:
    return RequestId(slow.broker, slow.sent.connection_id, slow.sent.correlation_id)


def in_order(hops: Iterable[Envelope]) -> list[Envelope]:
    """Return the hops of one request in the order of time. They may come from two streams."""
    return sorted(hops, key=lambda hop: (hop.mono_us, hop.seq))


class ApiRow(NamedTuple):
    """One line of the table: one API of one broker."""

    times: ApiTimes
    split: Split


class RequestsView:
    """All brokers' requests. They change only through `apply` and `take_hop`."""

    READS: Final = RequestTimesView.READS | frozenset(HOP_EVENTS)
    """The types of events that change this view."""

    def __init__(self) -> None:
        self.glow = Glow()
        self.times = RequestTimesView()
        self.latest: deque[SlowRequest] = deque(maxlen=KEPT_LATEST)
        """The last answered requests whose hops are known. They include fast requests."""
        self._hops: OrderedDict[RequestId, list[Envelope]] = OrderedDict()
        """The hops of the requests that began last, whether they are listed or not."""
        self._latest_hops: dict[RequestId, list[Envelope]] = {}
        """The hops of the requests in `latest`.

        They are kept as long as their request is listed.
        """

    @property
    def now_us(self) -> int:
        return self.times.now_us

    def advance(self, now_us: int) -> None:
        self.glow.advance(now_us)
        self.times.advance(now_us)

    def apply(self, envelope: Envelope) -> None:
        """Update the view with one event."""
        self.glow.advance(envelope.mono_us)
        self.times.apply(envelope)
        if isinstance(envelope.event, HandlerPoolResized) and envelope.broker is not None:
            self.glow.touch("handlers", envelope.broker)
        self.take_hop(envelope)

    def take_hop(self, envelope: Envelope) -> None:
        """Process one hop, from the stream of facts or of level hops.

        A hop that comes from both streams is counted once.
        """
        key = request_id(envelope)
        if key is None:
            return
        hops = self._hops.get(key) or self._latest_hops.get(key)
        if hops is None:
            if len(self._hops) >= KEPT_REQUESTS:
                self._hops.popitem(last=False)
            hops = self._hops[key] = []
        if len(hops) >= KEPT_HOPS or any(
            hop.source == envelope.source and hop.seq == envelope.seq for hop in hops
        ):
            return
        hops.append(envelope)
        if key not in self._latest_hops:
            self._list(key, hops)

    def _list(self, key: RequestId, hops: list[Envelope]) -> None:
        """Put a request into `latest` as soon as its arrival and its answer are both known.

        They come from two streams, so either of them may come first.
        """
        if not any(isinstance(hop.event, RequestReceived) for hop in hops):
            return
        for hop in hops:
            if isinstance(hop.event, ResponseSent):
                if len(self.latest) == KEPT_LATEST:
                    self._latest_hops.pop(id_of(self.latest[0]), None)
                self.latest.append(SlowRequest(hop, hop.event))
                self._latest_hops[key] = hops
                return

    def latest_hops(self) -> dict[RequestId, list[Envelope]]:
        """Return the hops of the requests in `latest`.

        The lists grow when more hops arrive. O(latest).
        """
        return dict(self._latest_hops)

    def hops(self, key: RequestId) -> list[Envelope]:
        """Return the recorded hops of a request, in the order of their time."""
        hops = self._hops.get(key) or self._latest_hops.get(key) or ()
        return in_order(hops)

    def rows(self, broker: int | None) -> list[ApiRow]:
        """Return the rows of the table, sorted by broker.

        APIs with requests in the last ten seconds come first. For all brokers together, only these
        APIs are listed, or all APIs if there are none.
        """
        rows = [
            ApiRow(times, times.recent(self.now_us))
            for api, times in self.times.apis.items()
            if broker in (None, api.broker)
        ]
        active = [row for row in rows if row.split.requests]
        return sorted(
            active if broker is None and active else rows,
            key=lambda row: (row.times.api.broker, not row.split.requests, row.times.api),
        )

    def busiest(self) -> int | None:
        """Return the broker whose requests took the most time, without waits that clients
        wanted.
        """
        spent: dict[int, float] = dict.fromkeys(self.times.brokers(), 0.0)
        for row in self.rows(None):
            spent[row.times.api.broker] += sum(
                row.split.parts[part].sum_us
                for part in SIX_PARTS
                if not (row.times.api.is_patient and part == 2)
            )
        return max(spent, key=lambda broker: spent[broker], default=None)

    def answer(self, broker: int | None) -> str:
        """Answer the screen's question for one broker.

        None means the broker whose requests took the most time (see `busiest`).
        """
        chosen = self.busiest() if broker is None else broker
        if chosen is None:
            return "no broker has counted a request yet"
        return verdict(self.times, chosen, self.now_us)
