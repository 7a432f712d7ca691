"""Where the time of requests goes: the reducer gets samples from real request processors. Their
clock does not move by itself.
"""

from kafka_edu.instruments.request_times import (
    KEPT_SLOW,
    LOCAL,
    QUEUE,
    REMOTE,
    TOTAL,
    WINDOW_US,
    ApiId,
    RequestTimesView,
    Split,
    brief_time,
    part_words,
    verdict,
)
from kafka_edu.network.request_metrics import SAMPLE_EVERY_MS
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.messages.fetch import FetchRequest
from kafka_edu.trace.event import Envelope, Event, Source
from kafka_edu.trace.events.network import NetworkSampled
from kafka_edu.trace.events.server import HandlerPoolResized, ServerSampled
from tests.unit.network.test_request_metrics import Bench

VERSIONS = ApiId(1, ApiKey.API_VERSIONS, False)


class Watched:
    """A processor, and the reducer that sees its samples and its slow requests."""

    def __init__(self) -> None:
        self.bench = Bench()
        self.view = RequestTimesView()
        self.seq = 0

    @property
    def now_us(self) -> int:
        return self.bench.time.nanoseconds() // 1000

    def tell(self, event: Event) -> None:
        self.seq += 1
        self.view.apply(
            Envelope(Source.of_broker(1), self.seq, 0, self.now_us // 1000, self.now_us, event)
        )

    def look(self) -> None:
        self.bench.time.advance(SAMPLE_EVERY_MS)
        for event in self.bench.metrics.gauges():
            self.tell(event)
        for envelope in self.bench.ring.events:
            self.view.apply(envelope)
        self.bench.ring.events.clear()

    def recent(self, api: ApiId = VERSIONS) -> Split:
        return self.view.apis[api].recent(self.now_us)


def test_the_last_ten_seconds_and_all_since_the_start() -> None:
    watched = Watched()
    watched.bench.serve({"local": 1})
    watched.look()
    for _ in range(9):
        watched.bench.serve({"request queue": 40})
    watched.look()
    recent = watched.recent()
    assert recent.requests == 9
    assert recent.percentile_us(QUEUE, 50) // 1000 in range(38, 43)
    assert recent.percentile_us(LOCAL, 99) == 0
    assert recent.most() == QUEUE
    assert watched.view.apis[VERSIONS].since_start().requests == 10
    assert 0 < watched.view.apis[VERSIONS].since_start().percentile_us(LOCAL, 95) < 1100
    watched.bench.time.advance(WINDOW_US // 1000)
    assert watched.recent().requests == 0
    watched.bench.serve({"local": 3})
    watched.look()
    assert watched.recent().requests == 1
    assert watched.recent().most() == LOCAL


def test_many_samples_keep_a_window_of_ten_seconds() -> None:
    watched = Watched()
    for _ in range(60):
        watched.bench.serve({"local": 2})
        watched.look()
    recent = watched.recent()
    assert 19 <= recent.requests <= 21
    assert abs(recent.per_second - 1000 / (SAMPLE_EVERY_MS + 2)) < 0.1
    assert abs(recent.mean_us(TOTAL) - 2000) < 130


def test_slow_requests_are_named_with_the_part_that_took_the_time() -> None:
    watched = Watched()
    watched.bench.serve({"request queue": 150, "local": 20})
    watched.bench.serve({"local": 120})
    watched.bench.serve({"local": 20})
    watched.bench.serve(
        {"remote": 500}, FetchRequest(replica_id=-1, max_wait_ms=500, min_bytes=1, topics=[])
    )
    watched.look()
    first, second = watched.view.slowest(10)
    assert (first.name, first.most, first.sent.total_us) == ("ApiVersions shop#7", QUEUE, 170_000)
    assert (second.most, second.parts_us[LOCAL]) == (LOCAL, 120_000)
    assert part_words(ApiKey.PRODUCE, REMOTE) == "waiting for the followers"
    watched.bench.time.advance(61_000)
    watched.view.advance(watched.now_us)
    assert watched.view.slowest(10) == []
    assert len(watched.view.slowest(10, within_us=None)) == 2
    for _ in range(KEPT_SLOW + 5):
        watched.bench.serve({"local": 100})
    watched.look()
    assert len(watched.view.slow) == KEPT_SLOW


def test_the_answer_names_the_place_and_few_handlers() -> None:
    watched = Watched()
    watched.bench.serve({"local": 1})
    watched.look()
    assert verdict(watched.view, 2, watched.now_us) == "broker 2: no requests in the last 10 s"
    for _ in range(8):
        watched.bench.serve({"request queue": 90, "local": 10})
    watched.tell(HandlerPoolResized(before=8, after=1))
    watched.tell(
        ServerSampled(handlers_busy=1, handlers=1, requests=(), rss_bytes=0, rss_anon_bytes=0)
    )
    watched.tell(
        NetworkSampled(
            request_queue_size=12,
            request_queue_capacity=500,
            response_queue_size=0,
            connections=3,
            requests_total=9,
            bytes_in_total=0,
            bytes_out_total=0,
        )
    )
    watched.look()
    words = verdict(watched.view, 1, watched.now_us)
    assert "of the time goes to the request queue: 1 handler, 8 before num.io.threads" in words
    assert (
        "was changed, 12 requests in the queue; ApiVersions is 100% of the handlers' work" in words
    )


def test_slow_requests_that_were_not_sent_are_counted() -> None:
    watched = Watched()
    assert watched.view.left_out_words() == ""
    sample = NetworkSampled(
        request_queue_size=0,
        request_queue_capacity=500,
        response_queue_size=0,
        connections=3,
        requests_total=9,
        bytes_in_total=0,
        bytes_out_total=0,
        slow_left_out_total=1312,
    )
    watched.tell(sample)
    assert watched.view.left_out_words() == " (1,312 hops left out: too many)"
    assert watched.view.left_out_words(1) == " (1,312 hops left out: too many)"
    assert watched.view.left_out_words(2) == ""


def test_a_restarted_broker_counts_from_nothing() -> None:
    watched = Watched()
    for _ in range(5):
        watched.bench.serve({"local": 1})
    watched.look()
    watched.bench = Bench()
    watched.bench.time.advance(60_000)
    watched.bench.serve({"local": 1})
    watched.look()
    assert watched.view.apis[VERSIONS].requests == 1
    assert watched.recent().requests == 0


def test_times_are_brief() -> None:
    assert [brief_time(us) for us in (85, 4_130, 498_000, 1_440_000)] == [
        "85 µs",
        "4.1 ms",
        "498 ms",
        "1.4 s",
    ]
