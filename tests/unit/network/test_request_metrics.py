"""How the time of each request is split: if a request waited somewhere, the wait is counted in that
part.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from kafka_edu.common.log_histogram import Histogram
from kafka_edu.common.time import MockTime
from kafka_edu.network import request_metrics
from kafka_edu.network.processor import Processor, ProcessorSettings, SharedByProcessors
from kafka_edu.network.request import Request
from kafka_edu.network.request_channel import RequestChannel
from kafka_edu.network.request_metrics import SAMPLE_EVERY_MS, RequestMetrics
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.headers import encode_request
from kafka_edu.protocol.messages.api_versions import ApiVersionsRequest
from kafka_edu.protocol.messages.fetch import FetchRequest
from kafka_edu.protocol.messages.produce import ProduceRequest
from kafka_edu.protocol.schema import Message
from kafka_edu.trace.event import SLOW_MS, Level, Source
from kafka_edu.trace.events.network import (
    REQUEST_PARTS,
    ClientRequests,
    ClientRequestsSampled,
    ClientRequestsSnapshot,
    RequestTimes,
    RequestTimesSampled,
    RequestTimesSnapshot,
    ResponseSent,
)
from kafka_edu.trace.ring_sink import RingSink
from kafka_edu.trace.slow_budget import BURST, SLOW_HOPS_PER_S
from kafka_edu.trace.tracer import Tracer
from tests.defaults import NETWORK_DEFAULTS

PARTS_OF_THE_TOTAL = tuple(part for part in REQUEST_PARTS if part not in ("throttle", "total"))


class StillWire:
    """A wire on which bytes leave when the test says so."""

    local, peer, unsent = "here:9092", "there:5", 0

    def __init__(self) -> None:
        self.sent: list[Any] = []

    def send(self, parts: list[Any]) -> None:
        self.sent += parts

    def guard_sends(self, on_failure: Callable[[Exception], None]) -> None: ...
    def pause_reading(self) -> None: ...
    def resume_reading(self) -> None: ...
    def close(self) -> None: ...


class Bench:
    """A processor and its request queue, with a clock that only the test moves."""

    def __init__(self) -> None:
        self.time = MockTime()
        self.tracer = Tracer(Source.of_broker(1), self.time)
        self.ring = RingSink(level=Level.HOPS)
        self.tracer.add_sink(self.ring)
        self.metrics = RequestMetrics(self.time)
        self.queue = RequestChannel(self.time, 500, self.tracer)
        self.processor = Processor(
            0,
            self.time,
            self.queue,
            SharedByProcessors(self.time, metrics=self.metrics),
            ProcessorSettings(
                "PLAINTEXT",
                NETWORK_DEFAULTS.socket_request_max_bytes,
                NETWORK_DEFAULTS.connections_max_idle_ms,
                NETWORK_DEFAULTS.max_pipelined_requests,
            ),
            self.tracer,
        )
        self.channel = self.processor.accept(StillWire())  # type: ignore[arg-type]

    def serve(
        self,
        waits: Mapping[str, float],
        message: Message | None = None,
        client: str = "shop",
        version: int = 0,
        sent_as: int | None = None,
    ) -> Request:
        """Send one request through all hops. It waits for the given ms in each part.

        `sent_as` replaces the version in the header. It may be a version that nobody knows.
        """

        async def served() -> Request:
            frame = b"".join(
                bytes(part)
                for part in encode_request(message or ApiVersionsRequest(), version, 7, client)
                if isinstance(part, bytes | bytearray | memoryview)
            )
            if sent_as is not None:
                frame = frame[:6] + sent_as.to_bytes(2, "big") + frame[8:]
            self.channel.data_received(memoryview(frame))
            self.time.advance(waits.get("request queue", 0))
            request = await self.queue.receive_request()
            self.queue.begin_handling()
            self.time.advance(waits.get("local", 0))
            if "remote" in waits:
                request.local_done_ns = self.time.nanoseconds()
                self.time.advance(waits["remote"])
            request.throttle_ns = int(waits.get("throttle", 0) * 1_000_000)
            self.queue.send_response(request, None if "no answer" in waits else [b"answer"])
            self.time.advance(waits.get("response queue", 0))
            self.queue.end_handling()
            if "no answer" not in waits:
                self.time.advance(waits.get("response send", 0))
                self.channel.all_sent()
            return request

        return asyncio.run(served())

    def one(self) -> RequestTimes:
        (event,) = [e for e in self.metrics.snapshot() if isinstance(e, RequestTimesSnapshot)]
        return event.times

    def clients(self) -> list[ClientRequests]:
        told = self.metrics.snapshot()
        return [e.requests for e in told if isinstance(e, ClientRequestsSnapshot)]

    def sampled(self) -> list[ClientRequestsSampled]:
        self.time.advance(SAMPLE_EVERY_MS)
        return [e for e in self.metrics.gauges() if isinstance(e, ClientRequestsSampled)]

    def parts(self) -> dict[str, Histogram]:
        return dict(zip(REQUEST_PARTS, map(Histogram, self.one().parts), strict=True))


@pytest.mark.parametrize("part", REQUEST_PARTS[:-1])
def test_a_request_that_waited_has_its_ms_in_that_part(part: str) -> None:
    bench = Bench()
    bench.serve({part: 40})
    for name, histogram in bench.parts().items():
        expected = 40_000 if name == part or (name == "total" and part != "throttle") else 0
        assert abs(histogram.percentile_us(50) - expected) <= expected / 16
        assert histogram.total == (1 if expected else 0)


def test_the_parts_sum_to_the_total_and_the_throttle_comes_after() -> None:
    bench = Bench()
    waits = {"request queue": 3, "local": 5, "remote": 7, "response queue": 11, "response send": 13}
    bench.serve(waits | {"throttle": 17})
    (sent,) = [e.event for e in bench.ring.events if isinstance(e.event, ResponseSent)]
    assert isinstance(sent, ResponseSent)
    assert (sent.request_queue_us, sent.local_us, sent.remote_us) == (3000, 5000, 7000)
    assert (sent.response_queue_us, sent.send_us, sent.throttle_us) == (11_000, 13_000, 17_000)
    assert sent.total_us == sum(waits.values()) * 1000
    assert (sent.client_id, sent.follower) == ("shop", False)
    parts = bench.parts()
    summed = sum(parts[part].sum_us for part in PARTS_OF_THE_TOTAL)
    assert abs(summed - sent.total_us) <= sent.total_us / 16
    assert abs(parts["total"].sum_us - sent.total_us) <= sent.total_us / 16


def test_a_request_without_an_answer_counts_too() -> None:
    bench = Bench()
    bench.serve({"local": 2, "response queue": 1, "no answer": 1})
    assert bench.one().requests == 1
    assert abs(bench.parts()["total"].percentile_us(50) - 3000) <= 3000 / 16


@pytest.mark.parametrize(("replica_id", "follower"), [(-1, False), (2, True)])
def test_fetches_of_followers_count_apart(replica_id: int, follower: bool) -> None:
    bench = Bench()
    bench.serve(
        {"remote": 500},
        FetchRequest(replica_id=replica_id, max_wait_ms=500, min_bytes=1, topics=[]),
    )
    times = bench.one()
    assert (times.api_key, times.follower, times.requests) == (ApiKey.FETCH, follower, 1)


def test_produces_and_consumers_fetches_are_counted_by_client() -> None:
    bench = Bench()
    bench.serve({})
    assert bench.clients() == [], "ApiVersions is neither"
    produce = bench.serve({}, ProduceRequest(acks=0, timeout_ms=1, topic_data=[]))
    bench.serve({"no answer": 1}, ProduceRequest(acks=0, timeout_ms=1, topic_data=[]))
    bench.serve({}, FetchRequest(replica_id=-1))
    bench.serve({}, FetchRequest(replica_id=2))
    bench.time.advance(40)
    size = 2 * len(produce.frame)
    assert bench.clients() == [ClientRequests("shop", 2, size, 1, 40)], "no follower's fetch"
    assert [e.requests for e in bench.sampled()] == bench.clients()
    assert bench.sampled() == [], "nothing was asked since"


def test_a_client_says_once_which_software_it_is() -> None:
    bench = Bench()
    bench.serve(
        {},
        ApiVersionsRequest(client_software_name="librdkafka", client_software_version="2.3.0"),
        version=3,
    )
    assert bench.clients() == [], "ApiVersions is neither a produce nor a fetch"
    bench.serve({}, FetchRequest(replica_id=-1))
    assert [each.software for each in bench.clients()] == ["librdkafka 2.3.0"]
    bench.serve(
        {},
        ApiVersionsRequest(client_software_name="[red]", client_software_version="1"),
        version=3,
    )
    assert [each.software for each in bench.clients()] == ["librdkafka 2.3.0"], "no valid name"
    bench.serve({}, FetchRequest(replica_id=-1), client="old")
    assert [each.software for each in bench.clients() if each.client == "old"] == [""]


def test_an_api_versions_request_of_an_unknown_version_is_counted_and_not_read() -> None:
    bench = Bench()
    newer = ApiVersionsRequest.VALID.highest + 1
    told = ApiVersionsRequest(client_software_name="kafka-python", client_software_version="3")
    bench.serve({"local": 1}, told, version=newer - 1, sent_as=newer)
    assert bench.one().requests == 1
    assert list(bench.processor.channels.values()) == [bench.channel], "the connection stays open"
    bench.serve({}, told, version=newer - 1)
    bench.serve({}, FetchRequest(replica_id=-1))
    assert [each.software for each in bench.clients()] == ["kafka-python 3"]


def test_only_so_many_clients_are_counted_and_a_new_one_replaces_the_longest_silent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(request_metrics, "MOST_CLIENTS", 2)
    bench = Bench()
    for client in ("first", "silent", "first", "new", "first", "newer"):
        bench.time.advance(1)
        bench.serve({}, FetchRequest(replica_id=-1), client)
    assert [(each.client, each.fetches) for each in bench.clients()] == [("first", 3), ("newer", 1)]


def software_told_by(bench: Bench, *clients: str) -> None:
    for client in clients:
        told = ApiVersionsRequest(client_software_name=client, client_software_version="1")
        bench.serve({}, told, client, version=3)


def software(bench: Bench) -> dict[str, str]:
    return {each.client: each.software for each in bench.clients()}


def test_the_software_of_a_client_that_is_counted_is_forgotten_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(request_metrics, "MOST_CLIENTS", 2)
    bench = Bench()
    software_told_by(bench, "shop")
    bench.serve({}, FetchRequest(replica_id=-1), "shop")
    software_told_by(bench, "admin-1", "admin-2", "admin-3")
    assert software(bench) == {"shop": "shop 1"}


def test_a_client_that_tells_its_software_again_counts_as_new(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(request_metrics, "MOST_CLIENTS", 2)
    bench = Bench()
    software_told_by(bench, "first", "second", "first", "third")
    bench.serve({}, FetchRequest(replica_id=-1), "first")
    assert software(bench) == {"first": "first 1"}


def test_a_sample_comes_twice_a_second_for_the_apis_that_had_requests() -> None:
    bench = Bench()
    bench.serve({"local": 1})
    (first,) = bench.metrics.gauges()
    assert isinstance(first, RequestTimesSampled)
    assert list(bench.metrics.gauges()) == []
    bench.time.advance(SAMPLE_EVERY_MS)
    assert list(bench.metrics.gauges()) == []
    bench.serve({"local": 1})
    bench.time.advance(SAMPLE_EVERY_MS)
    (second,) = bench.metrics.gauges()
    assert isinstance(second, RequestTimesSampled)
    assert second.times.requests == 2


def test_in_an_overload_only_so_many_slow_responses_are_for_everybody() -> None:
    bench = Bench()
    everybody = RingSink(level=Level.STATE)
    bench.tracer.add_sink(everybody)
    for _ in range(100):
        bench.serve({"local": SLOW_MS})
    told = sum(isinstance(envelope.event, ResponseSent) for envelope in everybody.events)
    seconds = 100 * SLOW_MS / 1000
    assert BURST < told <= BURST + seconds * SLOW_HOPS_PER_S
    assert told + bench.tracer.slow.left_out == 100
    whole = [e for e in bench.ring.events if isinstance(e.event, ResponseSent)]
    assert len(whole) == 100  # who asks for every hop gets every hop
