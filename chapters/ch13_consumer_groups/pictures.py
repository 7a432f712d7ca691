"""The pictures of chapter 13, made by the assignors of our consumer and by a simulated coordinator.

All time is virtual, so each picture is the same each time.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from functools import partial
from typing import Final, NamedTuple, TypeVar

import graphviz
from rich.table import Table
from rich.text import Text

from kafka_edu.clients.consumer.assignors import Assignment
from kafka_edu.clients.consumer.consumer_coordinator import ASSIGNORS
from kafka_edu.clients.consumer.membership import VALID_PREVIOUS_STATES as MEMBER_STATES
from kafka_edu.common.errors import Errors
from kafka_edu.coordinator.coordinator_type import java_hash, partition_for
from kafka_edu.coordinator.group.group_state import VALID_PREVIOUS_STATES as GROUP_STATES
from kafka_edu.instruments.drawings.figure import BLUE, GREEN, GREY, RED, WHITE, YELLOW
from kafka_edu.instruments.drawings.machines import Machine, machine_figure
from kafka_edu.instruments.presenter.script import Picture

from ..drawing import GAP, grid, picture
from .join_cases import CASES, EXPIRY_S, expiry, stories
from .sharing import COOPERATIVE, GROWN, MEMBERS, SHRUNK, TOPICS, change, shares, short
from .stepped_group import Moment

S = TypeVar("S", bound=StrEnum)
PARTITIONS: Final = 4
RECORDS: Final = 20
OFFSETS_PARTITIONS: Final = 50
"""The default of offsets.topic.num.partitions."""
#: Ids of groups, whose coordinators are looked up. The first one is the book's.
GROUPS: Final = ("kagura", "test", "shop", "shop-2")
SHORT: Final[Mapping[str, str]] = {
    Errors.REBALANCE_IN_PROGRESS.name: "rebalance!",
    Errors.ILLEGAL_GENERATION.name: "old gen.",
    Errors.UNKNOWN_MEMBER_ID.name: "unknown",
    Errors.NONE.name: "ok",
    "its assignment": "its share",
}
"""Answers, as short words that fit a narrow cell."""
MANY_TOPICS: Final = 10
THREE: Final = 3
Cells = list[tuple[str, str]]
Rows = list[tuple[str, Cells]]


def figures() -> Mapping[str, graphviz.Digraph]:
    """Draw the figures for the chapter's page, and return them by name."""
    return {
        "models": _models_figure(),
        "cake": _cake_figure(),
        "new-member": _new_member_figure(),
        "coordinator": _coordinator_figure(),
        "group-states": machine_figure(
            Machine("The states of a group", _names(GROUP_STATES), group_way(), "a group")
        ),
        "member-states": machine_figure(
            Machine("The states of a member", _names(MEMBER_STATES), (), "a member")
        ),
        "join": _join_figure(),
        "sync": _sync_figure(),
        "assignors": _assignors_figure(),
        "cooperative": _cooperative_figure(),
        **{f"case-{name}": _case_figure(name) for name in CASES},
    }


# Queue and publish/subscribe.


class Model(NamedTuple):
    """Groups that read one topic, and how often each record is delivered."""

    words: str
    groups: tuple[int, ...]
    """The number of members of each group."""

    @property
    def deliveries(self) -> int:
        """Return how many deliveries there are of RECORDS records, spread over all partitions."""
        parts = RECORDS // PARTITIONS
        return sum(parts * size for group in self.groups for size in sizes(group))


MODELS: Final = (
    Model("one group of four: a queue", (4,)),
    Model("four groups of one: publish and subscribe", (1, 1, 1, 1)),
    Model("a group of four and one of two: both", (4, 2)),
)


def sizes(members: int, partitions: int = PARTITIONS) -> list[int]:
    """Return how many partitions each member of a group gets."""
    names = [f"m{number}" for number in range(members)]
    return [len(own) for own in shares("range", names, {"t": partitions}).values()]


def models() -> Picture:
    """Show how often twenty records are delivered to three sets of groups."""
    shown = Table("", "partitions of each member", f"deliveries of {RECORDS} records", box=None)
    for one in MODELS:
        parts = " | ".join(" ".join(map(str, sizes(group))) for group in one.groups)
        shown.add_row(one.words, parts, str(one.deliveries))
    queue, subscribe, both = (one.deliveries for one in MODELS)
    return picture({"queue": queue, "subscribe": subscribe, "both": both}, shown)


def cake() -> Picture:
    """Show the shares of two, four and five members of one group (book 002 图4-7)."""
    shown = Table("members", "partitions of each", "idle", box=None)
    for members in (2, 4, 5):
        each = sizes(members)
        shown.add_row(str(members), " ".join(map(str, each)), str(each.count(0)))
    what = Text("four partitions (four pieces of cake, 图4-7), and not the two of mea")
    return picture({"idle_five": sizes(5).count(0), "share_two": sizes(2)[0]}, shown, what)


# The coordinator.


def coordinator() -> Picture:
    """Show to which partition of __consumer_offsets four groups belong."""
    shown = Table("group.id", "hashCode", f"partition of {OFFSETS_PARTITIONS}", box=None)
    for group in GROUPS:
        shown.add_row(group, f"{java_hash(group):,}", str(partition_for(group, OFFSETS_PARTITIONS)))
    first, *_ = GROUPS
    names = {"kagura_hash": java_hash(first), "kagura_at": partition_for(first, OFFSETS_PARTITIONS)}
    return picture(names, shown, Text("|hashCode| modulo the number of partitions"))


# The states.


def _names(table: Mapping[S, Collection[S]]) -> dict[str, list[str]]:
    """Return a table of states by their names, in its order."""
    return {
        after.value: [one.value for one in table if one in befores]
        for after, befores in table.items()
    }


def group_way() -> list[str]:
    """Return the states of scenario 1's group, from the beginning."""
    return list(stories()["joins"].states)


def states() -> Picture:
    """Show from which states a group may enter each state."""
    table = _names(GROUP_STATES)
    shown = Table("a group may become", "from", box=None)
    for after, befores in table.items():
        shown.add_row(after, "any state" if len(befores) == len(table) else ", ".join(befores))
    return picture({"group_states": len(table), "group_way": " → ".join(group_way())}, shown)


# The cases, step by step.


def moments(moment: Sequence[Moment]) -> Table:
    """Return the moments of a case as a table."""
    shown = Table("", "answers", "waits", "the group", box=None)
    for one in moment:
        answers = "\n".join(f"{name}: {answer}" for name, answer in one.answers)
        shown.add_row(one.words, answers or "-", " ".join(one.waiting) or "-", one.state)
    return shown


def case(name: str, steps: int) -> Picture:
    """Show the first `steps` moments (requests or pauses) of a case. The picture of the last moment
    also says why the group's rebalance began.
    """
    story = stories()[name]
    seen = story.moments[:steps]
    if steps < len(story.moments):
        return picture({}, moments(seen))
    at_once = [one for one in seen if one.words.endswith("JoinGroup") and _at_once(one)]
    names: dict[str, object] = {
        f"{name}_at_once": len(at_once),
        f"{name}_generation": story.generation,
        f"{name}_reason": story.reasons[-1],
    }
    return picture(names, moments(seen), Text(f"why it began: {story.reasons[-1]}"))


def _at_once(moment: Moment) -> bool:
    """Return whether only the request of this moment was answered at this moment."""
    return len(moment.answers) == 1


# The assignors.


def assignors() -> Picture:
    """Show what three members get of two topics, by each assignor."""
    shown = Table("", *MEMBERS, box=None)
    for name in ASSIGNORS:
        shown.add_row(name, *(short(own) for own in shares(name, MEMBERS).values()))
    first, *_ = shares("range", MEMBERS).values()
    most_range, *_ = _many_topics("range")
    most_turn, *_ = _many_topics("roundrobin")
    names = {"range_first": len(first), "many_range": most_range, "many_turn": most_turn}
    return picture(names, shown, Text(f"topics o and p with {PARTITIONS} partitions each"))


def _many_topics(assignor: str) -> list[int]:
    """Return the shares of two members of ten topics with three partitions each."""
    topics = {f"t{number}": THREE for number in range(MANY_TOPICS)}
    return [len(own) for own in shares(assignor, ("a", "b"), topics).values()]


def moves() -> Picture:
    """Show the cost of a new member, and of a leaving member, with each assignor."""
    shown = Table("", "d joins: moved", "given up", "c leaves: moved", "given up", box=None)
    names: dict[str, object] = {}
    for name in ASSIGNORS:
        grown, shrunk = change(name, MEMBERS, GROWN), change(name, MEMBERS, SHRUNK)
        shown.add_row(
            name, str(grown.moved), str(grown.given_up), str(shrunk.moved), str(shrunk.given_up)
        )
        key = name.replace("-", "_")
        names |= {f"{key}_moved": grown.moved, f"{key}_given_up": grown.given_up}
        names |= {f"{key}_left_moved": shrunk.moved}
    return picture(names, shown, Text(f"{sum(TOPICS.values())} partitions, 3 members before"))


def two_steps() -> Picture:
    """Show both rebalances of a cooperative group."""
    found = change(COOPERATIVE, MEMBERS, GROWN)
    shown = Table("", *GROWN, box=None)
    shown.add_row("before", *(short(found.before.get(member, [])) for member in GROWN))
    for number, step in enumerate(found.after, 1):
        shown.add_row(f"rebalance {number}", *(short(step[member]) for member in GROWN))
    return picture({"coop_rebalances": len(found.after)}, shown)


# Offsets of an empty group.


def expired() -> Picture:
    """Show when the offsets of a group expire."""
    seen = expiry()
    shown = Table("", "the group", "committed offset", box=None)
    for one in seen:
        shown.add_row(one.words, one.state, str(one.offset) if one.offset >= 0 else "none")
    return picture(
        {"offset_with_members": seen[1].offset, "offset_expired": seen[-1].offset},
        shown,
        Text(f"offsets.retention.minutes={EXPIRY_S // 60}; the default is 10,080: seven days"),
    )


# The figures.


def _models_figure() -> graphviz.Digraph:
    """Draw which member reads which partition, in three sets of groups (book 002 图4-1 to 4-4)."""
    colours = (GREEN, BLUE, YELLOW, RED)
    rows: Rows = [("partition", [(str(number), WHITE) for number in range(PARTITIONS)])]
    for model in MODELS:
        rows.append((model.words, []))
        for number, group in enumerate(model.groups, 1):
            cells: Cells = []
            for member, size in enumerate(sizes(group)):
                cells += [(f"member {member + 1}", colours[member])] * size
            rows.append((f"  group {number}", cells))
    return grid("models", "Who reads which partition", [], rows, 22)


def _cake_figure() -> graphviz.Digraph:
    """Draw four pieces of cake for two, four and five children (book 002 图4-7)."""
    rows: Rows = []
    for members in (2, 4, 5):
        cells = [(f"{size} of {PARTITIONS}", GREEN if size else RED) for size in sizes(members)]
        rows.append((f"{members} members", cells))
    return grid(
        "cake",
        "Four partitions, one group",
        [(GREEN, "its share"), (RED, "reads nothing")],
        rows,
    )


def _new_member_figure() -> graphviz.Digraph:
    """Draw a group before and after a member joins (book 002 图4-5)."""
    colours = dict(zip("abc", (GREEN, BLUE, YELLOW), strict=True))
    rows: Rows = [("partition", [(str(number), WHITE) for number in range(PARTITIONS)])]
    for words, members in (("a and b", "ab"), ("c has joined", "abc")):
        owners = {
            tp.partition: member
            for member, own in shares("range", tuple(members), {"t": PARTITIONS}).items()
            for tp in own
        }
        rows.append((words, [(owner, colours[owner]) for _, owner in sorted(owners.items())]))
    return grid("new-member", "A member joins: all share again", [], rows)


def _coordinator_figure() -> graphviz.Digraph:
    """Draw how a group finds its coordinator."""
    rows: Rows = [
        (
            group,
            [
                (f"{java_hash(group):,}", GREY),
                (f"{partition_for(group, OFFSETS_PARTITIONS)}", BLUE),
            ],
        )
        for group in GROUPS
    ]
    head: Rows = [("group.id", [("hashCode", WHITE), ("partition", WHITE)])]
    return grid(
        "coordinator",
        "Which partition of __consumer_offsets; its leader coordinates",
        [],
        head + rows,
    )


def _exchange(name: str, title: str, wanted: Iterable[Moment]) -> graphviz.Digraph:
    """Draw moments of a case as a table: a row for each, with each member and the group's state."""
    rows: Rows = []
    seen = list(wanted)
    members = sorted(
        {member for one in seen for member, _ in one.answers}
        | {member for one in seen for member in one.waiting}
    )
    rows.append(("", [*((member, WHITE) for member in members), GAP, ("the group", WHITE)]))
    for one in seen:
        answers = dict(one.answers)
        cells: Cells = []
        for member in members:
            if member in answers:
                cells.append(_answer_cell(answers[member]))
            else:
                cells.append(("waits", YELLOW) if member in one.waiting else (" ", WHITE))
        state = one.state.removesuffix("Rebalance")
        rows.append((one.words, [*cells, GAP, (state, GREY)]))
    return grid(name, title, [(YELLOW, "no answer yet"), (GREEN, "answered"), (RED, "error")], rows)


def _answer_cell(answer: str) -> tuple[str, str]:
    refused = answer in SHORT and Errors.NONE.name != answer and answer.isupper()
    words = SHORT.get(answer, answer.replace("generation ", "gen. "))
    head, _, leads = words.partition(", leads ")
    return (f"{head}\nleads {leads}" if leads else words, RED if refused else GREEN)


def _join_figure() -> graphviz.Digraph:
    """Draw how JoinGroup requests are handled (the book's figure in 001)."""
    joins = stories()["joins"].moments
    until = next(number for number, one in enumerate(joins) if one.answers and one.waiting == ())
    return _exchange("join", "JoinGroup: all wait for all", joins[: until + 1])


def _sync_figure() -> graphviz.Digraph:
    """Draw how SyncGroup requests are handled (the book's figure in 001)."""
    wanted = [one for one in stories()["joins"].moments if "SyncGroup" in one.words]
    return _exchange("sync", "SyncGroup: all wait for the leader", wanted)


def _case_figure(name: str) -> graphviz.Digraph:
    return _exchange(name, CASES[name].title, stories()[name].moments)


def _assignors_figure() -> graphviz.Digraph:
    """Draw who gets which of eight partitions, by each assignor."""
    colours = dict(zip(MEMBERS, (GREEN, BLUE, YELLOW), strict=True))
    names = [f"{topic}{number}" for topic, count in TOPICS.items() for number in range(count)]
    rows: Rows = [("", [(name, WHITE) for name in names])]
    for assignor in ASSIGNORS:
        assignment = shares(assignor, MEMBERS)
        owners = {short([tp]): member for member, own in assignment.items() for tp in own}
        rows.append((assignor, [(owners[name], colours[owners[name]]) for name in names]))
    return grid("assignors", "Two topics, three members: who gets what", [], rows, 12)


def _cooperative_figure() -> graphviz.Digraph:
    """Draw who reads each partition while d joins, eager and cooperative."""
    colours = dict(zip(GROWN, (GREEN, BLUE, YELLOW, RED), strict=True))
    names = [f"{topic}{number}" for topic, count in TOPICS.items() for number in range(count)]
    rows: Rows = [("", [(name, WHITE) for name in names])]

    def row(words: str, assignment: Assignment) -> None:
        owners = {short([tp]): member for member, own in assignment.items() for tp in own}
        members = [owners.get(name, "") for name in names]
        rows.append((words, [(one or "-", colours.get(one, WHITE)) for one in members]))

    for assignor in ("sticky", COOPERATIVE):
        found = change(assignor, MEMBERS, GROWN)
        row(f"{assignor}: before", found.before)
        if assignor != COOPERATIVE:
            row("all give up all", {})
        for number, step in enumerate(found.after, 1):
            row(f"rebalance {number}", step)
    return grid("cooperative", "Who reads while d joins", [(WHITE, "nobody")], rows, 12)


DRAWINGS: Final[Mapping[str, Callable[[], Picture]]] = {
    "models": models,
    "cake": cake,
    "coordinator": coordinator,
    "states": states,
    "assignors": assignors,
    "moves": moves,
    "two-steps": two_steps,
    "expired": expired,
    **{
        f"{name}-{steps}": partial(case, name, steps)
        for name, one in CASES.items()
        for steps in range(1, one.moments + 1)
    },
}
