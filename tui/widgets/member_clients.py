"""Data from the clients of a group's members, as on the Client screen, next to the members.

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
    consumer: ConsumerDescription | None
    """The client's sample at the last tick. A newer one may have fewer partitions."""
    partition: int = -1
    """The index of the partition among the client's partitions; -1 for the member's own line."""

    @property
    def name(self) -> str:
        """The name of the line's partition."""
        if isinstance(self.client, Seen):
            (topic, partition), _, _ = self.client.offsets[self.partition]
            return f"{topic}-{partition}"
        assert self.consumer is not None
        each = self.consumer.partitions[self.partition]
        return f"{each.topic}-{each.partition}"


class MemberClients(Lines):
    """For each member its clocks, and for each of its partitions the position, committed offset and
    lag.
    """

    subject = CLIENT_PARTITIONS
    heads = 1

    def __init__(self, model: Model, choice: GroupChoice) -> None:
        super().__init__(id="member-clients")
        self.model = model
        self.choice = choice
        self._rows: list[_Row] = []
        self._names = self._partitions = 0
        """The widths of two columns. A tick measures them once, for all lines."""

    def tick(self) -> None:
        rows = self._rows = self._members()
        self._names = column_width([each.member.name for each in rows], _NAMES)
        names = [each.name for each in rows if each.partition >= 0]
        self._partitions = column_width(names, _PARTITIONS)
        super().tick()

    def _members(self) -> list[_Row]:
        """Return the lines, in the order of the members' list."""
        groups, rows = self.model.groups, list[_Row]()
        story = self.choice.story(groups)
        if story is None:
            return rows
        clients = self.model.clients.by_member(story.group)
        for member in groups.members(story, self.choice.rebalance(groups)):
            if member.sign == GONE:
                continue
            client = clients.get(member.member)
            consumer = client.consumer if isinstance(client, ClientView) else None
            rows.append(_Row(member, client, consumer))
            numbers = range(len(_partitions(client, consumer)))
            rows += [_Row(member, client, consumer, number) for number in numbers]
        return rows

    def count(self) -> int:
        return len(self._rows) + 1 if self._rows else 0

    def empty(self) -> str:
        return "the group has no members"

    def line(self, index: int) -> Text:
        if index == 0:
            width = self._partitions
            head = f"  {'partition':<{width}} {'position':>10} {'committed':>10} {'lag':>7}  state"
            return ink(head, self.palette.dim)
        row = self._rows[index - 1]
        if row.partition < 0:
            return self._clocks(row)
        if isinstance(row.client, Seen):
            return self._of_seen(row, row.client)
        return Text("") if row.consumer is None else self._position(row, row.consumer)

    def _clocks(self, row: _Row) -> Text:
        """Draw the time that a member has left for its heartbeat's answer and for its next
        poll().
        """
        colours, width = self.palette, self._names
        line = ink(f"{fitted_name(row.member.name, width):<{width}} ", "bold")
        if isinstance(row.client, Seen):
            asked, now_us = row.client.asked, self.model.clients.now_us
            fetches = per_second(sum(each.rates(now_us)[2] for each in asked))
            line.append(f"fetches {fetches if asked else _UNKNOWN} · ")
            return line.append("reports nothing of its own", style=colours.dim)
        consumer = row.consumer
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

    def _position(self, row: _Row, consumer: ConsumerDescription) -> Text:
        colours, each = self.palette, consumer.partitions[row.partition]
        is_old = isinstance(row.client, ClientView) and self.model.clients.old_us(row.client) > 0
        line = self._offsets(row.name, each.position, each.committed, lag_of_partition(each))
        line.append_text(self._state(each))
        return ink(line.plain, colours.dim) if is_old else line

    def _state(self, each: ConsumedPartition) -> Text:
        colours = self.palette
        if each.paused:
            return ink("  paused", f"bold {colours.warning}")
        return ink(f"  {each.state}", colours.dim if each.state == FETCHING else colours.warning)

    def _of_seen(self, row: _Row, seen: Seen) -> Text:
        _, committed, hw = seen.offsets[row.partition]
        lag = max(hw - committed, 0) if committed is not None and hw is not None else -1
        line = self._offsets(row.name, -1, committed, lag)
        return line.append("  lag of the committed offset", style=self.palette.dim)

    def _offsets(self, name: str, position: int, committed: int | None, lag: int) -> Text:
        width = self._partitions
        line = ink(f"  {fitted_name(name, width):<{width}} ")
        line.append(f"{_offset(position):>10} {_offset(committed):>10} ")
        return line.append(f"{_offset(lag):>7}", style="bold" if lag > 0 else "")


def _partitions(
    client: ClientView | Seen | None, consumer: ConsumerDescription | None
) -> Sequence[object]:
    if isinstance(client, Seen):
        return client.offsets
    return consumer.partitions if consumer is not None else ()


def _offset(offset: int | None) -> str:
    return _UNKNOWN if offset is None or offset < 0 else count(offset)
