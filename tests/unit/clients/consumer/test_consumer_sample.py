"""The description of a consumer, as samples and snapshots hold it."""

from kafka_edu.clients.consumer.consumer_config import parse_consumer_config
from kafka_edu.clients.consumer.consumer_sample import describe_consumer
from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.messages.fetch import FetchRequest
from kafka_edu.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kafka_edu.protocol.messages.offset_commit import OffsetCommitRequest
from kafka_edu.trace.events.consumer import ConsumerDescription
from tests.unit.clients.consumer.parts import Core, batch, fetch_answer
from tests.unit.clients.consumer.test_consumer_coordinator import (
    commit,
    committed,
    stable,
    subscribed,
)

T0 = TopicPartition("t", 0)


def describe(core: Core, **settings: object) -> ConsumerDescription:
    given = {"bootstrap.servers": "boot:9092", "client.id": "c", "group.id": "g"}
    changed = {key.replace("_", "."): value for key, value in settings.items()}
    return describe_consumer(parse_consumer_config(given | changed, 1), core.core, core.now)


def test_a_member_has_its_state_and_its_clocks() -> None:
    core = subscribed()
    state = describe(core)
    assert (state.state, state.session_left_ms) == ("PreparingRebalance", -1)
    core = stable()
    state = describe(core)
    assert (state.state, state.member_id, state.generation) == ("Stable", "me", 3)
    assert (state.assignor, state.coordinator) == ("range", 1)
    assert (state.session_left_ms, state.polled_ms_ago) == (10_000, 0)
    core.advance(3_500)
    state = describe(core)
    assert state.heartbeat_waits
    assert (state.session_left_ms, state.polled_ms_ago) == (6_500, 3_500)
    (link,) = state.coordinator_link
    assert (link.broker_id, link.in_flight) == (1, 1)
    request, _ = core.only(ApiKey.HEARTBEAT, HeartbeatRequest)
    core.answer(request, HeartbeatResponse(error_code=0))
    state = describe(core)
    assert not state.heartbeat_waits
    assert state.session_left_ms == 10_000


def test_a_member_that_was_not_polled_has_left() -> None:
    core = stable(max_poll_interval_ms=5_000, enable_auto_commit=False)
    core.advance(5_001)
    state = describe(core, max_poll_interval_ms=5_000, enable_auto_commit=False)
    assert (state.state, state.member_id, state.session_left_ms) == ("Unjoined", "", -1)
    assert (state.polled_ms_ago, state.max_poll_interval_ms) == (5_001, 5_000)
    assert state.auto_commit_ms == 0


def test_a_partition_has_its_position_its_commit_and_its_high_watermark() -> None:
    core = stable()
    (partition,) = describe(core).partitions
    assert (partition.topic, partition.partition, partition.leader) == ("t", 0, 1)
    assert (partition.state, partition.paused) == ("Fetching", True)
    assert (partition.position, partition.committed, partition.high_watermark) == (5, -1, -1)
    core.core.subscriptions.resume(T0)
    core.run()
    request, _ = core.only(ApiKey.FETCH, FetchRequest)
    core.answer(request, fetch_answer({T0: batch(5, 7)}))
    assert describe(core).buffered == 1
    assert len(core.core.fetcher.collect(10)) == 2
    state = describe(core)
    assert (state.records, state.partitions[0].position) == (2, 7)
    assert state.partitions[0].high_watermark >= 7
    commit(core, retry=False)
    request, _ = core.only(ApiKey.OFFSET_COMMIT, OffsetCommitRequest)
    core.answer(request, committed(Errors.NONE))
    assert describe(core).partitions[0].committed == 7


def test_a_consumer_that_was_never_polled_says_so() -> None:
    core = Core({"group.id": "g"})
    state = describe(core)
    assert (state.polled_ms_ago, state.coordinator, state.partitions) == (-1, -1, ())
