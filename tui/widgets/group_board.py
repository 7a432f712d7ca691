"""The widgets of the Groups screen: all groups, and details of the chosen group."""

from collections.abc import Mapping
from typing import Final

from rich.text import Text

from kafka_edu.instruments.rebalances import (
    STABLE,
    STATE_WORDS,
    GroupStory,
    Rebalance,
    cause_words,
    outcome_words,
    partitions_words,
    waiting_words,
)

from ..model import Model
from ..palette import Palette
from ..subjects import GROUP_MEMBERS, GROUPS
from ..view_model.figures import count, duration, old
from ..view_model.groups_view import (
    AWAITED,
    GONE,
    NEW,
    GroupsView,
    MemberRow,
    OffsetRow,
    members_words,
    state_words,
)
from .drawn import Drawn, Lines, Order, Value, ink, stacked
from .event_text import coloured, wall_clock
from .prose import cut, fitted_name, folded, gauge

_SESSION_BAR: Final = 8
_LAG_BAR: Final = 12
_OFFSET_COLUMNS: Final = 90
"""The maximum width of a line in the list of offsets, so that its columns are not far apart."""


class GroupChoice:
    """The reader's choice on this screen: one group, and one of its rebalances."""

    def __init__(self) -> None:
        self.group = ""
        self.rebalance_us: int | None = None
        """When the chosen rebalance began, in µs. None if the last one is chosen."""

    def settle(self, view: GroupsView) -> None:
        """Choose the first group if the chosen group does not exist any more."""
        if self.group not in view.rebalances.groups:
            groups = view.groups()
            self.group = groups[0].group if groups else ""
            self.rebalance_us = None

    def story(self, view: GroupsView) -> GroupStory | None:
        return view.rebalances.groups.get(self.group)

    def rebalance(self, view: GroupsView) -> Rebalance | None:
        """Return the chosen rebalance. If none is chosen, return the last one."""
        story = self.story(view)
        if story is None or not story.rebalances:
            return None
        return next(
            (each for each in story.rebalances if each.started_us == self.rebalance_us),
            story.rebalances[-1],
        )


def _state_style(state: str, colours: Palette) -> str:
    if state == STABLE:
        return f"bold {colours.ok}"
    return f"bold {colours.warning}" if state in STATE_WORDS else colours.dim


class GroupLines(Lines):
    """One line for each group: state, generation, members, coordinator, lag, last rebalance."""

    subject = GROUPS
    orders = (
        Order("lag", greatest_first=True),
        Order("members", greatest_first=True),
        Order("group"),
    )

    def __init__(self, model: Model, choice: GroupChoice) -> None:
        super().__init__(id="groups")
        self.model = model
        self.choice = choice
        self._rows: list[GroupStory] = []

    def tick(self) -> None:
        """Update the groups. The cursor stays on its group while this group exists."""
        self._rows = self.model.groups.groups()
        names = [row.group for row in self._rows]
        if self.choice.group in names:
            self.cursor = names.index(self.choice.group)
        super().tick()

    def values(self, index: int) -> Mapping[str, Value | None]:
        story = self._rows[index]
        lag = self.model.groups.total_lag(story)
        return {"lag": lag, "members": len(story.members), "group": story.group}

    def cursor_moved(self) -> None:
        if self.cursor < len(self._rows) and self.choice.group != self._rows[self.cursor].group:
            self.choice.group = self._rows[self.cursor].group
            self.choice.rebalance_us = None

    def count(self) -> int:
        return len(self._rows)

    def empty(self) -> str:
        return "no broker coordinates a group yet: start a consumer with a group.id"

    def line(self, index: int) -> Text:
        view, colours, story = self.model.groups, self.palette, self._rows[index]
        chosen = story.group == self.choice.group
        line = ink("▶ " if chosen else "  ", "bold")
        name = min(max(len(row.group) for row in self._rows), 30)
        line.append(f"{fitted_name(story.group, name):<{name}} ", style="bold")
        style = _state_style(story.state, colours)
        if view.glow.glows("state", story.group):
            style += f" on {colours.glow}"
        line.append(f"{state_words(story):<10}", style=style)
        line.append(f" gen {story.generation:<3} {members_words(story):<10}")
        line.append(
            f" b{story.coordinator}" if story.coordinator >= 0 else " b?",
            style=f"bold {colours.broker(story.coordinator)}",
        )
        lag = view.total_lag(story)
        line.append(f"  lag {count(lag) if lag is not None else '–':>7}  ")
        line.append(view.summary(story), style=colours.dim)
        return line


class GroupAnswer(Drawn):
    """Shows why the group rebalanced, which members wait for others, and a summary of the group."""

    subject = GROUPS

    def __init__(self, model: Model, choice: GroupChoice) -> None:
        super().__init__(model, id="group-answer")
        self.choice = choice

    def draw(self) -> Text:
        view, colours, width = self.model.groups, self.palette, self.size.width
        story = self.choice.story(view)
        if story is None:
            return ink("", colours.dim)
        answer = [(text, a.kind) for a in view.answer(story) for text in folded(a.words, width, 0)]
        shown = cut([text for text, _ in answer], max(self.size.height - 1, 1))
        lines = [
            coloured(ink(text, f"bold {colours.verdict(kind)}"), colours)
            for text, (_, kind) in zip(shown, answer, strict=False)
        ]
        facts = ink(f"group {story.group}", "bold")
        facts.append(f" · generation {story.generation} · coordinator ", style=colours.dim)
        facts.append(
            f"broker {story.coordinator}", style=f"bold {colours.broker(story.coordinator)}"
        )
        if story.offsets_partition >= 0:
            facts.append(f" (__consumer_offsets-{story.offsets_partition})", style=colours.dim)
        if story.protocol:
            facts.append(f" · {story.protocol}", style=colours.dim)
        if story.leader:
            facts.append(f" · leader {story.name(story.leader)}", style=colours.dim)
        if age_us := self.model.old_us(story.coordinator):
            facts.append(f" · ? {old(age_us)}", style=f"bold {colours.warning}")
        lines.append(facts)
        return stacked(lines, width)


class GroupWay(Drawn):
    """Shows the group's states in order, and how long each took. The newest is at the right."""

    subject = GROUPS

    def __init__(self, model: Model, choice: GroupChoice) -> None:
        super().__init__(model, id="group-way")
        self.choice = choice

    def draw(self) -> Text:
        view, colours, width = self.model.groups, self.palette, self.size.width
        story = self.choice.story(view)
        if story is None:
            return Text("")
        steps = list(story.way)
        pieces: list[Text] = []
        used = 0
        for i in range(len(steps) - 1, -1, -1):
            step = steps[i]
            ends = steps[i + 1].at_us if i + 1 < len(steps) else view.now_us
            piece = ink(STATE_WORDS.get(step.state, step.state), _state_style(step.state, colours))
            if i + 1 == len(steps) and view.glow.glows("state", story.group):
                piece.stylize(f"on {colours.glow}")
            if step.at_us:
                piece.append(f" {duration((ends - step.at_us) / 1000)}")
            if step.note:
                piece.append(f" ({step.note})", style=colours.dim)
            if pieces:
                piece.append(" → ", style=colours.dim)
            if used + piece.cell_len > width - 2:
                pieces.append(ink("… ", colours.dim))
                break
            used += piece.cell_len
            pieces.append(piece)
        line = Text("")
        for piece in reversed(pieces):
            line.append_text(piece)
        return line


class RebalanceLines(Lines):
    """The rebalances of the chosen group, the newest first. The chosen one is shown below."""

    subject = GROUPS

    def __init__(self, model: Model, choice: GroupChoice) -> None:
        super().__init__(id="rebalances")
        self.model = model
        self.choice = choice
        self.rows: list[Rebalance] = []

    def tick(self) -> None:
        story = self.choice.story(self.model.groups)
        self.rows = list(reversed(story.rebalances)) if story is not None else []
        chosen = [row.started_us for row in self.rows]
        if self.choice.rebalance_us in chosen:
            self.cursor = chosen.index(self.choice.rebalance_us)
        else:
            self.cursor = 0
        super().tick()

    def cursor_moved(self) -> None:
        """Choose the rebalance under the cursor. The first line always means the last rebalance."""
        if self.cursor < len(self.rows):
            self.choice.rebalance_us = self.rows[self.cursor].started_us if self.cursor else None

    def count(self) -> int:
        return len(self.rows)

    def empty(self) -> str:
        return "no rebalance of this group since you began to look"

    def line(self, index: int) -> Text:
        view, colours, row = self.model.groups, self.palette, self.rows[index]
        story = self.choice.story(view)
        if story is None:
            return Text("")
        chosen = row is self.choice.rebalance(view)
        line = ink("▶ " if chosen else "  ", "bold")
        line.append(f"{wall_clock(row.started_wall_ms)[:8]} ", style=colours.dim)
        line.append(
            f"{duration(row.took_ms(view.now_us)):>7} ",
            style="bold" if row.is_over else f"bold {colours.warning}",
        )
        line.append(cause_words(story, row), style="bold")
        waits = waiting_words(story, row, view.now_us)
        line.append(f"; {waits}" if waits else "", style="" if row.is_over else colours.warning)
        line.append(f"; {outcome_words(story, row)}", style=colours.dim)
        return line


class MemberLines(Lines):
    """The members, with their partitions before and after the chosen rebalance."""

    subject = GROUP_MEMBERS
    heads = 1
    orders = (
        Order("lag", greatest_first=True),
        Order("heartbeat", greatest_first=True),
        Order("member"),
    )

    def __init__(self, model: Model, choice: GroupChoice) -> None:
        super().__init__(id="members")
        self.model = model
        self.choice = choice
        self._rows: list[MemberRow] = []

    def tick(self) -> None:
        self._rows = self._present_rows()
        super().tick()

    def _present_rows(self) -> list[MemberRow]:
        view = self.model.groups
        story = self.choice.story(view)
        return view.members(story, self.choice.rebalance(view)) if story is not None else []

    def count(self) -> int:
        return len(self._rows) + 1 if self._rows else 0

    def member(self) -> MemberRow | None:
        """Return the member under the cursor, or the first member. Return None if there are no
        members.

        The member belongs to the group that is chosen now, even if another group is still
        displayed.
        """
        rows = self._present_rows()
        return rows[min(max(self.cursor - 1, 0), len(rows) - 1)] if rows else None

    def empty(self) -> str:
        return "the group has no members"

    def values(self, index: int) -> Mapping[str, Value | None]:
        row = self._rows[index - 1]
        return {"lag": row.lag, "heartbeat": row.heard_ms_ago, "member": row.name}

    def _widths(self) -> tuple[int, int, int]:
        """Return the widths of three columns: the name, each assignment, and the bar."""
        width = self.scrollable_content_region.width
        longest = max((len(row.name) + 7 * row.leads for row in self._rows), default=6)
        name = min(longest + 1, max(width // 4, 14))
        bar = _SESSION_BAR if width >= 92 else 0
        room = (width - 6 - name - 9 - 17 - (bar + 1 if bar else 0)) // 2
        needed = max(
            (len(partitions_words(each)) for r in self._rows for each in (r.before, r.after or ())),
            default=6,
        )
        return name, max(min(room, needed + 2), 8), bar

    def line(self, index: int) -> Text:
        view, colours = self.model.groups, self.palette
        name, each, bar = self._widths()
        if index == 0:
            named = self.column
            head = f"  {named('member'):<{name}}{'before':<{each}} → {'after':<{each}}"
            return ink(f"{head}{named('lag'):>9}  {named('heartbeat')}", colours.dim)
        row = self._rows[index - 1]
        signs = {
            GONE: f"bold {colours.error}",
            AWAITED: f"bold {colours.warning}",
            NEW: f"bold {colours.ok}",
        }
        line = ink(f"{row.sign} ", signs.get(row.sign, colours.ok))
        style = "bold"
        if view.glow.glows("member", self.choice.group, row.member):
            style += f" on {colours.glow}"
        shown = row.name if len(row.name) < name else row.name[: name - 2] + "…"
        line.append(shown, style=style)
        line.append(" leader" if row.leads and len(shown) + 7 < name else "", style=colours.dim)
        line.pad_right(max(2 + name - line.cell_len, 0))
        moved_away = row.before - row.after if row.after is not None else frozenset()
        line.append_text(_partitions(moved_away, row.before, each, colours.error))
        line.append(" → ", style=colours.dim)
        if row.after is None:
            line.append(f"{'not yet':<{each}}", style=colours.warning)
        else:
            line.append_text(_partitions(row.after - row.before, row.after, each, colours.ok))
        line.append(f"{count(row.lag) if row.lag is not None else '–':>9}  ")
        line.append_text(self._heartbeat(row, bar))
        return line

    def _heartbeat(self, row: MemberRow, bar: int) -> Text:
        colours = self.palette
        if row.sign == GONE:
            return ink("removed", f"bold {colours.error}")
        if row.heard_ms_ago is None:
            return ink("not known", colours.dim)
        story = self.choice.story(self.model.groups)
        if story is not None and (age_us := self.model.old_us(story.coordinator)):
            return ink(f"? {old(age_us)}", colours.dim)
        if row.waits:
            return ink(f"its {row.waits} waits", colours.dim)
        left_ms = row.session_timeout_ms - row.heard_ms_ago
        style = f"bold {colours.error}" if left_ms * 2 < row.session_timeout_ms else ""
        text = Text("")
        if bar and row.session_timeout_ms:
            full, rest = gauge(max(left_ms, 0) / row.session_timeout_ms, bar)
            text.append(full, style=style or colours.ok).append(f"{rest} ", style=colours.dim)
        if style:
            return text.append(f"silent {duration(row.heard_ms_ago)}", style=style)
        return text.append(f"{duration(row.heard_ms_ago)} ago")


def _partitions(
    changed: frozenset[tuple[str, int]], all_: frozenset[tuple[str, int]], width: int, style: str
) -> Text:
    """Draw partitions. Those that moved to another member are bold, in this style."""
    words = partitions_words(all_)
    text = ink(words if len(words) <= width else words[: width - 1] + "…")
    if changed and changed == all_:
        text.stylize(f"bold {style}")
    elif changed:
        position = 0
        for topic, partition in sorted(all_):
            position = text.plain.find(str(partition), max(text.plain.find(f"{topic}-"), position))
            if position < 0:
                break
            if (topic, partition) in changed:
                text.stylize(f"bold {style}", position, position + len(str(partition)))
            position += len(str(partition))
    text.pad_right(max(width - text.cell_len, 0))
    return text


class OffsetLines(Lines):
    """One line for each partition: its reader, its committed offset, and its lag."""

    subject = GROUP_MEMBERS
    orders = (Order("partition"), Order("owner"), Order("committed", greatest_first=True))

    def __init__(self, model: Model, choice: GroupChoice) -> None:
        super().__init__(id="offsets")
        self.model = model
        self.choice = choice
        self._rows: list[OffsetRow] = []

    def tick(self) -> None:
        story = self.choice.story(self.model.groups)
        self._rows = self.model.groups.offsets(story) if story is not None else []
        super().tick()

    def count(self) -> int:
        return len(self._rows)

    def values(self, index: int) -> Mapping[str, Value | None]:
        row = self._rows[index]
        topic, partition = row.partition
        return {
            "partition": f"{topic}-{partition:09}",
            "owner": row.owner,
            "committed": row.committed,
        }

    def empty(self) -> str:
        return "no offsets are committed"

    def line(self, index: int) -> Text:
        view, colours, row = self.model.groups, self.palette, self._rows[index]
        width = min(self.scrollable_content_region.width, _OFFSET_COLUMNS)
        topic, partition = row.partition
        style = "bold"
        if view.glow.glows("offset", self.choice.group, topic, partition):
            style += f" on {colours.glow}"
        right = ink(f"{count(row.committed) if row.committed is not None else '–':>9}")
        right.append(" of ", style=colours.dim)
        right.append(f"{count(row.hw) if row.hw is not None else '?':<9}")
        unknown = "?" if row.hw is None else "–"
        lag = f" lag {count(row.lag) if row.lag is not None else unknown}"
        right.append(f"{lag:>12}", style=f"bold {colours.warning}" if row.lag else "")
        if width >= 72:
            top = max((each.lag or 0 for each in self._rows), default=0)
            full, rest = gauge((row.lag or 0) / top if top else 0.0, _LAG_BAR)
            right.append(f" {full}", style=colours.warning).append(rest, style=colours.dim)
        line = ink(f"{topic}-{partition} ", style)
        line.append(row.owner or "nobody", style=colours.dim)
        line.truncate(max(width - right.cell_len - 1, 8), overflow="ellipsis")
        line.pad_right(max(width - right.cell_len - line.cell_len, 0))
        return line.append_text(right)
