"""What the members of a group know themselves: the part of the Client screen next to the members.

The coordinator knows a member's assignment, its committed offsets and its last heartbeat. Only the
member knows its positions, and how long ago it called poll().
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from rich.text import Text

from kafka_edu.trace.events.consumer import ConsumedPartition, ConsumerDescription

from ..model import Model
from ..subjects import CLIENT_PARTITIONS
from ..view_model.client_view import (
    FETCHING,
    ClientView,
    Seen,
    lag_of_partition,
)
from ..view_model.figures import count, old, per_second
from ..view_model.groups_view import GONE, MemberRow
from .drawn import Lines, ink
from .group_board import GroupChoice
from .prose import column_width, fitted_name
from .time_left import time_left

_PARTITIONS: Final = (9, 20)
_NAMES: Final = (8, 16)
_UNKNOWN: Final = "?"


class _Row(NamedTuple):
    """One line: a member's clocks, or one partition of the member."""

    member: MemberRow
    client: ClientView | Seen | None
    partition: int = -1
    """The index of the partition among the client's partitions; -1 for the member's own line."""


class MemberClients(Lines):
    """For each member its clocks, and for each of its partitions position, committed and lag."""

    subject = CLIENT_PARTITIONS
    heads = 1

    def __init__(self, model: Model, choice: GroupChoice) -> None:
        super().__init__(id="member-clients")
        self.model = model
        self.choice = choice
        self._rows: list[_Row] = []

    def tick(self) -> None:
        self._rows = self._members()
        super().tick()

    def _members(self) -> list[_Row]:
        """Return the lines, in the order of the members' list."""
        groups, rows = self.model.groups, list[_Row]()
        story = self.choice.story(groups)
        if story is None:
            return rows
        for member in groups.members(story, self.choice.rebalance(groups)):
            if member.sign == GONE:
                continue
            client = self.model.clients.of_member(story.group, member.member)
            rows.append(_Row(member, client))
            rows += [_Row(member, client, i) for i in range(len(_partitions(client)))]
        return rows

    def count(self) -> int:
        return len(self._rows) + 1 if self._rows else 0

    def empty(self) -> str:
        return "the group has no members"

    def line(self, index: int) -> Text:
        if index == 0:
            width = self._width()
            head = f"  {'partition':<{width}} {'position':>10} {'committed':>10} {'lag':>7}  state"
            return ink(head, self.palette.dim)
        row = self._rows[index - 1]
        if row.partition < 0:
            return self._clocks(row)
        if isinstance(row.client, Seen):
            return self._of_seen(row.client, row.partition)
        consumer = row.client.consumer if row.client is not None else None
        return Text("") if consumer is None else self._position(row.client, consumer, row.partition)

    def _width(self) -> int:
        names = [_name(row.client, row.partition) for row in self._rows if row.partition >= 0]
        return column_width(names, _PARTITIONS)

    def _clocks(self, row: _Row) -> Text:
        """Draw how much time a member has left until its next heartbeat's answer and poll()."""
        colours = self.palette
        width = column_width([each.member.name for each in self._rows], _NAMES)
        line = ink(f"{fitted_name(row.member.name, width):<{width}} ", "bold")
        if isinstance(row.client, Seen):
            asked, now_us = row.client.asked, self.model.clients.now_us
            fetches = per_second(sum(each.rates(now_us)[2] for each in asked))
            line.append(f"fetches {fetches if asked else _UNKNOWN} · ")
            return line.append("reports nothing of its own", style=colours.dim)
        consumer = row.client.consumer if row.client is not None else None
        if row.client is None or consumer is None:
            return line.append("? not known", style=colours.dim)
        if age_us := self.model.clients.old_us(row.client):
            return line.append(f"? {old(age_us)}", style=f"bold {colours.warning}")
        line.append("poll() ", style=colours.dim)
        if consumer.polled_ms_ago < 0:
            line.append("not called yet", style=colours.dim)
        else:
            left = max(consumer.max_poll_interval_ms - consumer.polled_ms_ago, 0)
            line.append_text(time_left(left, consumer.max_poll_interval_ms, colours, short=True))
        if consumer.session_left_ms >= 0:
            line.append(" · session ", style=colours.dim)
            left, whole = consumer.session_left_ms, consumer.session_timeout_ms
            line.append_text(time_left(left, whole, colours, short=True))
        return line

    def _position(
        self, client: ClientView | None, consumer: ConsumerDescription, index: int
    ) -> Text:
        colours, each = self.palette, consumer.partitions[index]
        is_old = client is not None and self.model.clients.old_us(client) > 0
        line = self._offsets(
            f"{each.topic}-{each.partition}", each.position, each.committed, lag_of_partition(each)
        )
        line.append_text(self._state(each))
        return ink(line.plain, colours.dim) if is_old else line

    def _state(self, each: ConsumedPartition) -> Text:
        colours = self.palette
        if each.paused:
            return ink("  paused", f"bold {colours.warning}")
        return ink(f"  {each.state}", colours.dim if each.state == FETCHING else colours.warning)

    def _of_seen(self, seen: Seen, index: int) -> Text:
        (topic, partition), committed, hw = seen.offsets[index]
        lag = max(hw - committed, 0) if committed is not None and hw is not None else -1
        line = self._offsets(f"{topic}-{partition}", -1, committed, lag)
        return line.append("  lag of the committed offset", style=self.palette.dim)

    def _offsets(self, name: str, position: int, committed: int | None, lag: int) -> Text:
        width = self._width()
        line = ink(f"  {fitted_name(name, width):<{width}} ")
        line.append(f"{_offset(position):>10} {_offset(committed):>10} ")
        return line.append(f"{_offset(lag):>7}", style="bold" if lag > 0 else "")


def _partitions(client: ClientView | Seen | None) -> Sequence[object]:
    if isinstance(client, Seen):
        return client.offsets
    if client is None or client.consumer is None:
        return ()
    return client.consumer.partitions


def _name(client: ClientView | Seen | None, index: int) -> str:
    if isinstance(client, Seen):
        (topic, partition), _, _ = client.offsets[index]
        return f"{topic}-{partition}"
    assert client is not None
    assert client.consumer is not None
    each = client.consumer.partitions[index]
    return f"{each.topic}-{each.partition}"


def _offset(offset: int | None) -> str:
    return _UNKNOWN if offset is None or offset < 0 else count(offset)
