"""Why a group rebalanced: the reducer on the events of a real coordinator, in virtual time.

The coordinator, its purgatories and its timing wheels are the broker's own (`World`).
"""

from collections.abc import Iterable

from kafka_edu.coordinator.group.group_metadata_manager import SAMPLE_EVERY_MS
from kafka_edu.instruments.rebalances import (
    KEPT_GROUPS,
    KEPT_PARTITIONS,
    KEPT_REBALANCES,
    GroupStory,
    Move,
    Rebalances,
    Trigger,
    cause_words,
    outcome_words,
    partitions_words,
    waiting_words,
)
from kafka_edu.protocol.messages.consumer_protocol import (
    AssignedTopicPartitions,
    ConsumerProtocolAssignment,
)
from kafka_edu.trace.event import Envelope, Event, Source
from kafka_edu.trace.events.group import GroupLoaded, GroupStateChanged, GroupsUnloaded
from kafka_edu.trace.events.replication import (
    PartitionOffsets,
    PartitionProgress,
    PartitionSnapshot,
)
from tests.defaults import GROUP_DEFAULTS
from tests.unit.coordinator.group.group_world import GROUP, World, subscription


def assignment(*partitions: int) -> bytes:
    return b"\0\0" + ConsumerProtocolAssignment(
        assigned_partitions=[AssignedTopicPartitions(topic="web", partitions=list(partitions))]
    ).encode(0)


class Watched:
    """A coordinator, and the reducer that has seen all its events."""

    def __init__(self, world: World | None = None) -> None:
        self.world = world or World()
        self.rebalances = Rebalances()

    @property
    def story(self) -> GroupStory:
        for envelope in self.world.ring.events:
            self.rebalances.apply(envelope)
        self.world.ring.events.clear()
        return self.rebalances.groups[GROUP]

    @property
    def now_us(self) -> int:
        return self.world.time.nanoseconds() // 1000

    def sample(self) -> None:
        assert self.story
        self.world.advance(SAMPLE_EVERY_MS)
        for envelope in self.world.trace.gauges():
            self.rebalances.apply(envelope)

    def name(self, member: str) -> str:
        """Return the name that the story gives a member. The member may not have its response
        yet.
        """
        answered = self.world.members.values()
        waits = [each for each in self.world.group.members if each not in answered]
        return self.story.name(self.world.members.get(member) or waits[0])

    def two(self) -> None:
        """Two members share four partitions."""
        world = self.world
        world.join("a")
        world.sync("a", {"a": assignment(0, 1, 2, 3)})
        world.join("b")
        world.join("a")
        world.sync("a", {"a": assignment(0, 1), "b": assignment(2, 3)})
        world.sync("b")

    def words(self) -> tuple[str, str, str]:
        story = self.story
        last = story.rebalances[-1]
        return (
            cause_words(story, last),
            waiting_words(story, last, self.now_us),
            outcome_words(story, last),
        )


def test_a_third_member_joins_the_others_come_and_partitions_move() -> None:
    watched = Watched()
    watched.two()
    world = watched.world
    world.advance(5_000)
    world.join("c")
    world.advance(600)
    world.join("a")
    a, b, c = (watched.name(member) for member in "abc")
    assert len({a, b, c}) == 3, "one client id, three members"
    story = watched.story
    assert [story.name(member) for member in story.waits_for()] == [b]
    assert watched.words() == (
        f"{c} joined",
        f"waits for {b} to join, 600 ms so far",
        "not done yet",
    )
    world.advance(2_400)
    world.join("b")
    assert [watched.story.name(member) for member in watched.story.waits_for()] == [a]
    world.advance(40)
    world.sync("a", {"a": assignment(0), "b": assignment(2, 3), "c": assignment(1)})
    assert watched.words() == (
        f"{c} joined",
        f"waited 3.0 s for {b}, the last to join again, then 40 ms for the assignment of the"
        f" leader {a}",
        f"generation 3: {a}, {b}, {c}; 1 partition moved",
    )
    last = watched.story.rebalances[-1]
    ids = watched.world.members
    assert last.moves() == [Move(("web", 1), ids["a"], ids["c"])]
    assert last.trigger is Trigger.JOINED
    assert last.took_ms(watched.now_us) == 3_040
    assert watched.story.waits_for() == []
    states = [step.state for step in watched.story.way][-3:]
    assert states == ["PreparingRebalance", "CompletingRebalance", "Stable"]


def test_a_silent_member_is_named_and_what_it_had_goes_to_the_others() -> None:
    watched = Watched()
    watched.two()
    world = watched.world
    for _ in range(4):
        world.advance(3_000)
        world.heartbeat("a")
    assert [f.member for f in watched.story.rebalances[-1].failures] == [world.members["b"]]
    world.join("a")
    world.sync("a", {"a": assignment(0, 1, 2, 3)})
    a, b = (watched.name(member) for member in "ab")
    cause, _, outcome = watched.words()
    assert cause == f"{b} fell silent: no heartbeat within its session time-out of 10 s"
    assert outcome == f"generation 3: {a}; 2 partitions moved"
    assert watched.story.rebalances[-1].trigger is Trigger.SILENT
    world.join("b", new=True)
    assert watched.words()[0].endswith("is back: it joined under a new member id")


def test_a_member_that_never_comes_is_waited_for_until_the_rebalance_time_out() -> None:
    watched = Watched()
    world = watched.world
    world.join("a", rebalance_ms=8_000)
    world.sync("a", {"a": assignment(0)})
    world.join("b", rebalance_ms=8_000)
    for _ in range(4):
        world.advance(2_000)
        world.heartbeat("a", generation=1)
    a, b = (watched.name(member) for member in "ab")
    _, waited, outcome = watched.words()
    assert waited.startswith(f"waited 8.0 s for {a}, which never came")
    assert outcome == f"generation 2: {b}"


def test_leaving_and_changing_a_subscription_are_told_apart() -> None:
    watched = Watched()
    watched.two()
    world = watched.world
    world.join("b", protocols={"range": subscription("t", "pay")})
    b = watched.name("b")
    assert watched.words()[0] == f"{b} changed its subscription: + pay"
    assert watched.story.rebalances[-1].trigger is Trigger.CHANGED
    world.join("a")
    world.sync("a", {"a": assignment(0, 1), "b": assignment(2, 3)})
    assert watched.words()[2].endswith("no partition moved")
    world.leave("b")
    assert watched.words()[0] == f"{b} left"
    world.join("a")
    world.sync("a", {"a": assignment(0, 1, 2, 3)})
    world.leave("a")
    assert watched.words()[2] == "generation 5: the group is empty"
    world.join("a", new=True)
    assert watched.story.rebalances[-1].from_empty


def test_an_empty_group_waits_for_more_members() -> None:
    watched = Watched(World(GROUP_DEFAULTS._replace(group_initial_rebalance_delay_ms=3_000)))
    watched.world.join("a")
    watched.world.advance(1_000)
    assert watched.words()[1] == "waits for more members, 1.0 s so far"
    watched.world.advance(2_000)
    assert watched.words()[1].startswith(
        "waited 3.0 s for more members (group.initial.rebalance.delay.ms)"
    )


def test_samples_show_heartbeats_and_offsets_and_an_observer_who_came_late() -> None:
    watched = Watched()
    watched.two()
    watched.world.ring.events.clear()
    for envelope in watched.world.trace.snapshot():
        watched.rebalances.apply(envelope)
    story = watched.story
    assert (story.state, story.generation, story.coordinator) == ("Stable", 2, 1)
    assert story.offsets_partition == 0
    assert sorted(map(partitions_words, story.assignment.values())) == ["web-0,1", "web-2,3"]
    watched.world.join("a")
    watched.sample()
    assert [watched.story.name(m) for m in watched.story.waits_for()] == [watched.name("b")]
    assert watched.story.sampled[watched.world.members["b"]].heard_ms_ago == SAMPLE_EVERY_MS


def _envelopes(events: Iterable[Event], broker: int) -> Iterable[Envelope]:
    for i, event in enumerate(events):
        yield Envelope(Source.of_broker(broker), i + 1, 0, i, i * 1000, event)


def test_a_group_goes_on_with_another_coordinator() -> None:
    watched = Watched()
    watched.two()
    watched.sample()
    story = watched.story
    description = watched.world.group.description(0)
    for envelope in _envelopes([GroupsUnloaded(partition=0, groups=1, offsets=0)], 1):
        watched.rebalances.apply(envelope)
    assert story.coordinator_lost
    for envelope in _envelopes([GroupLoaded(group=description)], 2):
        watched.rebalances.apply(envelope)
    for envelope in _envelopes([state_changed("g", "Stable", "Dead")], 1):
        watched.rebalances.apply(envelope)
    assert (story.coordinator, story.coordinator_lost, story.state) == (2, False, "Stable")
    assert story.way[-1].note == "broker 2 coordinates it now"


def state_changed(group: str, before: str, after: str) -> GroupStateChanged:
    return GroupStateChanged(group=group, generation=2, before=before, after=after, members=1)


def test_lag_is_what_the_group_could_read_and_has_not_committed() -> None:
    rebalances = Rebalances()
    story = rebalances._story("g")
    story.offsets["web", 0] = 40
    assert rebalances.lag(story, ("web", 0)) is None
    progress = PartitionProgress(0, 100, 120, (), 1)
    partition = PartitionSnapshot(
        topic="web",
        partition=0,
        leader=1,
        leader_epoch=3,
        isr=(1,),
        replicas=(1, 2),
        progress=progress,
        zk_version=0,
        proposed_isr=(),
    )
    for envelope in _envelopes([partition], 1):
        rebalances.apply(envelope)
    assert rebalances.lag(story, ("web", 0)) == 60
    for broker, hw in ((2, 70), (1, 110)):
        offsets = PartitionOffsets(topic="web", partition=0, progress=progress._replace(hw=hw))
        for envelope in _envelopes([offsets], broker):
            rebalances.apply(envelope)
    assert rebalances.lag(story, ("web", 0)) == 70, "the leader's, not the follower's"


def test_memory_is_bounded() -> None:
    watched = Watched()
    watched.two()
    for _ in range(KEPT_REBALANCES * 2):
        watched.world.join("a")
        watched.world.join("b")
        watched.world.sync("a", {"a": assignment(0), "b": assignment(1)})
    assert len(watched.story.rebalances) == KEPT_REBALANCES
    assert watched.story.rebalances_seen == KEPT_REBALANCES * 2 + 2
    for i in range(KEPT_GROUPS + 10):
        for envelope in _envelopes([state_changed(f"g{i}", "Empty", "Stable")], 1):
            watched.rebalances.apply(envelope)
    assert len(watched.rebalances.groups) == KEPT_GROUPS
    progress = PartitionProgress(0, 1, 1, (), 1)
    snapshots = (
        PartitionSnapshot(
            topic=f"t{i}",
            partition=0,
            leader=1,
            leader_epoch=0,
            isr=(1,),
            replicas=(1,),
            progress=progress,
            zk_version=0,
            proposed_isr=(),
        )
        for i in range(KEPT_PARTITIONS + 5)
    )
    for envelope in _envelopes(snapshots, 1):
        watched.rebalances.apply(envelope)
    assert len(watched.rebalances.ends) == KEPT_PARTITIONS
