"""The reducer of the Requests screen: rows of the table, and single requests hop by hop."""

from kafka_edu.network.request_metrics import SAMPLE_EVERY_MS
from kafka_edu.trace.event import Envelope, Event, Source
from kafka_edu.trace.events.network import RequestReceived, ResponseSent
from kafka_edu.trace.events.server import HandlerPoolResized, RequestDequeued
from tests.unit.network.test_request_metrics import Bench
from tui.screens.requests_screen import (
    HOPS_A_SECOND,
    SAMPLE_SAID_S,
    HopLimit,
    io_thread_steps,
)
from tui.view_model.requests_view import KEPT_LATEST, KEPT_REQUESTS, RequestsView, id_of
from tui.widgets.request_board import bar


def _tell(view: RequestsView, event: Event, at_ms: int, seq: int = 0, broker: int = 1) -> None:
    view.apply(Envelope(Source.of_broker(broker), seq or at_ms, 0, at_ms, at_ms * 1000, event))


def _samples(view: RequestsView, bench: Bench, broker: int) -> None:
    bench.time.advance(SAMPLE_EVERY_MS)
    for event in bench.metrics.gauges():
        at_us = bench.time.nanoseconds() // 1000
        view.apply(Envelope(Source.of_broker(broker), 1, 0, 0, at_us, event))


def test_rows_are_by_broker_and_the_busiest_one_answers() -> None:
    view = RequestsView()
    quick, slow = Bench(), Bench()
    for bench, broker in ((quick, 0), (slow, 2)):
        bench.serve({"local": 1})
        _samples(view, bench, broker)
    for _ in range(3):
        quick.serve({"local": 1})
        slow.serve({"request queue": 90})
    _samples(view, quick, 0)
    _samples(view, slow, 2)
    assert [(row.times.api.broker, row.split.requests) for row in view.rows(None)] == [
        (0, 3),
        (2, 3),
    ]
    assert len(view.rows(2)) == 1
    assert view.busiest() == 2
    assert "broker 2: 100% of the time goes to the request queue" in view.answer(None)
    assert view.answer(0) == "broker 0: hardly busy: 3 requests in the last 10 s took 3.0 ms in all"
    assert RequestsView().answer(None) == "no broker has counted a request yet"


def _received(correlation: int) -> RequestReceived:
    return RequestReceived(
        connection_id="c",
        correlation_id=correlation,
        api_key=0,
        api_version=8,
        client_id="shop",
        size_bytes=100,
        processor=0,
        queue_size=0,
    )


def _sent(correlation: int, total_us: int) -> ResponseSent:
    return ResponseSent(
        connection_id="c",
        correlation_id=correlation,
        api_key=0,
        size_bytes=50,
        request_queue_us=0,
        local_us=0,
        remote_us=total_us,
        response_queue_us=0,
        send_us=0,
        total_us=total_us,
        throttle_us=0,
        client_id="shop",
    )


def test_a_request_has_its_hops_in_order_and_each_once() -> None:
    view = RequestsView()
    _tell(view, _sent(7, 3_000), 4)
    _tell(view, _received(7), 1)
    _tell(
        view,
        RequestDequeued(connection_id="c", correlation_id=7, api_key=0, handler=1, queued_us=50),
        2,
    )
    _tell(
        view,
        RequestDequeued(connection_id="c", correlation_id=7, api_key=0, handler=1, queued_us=50),
        2,
    )
    _tell(view, _received(8), 3)
    (request,) = view.latest
    assert request.name == "Produce shop#7"
    assert [hop.name for hop in view.hops(id_of(request))] == [
        "RequestReceived",
        "RequestDequeued",
        "ResponseSent",
    ]
    _tell(view, _received(7), 5, broker=2)
    assert len(view.hops(id_of(request))) == 3, "another broker's request"


def test_a_request_without_hops_is_none_of_the_latest() -> None:
    view = RequestsView()
    _tell(view, _sent(7, 3_000), 1)
    assert not view.latest, "it came before hops were recorded"
    _tell(view, _received(8), 2)
    assert not view.latest, "it has no answer yet"
    _tell(view, _sent(8, 3_000), 3)
    assert [request.name for request in view.latest] == ["Produce shop#8"]


def test_a_listed_request_keeps_its_hops_while_many_others_begin() -> None:
    view = RequestsView()
    _tell(view, _received(1), 1)
    _tell(view, _sent(1, 3_000), 2)
    for i in range(2, KEPT_REQUESTS + 10):
        _tell(view, _received(i), 2 * i)
    (request,) = view.latest
    assert [hop.name for hop in view.hops(id_of(request))] == ["RequestReceived", "ResponseSent"]


def test_a_row_keeps_its_hops_while_a_hundred_others_are_answered() -> None:
    view = RequestsView()
    _tell(view, _received(1), 1)
    _tell(view, _sent(1, 3_000), 2)
    (request,) = view.latest
    hops = view.latest_hops()[id_of(request)]
    for i in range(2, KEPT_REQUESTS + 10):
        _tell(view, _received(i), 2 * i)
        _tell(view, _sent(i, 500), 2 * i + 1)
    assert not view.hops(id_of(request)), "the view has forgotten it, and the row has not"
    assert [hop.name for hop in hops] == ["RequestReceived", "ResponseSent"]


def test_a_request_whose_arrival_was_left_out_is_none_of_the_latest() -> None:
    view = RequestsView()
    dequeued = RequestDequeued(
        connection_id="c", correlation_id=7, api_key=0, handler=1, queued_us=50
    )
    _tell(view, dequeued, 1)
    _tell(view, _sent(7, 3_000), 2)
    assert not view.latest


def test_only_so_many_hops_are_taken_in_a_second_and_the_title_says_so() -> None:
    now = [100.0]
    limit = HopLimit(lambda: now[0])
    assert not limit.wants("WheelTicked"), "not a hop of a request"
    assert all(limit.wants("RequestReceived") for _ in range(HOPS_A_SECOND))
    assert limit.words == ""
    assert not limit.wants("ResponseSent")
    assert limit.words == " (a sample)"
    now[0] += 1
    assert limit.wants("ResponseSent"), "another second"
    now[0] += SAMPLE_SAID_S
    assert limit.words == ""


def test_memory_is_bounded() -> None:
    view = RequestsView()
    for i in range(1, KEPT_REQUESTS * 2):
        _tell(view, _received(i), 2 * i)
        _tell(view, _sent(i, 500), 2 * i + 1)
    assert len(view._hops) == KEPT_REQUESTS
    assert len(view.latest) == len(view._latest_hops) == KEPT_LATEST


def test_a_changed_number_of_handlers_glows() -> None:
    view = RequestsView()
    _tell(view, HandlerPoolResized(before=8, after=1), 5)
    assert view.glow.glows("handlers", 1)
    assert view.times.queues[1].handlers == 1


def test_io_threads_change_in_steps_that_a_broker_takes() -> None:
    assert io_thread_steps(8, 1) == [4, 2, 1]
    assert io_thread_steps(1, 8) == [2, 4, 8]
    assert io_thread_steps(5, 1) == [3, 2, 1]
    assert io_thread_steps(0, 8) == io_thread_steps(8, 8) == []


def test_bars_show_small_parts() -> None:
    assert bar(0.0, 4) == "    "
    assert bar(0.001, 4) == "▏   "
    assert bar(0.5, 4) == "██  "
    assert bar(2.0, 4) == "████"
