"""The state of the Wire screen: which frame is chosen, and the place in it."""

from kafka_edu.protocol.capture_format import CapturedFrame
from kafka_edu.trace.event import Envelope, Event, Source
from kafka_edu.trace.events.network import (
    FrameCaptureSnapshot,
    FrameCaptureStarted,
    FrameCaptureStopped,
)
from tests.unit.cli.test_wire_command import REQUEST, RESPONSE
from tui.view_model.wire_view import WireView


def frame(
    number: int,
    data: bytes = REQUEST,
    *,
    client: str = "shop",
    api: int = 0,
    is_response: bool = False,
    correlation: int = 4711,
) -> CapturedFrame:
    return CapturedFrame(
        number=number,
        wall_ms=1000 + number,
        broker_id=0,
        connection_id="c",
        is_response=is_response,
        client_id=client,
        api_key=api,
        api_version=9,
        correlation_id=correlation,
        size=len(data),
        data=data,
    )


def view_of(*frames: CapturedFrame) -> WireView:
    view = WireView()
    view.add(frames)
    return view


def told(view: WireView, broker: int, event: Event) -> None:
    view.apply(Envelope(Source.of_broker(broker), 1, 0, 1000, 1000, event))


def test_the_first_frame_is_chosen_and_stays_chosen_when_more_come() -> None:
    first = frame(1)
    view = view_of(first)
    view.add([frame(2, correlation=2)])
    assert view.chosen is first
    assert view.listed_at == 0
    assert [row.node.name for row in view.rows][:3] == ["size", "header", "api_key"]


def test_a_request_and_its_response_are_a_pair() -> None:
    request, response = frame(1), frame(2, RESPONSE, is_response=True)
    view = view_of(request, response, frame(3, correlation=5))
    assert view.is_pair(response)
    assert view.choose_partner()
    assert view.chosen is response
    assert view.choose_partner()
    assert view.chosen is request
    view.choose(view.listed[2])
    assert not view.choose_partner()


def test_a_request_is_found_by_connection_and_number_although_it_is_filtered_out() -> None:
    view = view_of(frame(1), frame(2, correlation=5), frame(3, client="other", correlation=6))
    view.next_client()
    assert [one.client_id for one in view.listed] == ["other"]
    assert view.find("c", 5)
    assert view.chosen is not None
    assert view.chosen.correlation_id == 5
    assert view.listed_at == 1
    assert not view.find("c", 99)


def test_filters_go_round_and_end_with_all() -> None:
    view = view_of(frame(1), frame(2, client="a", api=3), frame(3, client="b", api=-1))
    seen = []
    for _ in range(4):
        view.next_client()
        seen.append(view.client)
    assert seen == ["a", "b", "shop", None]
    view.next_api()
    assert view.filter_words == "unreadable"
    view.next_api()
    assert view.filter_words == "Produce"
    assert len(view.listed) == 1


def test_a_field_names_its_bytes_and_a_byte_its_field() -> None:
    view = view_of(frame(1))
    names = [row.node.name for row in view.rows]
    view.select_row(names.index("acks"))
    start, end = view.span
    assert REQUEST[start:end] == b"\xff\xff"
    assert view.byte == start
    view.select_byte(REQUEST.index(b"\x04web") + 2)
    assert view.node is not None
    assert view.node.name == "name"
    assert view.path == "body.topic_data[0].name"
    for at in range(len(REQUEST)):
        view.select_byte(at)
        low, high = view.span
        assert low <= at < high
    view.select_byte(10_000)
    assert view.byte == len(REQUEST) - 1


def test_a_field_opens_to_its_length_and_shuts_again() -> None:
    view = view_of(frame(1))
    view.select_byte(REQUEST.index(b"\x04web"))
    before = len(view.rows)
    view.toggle()
    assert [row.node.name for row in view.rows[view.row + 1 : view.row + 3]] == ["length", "text"]
    view.toggle()
    assert len(view.rows) == before
    view.select_row(1)
    view.toggle()  # the header, which is open from the start
    assert len(view.rows) < before


def test_the_cursor_stands_on_the_first_wrong_byte() -> None:
    broken = bytearray(REQUEST)
    at = broken.index(b"\x04web")
    broken[at] = 0x7F
    view = view_of(frame(1, bytes(broken)))
    assert view.byte == at
    assert view.node is not None
    assert view.node.wrong
    cut = view_of(frame(1, REQUEST[:30]))
    assert cut.byte == 0  # the size is wrong
    empty = view_of(frame(1, b""))
    empty.select_byte(3)
    empty.toggle()
    assert empty.span == (0, 0)


def test_captures_of_brokers_start_and_end() -> None:
    view = WireView()
    told(view, 0, FrameCaptureStarted(clients=("*",), file="/f0", max_bytes=9))
    told(view, 1, FrameCaptureSnapshot(clients=("a",), file="/f1", max_bytes=9, frames=3))
    assert set(view.running) == {0, 1}
    told(view, 0, FrameCaptureStopped(file="/f0", frames=4, reason="the disk is full"))
    assert set(view.running) == {1}
    assert view.captures[0].ended == "the disk is full"
    view.forget_captures()
    assert not view.captures


def test_frames_are_bounded_and_stay_in_the_order_of_time() -> None:
    view = WireView()
    for number in range(6000, 0, -1):
        view.frames.add([frame(number, b"\0\0\0\0", correlation=number)])
    assert len(view.frames) == 5000
    times = [one.wall_ms for one in view.frames]
    assert times == sorted(times)


def test_a_wanted_request_is_chosen_as_soon_as_it_is_read() -> None:
    view = view_of(frame(1))
    view.want("c", 5)
    assert view.wanted == ("c", 5)
    view.add([frame(2, correlation=5)])
    assert view.wanted is None
    assert view.chosen is not None
    assert view.chosen.correlation_id == 5
    view.want("c", 99)
    view.choose(view.listed[0])
    assert view.wanted is None
