"""Slow motion (`m`): one sampled record or timer task travels from station to station."""

from typing import Final

from rich.text import Text

from kafka_edu.instruments.sentences import teller

from ..subjects import MOTION
from ..view_model.figures import duration
from ..view_model.motion_view import Journey
from .drawn import Drawn, ink, stacked

_PASSED, _AHEAD, _MARK, _STOP, _NEXT = "━", "─", "◆", "●", "○"
_SESSION_BAR: Final = 20
_LEAST: Final = 6


class MotionStrip(Drawn):
    """Four lines: what it is and how much it is slowed, the stations, the way, the true times."""

    subject = MOTION

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

    def _session(self) -> list[Text]:
        """Count down the session that is nearest to its end, if it has lost its connection."""
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


def _exact(us: int) -> str:
    """Return a time to a tenth of a millisecond where it is short."""
    return f"{us / 1000:.1f} ms" if us < 100_000 else duration(us / 1000)
