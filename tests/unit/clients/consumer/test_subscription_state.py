"""A consumer's subscription, its positions, and the table that says which changes of a partition's
state are allowed.
"""

import re

import pytest

from kafka_edu.clients.client_errors import ClientException
from kafka_edu.clients.consumer.subscription_state import (
    NO_OFFSET,
    VALID_PREVIOUS_STATES,
    FetchState,
    NoOffsetForPartitionException,
    NotAssignedException,
    OffsetAndMetadata,
    OffsetResetStrategy,
    SubscriptionState,
)
from kafka_edu.common.time import MockTime
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.protocol.messages.list_offsets import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP
from kafka_edu.trace.event import CLIENT, Event, Level
from kafka_edu.trace.events.consumer import (
    ConsumerAssigned,
    ConsumerSubscribed,
    FetchStateChanged,
    PartitionPaused,
    PartitionResumed,
    PositionAdvanced,
)
from kafka_edu.trace.ring_sink import RingSink
from kafka_edu.trace.tracer import Tracer

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def subscription(
    reset: OffsetResetStrategy = OffsetResetStrategy.EARLIEST, trace: Tracer | None = None
) -> SubscriptionState:
    return SubscriptionState("c", reset, trace)


def test_each_change_emits_its_event() -> None:
    tracer = Tracer(CLIENT, MockTime())
    ring = RingSink(100, Level.HOPS)
    tracer.add_sink(ring)
    state = subscription(trace=tracer)
    state.subscribe(["t"])
    state.assign_from_group([T0])
    state.assign_from_group([T0])
    state.reset_by_default(T0, "no committed offset")
    state.reset_done(T0, EARLIEST_TIMESTAMP, 5, 2)
    state.pause(T0)
    state.pause(T0)
    state.resume(T0)
    state.resume(T0)
    state.advance(T0, 9, 2, 3)
    state.unsubscribe()
    seen: list[Event] = [each.event for each in ring.events]
    assert [(type(event), *event) for event in seen] == [
        (ConsumerSubscribed, "c", ("t",), (), ""),
        (ConsumerAssigned, "c", ("t-0",)),
        (FetchStateChanged, "c", "t", 0, "Initializing", "AwaitReset", -1, "no committed offset"),
        (FetchStateChanged, "c", "t", 0, "AwaitReset", "Fetching", 5, "the leader said the offset"),
        (PartitionPaused, "c", "t", 0),
        (PartitionResumed, "c", "t", 0),
        (PositionAdvanced, "c", "t", 0, 5, 9, 3),
        (ConsumerSubscribed, "c", (), (), ""),
        (ConsumerAssigned, "c", ()),
    ]


def test_topics_and_partitions_exclude_each_other() -> None:
    state = subscription()
    state.subscribe(["t"])
    with pytest.raises(ClientException, match="mutually exclusive"):
        state.assign([T0])
    state.unsubscribe()
    state.assign([T0, T0])
    assert state.assigned() == [T0]
    with pytest.raises(ClientException, match="mutually exclusive"):
        state.subscribe(["t"])


def test_a_pattern_stands_for_the_topics_that_match_it_wholly() -> None:
    tracer = Tracer(CLIENT, MockTime())
    ring = RingSink(100, Level.HOPS)
    tracer.add_sink(ring)
    state = subscription(trace=tracer)
    state.subscribe_pattern(re.compile("we?b"))
    assert state.in_group
    state.match(["web", "webs", "wb"])
    state.match(["wb", "web", "a-web"])
    assert state.topics == ("wb", "web")
    state.match(["wb"])
    with pytest.raises(ClientException, match="mutually exclusive"):
        state.subscribe(["wb"])
    state.unsubscribe()
    assert (state.topics, state.pattern, state.in_group) == ((), None, False)
    state.subscribe(["t"])
    assert state.in_group
    seen: list[Event] = [each.event for each in ring.events]
    assert [(type(event), *event) for event in seen] == [
        (ConsumerSubscribed, "c", (), (), "we?b"),
        (ConsumerSubscribed, "c", ("wb", "web"), (), "we?b"),
        (ConsumerSubscribed, "c", ("wb",), (), "we?b"),
        (ConsumerSubscribed, "c", (), (), ""),
        (ConsumerSubscribed, "c", ("t",), (), ""),
    ]


def test_a_partition_that_stays_keeps_its_position() -> None:
    state = subscription()
    state.assign([T0])
    state.seek(T0, 7, "seek")
    state.assign([T1, T0])
    assert state.position(T0) == 7
    assert state.position(T1) == NO_OFFSET
    assert state.fetchable() == [T0]
    assert state.in_state(FetchState.INITIALIZING) == [T1]
    state.assign([T1])
    with pytest.raises(NotAssignedException, match="No current assignment for partition t-0"):
        state.position(T0)
    assert state.at(T0) == NO_OFFSET


def test_a_reset_that_comes_too_late_changes_nothing() -> None:
    state = subscription(OffsetResetStrategy.LATEST)
    state.assign([T0])
    state.reset_by_default(T0, "no committed offset")
    assert state.reset_target(T0) == LATEST_TIMESTAMP
    state.request_reset(T0, EARLIEST_TIMESTAMP, "seek_to_beginning")
    state.reset_done(T0, LATEST_TIMESTAMP, 100, -1)
    assert state.position(T0) == NO_OFFSET
    state.seek(T0, 3, "seek")
    state.reset_done(T0, EARLIEST_TIMESTAMP, 0, -1)
    state.reset_done(T1, EARLIEST_TIMESTAMP, 0, -1)
    assert state.position(T0) == 3


def test_without_a_strategy_there_is_an_error() -> None:
    state = subscription(OffsetResetStrategy.NONE)
    state.assign([T0])
    with pytest.raises(NoOffsetForPartitionException) as error:
        state.reset_by_default(T0, "There is no committed offset")
    assert str(error.value) == (
        "NoOffsetForPartitionException: There is no committed offset for partition t-0, and"
        " auto.offset.reset is none. Seek to an offset, or set auto.offset.reset to earliest or"
        " latest."
    )


def test_paused_partitions_are_kept_and_not_fetched() -> None:
    state = subscription()
    state.assign([T0, T1])
    state.seek(T0, 1, "seek")
    state.seek(T1, 1, "seek")
    state.pause(T0)
    assert state.fetchable() == [T1]
    assert state.paused() == [T0]
    assert (state.at(T0), state.at(T1)) == (NO_OFFSET, 1)
    state.resume(T0)
    assert state.fetchable() == [T0, T1]


def test_what_is_committed_and_the_lag() -> None:
    state = subscription()
    state.assign([T0, T1])
    state.seek(T0, 4, "seek", 3)
    assert state.lag(T0) == -1
    state.note_high_watermark(T0, 10)
    state.note_high_watermark(TopicPartition("gone", 0), 10)
    state.advance(T0, 6, 3, 2)
    assert state.lag(T0) == 4
    assert state.lag(T1) == -1
    assert state.all_consumed() == {T0: OffsetAndMetadata(6, "", 3)}


def test_no_partition_becomes_initializing_again() -> None:
    assert VALID_PREVIOUS_STATES[FetchState.INITIALIZING] == frozenset()
    assert set(VALID_PREVIOUS_STATES) == set(FetchState)
