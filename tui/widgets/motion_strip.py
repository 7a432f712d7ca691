"""Slow motion (`m`): one sampled record drawn to scale, or one timer task that moves down the
wheels.
"""

from typing import Final

from rich.text import Text

from kafka_edu.instruments.sentences import teller

from ..subjects import MOTION
from ..view_model.figures import duration
from ..view_model.motion_lanes import Lane, Lanes, axis, column
from ..view_model.motion_view import Journey
from .drawn import Drawn, ink, set_rows, stacked

_PASSED, _AHEAD, _MARK, _STOP, _NEXT = "━", "─", "◆", "●", "○"
_BOX: Final = "■"
_SESSION_BAR: Final = 20
_NAME: Final = 20
"""The maximum width of a lane's name, in columns."""
_LABEL: Final = 12
"""The columns to the right of the axis. They leave room for the label of the last mark."""
_LEAST: Final = 6


class MotionStrip(Drawn):
    """Shows one journey of slow motion. The first line says what is shown, and by which factor it
    is slowed.

    For a record, an axis and a lane for each process follow. For a task, its stations, the way
    between them, and the true times follow.
    """

    subject = MOTION

    def tick(self) -> None:
        """Set the widget's height: one row for each lane, and one for the border."""
        rows = self.draw().plain.count("\n") + 2
        set_rows(self, rows)
        super().tick()

    def draw(self) -> Text:
        motion, colours = self.model.motion, self.palette
        if motion.journey is None:
            lines = [
                ink(
                    "slow motion: waits for a record to be produced, or a task to come down",
                    colours.dim,
                )
            ]
        else:
            lines = self._way(motion.journey)
        lines += self._session()
        return stacked(lines, self.size.width)

    def _way(self, journey: Journey) -> list[Text]:
        motion, colours = self.model.motion, self.palette
        head = ink(f"{journey.what}: ", "bold")
        head.append(
            f"1 of {journey.of:,} {journey.kind}, slowed {journey.factor:,}×",
            style=f"bold {colours.warning}",
        )
        head.append(
            f"   {_exact(motion.at_us)} of {_exact(journey.length_us)} in all", style=colours.dim
        )
        if journey.lanes is not None:
            return [head, *self._lanes(journey.lanes)]
        stations = journey.stations
        cell = max((self.size.width - 1) // len(stations), _LEAST)
        last, part = motion.place()
        names, way, times = Text(), Text(), Text()
        for at, station in enumerate(stations):
            colour = colours.broker(station.source.broker)
            reached = at <= last
            name = f"{teller(station.source)} {station.label}"
            name = name if len(name) < cell else f"{name[: max(cell - 2, 1)]}…"
            names.append(
                name.ljust(cell),
                style=f"bold {colour}" if at == last else colour if reached else colours.dim,
            )
            way.append(_STOP if reached else _NEXT, style=colour if reached else colours.dim)
            if at + 1 < len(stations):
                done = cell - 1 if at < last else int(part * (cell - 1)) if at == last else 0
                way.append(_PASSED * done, style=colour)
                if at == last and done < cell - 1:
                    way.append(_MARK, style=f"bold {colours.warning}")
                    done += 1
                way.append(_AHEAD * (cell - 1 - done), style=colours.dim)
            since = f"+{_exact(station.at_us - stations[0].at_us)}" if at else "0"
            times.append(since[: cell - 1].ljust(cell), style="" if reached else colours.dim)
        return [head, names, way, times]

    def _lanes(self, lanes: Lanes) -> list[Text]:
        """Return the axis and the lanes. The part after the displayed moment is dim."""
        names = [_lane_name(lane) for lane in lanes.lanes]
        gutter = min(max(map(len, names)) + 1, _NAME)
        width = max(self.size.width - gutter, 20)
        grid = lane_grid(lanes, width)
        colours, now_us = self.palette, self.model.motion.at_us
        now = column(now_us, lanes.length_us, width - _LABEL)
        if now_us >= lanes.length_us:
            now = width
        travelling = {
            move.ends.lane for move in lanes.moves if move.begins.at_us <= now_us < move.ends.at_us
        }
        lines = [ink(" " * gutter + axis(lanes.length_us, width - _LABEL), colours.dim)]
        for at, (lane, name, row) in enumerate(zip(lanes.lanes, names, grid, strict=True)):
            colour = colours.broker(lane.source.broker if lane.source else None)
            line = ink(name[: gutter - 1].ljust(gutter), f"bold {colour}")
            done = "".join(row[: now + 1])
            if at in travelling:
                line.append(done[:-1], colour).append(_MARK, f"bold {colours.warning}")
            else:
                line.append(done, colour)
            lines.append(line.append("".join(row[now + 1 :]), colours.dim))
        return lines

    def _session(self) -> list[Text]:
        """Return a countdown for one session: of the sessions without a connection, the one that
        ends first.
        """
        colours, zookeeper = self.palette, self.model.zookeeper
        now_us = self.model.cluster.glow.now_us
        brokers = self.model.cluster.brokers.by_id
        dying = [
            (left, session)
            for session in zookeeper.sessions.values()
            if session.broker is not None
            and (known := brokers.get(session.broker)) is not None
            and known.process in ("paused", "stopped")
            and (left := session.left_ms(now_us)) is not None
        ]
        if not dying:
            return []
        left, session = min(dying, key=lambda one: one[0])
        full = round(left / max(session.timeout_ms, 1) * _SESSION_BAR)
        line = ink(
            f"session of broker {session.broker}  ", f"bold {colours.broker(session.broker)}"
        )
        line.append("▕" + "█" * full + " " * (_SESSION_BAR - full) + "▏", style=colours.warning)
        line.append(f" ends in {duration(left)} (not slowed)", style="bold")
        return [line]


def _lane_name(lane: Lane) -> str:
    if lane.source is None:
        return lane.name
    return f"{lane.source} {'●' if lane.name == 'leads' else '○'}"


def lane_grid(lanes: Lanes, width: int) -> list[list[str]]:
    """Return the characters of each lane: moves, marks at their columns, and labels that have room.

    A move begins at its mark, goes vertically to the other lane, and then runs along the time axis.
    """
    grid = [[" "] * width for _ in lanes.lanes]

    def place(us: int) -> int:
        return column(us, lanes.length_us, width - _LABEL)

    for move in lanes.moves:
        begins, ends = place(move.begins.at_us), place(move.ends.at_us)
        down = move.ends.lane > move.begins.lane
        for lane in range(*sorted((move.begins.lane, move.ends.lane)))[1:]:
            if grid[lane][begins] == " ":
                grid[lane][begins] = "│"
        row = grid[move.ends.lane]
        if ends > begins:
            row[begins] = "└" if down else "┌"
            row[begins + 1 : ends] = "─" * (ends - begins - 1)
            if ends - 1 > begins:
                row[ends - 1] = "▶"
    for mark in lanes.marks:
        grid[mark.lane][place(mark.at_us)] = _BOX
    for mark in lanes.marks:
        row, at = grid[mark.lane], place(mark.at_us)
        room = next((i for i in range(at + 1, width) if row[i] != " "), width + 1) - at - 3
        before = at - 1 - max((i for i in range(at) if row[i] != " "), default=-2)
        if room >= len(mark.label):
            row[at + 2 : at + 2 + len(mark.label)] = mark.label
        elif before > len(mark.label) + 1:
            row[at - 1 - len(mark.label) : at - 1] = mark.label
        elif room > _LEAST:
            row[at + 2 : at + 2 + room] = mark.label[: room - 1] + "…"
    return grid


def _exact(us: int) -> str:
    """Return a time as a text. A short time has tenths of a millisecond."""
    return f"{us / 1000:.1f} ms" if us < 100_000 else duration(us / 1000)
