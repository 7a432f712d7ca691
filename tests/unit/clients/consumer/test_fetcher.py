"""Which fetches are due, and what their answers mean."""

from collections.abc import Callable

import pytest

from kafka_edu.clients.consumer.subscription_state import (
    FetchState,
    NoOffsetForPartitionException,
    OffsetOutOfRangeException,
)
from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.messages.fetch import FetchRequest
from kafka_edu.protocol.messages.list_offsets import (
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    ListOffsetsRequest,
)
from tests.unit.clients.consumer.parts import Core, Request, batch, fetch_answer, listed

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def fetching(partitions: int = 2, brokers: tuple[int, ...] = (1,), **settings: object) -> Core:
    """Return a core that fetches all partitions of t from offset 0 on."""
    given = {key.replace("_", "."): value for key, value in settings.items()}
    core = Core(given, partitions=partitions, brokers=brokers)
    tps = [TopicPartition("t", n) for n in range(partitions)]
    core.core.subscriptions.assign(tps)
    for tp in tps:
        core.core.subscriptions.seek(tp, 0, "seek")
    core.run()
    return core


def asked(core: Core) -> tuple[Request, FetchRequest, dict[int, int]]:
    """Return the only fetch that waits for an answer, as a request and as a message, and the offset
    of each partition in it.
    """
    request, fetch = core.only(ApiKey.FETCH, FetchRequest)
    return (
        request,
        fetch,
        {each.partition: each.fetch_offset for topic in fetch.topics for each in topic.partitions},
    )


def collected(core: Core, most: int = 100) -> list[tuple[int, int]]:
    return [(each.partition, each.offset) for each in core.core.fetcher.collect(most)]


def test_the_settings_are_in_the_request() -> None:
    core = fetching(
        fetch_min_bytes=7,
        fetch_max_wait_ms=99,
        fetch_max_bytes=1_234,
        max_partition_fetch_bytes=567,
        isolation_level="read_committed",
    )
    _, fetch, offsets = asked(core)
    assert (fetch.replica_id, fetch.isolation_level) == (-1, 1)
    assert (fetch.min_bytes, fetch.max_wait_ms, fetch.max_bytes) == (7, 99, 1_234)
    assert {p.partition_max_bytes for p in fetch.topics[0].partitions} == {567}
    assert offsets == {0: 0, 1: 0}


def test_one_fetch_is_in_flight_to_each_broker() -> None:
    core = fetching(partitions=4, brokers=(1, 2))
    fetches = [each for each in core.requests if each.key is ApiKey.FETCH]
    assert sorted(each.node for each in fetches) == [1, 2]
    core.advance(200)
    assert [each for each in core.requests if each.key is ApiKey.FETCH] == fetches


def test_a_session_names_only_what_has_changed() -> None:
    core = fetching()
    request, fetch, _ = asked(core)
    assert (fetch.session_id, fetch.session_epoch) == (0, 0)
    core.answer(request, fetch_answer({T0: batch(0, 2)}))
    core.run()
    request, fetch, offsets = asked(core)  # the records of t-0 wait, so it is not fetched
    assert (fetch.session_id, fetch.session_epoch, offsets) == (5, 1, {})
    assert [(f.topic, f.partitions) for f in fetch.forgotten_topics_data] == [("t", [0])]
    assert collected(core) == [(0, 0), (0, 1)]
    core.answer(request, fetch_answer({}))
    core.run()
    _, fetch, offsets = asked(core)
    assert (fetch.session_epoch, offsets) == (2, {0: 2})


def test_after_a_session_error_or_a_lost_answer_the_fetch_is_whole() -> None:
    core = fetching()
    core.answer(asked(core)[0], fetch_answer({}))
    core.run()
    request = asked(core)[0]
    core.answer(request, fetch_answer({}, error=Errors.FETCH_SESSION_ID_NOT_FOUND))
    core.run()
    request, fetch, offsets = asked(core)
    assert (fetch.session_id, fetch.session_epoch, offsets) == (0, 0, {0: 0, 1: 0})
    core.answer(request, fetch_answer({}))
    core.run()
    core.lose(asked(core)[0])
    core.advance(2_000)
    _, fetch, offsets = asked(core)
    assert (fetch.session_id, fetch.session_epoch, offsets) == (5, 0, {0: 0, 1: 0})


def test_records_come_in_order_and_at_most_so_many() -> None:
    core = fetching()
    core.answer(asked(core)[0], fetch_answer({T0: batch(0, 3), T1: batch(0, 2)}))
    assert collected(core, 2) == [(0, 0), (0, 1)]
    assert core.core.subscriptions.position(T0) == 2
    core.run()
    assert not core.requests  # both partitions have records that wait
    assert collected(core, 2) == [(0, 2), (1, 0)]
    assert collected(core) == [(1, 1)]


def test_a_partition_at_its_end_does_not_make_the_others_wait() -> None:
    """Only one fetch to a broker is in flight. A fetch for only a partition at its end would wait
    at the broker for fetch.max.wait.ms, while the records of other partitions are needed.
    """
    core = fetching()
    core.answer(asked(core)[0], fetch_answer({T0: batch(0, 2), T1: batch(0, 2)}, high_watermark=2))
    assert collected(core, 3) == [(0, 0), (0, 1), (1, 0)]
    core.run()
    assert not core.requests  # partition 0 is at its end, and partition 1 has records that wait
    core.core.subscriptions.pause(T1)
    core.run()
    assert asked(core)[2] == {0: 2}  # records of a paused partition may wait for a long time
    core.answer(asked(core)[0], fetch_answer({}))
    core.core.subscriptions.resume(T1)
    core.run()
    assert collected(core) == [(1, 1)]
    core.run()
    assert asked(core)[2] == {1: 2}  # partition 0 is in the session already


def test_a_pause_and_a_resume_alone_are_noticed() -> None:
    core = fetching()
    core.answer(asked(core)[0], fetch_answer({}))
    core.run()
    subscriptions = core.core.subscriptions
    expected: list[tuple[Callable[[TopicPartition], None], list[int], dict[int, int]]] = [
        (subscriptions.pause, [0], {}),
        (subscriptions.resume, [], {0: 0}),
    ]
    for act, forgotten, named in expected:
        act(T0)
        core.answer(asked(core)[0], fetch_answer({}))
        core.run()
        _, fetch, offsets = asked(core)
        gone = [p for topic in fetch.forgotten_topics_data for p in topic.partitions]
        assert (gone, offsets) == (forgotten, named)


def test_outdated_records_do_not_hold_back_a_partition_at_its_end() -> None:
    core = fetching()
    core.answer(asked(core)[0], fetch_answer({T0: batch(0, 2), T1: batch(0, 2)}, high_watermark=2))
    assert collected(core, 3) == [(0, 0), (0, 1), (1, 0)]
    core.core.subscriptions.seek(T1, 40, "seek")
    core.run()
    assert asked(core)[2] == {0: 2}


def test_a_partition_with_more_records_is_read_while_others_wait() -> None:
    core = fetching()
    core.answer(asked(core)[0], fetch_answer({T0: batch(0, 2), T1: batch(0, 4)}))
    assert collected(core, 3) == [(0, 0), (0, 1), (1, 0)]
    core.run()
    assert asked(core)[2] == {0: 2}


def test_after_a_seek_older_records_are_dropped() -> None:
    core = fetching()
    core.answer(asked(core)[0], fetch_answer({T0: batch(0, 3)}))
    core.run()
    core.core.subscriptions.seek(T0, 40, "seek")
    core.core.subscriptions.seek(T1, 50, "seek")
    core.answer(asked(core)[0], fetch_answer({T1: batch(0, 3)}))
    assert collected(core) == []
    core.run()
    assert asked(core)[2] == {0: 40, 1: 50}


def test_a_new_leader_is_found_and_the_fetch_sent_there() -> None:
    core = fetching(brokers=(1, 2), partitions=1)
    request, _, _ = asked(core)
    core.leaders[0] = (2, 1)
    core.answer(request, fetch_answer({}, {T0: Errors.NOT_LEADER_OR_FOLLOWER}))
    core.advance(200)
    request, fetch, offsets = asked(core)
    assert (request.node, offsets) == (2, {0: 0})
    assert fetch.topics[0].partitions[0].current_leader_epoch == 1
    assert core.seen.count(ApiKey.METADATA) == 2


def test_what_changes_while_every_broker_has_a_fetch_in_flight_is_noticed() -> None:
    core = fetching(partitions=4, brokers=(1, 2))
    tps = [TopicPartition("t", n) for n in range(4)]
    core.run()  # nothing has changed, so the partitions are not looked at again
    core.core.subscriptions.pause(tps[0])
    core.core.subscriptions.seek(tps[1], 7, "seek")
    for request in [each for each in core.requests if each.key is ApiKey.FETCH]:
        core.answer(request, fetch_answer({}))
    core.run()
    offsets = {
        each.partition: each.fetch_offset
        for request in core.requests
        if isinstance(request.message, FetchRequest)
        for topic in request.message.topics
        for each in topic.partitions
    }
    assert offsets == {1: 7}, "the sessions know the others"


def test_a_follower_that_the_leader_names_is_read_until_an_error() -> None:
    core = fetching(brokers=(1, 2), partitions=1, client_rack="b", auto_offset_reset="none")
    request, fetch, _ = asked(core)
    assert (request.node, fetch.rack_id) == (1, "b")
    core.answer(request, fetch_answer({T0: b""}, read_from=2))
    core.run()
    request, _, _ = asked(core)
    assert request.node == 2
    core.answer(request, fetch_answer({T0: batch(0, 2)}))
    assert collected(core) == [(0, 0), (0, 1)]
    core.run()
    request, _, offsets = asked(core)
    assert (request.node, offsets) == (2, {0: 2})
    core.answer(request, fetch_answer({}, {T0: Errors.OFFSET_OUT_OF_RANGE}))
    core.advance(200)
    request, _, offsets = asked(core)  # the leader decides whether it is out of range
    assert (request.node, offsets) == (1, {0: 2})


def test_a_follower_is_read_for_metadata_max_age() -> None:
    core = fetching(brokers=(1, 2), partitions=1, client_rack="b", metadata_max_age_ms=9_000)
    core.answer(asked(core)[0], fetch_answer({T0: b""}, read_from=2))
    core.run()
    core.answer(asked(core)[0], fetch_answer({}))
    core.advance(8_900)
    assert asked(core)[0].node == 2
    core.answer(asked(core)[0], fetch_answer({}))
    core.advance(200)
    assert asked(core)[0].node == 1


def looked_up(core: Core) -> tuple[Request, int]:
    request, lookup = core.only(ApiKey.LIST_OFFSETS, ListOffsetsRequest)
    return request, lookup.topics[0].partitions[0].timestamp


def test_an_offset_out_of_range_is_reset_by_the_leader() -> None:
    core = fetching(partitions=1, auto_offset_reset="earliest")
    core.answer(asked(core)[0], fetch_answer({}, {T0: Errors.OFFSET_OUT_OF_RANGE}))
    core.run()
    assert core.core.subscriptions.in_state(FetchState.AWAIT_RESET) == [T0]
    request, timestamp = looked_up(core)
    assert timestamp == EARLIEST_TIMESTAMP
    core.answer(request, listed(30))
    core.advance(200)
    assert asked(core)[2] == {0: 30}


def test_without_a_reset_an_offset_out_of_range_is_raised_once_for_each_poll() -> None:
    core = fetching(auto_offset_reset="none")
    refused = dict.fromkeys([T0, T1], Errors.OFFSET_OUT_OF_RANGE)
    for _ in range(3):  # the program does not poll meanwhile
        core.answer(asked(core)[0], fetch_answer({}, refused))
        core.advance(200)
    for tp in (T0, T1):
        with pytest.raises(OffsetOutOfRangeException, match=f"for partition {tp}"):
            collected(core)
    assert collected(core) == []
    core.answer(asked(core)[0], fetch_answer({}, refused))
    with pytest.raises(OffsetOutOfRangeException):
        collected(core)


def test_a_time_after_the_last_record_leads_to_the_end() -> None:
    core = fetching(partitions=1)
    core.core.subscriptions.request_reset(T0, 777, "seek_to_time")
    core.run()
    request, timestamp = looked_up(core)
    assert timestamp == 777
    core.lose(request)
    core.advance(2_000)  # the lookup is sent again
    request, _ = looked_up(core)
    core.answer(request, listed(-1))
    core.run()
    core.advance(200)
    request, timestamp = looked_up(core)
    assert timestamp == LATEST_TIMESTAMP
    core.answer(request, listed(44))
    assert core.core.subscriptions.position(T0) == 44


@pytest.mark.parametrize(("method", "found"), [("reset_done", 30), ("reset_found_nothing", -1)])
def test_an_error_at_the_end_of_a_reset_is_raised_by_the_next_poll(
    monkeypatch: pytest.MonkeyPatch, method: str, found: int
) -> None:
    def refuse(*_: object) -> None:
        raise NoOffsetForPartitionException(T0, "A learner's class refuses")

    core = fetching(partitions=1, auto_offset_reset="earliest")
    core.answer(asked(core)[0], fetch_answer({}, {T0: Errors.OFFSET_OUT_OF_RANGE}))
    core.run()
    monkeypatch.setattr(core.core.subscriptions, method, refuse)
    core.answer(looked_up(core)[0], listed(found))
    with pytest.raises(NoOffsetForPartitionException, match="refuses"):
        collected(core)


def resetting(**settings: object) -> Core:
    """Return a core whose program has called seek_to_beginning. The core has sent only the
    ListOffsets request that looks up the beginning.
    """
    core = fetching(partitions=1, **settings)
    core.core.subscriptions.request_reset(T0, EARLIEST_TIMESTAMP, "seek_to_beginning")
    core.answer(asked(core)[0], fetch_answer({}))
    core.run()
    return core


def lookups_in_flight(core: Core) -> list[Request]:
    return [each for each in core.requests if each.key is ApiKey.LIST_OFFSETS]


def test_a_refused_reset_is_sent_again_only_after_the_backoff() -> None:
    core = resetting(retry_backoff_ms=100)
    for _ in range(3):
        core.answer(looked_up(core)[0], listed(-1, Errors.TOPIC_AUTHORIZATION_FAILED))
        core.run()
        core.advance(99)
        assert lookups_in_flight(core) == []
        assert core.core.fetcher.next_run_ms(core.now) <= 1
        core.advance(1)
    core.answer(looked_up(core)[0], listed(30))
    core.advance(100)
    assert asked(core)[2] == {0: 30}


def test_resets_that_lead_to_each_other_wait_for_the_backoff(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    core = resetting(retry_backoff_ms=100)
    state = core.core.subscriptions

    def look_elsewhere(tp: TopicPartition, timestamp: int, *_: int) -> None:
        other = {EARLIEST_TIMESTAMP: LATEST_TIMESTAMP, LATEST_TIMESTAMP: EARLIEST_TIMESTAMP}
        state.request_reset(tp, other[timestamp], "a learner's class said so")

    monkeypatch.setattr(state, "reset_done", look_elsewhere)
    for _ in range(3):
        for expected in (EARLIEST_TIMESTAMP, LATEST_TIMESTAMP):
            request, timestamp = looked_up(core)
            assert timestamp == expected
            core.answer(request, listed(30))
            core.run()
        assert lookups_in_flight(core) == []
        core.advance(99)
        assert lookups_in_flight(core) == []
        core.advance(1)


def test_a_new_reset_does_not_wait_for_the_last_one() -> None:
    core = resetting()
    for offset in (30, 31):
        core.answer(looked_up(core)[0], listed(offset))
        core.run()
        request, _, offsets = asked(core)
        assert offsets == {0: offset}
        core.core.subscriptions.request_reset(T0, EARLIEST_TIMESTAMP, "seek_to_beginning")
        core.answer(request, fetch_answer({}))
        core.run()
    assert looked_up(core)[1] == EARLIEST_TIMESTAMP


def test_a_reset_is_given_up_when_the_partition_is_gone() -> None:
    core = fetching(partitions=1)
    core.core.subscriptions.request_reset(T0, 777, "seek_to_time")
    core.run()
    core.lose(looked_up(core)[0])
    core.core.subscriptions.assign([T1])
    core.advance(2_000)
    assert not [each for each in core.requests if each.key is ApiKey.LIST_OFFSETS]
