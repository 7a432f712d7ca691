"""The way of one record, drawn to scale: each time is at its true column, and moves lead from mark
to mark.
"""

from kafka_edu.trace.event import Envelope, Source
from kafka_edu.trace.events.log import SegmentRead
from kafka_edu.trace.events.network import RequestReceived, ResponseSent
from kafka_edu.trace.events.replication import (
    FollowerAppended,
    FollowerFetched,
    HighWatermarkAdvanced,
    ProduceAppended,
)
from kafka_edu.trace.reader import History
from tests.unit.tui.story_of_events import Story
from tests.unit.tui.test_motion_view import sampled
from tui.view_model.motion_lanes import Lanes, axis, brings, column, lanes_of
from tui.widgets.motion_strip import lane_grid

APPENDED = ProduceAppended(
    topic="web",
    partition=0,
    leader_epoch=1,
    first_offset=10,
    required_offset=11,
    required_acks=-1,
    high_watermark=10,
)
SENT = ResponseSent(
    connection_id="c",
    correlation_id=7,
    api_key=1,
    size_bytes=100,
    request_queue_us=0,
    local_us=0,
    remote_us=0,
    response_queue_us=0,
    send_us=0,
    total_us=900,
    throttle_us=0,
    client_id="reader-1",
    follower=False,
)


def told(story: Story, broker: int, event: tuple[object, ...], after_ms: int) -> Envelope:
    return story.tell(broker, event, after_ms=after_ms)


def a_way(with_reader: bool = False) -> Lanes:
    """Broker 1 leads, 0 and 2 follow, and 2 is the slower one."""
    story = Story()
    received = told(
        story,
        1,
        RequestReceived(
            connection_id="p",
            correlation_id=3,
            api_key=0,
            api_version=9,
            client_id="shop",
            size_bytes=100,
            processor=0,
            queue_size=0,
        ),
        0,
    )
    appended = told(story, 1, APPENDED, 1)
    others = [
        told(
            story,
            0,
            FollowerAppended(
                topic="web",
                partition=0,
                follower=0,
                fetch_offset=10,
                log_end_offset=11,
                high_watermark=10,
                leader=1,
            ),
            2,
        ),
        told(
            story,
            2,
            FollowerAppended(
                topic="web",
                partition=0,
                follower=2,
                fetch_offset=10,
                log_end_offset=11,
                high_watermark=10,
                leader=1,
            ),
            3,
        ),
        told(
            story,
            0,
            FollowerAppended(
                topic="web",
                partition=0,
                follower=0,
                fetch_offset=11,
                log_end_offset=12,
                high_watermark=10,
                leader=1,
            ),
            0,
        ),
        told(
            story,
            1,
            FollowerFetched(
                topic="web",
                partition=0,
                follower=0,
                fetch_offset=11,
                leader_log_end_offset=11,
                high_watermark=10,
            ),
            1,
        ),
        told(
            story,
            1,
            FollowerFetched(
                topic="web",
                partition=0,
                follower=2,
                fetch_offset=11,
                leader_log_end_offset=11,
                high_watermark=10,
            ),
            2,
        ),
        told(
            story,
            1,
            HighWatermarkAdvanced(
                topic="web",
                partition=0,
                leader_epoch=1,
                before=10,
                after=11,
                log_end_offset=11,
                is_leader=True,
            ),
            0,
        ),
    ]
    answer = told(story, 1, SENT._replace(api_key=0, client_id="shop"), 1)
    reader = told(story, 1, SENT, 2) if with_reader else None
    return lanes_of(received, appended, answer, others, reader)


def test_each_process_has_a_lane_and_each_event_a_mark_at_its_time() -> None:
    way = a_way(with_reader=True)
    names = [(lane.name, lane.source) for lane in way.lanes]
    assert names == [
        ("producer shop", None),
        ("leads", Source.of_broker(1)),
        ("follows", Source.of_broker(0)),
        ("follows", Source.of_broker(2)),
        ("consumer reader-1", None),
    ]
    assert [(m.lane, m.label, m.at_us) for m in way.marks] == [
        (0, "sends", 0),
        (1, "appends", 1_000),
        (2, "stores", 3_000),
        (3, "stores", 6_000),
        (2, "fetches", 7_000),
        (3, "decides", 9_000),
        (1, "HW 11", 9_000),
        (0, "acked", 10_000),
        (4, "reads", 12_000),
    ]
    assert way.length_us == 12_000


def test_moves_lead_from_the_producer_to_all_replicas_and_from_the_slower_one_back() -> None:
    moves = [(m.begins.label, m.begins.lane, m.ends.label, m.ends.lane) for m in a_way(True).moves]
    assert moves == [
        ("sends", 0, "appends", 1),
        ("appends", 1, "stores", 2),
        ("appends", 1, "stores", 3),
        ("decides", 3, "HW 11", 1),
        ("HW 11", 1, "acked", 0),
        ("HW 11", 1, "reads", 4),
    ]


def test_positions_are_to_scale() -> None:
    assert [column(us, 10_000, 51) for us in (0, 1_000, 5_000, 10_000, 99_000)] == [
        0, 5, 25, 50, 50,
    ]  # fmt: skip
    scale = axis(10_000, 51)
    assert len(scale) == 51
    assert scale.index("5") == column(5_000, 10_000, 51)
    assert scale.endswith("ms")


def test_the_picture_has_each_mark_at_its_column_and_no_row_is_too_long() -> None:
    way = a_way()
    for width in (40, 58, 98, 180):
        grid = lane_grid(way, width)
        assert {len(row) for row in grid} == {width}
        for mark in way.marks:
            assert grid[mark.lane][column(mark.at_us, way.length_us, width - 12)] == "■"
    assert ["".join(row).rstrip() for row in lane_grid(way, 62)] == [
        "■ sends                                     ┌───▶■ acked",
        "└───▶■ appends                              ■ HW 11",
        "     └────────▶■ stores           ■ fetches │",
        "     └──────────────────────▶■ stores       ■ decides",
    ]


def test_a_consumer_has_the_record_when_its_fetch_has_read_it() -> None:
    story = Story()
    fetch = story.tell(
        1,
        RequestReceived(
            connection_id="c",
            correlation_id=7,
            api_key=1,
            api_version=12,
            client_id="reader-1",
            size_bytes=90,
            processor=0,
            queue_size=0,
        ),
    )
    read = story.tell(
        1,
        SegmentRead(
            topic="web", partition=0, start_offset=10, segment_base_offset=0, position=0, size=100
        ),
        cause=fetch,
    )
    answer = story.tell(1, SENT, cause=fetch)
    history = History(story.envelopes)
    assert brings(history, answer, [read], APPENDED)
    assert not brings(history, answer, [read], APPENDED._replace(partition=1))
    assert not brings(history, answer, [read], APPENDED._replace(first_offset=9))
    follower = answer._replace(event=SENT._replace(follower=True))
    assert not brings(history, follower, [read], APPENDED), "a follower is no consumer"


def test_a_sampled_record_has_the_leader_and_both_followers() -> None:
    journey = sampled().journey
    assert journey is not None
    assert journey.lanes is not None
    assert [lane.name for lane in journey.lanes.lanes[1:4]] == ["leads", "follows", "follows"]
    assert [mark.at_us for mark in journey.lanes.marks] == sorted(
        mark.at_us for mark in journey.lanes.marks
    )
