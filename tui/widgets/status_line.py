"""The head of every screen: whether all is well, and facts about the cluster."""

from collections import Counter
from collections.abc import Mapping
from typing import Final

from rich.text import Text

from kafka_edu.common.words import plural
from kafka_edu.instruments.backlog import FACTS, HOPS
from kafka_edu.instruments.replay import Replay
from kafka_edu.trace.events.simulation import SimulationSampled

from ..model import Model
from ..reader import reader_of
from ..subjects import HEADER
from ..view_model.figures import clock, duration
from .drawn import Drawn, ink, stacked

LATE_US: Final = 2_000_000
"""Events that arrive later than this, in µs, do not show the current state."""


def left_out_words(left_out: Mapping[str, int]) -> str:
    """Return in words what is not shown: `left out 1,240 samples, 30 hops, 5 facts`."""
    counts = Counter[str]()
    for name, count in left_out.items():
        counts["fact" if name in FACTS - HOPS else "hop" if name in HOPS else "sample"] += count
    words = [plural(counts[kind], kind) for kind in ("sample", "hop", "fact") if counts[kind]]
    return f"left out {', '.join(words)}"


def _run_clock(run: SimulationSampled, at_us: int) -> str:
    """Convert a virtual time to the clock that is shown for a simulated run: it counts from the
    start of the run.
    """
    return f"{max(at_us - run.run_us, 0) / 1e6:.3f} s" if run.run_us else "starting"


class StatusLine(Drawn, can_focus=True):
    """Two lines: first the verdict; then cluster, up time, controller and ZooKeeper.

    At the right is "live", or the delay of the events, or the position in the recording.
    """

    subject = HEADER

    def __init__(self, model: Model, replay: Replay | None) -> None:
        super().__init__(model)
        self._replay = replay

    @property
    def _is_late(self) -> bool:
        return self._replay is None and self.model.late_us > LATE_US

    def _simulated(self, run: SimulationSampled) -> Text:
        """Return the clock of a simulated run, its speed, and how far a step goes."""
        colours = self.palette
        clock = _run_clock(run, run.at_us)
        if run.state == "replaying":
            return ink(f" ↻ {run.note or 'executed again'} ", f"bold reverse {colours.warning}")
        if run.state == "running":
            speed = f"×{run.speed_percent / 100:g}" if run.speed_percent else "×max"
            return ink(f"▶ sim {clock} {speed}", f"bold {colours.ok}")
        sign = "■ end of" if run.state == "ended" else "‖"
        unit = "" if run.state == "ended" else f" · step: {run.unit}"
        return ink(f" {sign} sim {clock}{unit} ", f"bold reverse {colours.warning}")

    def _mode(self) -> Text:
        replay, colours, pause = self._replay, self.palette, self.model.pause
        run = self.model.simulation
        if run is not None and (pause is None or run.state == "replaying"):
            return self._simulated(run)
        if pause is not None and replay is None:
            sign = f"▶ ×{pause.speed:g}" if pause.speed else "‖"
            lost = f", {pause.not_held:,} not held" if pause.not_held else ""
            words = f"{duration(pause.behind_us / 1000)} behind{lost}"
            if run is not None and self.size.width >= 100:
                at_us = self.model.cluster.glow.now_us
                words = f"sim {_run_clock(run, at_us)} · {words}"
                words += " · space: go on here" * self.model.goes_on_in_past
            words = f"{sign} {words}"
            return ink(f" {words} · z: now " if self.size.width >= 100 else f" {words} ",
                       f"bold reverse {colours.warning}")  # fmt: skip
        if self._is_late:
            return ink(f"▶ {duration(self.model.late_us / 1000)} late", f"bold {colours.warning}")
        if replay is None and self.model.cluster.brokers.by_id and self.model.unknown():
            return ink("… reading", f"bold {colours.warning}")
        if replay is None:
            up = self.model.cluster.supervised
            return (
                ink("▶ live", f"bold {colours.ok}")
                if up is not False
                else ink("■ down", f"bold {colours.error}")
            )
        sign = "▶" if replay.playing else "■ end" if replay.ended else "‖"
        speed = f" ×{replay.speed:g}" if replay.speed != 1 else ""
        at = (
            f"{sign} {'replay ' if self.size.width >= 100 else ''}{replay.at_ms / 1000:.1f} of"
            f" {replay.length_ms / 1000:.1f} s{speed}"
        )
        return ink(at, f"bold {colours.warning}")

    def draw(self) -> Text:
        view, colours, width = self.model.cluster, self.palette, self.size.width - 2
        kind, words = self.model.verdict()
        if kind == "ok" and self._is_late:
            ago = duration(self.model.late_us / 1000)
            kind, words = "warning", f"… {ago} ago: {words.removeprefix('✓ ')}"
        if self.model.pause is not None and self.model.pause.stopped_by:
            kind, words = "warning", f"■ stopped: {self.model.pause.stopped_by}"
        mode = self._mode()
        held = reader_of(self).filter_words
        if held:
            mode = Text.assemble((f"/{' '.join(held)}  ", f"bold {colours.warning}"), mode)
        room = max(width - mode.cell_len - 2, 10)
        if len(words) > room:  # the cause is at the end
            words = words.replace(" partitions ", " ", 1)
        first = ink(words, f"bold {colours.verdict(kind)}")
        first.truncate(room, overflow="ellipsis")
        first.append(" " * max(width - first.cell_len - mode.cell_len, 1))
        first.append_text(mode)
        parts = [Text.assemble("cluster ", (view.name or "?", "bold"))]
        if self.model.simulation is not None:
            parts.append(Text(f"future {self.model.simulation.future}"))
        if self.model.left_out:
            parts.append(ink(left_out_words(self.model.left_out), f"bold {colours.warning}"))
        if view.up_ms is not None:
            parts.append(Text(f"up {clock(view.up_ms)}"))
        controller = ink(
            "♛ controller ", f"on {colours.glow}" if view.glow.glows("controller") else ""
        )
        if view.controller >= 0:
            alive = view.brokers.alive(view.controller)
            guest = " (guest)" if view.controller in view.brokers.guests else ""
            controller.append(
                f"broker {view.controller}{guest}{'' if alive else ' ✕'}",
                style=f"bold {colours.broker(view.controller)}",
            )
            if view.controller_epoch:  # a guest does not send its epoch
                controller.append(f" (epoch {view.controller_epoch})")
        elif view.controller_unknown:
            controller.append("?", style=f"bold {colours.warning}")
        else:
            controller.append("none", style=f"bold {colours.error}")
        parts.append(controller)
        if not view.zookeepers:
            parts.append(Text(f"zk {view.zookeeper}" if view.zookeeper else "zk ?"))
        else:
            up, count = sum(view.zookeepers.values()), len(view.zookeepers)
            state = (
                (f"{up}/{count}", colours.ok) if up == count else (f"✕ {up}/{count}", colours.error)
            )
            leader = f", {view.zookeeper_leader} leads" if view.zookeeper_leader is not None else ""
            parts.append(
                Text.assemble("zk ", state, f" {view.zookeeper}" if view.zookeeper else "", leader)
            )
        partitions, under, offline = view.partitions.counts()
        if self.model.unknown():
            so_far = f"{plural(partitions, 'partition')} so far" if partitions else "partitions ?"
            parts.append(Text(so_far))
        else:
            counts = f"{under:,} under-replicated, {offline:,} offline"
            style = colours.dim if self.model.silence() else ""
            parts.append(ink(f"{plural(partitions, 'partition')}, {counts}", style))
        while len(parts) > 2 and sum(part.cell_len + 3 for part in parts) - 3 > width:
            parts.pop()  # the last parts are the least important ones
        second = ink(" · ", colours.dim).join(parts)
        return stacked([first, second], width)
