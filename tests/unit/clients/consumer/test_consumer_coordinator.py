"""The membership of a consumer: joins, heartbeats, commits, and what their errors mean."""

import re

import pytest

from kafka_edu.clients.client_errors import BrokerException, ClientException
from kafka_edu.clients.consumer.assignors import NO_GENERATION, MemberSubscription
from kafka_edu.clients.consumer.consumer_coordinator import RebalanceCallback, RebalanceStep
from kafka_edu.clients.consumer.consumer_protocol import (
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from kafka_edu.clients.consumer.group_offsets import (
    CommitFailedException,
    RebalanceInProgressException,
)
from kafka_edu.clients.consumer.membership import (
    VALID_PREVIOUS_STATES,
    Membership,
    MembershipState,
)
from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.messages.fetch import FetchRequest
from kafka_edu.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kafka_edu.protocol.messages.join_group import (
    JoinGroupRequest,
    JoinGroupResponse,
    JoinGroupResponseMember,
)
from kafka_edu.protocol.messages.leave_group import LeaveGroupRequest
from kafka_edu.protocol.messages.list_offsets import ListOffsetsRequest
from kafka_edu.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from kafka_edu.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from tests.unit.clients.consumer.parts import Core, batch, fetch_answer, listed

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
STATE = MembershipState


def subscribed(**settings: object) -> Core:
    given = {key.replace("_", "."): value for key, value in settings.items()}
    core = Core({"group.id": "g"} | given)
    core.core.subscriptions.subscribe(["t"])
    core.poll()
    return core


def join_answer(
    error: Errors = Errors.NONE,
    *,
    leader: str = "other",
    member_id: str = "me",
    generation: int = 3,
    protocol: str = "range",
    members: tuple[str, ...] = (),
) -> JoinGroupResponse:
    return JoinGroupResponse(
        error_code=int(error),
        generation_id=generation,
        protocol_name=protocol,
        leader=leader,
        member_id=member_id,
        members=[
            JoinGroupResponseMember(member_id=m, metadata=encode_subscription(["t"], ()))
            for m in members
        ],
    )


def joined(core: Core, generation: int = 3) -> None:
    """Answer JoinGroup and SyncGroup: the consumer gets t-0."""
    core.answer(
        core.only(ApiKey.JOIN_GROUP, JoinGroupRequest)[0], join_answer(generation=generation)
    )
    core.run()
    request, _ = core.only(ApiKey.SYNC_GROUP, SyncGroupRequest)
    core.answer(request, SyncGroupResponse(error_code=0, assignment=encode_assignment([T0])))
    core.poll()


def stable(**settings: object) -> Core:
    """Return a core that is a member of generation 3. It has the partition t-0, and its position
    there is 5.
    """
    core = subscribed(**settings)
    joined(core)
    assert state(core) is STATE.STABLE
    core.answer(core.only(ApiKey.LIST_OFFSETS, ListOffsetsRequest)[0], listed(5))
    core.core.subscriptions.pause(T0)  # so that no fetch is in the way
    return core


def state(core: Core) -> MembershipState:
    return core.core.membership.state


def waiting(core: Core, key: ApiKey) -> int:
    return sum(request.key is key for request in core.requests)


def test_the_settings_are_in_join_group() -> None:
    core = subscribed(
        session_timeout_ms=7_000,
        max_poll_interval_ms=8_000,
        group_instance_id="i",
        partition_assignment_strategy="sticky,range",
    )
    _, join = core.only(ApiKey.JOIN_GROUP, JoinGroupRequest)
    assert (join.group_id, join.member_id, join.group_instance_id) == ("g", "", "i")
    assert (join.session_timeout_ms, join.rebalance_timeout_ms) == (7_000, 8_000)
    assert (join.protocol_type, [p.name for p in join.protocols]) == (
        "consumer",
        ["sticky", "range"],
    )
    assert decode_subscription(join.protocols[1].metadata).topics == ("t",)


def test_with_a_pattern_a_member_joins_with_the_topics_that_exist_now() -> None:
    core = Core({"group.id": "g", "enable.auto.commit": False})
    core.core.subscribe_pattern(re.compile("t.?"))
    core.poll()
    _, join = core.only(ApiKey.JOIN_GROUP, JoinGroupRequest)
    assert decode_subscription(join.protocols[0].metadata).topics == ("t",)
    joined(core)
    core.answer(core.only(ApiKey.LIST_OFFSETS, ListOffsetsRequest)[0], listed(5))
    core.core.subscriptions.pause(T0)  # so that no fetch is in the way
    core.topics = ["t", "t2"]
    core.advance(3_000)
    request, _ = core.only(ApiKey.HEARTBEAT, HeartbeatRequest)
    core.answer(request, HeartbeatResponse(error_code=int(Errors.REBALANCE_IN_PROGRESS)))
    core.core.poll(core.now)
    core.core.coordinator.callback_done(core.now)
    core.run()
    _, join = core.only(ApiKey.JOIN_GROUP, JoinGroupRequest)
    assert decode_subscription(join.protocols[0].metadata).topics == ("t", "t2")


def test_the_coordinator_gives_the_member_id_first() -> None:
    core = subscribed()
    request, _ = core.only(ApiKey.JOIN_GROUP, JoinGroupRequest)
    core.answer(request, join_answer(Errors.MEMBER_ID_REQUIRED, member_id="me"))
    core.run()
    assert core.only(ApiKey.JOIN_GROUP, JoinGroupRequest)[1].member_id == "me"


def test_the_leader_assigns_for_all_with_new_metadata() -> None:
    core = subscribed()
    request, _ = core.only(ApiKey.JOIN_GROUP, JoinGroupRequest)
    core.leaders[2] = (1, 0)  # the topic has a new partition, which nobody knows yet
    core.answer(request, join_answer(leader="me", members=("me", "you")))
    assert not waiting(core, ApiKey.SYNC_GROUP)
    core.advance(200)
    _, sync = core.only(ApiKey.SYNC_GROUP, SyncGroupRequest)
    assert {
        each.member_id: [tp.partition for tp in decode_assignment(each.assignment)]
        for each in sync.assignments
    } == {"me": [0, 1], "you": [2]}


def test_a_member_takes_its_assignment_in_poll_only() -> None:
    core = subscribed()
    core.answer(core.only(ApiKey.JOIN_GROUP, JoinGroupRequest)[0], join_answer())
    core.run()
    request, sync = core.only(ApiKey.SYNC_GROUP, SyncGroupRequest)
    assert (sync.member_id, sync.generation_id, sync.assignments) == ("me", 3, [])
    core.answer(request, SyncGroupResponse(error_code=0, assignment=encode_assignment([T0])))
    core.advance(1_000)
    assert state(core) is STATE.ASSIGNING
    assert core.core.subscriptions.assigned() == []
    core.poll()
    assert state(core) is STATE.STABLE
    assert core.core.subscriptions.assigned() == [T0]


def heartbeat(core: Core, error: Errors) -> None:
    request, _ = core.only(ApiKey.HEARTBEAT, HeartbeatRequest)
    core.answer(request, HeartbeatResponse(error_code=int(error)))
    core.run()


def test_heartbeats_have_their_own_clock() -> None:
    core = stable()
    core.advance(2_900)
    assert not waiting(core, ApiKey.HEARTBEAT)
    core.advance(200)
    _, beat = core.only(ApiKey.HEARTBEAT, HeartbeatRequest)
    assert (beat.member_id, beat.generation_id) == ("me", 3)
    heartbeat(core, Errors.NONE)
    core.advance(2_900)
    assert not waiting(core, ApiKey.HEARTBEAT)
    core.advance(200)
    assert waiting(core, ApiKey.HEARTBEAT) == 1


def test_a_rebalance_begins_in_poll_and_commits_first() -> None:
    core = stable()
    core.advance(3_100)
    heartbeat(core, Errors.REBALANCE_IN_PROGRESS)
    assert state(core) is STATE.STABLE
    core.poll()
    assert state(core) is STATE.REVOKING
    assert core.core.coordinator.rebalancing
    request, commit = core.only(ApiKey.OFFSET_COMMIT, OffsetCommitRequest)
    assert (commit.member_id, commit.generation_id) == ("me", 3)
    assert commit.topics[0].partitions[0].committed_offset == 5
    core.answer(request, committed(Errors.NONE))
    core.poll()
    assert state(core) is STATE.PREPARING_REBALANCE
    assert core.core.subscriptions.assigned() == []
    assert core.only(ApiKey.JOIN_GROUP, JoinGroupRequest)[1].member_id == "me"


@pytest.mark.parametrize("error", [Errors.UNKNOWN_MEMBER_ID, Errors.ILLEGAL_GENERATION])
def test_an_expelled_member_joins_as_a_new_one(error: Errors) -> None:
    core = stable()
    core.advance(3_100)
    heartbeat(core, error)
    assert (state(core), core.core.membership.generation) == (STATE.UNJOINED, NO_GENERATION)
    core.poll()
    assert not waiting(core, ApiKey.OFFSET_COMMIT)  # the partitions are lost
    assert core.only(ApiKey.JOIN_GROUP, JoinGroupRequest)[1].member_id == ""


def test_a_coordinator_that_moved_is_looked_up_again() -> None:
    core = stable()
    core.advance(3_100)
    lookups = core.seen.count(ApiKey.FIND_COORDINATOR)
    heartbeat(core, Errors.NOT_COORDINATOR)
    core.advance(200)
    assert core.seen.count(ApiKey.FIND_COORDINATOR) == lookups + 1
    assert waiting(core, ApiKey.HEARTBEAT) == 1
    assert state(core) is STATE.STABLE
    core.lose(core.only(ApiKey.HEARTBEAT, HeartbeatRequest)[0])
    core.advance(200)
    assert core.seen.count(ApiKey.FIND_COORDINATOR) == lookups + 2


def test_without_an_answer_the_coordinator_is_given_up_after_the_session() -> None:
    core = stable()
    core.advance(3_100)
    lookups = core.seen.count(ApiKey.FIND_COORDINATOR)
    core.advance(7_000)
    core.advance(200)
    assert core.seen.count(ApiKey.FIND_COORDINATOR) == lookups + 1


def test_a_member_that_is_not_polled_leaves() -> None:
    core = stable(max_poll_interval_ms=20_000)
    for _ in range(6):
        core.advance(3_100)
        heartbeat(core, Errors.NONE)
    core.advance(1_000)
    assert state(core) is STATE.STABLE
    core.advance(500)
    assert state(core) is STATE.UNJOINED
    [request] = [each for each in core.requests if each.key is ApiKey.LEAVE_GROUP]
    assert isinstance(request.message, LeaveGroupRequest)
    assert [each.member_id for each in request.message.members] == ["me"]
    static = stable(max_poll_interval_ms=20_000, group_instance_id="i")
    static.advance(20_100)
    assert state(static) is STATE.UNJOINED
    assert not waiting(static, ApiKey.LEAVE_GROUP)


def test_a_lost_join_is_sent_again_and_an_old_answer_does_not_count() -> None:
    core = subscribed()
    core.lose(core.only(ApiKey.JOIN_GROUP, JoinGroupRequest)[0])
    core.advance(200)
    request, _ = core.only(ApiKey.JOIN_GROUP, JoinGroupRequest)
    core.core.coordinator.leave(core.now, "the test leaves")
    core.answer(request, join_answer())
    assert state(core) is STATE.UNJOINED


def test_sync_group_in_a_newer_rebalance_joins_again() -> None:
    core = subscribed()
    core.answer(core.only(ApiKey.JOIN_GROUP, JoinGroupRequest)[0], join_answer())
    core.run()
    request, _ = core.only(ApiKey.SYNC_GROUP, SyncGroupRequest)
    core.answer(
        request, SyncGroupResponse(error_code=int(Errors.REBALANCE_IN_PROGRESS), assignment=b"")
    )
    core.advance(200)
    assert state(core) is STATE.PREPARING_REBALANCE
    assert core.only(ApiKey.JOIN_GROUP, JoinGroupRequest)[1].member_id == "me"


def test_an_error_that_needs_the_program_comes_out_of_poll() -> None:
    core = subscribed()
    request, _ = core.only(ApiKey.JOIN_GROUP, JoinGroupRequest)
    core.answer(request, join_answer(Errors.INCONSISTENT_GROUP_PROTOCOL))
    with pytest.raises(BrokerException, match=r"^INCONSISTENT_GROUP_PROTOCOL: Group g: "):
        core.poll()


def test_after_unsubscribe_the_error_of_the_group_is_gone() -> None:
    core = subscribed()
    request, _ = core.only(ApiKey.JOIN_GROUP, JoinGroupRequest)
    core.answer(request, join_answer(Errors.INCONSISTENT_GROUP_PROTOCOL))
    core.core.coordinator.leave(core.now, "unsubscribe")
    core.core.subscriptions.unsubscribe()
    core.core.subscriptions.assign([T0])
    core.poll()
    assert core.core.subscriptions.assigned() == [T0]


def test_without_a_coordinator_one_auto_commit_waits() -> None:
    core = stable()
    for _ in range(3):
        core.advance(5_100)
        core.poll()
    assert waiting(core, ApiKey.OFFSET_COMMIT) == 1
    request, _ = core.only(ApiKey.OFFSET_COMMIT, OffsetCommitRequest)
    core.requests = [each for each in core.requests if each.key is not ApiKey.HEARTBEAT]
    core.core.coordinator_connections.disconnected(request.node, "cut by the test", core.now)
    core.requests.remove(request)
    core.advance(5_100)
    core.poll()
    assert waiting(core, ApiKey.OFFSET_COMMIT) == 1


def test_a_sync_group_without_an_answer_ends_after_the_request_timeout() -> None:
    core = subscribed(request_timeout_ms=4_000)
    core.answer(core.only(ApiKey.JOIN_GROUP, JoinGroupRequest)[0], join_answer())
    core.run()
    assert waiting(core, ApiKey.SYNC_GROUP) == 1
    core.advance(4_100)
    core.advance(200)
    assert state(core) is STATE.PREPARING_REBALANCE


def cooperative(*partitions: TopicPartition, **settings: object) -> Core:
    """Return a core that is a member of generation 3 of a cooperative group. It has these
    partitions, and its position in each is 5.
    """
    core = subscribed(
        partition_assignment_strategy="cooperative-sticky", enable_auto_commit=False, **settings
    )
    assert rebalanced(core, partitions, 3) == [(RebalanceStep.ASSIGNED, partitions)]
    for tp in partitions:
        core.core.subscriptions.seek(tp, 5, "the test begins at 5")
    core.answer(core.only(ApiKey.LIST_OFFSETS, ListOffsetsRequest)[0], listed(0))
    core.run()
    return core


def rebalanced(
    core: Core, partitions: tuple[TopicPartition, ...], generation: int
) -> list[RebalanceCallback]:
    """Answer JoinGroup and SyncGroup, and run until nothing changes any more. Return the calls of
    the rebalance listener.
    """
    request, _ = core.only(ApiKey.JOIN_GROUP, JoinGroupRequest)
    core.answer(request, join_answer(generation=generation, protocol="cooperative-sticky"))
    core.run()
    request, _ = core.only(ApiKey.SYNC_GROUP, SyncGroupRequest)
    answer = SyncGroupResponse(error_code=0, assignment=encode_assignment(partitions))
    core.answer(request, answer)
    return called(core)


def called(core: Core) -> list[RebalanceCallback]:
    """Do what `poll` does in the core, and return the calls of the rebalance listener."""
    calls: list[RebalanceCallback] = []
    core.core.poll(core.now)
    while (callback := core.core.coordinator.callback) is not None:
        calls.append(callback)
        core.core.coordinator.callback_done(core.now)
        core.core.poll(core.now)
    core.run()
    return calls


def rebalance_begins(core: Core) -> list[RebalanceCallback]:
    core.advance(3_000)
    heartbeat(core, Errors.REBALANCE_IN_PROGRESS)
    return called(core)


def test_a_cooperative_member_joins_with_what_it_has_and_goes_on_reading() -> None:
    core = cooperative(T0, T1)
    fetch, _ = core.only(ApiKey.FETCH, FetchRequest)
    assert rebalance_begins(core) == []
    assert state(core) is STATE.PREPARING_REBALANCE
    assert not core.core.coordinator.rebalancing
    _, join = core.only(ApiKey.JOIN_GROUP, JoinGroupRequest)
    [protocol] = join.protocols
    assert protocol.name == "cooperative-sticky"
    assert decode_subscription(protocol.metadata) == MemberSubscription(("t",), None, (T0, T1), 3)
    core.answer(fetch, fetch_answer({T0: batch(5, 8)}))
    assert [record.offset for record in core.core.fetcher.collect(10)] == [5, 6, 7]
    assert rebalanced(core, (T0, T1), 4) == [(RebalanceStep.ASSIGNED, ())]
    assert state(core) is STATE.STABLE
    assert core.core.subscriptions.position(T0) == 8


def test_a_cooperative_member_gives_up_only_what_goes_and_joins_again() -> None:
    core = cooperative(T0, T1)
    rebalance_begins(core)
    assert rebalanced(core, (T0,), 4) == [
        (RebalanceStep.REVOKED, (T1,)),
        (RebalanceStep.ASSIGNED, ()),
    ]
    assert core.core.subscriptions.assigned() == [T0]
    assert core.core.subscriptions.position(T0) == 5
    _, join = core.only(ApiKey.JOIN_GROUP, JoinGroupRequest)  # at once: T1 waits for its member
    assert decode_subscription(join.protocols[0].metadata).owned == (T0,)
    assert rebalanced(core, (T0,), 5) == [(RebalanceStep.ASSIGNED, ())]
    assert state(core) is STATE.STABLE
    assert not waiting(core, ApiKey.JOIN_GROUP)


def test_a_cooperative_member_can_commit_while_it_gives_up() -> None:
    core = cooperative(T0, T1)
    rebalance_begins(core)
    request, _ = core.only(ApiKey.JOIN_GROUP, JoinGroupRequest)
    core.answer(request, join_answer(generation=4, protocol="cooperative-sticky"))
    core.run()
    request, _ = core.only(ApiKey.SYNC_GROUP, SyncGroupRequest)
    core.answer(request, SyncGroupResponse(error_code=0, assignment=encode_assignment([T0])))
    core.core.poll(core.now)
    assert core.core.coordinator.callback == (RebalanceStep.REVOKED, (T1,))
    commit(core, retry=False)
    assert core.only(ApiKey.OFFSET_COMMIT, OffsetCommitRequest)[1].generation_id == 4


def test_a_cooperative_member_gives_up_a_topic_before_it_joins_without_it() -> None:
    core = cooperative(T0, T1)
    core.topics = ["t", "u"]
    core.core.subscriptions.subscribe(["u"])
    assert called(core) == [(RebalanceStep.REVOKED, (T0, T1))]
    _, join = core.only(ApiKey.JOIN_GROUP, JoinGroupRequest)
    assert decode_subscription(join.protocols[0].metadata) == MemberSubscription(
        ("u",), None, (), 3
    )


@pytest.mark.parametrize("in_sync", [False, True])
def test_a_cooperative_member_that_is_unknown_has_lost_everything(in_sync: bool) -> None:
    """If the coordinator does not know a member, other members may already have its partitions. So
    the member must give them up.
    """
    core = cooperative(T0, T1)
    rebalance_begins(core)
    request, _ = core.only(ApiKey.JOIN_GROUP, JoinGroupRequest)
    answer = join_answer(Errors.NONE if in_sync else Errors.UNKNOWN_MEMBER_ID, generation=4)
    core.answer(request, answer)
    core.run()
    if in_sync:
        request, _ = core.only(ApiKey.SYNC_GROUP, SyncGroupRequest)
        error = int(Errors.UNKNOWN_MEMBER_ID)
        core.answer(request, SyncGroupResponse(error_code=error, assignment=b""))
    assert state(core) is STATE.UNJOINED
    assert called(core) == [(RebalanceStep.LOST, (T0, T1))]
    assert core.core.subscriptions.assigned() == []
    assert core.only(ApiKey.JOIN_GROUP, JoinGroupRequest)[1].member_id == ""


def test_a_cooperative_member_that_is_expelled_while_it_gives_up_has_lost_the_rest() -> None:
    core = cooperative(T0, T1)
    rebalance_begins(core)
    request, _ = core.only(ApiKey.JOIN_GROUP, JoinGroupRequest)
    core.answer(request, join_answer(generation=4, protocol="cooperative-sticky"))
    core.run()
    request, _ = core.only(ApiKey.SYNC_GROUP, SyncGroupRequest)
    core.answer(request, SyncGroupResponse(error_code=0, assignment=encode_assignment([T0])))
    core.core.poll(core.now)
    core.advance(3_000)
    heartbeat(core, Errors.UNKNOWN_MEMBER_ID)
    core.core.coordinator.callback_done(core.now)
    assert core.core.subscriptions.assigned() == [T0]
    assert called(core) == [(RebalanceStep.LOST, (T0,))]


def test_with_an_eager_assignor_beside_it_a_rebalance_is_eager() -> None:
    core = subscribed(
        partition_assignment_strategy="cooperative-sticky,range", enable_auto_commit=False
    )
    rebalanced(core, (T0,), 3)
    core.core.subscriptions.pause(T0)
    assert rebalance_begins(core) == [(RebalanceStep.REVOKED, (T0,))]
    _, join = core.only(ApiKey.JOIN_GROUP, JoinGroupRequest)
    assert decode_subscription(join.protocols[0].metadata).owned == ()


def committed(error: Errors) -> OffsetCommitResponse:
    return OffsetCommitResponse(
        topics=[
            OffsetCommitResponseTopic(
                name="t",
                partitions=[
                    OffsetCommitResponsePartition(partition_index=0, error_code=int(error))
                ],
            )
        ]
    )


def commit(core: Core, *, retry: bool) -> list[ClientException | None]:
    results: list[ClientException | None] = []
    core.core.offsets.commit(core.core.subscriptions.all_consumed(), results.append, retry=retry)
    core.run()
    return results


def test_a_commit_is_sent_again_only_if_the_program_waits_for_it() -> None:
    core = stable()
    sync, once = commit(core, retry=True), commit(core, retry=False)
    for request in [each for each in core.requests if each.key is ApiKey.OFFSET_COMMIT]:
        core.answer(request, committed(Errors.COORDINATOR_LOAD_IN_PROGRESS))
    core.advance(200)
    assert [error.error for error in once if error] == [Errors.COORDINATOR_LOAD_IN_PROGRESS]
    assert sync == []
    core.answer(core.only(ApiKey.OFFSET_COMMIT, OffsetCommitRequest)[0], committed(Errors.NONE))
    assert sync == [None]


@pytest.mark.parametrize(
    ("error", "kind", "after"),
    [
        (Errors.UNKNOWN_MEMBER_ID, CommitFailedException, STATE.UNJOINED),
        (Errors.ILLEGAL_GENERATION, CommitFailedException, STATE.UNJOINED),
        (Errors.REBALANCE_IN_PROGRESS, RebalanceInProgressException, STATE.STABLE),
        (Errors.OFFSET_METADATA_TOO_LARGE, BrokerException, STATE.STABLE),
    ],
)
def test_a_refused_commit(
    error: Errors, kind: type[ClientException], after: MembershipState
) -> None:
    core = stable()
    results = commit(core, retry=True)
    core.answer(core.only(ApiKey.OFFSET_COMMIT, OffsetCommitRequest)[0], committed(error))
    assert [type(result) for result in results] == [kind]
    assert state(core) is after


def test_a_commit_during_a_rebalance_fails_at_once() -> None:
    core = subscribed()
    core.core.subscriptions.assign_from_group([T0])
    core.core.subscriptions.seek(T0, 5, "seek")
    joining = core.core.membership
    joining.member_id = "me"
    assert [type(each) for each in commit(core, retry=True)] == [RebalanceInProgressException]
    assert not waiting(core, ApiKey.OFFSET_COMMIT)


def test_no_state_is_entered_that_the_table_does_not_have() -> None:
    assert set(VALID_PREVIOUS_STATES) == set(STATE)
    membership = Membership("c", "g")
    with pytest.raises(ValueError, match="cannot go from Unjoined to Stable"):
        membership.enter(STATE.STABLE, "a test")
    reachable, row = {STATE.UNJOINED}, [STATE.UNJOINED]
    for before in row:
        new = {after for after, sources in VALID_PREVIOUS_STATES.items() if before in sources}
        row += new - reachable
        reachable |= new
    assert reachable == set(STATE)
