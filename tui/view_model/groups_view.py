"""The state of the Groups screen: every group, its rebalances, its members and their offsets."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from kafka_edu.common.words import plural
from kafka_edu.instruments.rebalances import (
    COMPLETING,
    DEAD,
    EMPTY,
    PREPARING,
    STABLE,
    GroupStory,
    Partition,
    Rebalance,
    Rebalances,
    cause_words,
    outcome_words,
    waiting_words,
)
from kafka_edu.trace.event import Envelope
from kafka_edu.trace.events.group import (
    GroupAssigned,
    GroupLoaded,
    GroupStateChanged,
    MemberFailed,
    MemberJoined,
    MemberLeft,
    MemberUpdated,
    OffsetsCommitted,
    RebalanceStarted,
)

from .figures import duration
from .glow import Glow

_ORDER: Final = {PREPARING: 0, COMPLETING: 0, STABLE: 1, EMPTY: 2, DEAD: 3}
GONE, HERE, AWAITED, NEW = "✕", "●", "◌", "+"
"""The signs of members: removed, in the group, waited for, joined in the displayed rebalance."""


class MemberRow(NamedTuple):
    """One line of the members' table.

    It is a current member, or one that the displayed rebalance removed.
    """

    member: str
    name: str
    client_id: str
    host: str
    sign: str
    leads: bool
    before: frozenset[Partition]
    after: frozenset[Partition] | None
    """The partitions that the member reads now. None if the assignment is not known yet."""
    lag: int | None
    heard_ms_ago: int | None
    session_timeout_ms: int
    waits: str


class OffsetRow(NamedTuple):
    """One partition that the group reads or has read, with its offsets."""

    partition: Partition
    owner: str
    committed: int | None
    hw: int | None
    lag: int | None


class Answer(NamedTuple):
    """A kind (`ok`, `warning` or `error`) and a sentence."""

    kind: str
    words: str


class GroupsView:
    """All groups. They change only through `apply`."""

    READS: Final = Rebalances.READS
    """The types of events that change this view."""

    def __init__(self) -> None:
        self.glow = Glow()
        self.rebalances = Rebalances()

    @property
    def now_us(self) -> int:
        return self.rebalances.now_us

    def advance(self, now_us: int) -> None:
        self.glow.advance(now_us)
        self.rebalances.advance(now_us)

    def apply(self, envelope: Envelope) -> None:
        """Update the view with one event."""
        self.glow.advance(envelope.mono_us)
        self.rebalances.apply(envelope)
        match envelope.event:
            case GroupStateChanged(group=group) | RebalanceStarted(group=group):
                self.glow.touch("group", group)
                self.glow.touch("state", group)
            case GroupAssigned(group=group) | GroupLoaded(group=(group, *_)):
                self.glow.touch("group", group)
                self.glow.touch("assignment", group)
            case (
                MemberJoined(group=group, member=member)
                | MemberUpdated(group=group, member=member)
                | MemberLeft(group=group, member=member)
                | MemberFailed(group=group, member=member)
            ):
                self.glow.touch("member", group, member)
            case OffsetsCommitted(group=group, offsets=offsets):
                for topic, partition, _ in offsets:
                    self.glow.touch("offset", group, topic, partition)
            case _:
                pass

    def groups(self, needle: str = "") -> list[GroupStory]:
        """Return the groups: rebalancing ones first, then those with members, then the others. Each
        part is sorted by name.
        """
        return sorted(
            (story for story in self.rebalances.groups.values() if needle in story.group),
            key=lambda story: (_ORDER.get(story.state, 2), story.group),
        )

    def topic_of(self, story: GroupStory) -> str:
        """Return a topic that the group subscribes to or has offsets for, or "" if there is
        none.
        """
        for member in story.sampled.values():
            if member.topics:
                return member.topics[0]
        return next((topic for topic, _ in story.offsets), "")

    def total_lag(self, story: GroupStory) -> int | None:
        lags = [lag for tp in story.offsets if (lag := self.rebalances.lag(story, tp)) is not None]
        return sum(lags) if lags else None

    def answer(self, story: GroupStory) -> list[Answer]:
        """Answer the screen's question for a group, in at most three lines."""
        now_us, answers = self.now_us, []
        current = story.current
        if story.coordinator_lost:
            answers.append(
                Answer(
                    "error",
                    f"its coordinator broker {story.coordinator} is gone; another broker takes over"
                    f" when it leads __consumer_offsets-{story.offsets_partition}",
                )
            )
        if current is not None:
            waits = waiting_words(story, current, now_us)
            answers.append(Answer("warning", f"rebalances: {cause_words(story, current)}"))
            answers.append(Answer("warning", waits))
            return answers
        last = story.rebalances[-1] if story.rebalances else None
        if last is None:
            if story.state in (PREPARING, COMPLETING):
                names = story.names(story.waits_for()) or "more members"
                answers.append(Answer("warning", f"rebalances and waits for {names}"))
            else:
                answers.append(
                    Answer(
                        "ok", f"{story.state or 'unknown'}: no rebalance since you began to look"
                    )
                )
            return answers
        ago = duration((now_us - (last.ended_us or last.started_us)) / 1000)
        answers.append(Answer("ok", f"last rebalance, {ago} ago: {cause_words(story, last)}"))
        rest = [waiting_words(story, last, now_us), outcome_words(story, last)]
        answers.append(Answer("ok", "; ".join(words for words in rest if words)))
        return answers

    def summary(self, story: GroupStory) -> str:
        """Return the text that follows the group's state in its line of the list."""
        current = story.current
        if current is not None:
            return f"{cause_words(story, current)}; {waiting_words(story, current, self.now_us)}"
        if not story.rebalances:
            return "no rebalance since you began to look"
        last = story.rebalances[-1]
        ago = duration((self.now_us - (last.ended_us or last.started_us)) / 1000)
        return f"{ago} ago: {cause_words(story, last)}"

    def members(self, story: GroupStory, rebalance: Rebalance | None) -> list[MemberRow]:
        """Return the rows of a group's members, with their partitions before and after one
        rebalance.

        The last rebalance, or None if there is no rebalance, gives the current members. O(members +
        partitions).
        """
        is_last = rebalance is None or not story.rebalances or rebalance is story.rebalances[-1]
        before = rebalance.before if rebalance is not None else story.assignment
        after = rebalance.after if rebalance is not None else story.assignment
        gone: list[str] = []
        if rebalance is not None:
            gone = [*(failure.member for failure in rebalance.failures), *rebalance.left]
        present = story.members if is_last or rebalance is None else rebalance.members
        awaited = set(story.waits_for()) if is_last else set()
        rows = []
        for member in dict.fromkeys([*present, *(story.pending if is_last else ()), *gone]):
            sampled = story.sampled.get(member) if is_last else None
            is_gone = member in gone and member not in present
            is_new = rebalance is not None and member in rebalance.newcomers
            sign = GONE if is_gone else AWAITED if member in awaited else NEW if is_new else HERE
            has = None if after is None else after.get(member, frozenset())
            owned = story.assignment.get(member, frozenset()) if is_last else frozenset()
            rows.append(
                MemberRow(
                    member=member,
                    name=story.name(member),
                    client_id=sampled.client_id if sampled else story.client(member),
                    host=sampled.client_host if sampled else "",
                    sign=sign,
                    leads=member
                    == (story.leader if is_last else rebalance.leader if rebalance else ""),
                    before=before.get(member, frozenset()),
                    after=frozenset() if is_gone else has,
                    lag=self._lag(story, owned),
                    heard_ms_ago=sampled.heard_ms_ago if sampled else None,
                    session_timeout_ms=sampled.session_timeout_ms if sampled else 0,
                    waits=sampled.waits if sampled else "",
                )
            )
        return rows

    def _lag(self, story: GroupStory, partitions: Iterable[Partition]) -> int | None:
        lags = [lag for tp in partitions if (lag := self.rebalances.lag(story, tp)) is not None]
        return sum(lags) if lags else None

    def offsets(self, story: GroupStory) -> list[OffsetRow]:
        """Return each partition that the group reads or has offsets for, the largest lag first."""
        owners = {tp: story.name(m) for m, tps in story.assignment.items() for tp in tps}
        rows = []
        for tp in {*owners, *story.offsets}:
            end = self.rebalances.ends.get(tp)
            rows.append(
                OffsetRow(
                    tp,
                    owners.get(tp, ""),
                    story.offsets.get(tp),
                    end.hw if end is not None and end.hw >= 0 else None,
                    self.rebalances.lag(story, tp),
                )
            )
        return sorted(rows, key=lambda row: (-(row.lag or 0), row.partition))


def state_words(story: GroupStory) -> str:
    """Return the group's state, shortened for a narrow place."""
    return {PREPARING: "Preparing", COMPLETING: "Completing"}.get(story.state, story.state or "?")


def members_words(story: GroupStory) -> str:
    return plural(len(story.members), "member")
