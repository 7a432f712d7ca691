"""The list of controller events, the newest last, and the list of partitions by last election."""

from typing import Final, NamedTuple

from rich.text import Text

from kafka_edu.trace.event import Envelope
from kafka_edu.trace.events.controller import LeaderElected, LeaderElectionFailed

from ..model import Model
from ..subjects import CONTROLLER_QUEUE, DECISIONS
from ..view_model.controller_view import ControllerEventView, Decision, partition_of
from ..view_model.figures import duration
from ..view_model.partition_view import PartitionKey
from .controller_head import took
from .drawn import Drawn, Lines, ink
from .event_text import coloured, wall_clock

_WIDE: Final = 100
DWELL_US: Final = 5_000_000


class EventGroup(NamedTuple):
    """One event, or several events in a row that had no result."""

    last: ControllerEventView
    times: int
    names: tuple[str, ...]


def grouped(events: list[ControllerEventView]) -> list[EventGroup]:
    """Put neighbouring events without a result into one group."""
    groups: list[EventGroup] = []
    for event in events:
        name = f"{event.name} {event.detail}".rstrip()
        if groups and event.idle and groups[-1].last.idle:
            _, times, names = groups[-1]
            every = tuple(dict.fromkeys([*(n.partition(" ")[0] for n in names), event.name]))
            groups[-1] = EventGroup(event, times + 1, every)
        else:
            groups.append(EventGroup(event, 1, (name,)))
    return groups


def _name_width(width: int) -> int:
    return 44 if width >= 150 else 34 if width >= 115 else 26 if width >= _WIDE else 22


class EventsHead(Drawn):
    """The headings of the columns."""

    subject = CONTROLLER_QUEUE

    def draw(self) -> Text:
        width = self.size.width
        clock = f"{'time':<13}" if width >= _WIDE else ""
        head = f"{clock}{'by':<3}{'event':<{_name_width(width)}}{'waited':>8} {'took':>8}  "
        text = ink(head + "what followed", f"bold {self.palette.dim}")
        text.truncate(width)
        return text


class EventLines(Lines):
    """One line for each event.

    The cursor follows the newest event with a result, until the user moves it. When the user moves
    it to the end of the list, it follows again.
    """

    subject = CONTROLLER_QUEUE

    def __init__(self, model: Model) -> None:
        super().__init__(id="controller-events")
        self.model = model
        self._following = True
        self._followed: tuple[tuple[int, int], int] = ((-1, -1), -1)
        self._groups: list[EventGroup] = []
        self._of: tuple[int, int] = (-1, -1)

    def groups(self) -> list[EventGroup]:
        """Return the events in groups. O(events), only after a change."""
        view = self.model.controller
        stamp = id(view), view.version
        if stamp != self._of:
            self._groups, self._of = grouped(list(view.events)), stamp
        return self._groups

    @property
    def chosen(self) -> ControllerEventView | None:
        groups = self.groups()
        return groups[min(self.cursor, len(groups) - 1)].last if groups else None

    def newest(self) -> int:
        """Return the index of the newest event that decided something.

        If an event elected leaders, this event is returned instead of events that follow within
        DWELL_US, so that there is time to read it.
        """
        groups = self.groups()
        decided = [index for index, group in enumerate(groups) if group.last.decided]
        if not decided:
            return max(len(groups) - 1, 0)
        last_us = groups[decided[-1]].last.envelope.mono_us
        for index in reversed(decided):
            event = groups[index].last
            if last_us - event.envelope.mono_us > DWELL_US:
                break
            if event.elected or event.failed:
                return index
        return decided[-1]

    def action_move(self, by: int) -> None:
        super().action_move(by)
        self._following = self.cursor >= self.newest() and not self._words

    def tick(self) -> None:
        super().tick()
        stamp, newest = self._of, self.newest()
        if self._following and not self._words:
            if (stamp, newest) != self._followed:
                super().action_move(newest - self.cursor)
            top = max(min(self.count() - self.size.height, self.cursor), 0)
            if self.scroll_offset.y != top:
                self.scroll_to(y=top, animate=False, force=True)
        self._followed = stamp, newest

    def count(self) -> int:
        return len(self.groups())

    def empty(self) -> str:
        return "the controller had nothing to do since you began to look"

    def line(self, index: int) -> Text:
        event, times, names = self.groups()[index]
        colours, width = self.palette, self.size.width
        glows = self.model.controller.glow.glows("event", event.envelope.source, event.envelope.seq)
        line = Text()
        if width >= _WIDE:
            line.append(f"{wall_clock(event.envelope.wall_ms)} ", colours.dim)
        if times > 1:
            line.append("·  ", colours.dim)
        else:
            line.append(f"b{event.broker:<2}", f"bold {colours.broker(event.broker)}")
        name = f"{times} × {', '.join(names)}" if times > 1 else names[0]
        room = _name_width(width) - 1
        name = name if len(name) <= room else name[: room - 1] + "…"
        idle = event.idle
        strong = f"bold on {colours.glow}" if glows else "bold"
        line.append(f"{name:<{room + 1}}", colours.quiet(glows) if idle else strong)
        line.append(f"{took(event.queued_us) if times == 1 else '':>8} ", colours.dim)
        if event.took_us is None:
            line.append(f"{'busy':>8}  ", f"bold {colours.warning}")
        else:
            words = took(event.took_us) if times == 1 else ""
            line.append(f"{words:>8}  ", colours.dim if idle else "")
        said = ink(event.outcome(), colours.dim if idle else "")
        said.highlight_regex("✕[^·]*", f"bold {colours.error}")
        said.highlight_regex("♛[^·]*", f"bold {colours.warning}")
        line.append_text(coloured(said, colours))
        return line


class PartitionDecisions(Lines):
    """One line for each partition that had an election, the newest first."""

    subject = DECISIONS

    def __init__(self, model: Model) -> None:
        super().__init__(id="controller-partitions")
        self.model = model
        self._keys: list[PartitionKey] = []
        self._of: tuple[int, int] = (-1, -1)

    def keys(self) -> list[PartitionKey]:
        """Return the partitions. O(partitions), only after a change."""
        view = self.model.controller
        stamp = id(view), view.version
        if stamp != self._of:
            self._keys, self._of = list(reversed(view.decisions)), stamp
        return self._keys

    @property
    def chosen(self) -> Decision | None:
        keys = self.keys()
        decisions = self.model.controller.decisions
        return decisions.get(keys[min(self.cursor, len(keys) - 1)]) if keys else None

    def count(self) -> int:
        return len(self.keys())

    def empty(self) -> str:
        return "no leader was elected since you began to look"

    def line(self, index: int) -> Text:
        view, colours = self.model.controller, self.palette
        decision = view.decisions[self.keys()[index]]
        key = partition_of(decision.envelope)
        ago = duration((view.glow.now_us - decision.envelope.mono_us) / 1000)
        glow = f" on {colours.glow}" if view.glow.glows("decision", key) else ""
        line = ink(f"{key!s:<24} ", "bold" + glow)
        line.append_text(result_of(decision.envelope, colours.error, colours.ok))
        line.append(f"  {ago} ago", colours.dim)
        return coloured(line, colours)


def result_of(envelope: Envelope, error: str, ok: str) -> Text:
    """Return the result of an election in a few words."""
    match envelope.event:
        case LeaderElected() as e:
            before = "nobody" if e.old_leader < 0 else f"broker {e.old_leader}"
            text = ink("✓ ", f"bold {ok}")
            text.append(f"{before} → broker {e.new_leader}, epoch {e.leader_epoch}, {e.strategy}")
            if e.unclean:
                text.append(" UNCLEAN", f"bold {error}")
            return text
        case LeaderElectionFailed() as e:
            return ink("✕ no leader", f"bold {error}").append(f", {e.strategy}")
    return Text()
