"""A group under any sequence of joins, syncs, departures, commits, slow disks and passing time
(hypothesis).

After each step, the group's state must satisfy the invariants.
"""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.coordinator.group.group_metadata import GroupMetadata
from kafka_edu.coordinator.group.group_state import VALID_PREVIOUS_STATES, GroupState
from kafka_edu.coordinator.group.member_metadata import JoinGroupResult, SyncGroupResult
from kafka_edu.trace.events.group import GroupStateChanged
from tests.defaults import GROUP_DEFAULTS
from tests.unit.coordinator.group.group_world import GROUP, Answer, World

NAMES = ("a", "b", "c", "d")
T0 = TopicPartition("t", 0)
SESSION_MS, REBALANCE_MS = 6_000, 20_000

names = st.sampled_from(NAMES)
preferences = st.sampled_from(
    (
        {"range": b"r"},
        {"range": b"r", "sticky": b"s"},
        {"sticky": b"s", "range": b"r"},
        {"range": b"other"},
    )
)


class GroupMachine(RuleBasedStateMachine):
    """Clients a to d act at random. Like a real client, each uses the values from its last
    answer.
    """

    def __init__(self) -> None:
        super().__init__()
        self.world = World(
            GROUP_DEFAULTS._replace(group_initial_rebalance_delay_ms=1_000, group_max_size=3)
        )
        self.joining: dict[str, Answer[JoinGroupResult]] = {}
        self.syncing: dict[str, Answer[SyncGroupResult]] = {}
        self.generation: dict[str, int] = {}
        self.leads: dict[str, tuple[str, ...]] = {}
        self.highest_generation = 0
        self.committed = -1

    @initialize()
    def begin(self) -> None:
        self.world.join("a", session_ms=SESSION_MS, rebalance_ms=REBALANCE_MS)

    @property
    def group(self) -> GroupMetadata:
        return self.world.group

    def heard(self) -> None:
        """Let the clients take note of their answers."""
        for name, join in list(self.joining.items()):
            if not join.waits:
                del self.joining[name]
                result = join.now
                if result.error is Errors.NONE:
                    self.generation[name] = result.generation_id
                    self.leads[name] = tuple(member.member_id for member in result.members)
                    assert result.generation_id >= self.highest_generation
                    self.highest_generation = result.generation_id
                elif result.error is Errors.UNKNOWN_MEMBER_ID:
                    self.forget(name)
        for name, sync in list(self.syncing.items()):
            if not sync.waits:
                del self.syncing[name]
                if sync.now.error is Errors.UNKNOWN_MEMBER_ID:
                    self.forget(name)
                if sync.now.error is Errors.NONE:
                    assert sync.now.assignment in (
                        b"",
                        name.encode(),
                    ), "nobody gets another's assignment"

    def forget(self, name: str) -> None:
        self.world.members.pop(name, None)
        self.generation.pop(name, None)

    @rule(name=names, protocols=preferences, require_id=st.booleans())
    def join(self, name: str, protocols: dict[str, bytes], require_id: bool) -> None:
        if name not in self.joining and name not in self.syncing:
            world = self.world
            answer = world.join(
                name,
                protocols=protocols,
                require_id=require_id,
                session_ms=SESSION_MS,
                rebalance_ms=REBALANCE_MS,
            )
            self.joining[name] = answer
        self.heard()

    @rule(name=names)
    def sync(self, name: str) -> None:
        if name in self.generation and name not in self.joining and name not in self.syncing:
            ids = {member_id: each for each, member_id in self.world.members.items()}
            given = {
                member_id: ids[member_id].encode()
                for member_id in self.leads.get(name, ())
                if member_id in ids
            }
            self.syncing[name] = self.world.sync(name, given, generation=self.generation[name])
        self.heard()

    @rule(protocols=preferences, steps=st.integers(1, 3))
    def clients_go_on(self, protocols: dict[str, bytes], steps: int) -> None:
        """Let three clients act like real clients: they join, sync, and join again when a response
        tells them to.
        """
        for _ in range(steps):
            for name in NAMES[:3]:
                self.heard()
                generation = self.generation.get(name)
                if (
                    generation is None
                    or self.world.heartbeat(name, generation=generation) is not Errors.NONE
                ):
                    self.join(name, protocols, False)
            for name in NAMES[:3]:
                if (
                    self.generation.get(name) == self.group.generation_id
                    and self.group.state is GroupState.COMPLETING_REBALANCE
                ):
                    self.sync(name)

    @rule(name=names)
    def heartbeat(self, name: str) -> None:
        if name in self.generation:
            error = self.world.heartbeat(name, generation=self.generation[name])
            assert error in (
                Errors.NONE,
                Errors.REBALANCE_IN_PROGRESS,
                Errors.UNKNOWN_MEMBER_ID,
                Errors.ILLEGAL_GENERATION,
            )
            if error is Errors.NONE:
                assert self.group.generation_id == self.generation[name]
                assert self.group.state in (GroupState.STABLE, GroupState.COMPLETING_REBALANCE)
            if error is Errors.UNKNOWN_MEMBER_ID:
                self.forget(name)
        self.heard()

    @rule(name=names)
    def leave(self, name: str) -> None:
        if name in self.world.members:
            self.world.leave(name)
            assert not self.group.has(self.world.members[name])
            self.heard()
            self.forget(name)

    @rule(name=names, offset=st.integers(0, 1000))
    def commit(self, name: str, offset: int) -> None:
        generation = self.generation.get(name, -1)
        before, state = self.group.generation_id, self.group.state
        member = self.group.has(self.world.members.get(name, ""))
        answer = self.world.commit({T0: offset}, name, generation=generation)
        if not answer.waits and answer.now[T0] is Errors.NONE:
            assert (member and generation == before) or (
                generation < 0 and state is GroupState.EMPTY
            )
            self.committed = offset

    @rule(ms=st.sampled_from((1, 500, 500, 1_000, 1_000, 1_000, 3_000, 20_000)))
    def time_passes(self, ms: int) -> None:
        self.world.advance(ms)
        self.heard()

    @rule(error=st.sampled_from((Errors.NONE, Errors.NONE, Errors.NOT_ENOUGH_REPLICAS)))
    def the_log_works_or_not(self, error: Errors) -> None:
        self.world.log.error = error

    @rule()
    def the_log_is_slow(self) -> None:
        self.world.log.hold = True

    @precondition(lambda self: self.world.log.hold)
    @rule()
    def the_log_answers(self) -> None:
        self.world.log.hold = False
        self.world.log.release()
        self.heard()

    @invariant()
    def the_group_counts_right(self) -> None:
        group = self.world.manager.get_group(GROUP)
        if group is None:
            return
        assert group.num_awaiting_join == sum(
            member.awaiting_join is not None for member in group.members.values()
        )
        assert (group.leader_id in group.members) == bool(group.members)
        assert set(group.pending_sync_members) <= set(group.members)
        assert not set(group.pending_members) & set(group.members)
        if group.state in (GroupState.COMPLETING_REBALANCE, GroupState.STABLE):
            assert len(group.members) <= 3, (
                "group.max.size; while the group gathers, old members may still be there besides"
            )

    @invariant()
    def who_waits_waits_in_the_right_state(self) -> None:
        group = self.world.manager.get_group(GROUP)
        if group is None:
            return
        if any(member.awaiting_join for member in group.members.values()):
            assert group.state is GroupState.PREPARING_REBALANCE
        if any(member.awaiting_sync for member in group.members.values()):
            assert group.state is GroupState.COMPLETING_REBALANCE
        if group.state in (GroupState.EMPTY, GroupState.DEAD):
            assert not group.members
        if group.state is GroupState.PREPARING_REBALANCE:
            assert self.world.rebalances.num_delayed >= 1, "something ends every wait"
        idle = sum(
            not member.awaiting_join and not member.awaiting_sync
            for member in group.members.values()
        )
        assert self.world.heartbeats.num_delayed >= idle, (
            "who does not wait is expected to say that it is alive"
        )

    @invariant()
    def states_followed_the_table(self) -> None:
        state = GroupState.EMPTY
        for change in self.world.events(GroupStateChanged):
            assert isinstance(change, GroupStateChanged)
            assert change.before == state
            assert GroupState(change.before) in VALID_PREVIOUS_STATES[GroupState(change.after)]
            state = GroupState(change.after)

    def teardown(self) -> None:
        """After ten minutes without activity, no request waits, the group has no members, and the
        log has the committed offsets.
        """
        self.world.log.error = Errors.NONE
        self.world.log.hold = False
        self.world.log.release()
        self.world.advance(10 * 60_000)
        self.heard()
        assert not self.joining
        assert not self.syncing
        assert not self.group.members
        assert self.group.state is GroupState.EMPTY
        loaded = self.world.log.load().get(GROUP)
        in_memory = {tp: commit.value for tp, commit in self.group.offsets.committed.items()}
        assert in_memory == (
            {tp: commit.value for tp, commit in loaded.offsets.items()}
            if loaded is not None
            else {}
        )
        if loaded is not None and loaded.value is not None:
            assert loaded.value.generation <= self.group.generation_id


GroupMachine.TestCase.settings = settings(max_examples=80, stateful_step_count=40, deadline=None)
TestGroupMachine = GroupMachine.TestCase
