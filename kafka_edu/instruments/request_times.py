"""Show how requests spend their time, from the times that brokers measure (spec N2).

Each broker counts every request in histograms, one for each part of the request's time
(RequestTimesSampled), and emits a fact for each slow request (ResponseSent). This reducer keeps,
for each broker and API, the last ten seconds and the totals since the broker's start. The Requests
screen and `kafka-edu requests` read the same values.
"""

from collections import deque
from collections.abc import Mapping
from typing import Final, NamedTuple

from kafka_edu.common.log_histogram import Histogram
from kafka_edu.common.words import plural
from kafka_edu.instruments.link_events import LinkLost
from kafka_edu.instruments.sentences.words import api_name
from kafka_edu.protocol.api_keys import PATIENT_KEYS, ApiKey
from kafka_edu.trace.event import SLOW_MS, Envelope, Event
from kafka_edu.trace.events.network import (
    REQUEST_PARTS,
    NetworkSampled,
    RequestTimes,
    RequestTimesSampled,
    RequestTimesSnapshot,
    ResponseSent,
)
from kafka_edu.trace.events.server import HandlerPoolResized, ServerSampled
from kafka_edu.trace.events.supervisor import ProcessEnded

WINDOW_US: Final = 10_000_000
KEPT_SAMPLES: Final = 32
KEPT_SLOW: Final = 200
SLOW_FOR_US: Final = 60_000_000
"""The time (µs) for which a slow request stays in the list of the slowest requests."""
QUEUE, LOCAL, REMOTE, THROTTLE, RESPONSE_QUEUE, SEND, TOTAL = range(len(REQUEST_PARTS))
SIX_PARTS: Final = range(TOTAL)
HARDLY_BUSY_US: Final = 50_000
"""A broker whose requests took less time (µs) than this in ten seconds gets no verdict."""

REQUEST_EVENTS: Final[tuple[type[Event], ...]] = (
    RequestTimesSampled,
    RequestTimesSnapshot,
    ResponseSent,
    NetworkSampled,
    ServerSampled,
    HandlerPoolResized,
)


class ApiId(NamedTuple):
    """The key of one row: a broker and an API. The row has the times of the requests of this API
    that this broker answered.
    """

    broker: int
    api_key: int
    follower: bool

    @property
    def name(self) -> str:
        name = api_name(self.api_key)
        if self.api_key != ApiKey.FETCH:
            return name
        return f"{name} ({'follower' if self.follower else 'consumer'})"

    @property
    def is_patient(self) -> bool:
        """Return whether clients want requests of this API to wait at the broker, as a long poll
        does. For such requests a long remote time is normal.
        """
        return self.api_key in PATIENT_KEYS


class Split(NamedTuple):
    """The times of some requests, split into parts."""

    requests: int
    span_us: int
    parts: tuple[Histogram, ...]
    """One histogram for each part, in the order of REQUEST_PARTS."""

    @property
    def per_second(self) -> float:
        return self.requests * 1e6 / self.span_us if self.span_us > 0 else 0.0

    def mean_us(self, part: int) -> float:
        """Return the mean time (µs) of a part over all requests. Times below 1 µs count as 0."""
        return self.parts[part].sum_us / self.requests if self.requests else 0.0

    def percentile_us(self, part: int, percent: float) -> int:
        """Return a percentile (µs) of a part over all requests. Times below 1 µs count as 0."""
        missing = self.requests - self.parts[part].total
        whole = Histogram(self.parts[part].counts.items())
        whole.add(Histogram([(0, max(missing, 0))]))
        return whole.percentile_us(percent)

    def most(self) -> int:
        """Return the index of the part that took the most time in total."""
        return max(SIX_PARTS, key=lambda part: self.parts[part].sum_us)


class _Sample(NamedTuple):
    at_us: int
    requests: int
    parts: tuple[Histogram, ...]


class ApiTimes:
    """The samples of one broker and API in the last ten seconds."""

    def __init__(self, api: ApiId) -> None:
        self.api = api
        self._samples: deque[_Sample] = deque(maxlen=KEPT_SAMPLES)

    def take(self, times: RequestTimes, at_us: int) -> None:
        """Process a sample of totals.

        If a total is smaller than in the last sample, the broker has restarted.
        """
        if self._samples and times.requests < self._samples[-1].requests:
            self._samples.clear()
        sample = _Sample(at_us, times.requests, tuple(map(Histogram, times.parts)))
        self._samples.append(sample)
        while len(self._samples) > 2 and self._samples[1].at_us <= at_us - WINDOW_US:
            self._samples.popleft()

    @property
    def requests(self) -> int:
        return self._samples[-1].requests if self._samples else 0

    def since_start(self) -> Split:
        last = self._samples[-1]
        return Split(last.requests, 0, last.parts)

    def recent(self, now_us: int) -> Split:
        """Return the times of the last ten seconds.

        A broker samples an API only after it has handled requests of this API. So if the last
        sample is old, the broker has handled no such requests since then.
        """
        last = self._samples[-1]
        if last.at_us <= now_us - WINDOW_US:
            return Split(0, WINDOW_US, tuple(Histogram() for _ in REQUEST_PARTS))
        base = self._samples[0]
        for sample in self._samples:
            if sample.at_us > now_us - WINDOW_US:
                break
            base = sample
        return Split(
            last.requests - base.requests,
            max(now_us - max(base.at_us, now_us - WINDOW_US), 1),
            tuple(p.since(b) for p, b in zip(last.parts, base.parts, strict=True)),
        )


class SlowRequest(NamedTuple):
    """One slow request, with its parts in µs."""

    envelope: Envelope
    sent: ResponseSent

    @property
    def broker(self) -> int:
        return -1 if self.envelope.broker is None else self.envelope.broker

    @property
    def api(self) -> ApiId:
        return ApiId(self.broker, self.sent.api_key, self.sent.follower)

    @property
    def parts_us(self) -> tuple[int, ...]:
        """Return the times (µs) of the parts in the order of REQUEST_PARTS, without the total."""
        sent = self.sent
        return (
            sent.request_queue_us,
            sent.local_us,
            sent.remote_us,
            sent.throttle_us,
            sent.response_queue_us,
            sent.send_us,
        )

    @property
    def most(self) -> int:
        """Return the index of the part that took the longest.

        The wait that a client wanted (a long poll) does not count.
        """
        parts = list(self.parts_us)
        if self.api.is_patient:
            parts[REMOTE] = 0
        return max(range(len(parts)), key=parts.__getitem__)

    @property
    def waited_us(self) -> int:
        """Return the request's time (µs) without the wait that its client wanted."""
        return self.sent.total_us - (self.sent.remote_us if self.api.is_patient else 0)

    @property
    def name(self) -> str:
        """Return the name of the request for the screen: `Produce shop#4711`."""
        client = self.sent.client_id or "client"
        return f"{self.api.name} {client}#{self.sent.correlation_id}"


class Queues(NamedTuple):
    """The state of a broker's request queues and handler threads at one moment."""

    requests: int = 0
    capacity: int = 0
    responses: int = 0
    busy: int = 0
    handlers: int = 0
    connections: int = 0


class RequestTimesView:
    """The times of all brokers' requests. Only `apply` changes them. The memory is bounded."""

    READS: Final = frozenset({*REQUEST_EVENTS, LinkLost, ProcessEnded})
    """The types of event that change this view."""

    def __init__(self) -> None:
        self.apis: dict[ApiId, ApiTimes] = {}
        self.queues: dict[int, Queues] = {}
        self.most_handlers: dict[int, int] = {}
        """Each broker, and the highest number of its handler threads so far (num.io.threads)."""
        self.slow: deque[SlowRequest] = deque(maxlen=KEPT_SLOW)
        self.slow_seen = 0
        self.slow_left_out: dict[int, int] = {}
        """Each broker, and how many hops of slow requests it left out, because there were too
        many.
        """
        self.now_us = 0

    def advance(self, now_us: int) -> None:
        """Set the current time (µs). It never goes back."""
        self.now_us = max(self.now_us, now_us)

    def apply(self, envelope: Envelope) -> None:
        """Process one event. O(buckets) for a sample, else O(1)."""
        self.now_us = max(self.now_us, envelope.mono_us)
        event, broker = envelope.event, envelope.broker
        if isinstance(event, ProcessEnded):
            broker = event.child.broker
        if broker is None:
            return
        queues = self.queues.get(broker, Queues())
        match event:
            case RequestTimesSampled(times=times) | RequestTimesSnapshot(times=times):
                if len(times.parts) == len(REQUEST_PARTS):
                    api = ApiId(broker, times.api_key, times.follower)
                    self.apis.setdefault(api, ApiTimes(api)).take(times, envelope.mono_us)
            case NetworkSampled() as e:
                self.queues[broker] = queues._replace(
                    requests=e.request_queue_size,
                    capacity=e.request_queue_capacity,
                    responses=e.response_queue_size,
                    connections=e.connections,
                )
                self.slow_left_out[broker] = e.slow_left_out_total
            case ServerSampled() as e:
                self.queues[broker] = queues._replace(busy=e.handlers_busy, handlers=e.handlers)
                self._most(broker, e.handlers)
            case HandlerPoolResized() as e:
                self._most(broker, e.before)
                self.queues[broker] = queues._replace(handlers=e.after)
            case ResponseSent() as e:
                slow = SlowRequest(envelope, e)
                if slow.waited_us >= SLOW_MS * 1000:
                    self.slow.append(slow)
                    self.slow_seen += 1
            case LinkLost() | ProcessEnded():
                self.queues.pop(broker, None)
                self.apis = {api: t for api, t in self.apis.items() if api.broker != broker}
            case _:
                pass

    def left_out_words(self, broker: int | None = None) -> str:
        """Return in words how many hops of slow requests one broker, or all brokers, left out.

        For example ` (312 hops left out: too many)`, or "" if no hops were left out.
        """
        count = sum(n for each, n in self.slow_left_out.items() if broker in (None, each))
        return f" ({count:,} {'hop' if count == 1 else 'hops'} left out: too many)" if count else ""

    def _most(self, broker: int, handlers: int) -> None:
        self.most_handlers[broker] = max(self.most_handlers.get(broker, 0), handlers)

    def slowest(
        self, most: int, *, broker: int | None = None, within_us: int | None = SLOW_FOR_US
    ) -> list[SlowRequest]:
        """Return at most `most` slow requests of the last `within_us`, the slowest first.

        `within_us` None means: all slow requests that are kept. `broker` None means: of all
        brokers.
        """
        found = [
            slow
            for slow in self.slow
            if (within_us is None or slow.envelope.mono_us >= self.now_us - within_us)
            and broker in (None, slow.broker)
        ]
        return sorted(found, key=lambda slow: -slow.waited_us)[:most]

    def of_broker(self, broker: int) -> list[ApiTimes]:
        """Return the rows of a broker, in the order of their API keys."""
        return [self.apis[api] for api in sorted(self.apis) if api.broker == broker]

    def brokers(self) -> list[int]:
        return sorted({api.broker for api in self.apis} | self.queues.keys())


#: What a request did in each part, as an end for "31 ms, of which 29.8 ms ...".
PART_WORDS: Final[Mapping[int, str]] = {
    QUEUE: "waiting for a handler",
    LOCAL: "in the handler",
    REMOTE: "waiting in the purgatory",
    THROTTLE: "muted by a quota",
    RESPONSE_QUEUE: "in the response queue",
    SEND: "on its way into the socket",
}
REMOTE_WORDS: Final[Mapping[int, str]] = {
    ApiKey.PRODUCE: "waiting for the followers",
    ApiKey.FETCH: "waiting for records",
    ApiKey.JOIN_GROUP: "waiting for the other members to join",
    ApiKey.SYNC_GROUP: "waiting for the leader's assignment",
    ApiKey.CREATE_TOPICS: "waiting until the new partitions have leaders",
}


def part_words(api_key: int, part: int) -> str:
    """Return in words what a request did in a part: `waiting for the followers`."""
    if part == REMOTE:
        return REMOTE_WORDS.get(api_key, PART_WORDS[REMOTE])
    return PART_WORDS[part]


def brief_time(us: float) -> str:
    """Format a time (µs) as a short text: `85 µs`, `4.1 ms`, `498 ms`, `1.4 s`."""
    if us < 1000:
        return f"{us:.0f} µs"
    if us < 100_000:
        return f"{us / 1000:.1f} ms"
    if us < 1_000_000:
        return f"{us / 1000:.0f} ms"
    return f"{us / 1e6:.1f} s"


def verdict(view: RequestTimesView, broker: int, now_us: int) -> str:
    """Return a sentence that says where the time of a broker's requests went.

    The sentence is about the requests of clients and followers in the last ten seconds, without the
    waits that clients wanted.
    """
    sums = [0.0] * TOTAL
    waits: dict[int, float] = {}
    works: dict[ApiId, Split] = {}
    for times in view.of_broker(broker):
        split = times.recent(now_us)
        if not split.requests:
            continue
        works[times.api] = split
        for part in SIX_PARTS:
            if part == REMOTE and times.api.is_patient:
                continue
            spent = float(split.parts[part].sum_us)
            sums[part] += spent
            if part == REMOTE:
                waits[times.api.api_key] = waits.get(times.api.api_key, 0) + spent
    total = sum(sums)
    if total <= 0:
        return f"broker {broker}: no requests in the last 10 s"
    if total < HARDLY_BUSY_US:
        count = sum(split.requests for split in works.values())
        return (
            f"broker {broker}: hardly busy: {plural(count, 'request')} in the last 10 s took"
            f" {brief_time(total)} in all"
        )
    part = max(SIX_PARTS, key=sums.__getitem__)
    api_key = max(waits, key=waits.__getitem__) if part == REMOTE and waits else -1
    words = f"broker {broker}: {sums[part] / total:.0%} of the time goes {_goes(part, api_key)}"
    if part == QUEUE:
        words += _handlers(view, broker)
    if part in (QUEUE, LOCAL):
        words += _occupied(works)
    return words


def _handlers(view: RequestTimesView, broker: int) -> str:
    """Return in words how many handlers the broker has, and how many requests wait for one."""
    queues = view.queues.get(broker)
    if queues is None or not queues.handlers:
        return ""
    words = f": {plural(queues.handlers, 'handler')}"
    most = view.most_handlers.get(broker, 0)
    if most > queues.handlers:
        words += f", {most} before num.io.threads was changed"
    if queues.requests:
        words += f", {plural(queues.requests, 'request')} in the queue"
    return words


def _occupied(works: Mapping[ApiId, Split]) -> str:
    """Return in words which API used the handler threads for the longest time."""
    api = max(works, key=lambda each: works[each].parts[LOCAL].sum_us)
    split = works[api]
    whole = sum(each.parts[LOCAL].sum_us for each in works.values())
    share = split.parts[LOCAL].sum_us / whole if whole else 0.0
    return (
        f"; {api.name} is {share:.0%} of the handlers' work,"
        f" {brief_time(split.mean_us(LOCAL))} each time"
        if share >= 0.5
        else ""
    )


_GOES: Final[Mapping[int, str]] = {
    QUEUE: "to the request queue",
    LOCAL: "to the handlers' own work",
    REMOTE: "to waiting in the purgatory",
    THROTTLE: "to quotas",
    RESPONSE_QUEUE: "to the response queue",
    SEND: "to sending the responses",
}


def _goes(part: int, api_key: int) -> str:
    if part == REMOTE and api_key in REMOTE_WORDS:
        return f"to {REMOTE_WORDS[api_key]}"
    return _GOES[part]
