"""A stage and the stream of its events, for programs that watch it and send acts to it.

A stage plays one simulated run. This module opens no sockets: the caller passes the transport of
the events, and each command is a call. So the same class serves a dashboard in another process and
a dashboard in the same process.
"""

import asyncio
import logging
import secrets
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from kafka_edu.common.time import SystemTime
from kafka_edu.common.transport import Transport
from kafka_edu.instruments.breakpoints import Breakpoints
from kafka_edu.sim.scenario.acts import Act
from kafka_edu.sim.scenario.language import Scenario
from kafka_edu.sim.scenario.scenario_run import ActName
from kafka_edu.sim.stage.stage import Command, Opening, Stage, supervisors_act
from kafka_edu.sim.stage.stage_tracer import StageTracer
from kafka_edu.supervisor.act_table import ACTS
from kafka_edu.trace.event import Envelope
from kafka_edu.trace.socket_sink import EventServer

SHOW_EVERY_S: Final = 0.1
MOST_UNSENT: Final = 1 << 20
"""While this many bytes of events wait to be sent, the simulation waits."""


def name_of(act: Act) -> ActName:
    """Return how the supervisor of a real cluster names an act."""
    name, values = supervisors_act(act)
    return ActName(name, ACTS[name].title_with(values) if name in ACTS else name)


def silence_faults() -> None:
    """Let this process drop the logs and warnings that the faults of a run cause.

    Brokers log what a fault does to them. Coroutines of a killed process are never awaited.
    """
    logging.disable(logging.CRITICAL)
    warnings.filterwarnings("ignore", "coroutine .* was never awaited")


class CommandRefused(Exception):
    """The stage did not carry out a command. The text says why."""


class WatchedStage:
    """The host of a stage: it passes on the stage's events, and the commands for it. The owner of
    this object iterates over `stage.turns`, and calls `send` in each turn.
    """

    def __init__(
        self,
        scenario: Scenario,
        seed: int,
        transport: Transport,
        cluster: str,
        keep: Callable[[int, str], str],
        wake: Callable[[], None],
        *,
        follows: bool = False,
        opening: Opening | None = None,
        by_hand: Sequence[Act] = (),
    ) -> None:
        """`keep` writes a future of the run to a file, as `Host.keep` does. `wake` is called when a
        command has come. With `follows`, the run goes only as far as a second run that it follows.
        With an `opening`, the run begins at the moment of the opening. `by_hand` are acts that a
        user has made in an earlier stage.
        """
        self._keep = keep
        self._wake = wake
        self._shown_s = 0.0
        self.stage = Stage(
            scenario,
            seed,
            self,
            follows=follows,
            names_act=name_of,
            opening=opening,
            by_hand=by_hand,
        )
        self._tracer = StageTracer(lambda: self.stage.cluster)
        self.events = EventServer(
            self._tracer,
            transport,
            SystemTime(),
            secrets.token_hex(16),
            cluster=cluster,
            ring_minutes=0,
        )
        self._breakpoints = Breakpoints()
        self.stage.stops_at = lambda fact: self._breakpoints.hit(fact) is not None
        self._tracer.on_gauge = self._look_at_gauge

    def _look_at_gauge(self, gauge: Envelope) -> None:
        if self._breakpoints.hit(gauge) is not None:
            self.stage.stand_still()

    @property
    def is_behind(self) -> bool:
        """Return whether the simulation must wait, so that no subscriber misses a fact."""
        return self.events.unsent > MOST_UNSENT

    def take(self, command: Command) -> None:
        """Take a command. The stage carries it out in one of its next turns."""
        self.stage.commands.append(command)
        self._wake()

    async def ask(self, name: str, values: Mapping[str, object]) -> str:
        """Have a command carried out, and return its result. Raises CommandRefused."""
        if name == "sim-stops":
            self._breakpoints.chosen = set(filter(None, str(values.get("names", "")).split("|")))
            return ""
        result: asyncio.Future[tuple[bool, str]] = asyncio.get_running_loop().create_future()

        def answer(ok: bool, text: str) -> None:
            if not result.done():
                result.set_result((ok, text))

        self.take(Command(name, values, answer))
        ok, text = await result
        if not ok:
            raise CommandRefused(text)
        return text

    def send(self, *, gauges: bool = True) -> bool:
        """Send new events and samples, but not more often than every SHOW_EVERY_S. Without
        `gauges`, only the state of the run is sampled. Return whether gauges were sampled.

        A run that follows a second run is sampled only when it stands still at the moment of the
        second run. Samples on the way would take half of the time that it needs to get there, and
        nobody could compare them.
        """
        if self.now_s() - self._shown_s < SHOW_EVERY_S:
            return False
        if self.stage.catches_up or not gauges:
            self._shown_s = self.now_s()
            self._show_state()
            return False
        self.sample()
        return True

    def sample(self) -> None:
        self._shown_s = self.now_s()
        if self.stage.sampled().state != "replaying":  # viewers have seen it already
            self._tracer.pass_on_processes()
            self.events.tick()
        self._show_state()

    def _show_state(self) -> None:
        self._tracer.pass_on_sample(self.stage.sampled())
        self.events.flush()

    def now_s(self) -> float:
        return time.monotonic()

    def show(self, envelope: Envelope) -> None:
        self._tracer.pass_on(envelope, self.stage.cluster.sink.rank)

    def turned(self) -> None:
        self._show_state()
        self.events.send_snapshots()

    def keep(self, future: int, text: str) -> str:
        return self._keep(future, text)
