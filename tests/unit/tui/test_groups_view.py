"""The reducer of the Groups screen, on the events of a real coordinator in virtual time."""

from kafka_edu.coordinator.group.group_metadata_manager import SAMPLE_EVERY_MS
from kafka_edu.trace.event import Envelope, Event, Source
from kafka_edu.trace.events.group import GroupStateChanged
from kafka_edu.trace.events.replication import PartitionProgress, PartitionSnapshot
from tests.unit.coordinator.group.group_world import GROUP, World
from tests.unit.instruments.test_rebalances import assignment
from tests.unit.tui.usual_events import killed
from tui.view_model.groups_view import AWAITED, GONE, HERE, NEW, GroupsView, MemberRow
from tui.view_model.keyframe import copied


class Watched:
    def __init__(self) -> None:
        self.world = World()
        self.view = GroupsView()

    def look(self) -> GroupsView:
        """Take all events so far, and a sample."""
        self.world.advance(SAMPLE_EVERY_MS)
        for envelope in [*self.world.ring.events, *self.world.trace.gauges()]:
            self.view.apply(envelope)
        self.world.ring.events.clear()
        self.view.advance(self.world.time.nanoseconds() // 1000)
        return self.view

    def rows(self) -> dict[str, MemberRow]:
        """Return the members' rows, by the test's names."""
        view = self.look()
        story = view.rebalances.groups[GROUP]
        last = story.rebalances[-1] if story.rebalances else None
        ids = {member: name for name, member in self.world.members.items()}
        return {ids.get(row.member, "?"): row for row in view.members(story, last)}

    def two(self) -> None:
        self.world.join("a")
        self.world.sync("a", {"a": assignment(0, 1, 2, 3)})
        self.world.join("b")
        self.world.join("a")
        self.world.sync("a", {"a": assignment(0, 1), "b": assignment(2, 3)})
        self.world.sync("b")


def _web(*partitions: int) -> frozenset[tuple[str, int]]:
    return frozenset(("web", partition) for partition in partitions)


def test_signs_say_who_is_new_awaited_and_gone() -> None:
    watched = Watched()
    watched.two()
    world = watched.world
    world.join("c")
    rows = watched.rows()
    assert (rows["a"].sign, rows["b"].sign, rows["?"].sign) == (AWAITED, AWAITED, NEW)
    assert rows["a"].after is None, "no assignment yet"
    assert rows["?"].waits == "JoinGroup"
    world.join("a")
    world.join("b")
    world.sync("a", {"a": assignment(0), "b": assignment(2, 3), "c": assignment(1)})
    rows = watched.rows()
    assert (rows["a"].before, rows["a"].after) == (_web(0, 1), _web(0))
    assert (rows["c"].before, rows["c"].after) == (_web(), _web(1))
    assert (rows["a"].sign, rows["c"].sign, rows["a"].leads) == (HERE, NEW, True)
    for _ in range(4):
        world.advance(3_000)
        world.heartbeat("a")
        world.heartbeat("c")
    rows = watched.rows()
    assert (rows["b"].sign, rows["b"].before, rows["b"].after) == (GONE, _web(2, 3), _web())


def test_the_answer_names_the_cause_and_for_whom_the_group_waits() -> None:
    watched = Watched()
    watched.two()
    watched.world.join("c")
    watched.world.join("a")
    view = watched.look()
    story = view.rebalances.groups[GROUP]
    first, second = view.answer(story)
    assert (first.kind, second.kind) == ("warning", "warning")
    assert first.words.startswith("rebalances: client-")
    assert second.words.startswith("waits for client-")
    assert second.words.endswith("to join, 500 ms so far")
    watched.world.join("b")
    watched.world.sync("a", {"a": assignment(0), "b": assignment(2, 3), "c": assignment(1)})
    view = watched.look()
    first, second = view.answer(story)
    assert first.kind == "ok"
    assert first.words.startswith("last rebalance, 500 ms ago: client-")
    assert "1 partition moved" in second.words
    assert view.summary(story).startswith("500 ms ago")


def test_a_lost_coordinator_is_said_first() -> None:
    watched = Watched()
    watched.two()
    view = watched.look()
    ended = killed(1)
    view.apply(Envelope(Source.of_broker(1), 0, 0, 0, view.now_us, ended))
    story = view.rebalances.groups[GROUP]
    assert view.answer(story)[0].words == (
        "its coordinator broker 1 is gone; another broker takes over when it leads"
        " __consumer_offsets-0"
    )


def test_groups_that_rebalance_come_first_and_a_needle_filters() -> None:
    view = GroupsView()
    states = {"a": "Empty", "b": "Stable", "c": "PreparingRebalance", "bb": "Stable"}
    for group, state in states.items():
        event: Event = GroupStateChanged(
            group=group, generation=1, before="Empty", after=state, members=1
        )
        view.apply(Envelope(Source.of_broker(0), 1, 0, 1, 1, event))
    assert [story.group for story in view.groups()] == ["c", "b", "bb", "a"]
    assert [story.group for story in view.groups("b")] == ["b", "bb"]


def test_offsets_come_with_their_owner_the_largest_lag_first() -> None:
    watched = Watched()
    watched.two()
    view = watched.look()
    story = view.rebalances.groups[GROUP]
    for partition, hw in ((0, 10), (2, 400)):
        story.offsets["web", partition] = 5
        progress = PartitionProgress(0, hw, hw, (), 1)
        event = PartitionSnapshot(
            topic="web",
            partition=partition,
            leader=1,
            leader_epoch=0,
            isr=(1,),
            replicas=(1,),
            progress=progress,
            zk_version=0,
            proposed_isr=(),
        )
        view.apply(Envelope(Source.of_broker(1), 1, 0, 1, 1, event))
    rows = view.offsets(story)
    assert [(row.partition, row.lag) for row in rows][:2] == [(("web", 2), 395), (("web", 0), 5)]
    assert rows[0].owner == story.name(watched.world.members["b"])
    assert (rows[-1].committed, rows[-1].lag) == (None, None)
    assert view.total_lag(story) == 400


def test_a_copy_for_going_back_in_time_stands_alone() -> None:
    watched = Watched()
    watched.two()
    before = copied(watched.look())
    watched.world.leave("b")
    after = watched.look()
    assert len(after.rebalances.groups[GROUP].rebalances) == 3
    assert len(before.rebalances.groups[GROUP].rebalances) == 2
    assert before.rebalances.groups[GROUP].state == "Stable"
