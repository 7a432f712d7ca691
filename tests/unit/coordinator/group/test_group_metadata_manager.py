"""Commits, transactions, expiry, tombstones, and what the next coordinator reads."""

from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.coordinator.group.group_coordinator import Member
from kafka_edu.coordinator.group.group_loader import make_group
from kafka_edu.coordinator.group.group_records import (
    OffsetKey,
    group_key,
    read_key,
)
from kafka_edu.coordinator.group.group_state import GroupState
from kafka_edu.coordinator.group.offset_and_metadata import OffsetAndMetadata
from kafka_edu.trace.events.group import OffsetsRemoved
from tests.defaults import GROUP_DEFAULTS
from tests.unit.coordinator.group.group_world import GROUP, Answer, World, subscription

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)
DAY_MS = 24 * 3_600_000
PRODUCER = 77


NOBODY = Member()


def txn_commit(
    world: World, offsets: dict[TopicPartition, int], member: Member = NOBODY, epoch: int = 0
) -> dict[TopicPartition, Errors]:
    answer = Answer[dict[TopicPartition, Errors]]()
    values = {tp: OffsetAndMetadata(offset) for tp, offset in offsets.items()}
    world.coordinator.handle_txn_commit_offsets(GROUP, PRODUCER, epoch, member, values, answer.take)
    return answer.now


def test_a_transactional_commit_that_names_its_member_is_fenced_by_it() -> None:
    world = World()
    world.stable("a")
    member = world.members["a"]
    assert txn_commit(world, {T0: 5}, Member("stranger", None, 1)) == {T0: Errors.UNKNOWN_MEMBER_ID}
    assert txn_commit(world, {T0: 5}, Member(member, None, 9)) == {T0: Errors.ILLEGAL_GENERATION}
    assert txn_commit(world, {T0: 5}, Member(member, None, 1)) == {T0: Errors.NONE}
    assert txn_commit(world, {T1: 5}) == {T1: Errors.NONE}, "who says nothing is not asked"


def test_a_new_coordinator_ends_the_transaction_that_its_predecessor_saw_begin() -> None:
    world = World()
    txn_commit(world, {T0: 5})
    again = World()
    again.manager.loaded(0, [make_group(world.log.load()[GROUP], 0, None)])
    assert again.committed() == {}
    again.manager.complete_transaction(PRODUCER, {0}, True)
    assert again.committed() == {T0: 5}


def expire(world: World) -> None:
    world.manager.cleanup_expired(list(world.manager.groups()))


def test_offsets_of_a_group_without_members_expire_a_week_after_their_commit() -> None:
    world = World()
    world.commit({T0: 1})
    world.advance(DAY_MS)
    world.commit({T1: 1})
    world.advance(6 * DAY_MS - 1)
    expire(world)
    assert set(world.committed()) == {T0, T1}
    world.advance(1)
    expire(world)
    assert set(world.committed()) == {T1}
    world.advance(DAY_MS)
    expire(world)
    assert world.manager.get_group(GROUP) is None
    assert [
        event.partitions
        for event in world.events(OffsetsRemoved)
        if isinstance(event, OffsetsRemoved)
    ] == [(("t", 0),), (("t", 1),)]
    tombstones = [record for record in world.log.records() if record.value is None]
    assert [read_key(record.key or b"") for record in tombstones] == [
        OffsetKey((GROUP, T0)),
        OffsetKey((GROUP, T1)),
    ]
    assert world.log.acks[-1] == 0, "tombstones are not waited for"
    assert GROUP not in world.log.load()


def test_offsets_of_a_group_with_members_expire_a_week_after_the_last_has_left() -> None:
    world = World()
    world.stable("a")
    world.commit({T0: 1}, "a", generation=1)
    for _ in range(7 * 24 * 60 * 10 + 10):
        world.time.advance(6_000)
        world.heartbeats.advance_clock(world.time.hi_res_clock_ms())
        world.heartbeat("a")
    expire(world)
    assert world.committed() == {T0: 1}
    world.leave("a")
    world.advance(7 * DAY_MS - 1)
    expire(world)
    assert world.committed() == {T0: 1}
    world.advance(1)
    expire(world)
    assert world.manager.get_group(GROUP) is None
    assert group_key(GROUP) in [
        record.key for record in world.log.records() if record.value is None
    ], "the group has a tombstone too"


def test_a_stable_group_loses_the_offsets_of_topics_it_does_not_read_any_more() -> None:
    world = World()
    world.commit({U0: 1})
    world.join("a", protocols={"range": subscription("t")})
    world.sync("a")
    world.commit({T0: 1}, "a", generation=1)
    world.group.offsets.committed = {
        tp: commit._replace(
            value=commit.value._replace(commit_timestamp=world.time.milliseconds() - 7 * DAY_MS)
        )
        for tp, commit in world.group.offsets.committed.items()
    }
    expire(world)
    assert set(world.committed()) == {T0}
    assert world.group.state is GroupState.STABLE


def test_the_clients_expire_time_has_priority_over_the_brokers() -> None:
    world = World()
    value = OffsetAndMetadata(
        1, -1, "", world.time.milliseconds(), world.time.milliseconds() + 1_000
    )
    world.coordinator.handle_commit_offsets(GROUP, Member(), {T0: value}, lambda _: None)
    world.advance(999)
    expire(world)
    assert world.committed() == {T0: 1}
    assert world.log.load()[GROUP].offsets[T0].value == value, "it is in the log"
    world.advance(1)
    expire(world)
    assert world.manager.get_group(GROUP) is None


def test_an_offset_that_is_being_written_keeps_its_group_alive() -> None:
    world = World()
    world.log.hold = True
    answer = world.commit({T0: 1})
    expire(world)
    assert world.group.state is GroupState.EMPTY
    world.log.release()
    assert answer.now == {T0: Errors.NONE}


def test_offsets_of_a_deleted_topic_go_also_those_of_transactions() -> None:
    world = World()
    world.commit({T0: 1, U0: 2})
    txn_commit(world, {T0: 3, T1: 3, U0: 4})
    world.manager.cleanup_deleted([T0, T1])
    world.manager.complete_transaction(PRODUCER, {0}, True)
    assert world.committed() == {U0: 4}


def test_a_group_with_members_is_not_deleted_and_one_without_is_with_all_it_has() -> None:
    world = World()
    world.stable("a")
    world.commit({T0: 1}, "a", generation=1)
    assert world.coordinator.handle_delete_groups([GROUP, "none"]) == {
        GROUP: Errors.NON_EMPTY_GROUP,
        "none": Errors.GROUP_ID_NOT_FOUND,
    }
    world.leave("a")
    assert world.coordinator.handle_delete_groups([GROUP]) == {GROUP: Errors.NONE}
    assert world.log.load() == {}
    assert world.coordinator.handle_describe_group(GROUP)[1].state == "Dead"
    assert world.commit({T0: 1}).now == {T0: Errors.NONE}, "a name can be used again"


def test_offsets_that_a_consumer_reads_are_not_deleted() -> None:
    world = World()
    world.commit({U0: 1})
    world.stable("a")
    world.commit({T0: 1}, "a", generation=1)
    assert world.coordinator.handle_delete_offsets(GROUP, [T0, U0]) == (
        Errors.NONE,
        {T0: Errors.GROUP_SUBSCRIBED_TO_TOPIC, U0: Errors.NONE},
    )
    assert world.committed() == {T0: 1}


def test_the_next_coordinator_finds_the_group_as_it_was() -> None:
    world = World()
    world.join("a", instance="ia")
    world.sync("a", {"a": b"mine"})
    world.commit({T0: 7}, "a", generation=1, metadata="here")
    again = World(GROUP_DEFAULTS)
    group = make_group(world.log.load()[GROUP], again.time.milliseconds(), again.trace)
    again.manager.loaded(0, [group])
    again.coordinator.on_group_loaded(group)
    again.members = dict(world.members)
    assert (group.state, group.generation_id, group.leader_id, group.protocol_name) == (
        GroupState.STABLE,
        1,
        world.members["a"],
        "range",
    )
    assert again.heartbeat("a", instance="ia") is Errors.NONE
    assert again.sync("a", instance="ia").now.assignment == b"mine"
    assert again.committed() == {T0: 7}
    assert group.is_subscribed_to("t")
    assert not group.is_subscribed_to("u")
    again.advance(10_000)
    assert not group.members, "whoever does not go on sending heartbeats is missed"
