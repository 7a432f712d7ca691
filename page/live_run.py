"""A simulated run in the page. Its turns are callbacks of the page's event loop.

The stage is the object that plays the simulated cluster. In the page, the stage and the dashboard
share one thread. The stage ends its turn at the latest after `stage.TICK_S`, so that the dashboard
can answer keys and draw frames between two turns. A turn is a plain callback and no task, because
Python lets no task run inside another one, and the simulation runs tasks.

If the machine is too slow for the speed of the run, one turn follows the other without a pause. To
process an event or draw a frame, the dashboard needs many passes of the loop one after the other.
With one pass between two turns, the dashboard fell ten virtual seconds behind. So there are PASSES
passes between two turns, or fewer if they take longer than FAIR_S.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Final

from kafka_edu.cli.sim.watched_stage import CommandRefused, WatchedStage, silence_faults
from kafka_edu.sim.scenario.language import Scenario
from kafka_edu.sim.stage.stage import Opening
from kafka_edu.supervisor.action_client import ActionRefusedError
from kafka_edu.trace.memory_pipe import MemoryPipes
from tui.asking import Values

REST_S: Final = 0.01
PASSES: Final = 30
FAIR_S: Final = 0.05
"""The dashboard gets at least as much time as the longest turn, `stage.TICK_S`."""
MOST_UNSEEN: Final = 1_000
"""With more events that the dashboard has not processed, the run waits. So what is shown is never
much older than the run.
"""
FEW_UNSEEN: Final = 100
GAUGES_S: Final = 1.0
"""With more than FEW_UNSEEN events, gauges are sampled only once in GAUGES_S, because the dashboard
has still to process the samples before. Facts are always sent.
"""
INDEX_BYTES: Final = ("log.index.size.max.bytes", str(1 << 16))
"""An empty index uses all its memory here, because WebAssembly has no pages that are mapped when
they are written. With Kafka's 10 MB for each index, three small brokers needed 200 MB. An index of
this size serves 32 MB of records before its segment is rolled.
"""


def with_small_indexes(scenario: Scenario) -> Scenario:
    """Return the scenario with indexes that fit into the page. Files in which a future of the run
    is saved contain this setting too.
    """
    if any(key == INDEX_BYTES[0] for key, _ in scenario.properties):
        return scenario
    return scenario._replace(properties=(*scenario.properties, INDEX_BYTES))


class LiveRun:
    """Plays a scenario in this thread, between the other callbacks of the loop."""

    def __init__(
        self,
        scenario: Scenario,
        seed: int,
        keep: Callable[[int, str], str],
        opening: Opening | None = None,
    ) -> None:
        """`keep` stores the text of a future (a run that continued from a past moment). It gets the
        future's number and text, and returns a name for it. With an `opening`, the run begins at
        the moment of the opening.
        """
        self.pipes = MemoryPipes()
        small = with_small_indexes(scenario)
        self.watched = WatchedStage(
            small, seed, self.pipes, scenario.name, keep, self._wake, opening=opening
        )
        self.pipes.token = self.watched.events.token
        self._turns = self.watched.stage.turns()
        self._next: asyncio.Handle | None = None
        self._passes = 0
        """How many passes of the loop are left before the next turn."""
        self._fair_until_s = 0.0
        self._sampled_s = 0.0
        """When gauges were last sampled."""
        self.unseen: Callable[[], int] = lambda: 0
        """Returns how many events have arrived at the dashboard that it has not processed yet."""
        self.failed = ""
        """Why the run has ended by itself. Empty: it has not."""

    async def begin(self) -> None:
        """Listen for a subscriber. The run begins when somebody watches it."""
        silence_faults()
        await self.watched.events.listen()
        self._later(REST_S)

    async def ask(self, name: str, values: Values) -> str:
        """Carry out a command or an act, and return the answer (implements `tui.asking.Ask`)."""
        if self.failed:
            raise ActionRefusedError(self.failed)
        try:
            return await self.watched.ask(name, values)
        except CommandRefused as error:
            raise ActionRefusedError(str(error)) from None

    def end(self) -> None:
        """End the run: there are no more turns, the subscriber's connection ends, and waiting
        commands are refused.
        """
        if self._next is not None:
            self._next.cancel()
            self._next = None
        self.pipes.close()
        for command in self.watched.stage.commands:
            command.answer(False, self.failed or "the run has ended")
        self.watched.stage.commands.clear()

    def _wake(self) -> None:
        """Take the next turn soon, because a command has come."""
        if self._next is not None:
            self._next.cancel()
            self._later(0.0)

    def _later(self, seconds: float) -> None:
        self._next = asyncio.get_running_loop().call_later(seconds, self._turn)

    def _turn(self) -> None:
        self._next = None
        watched = self.watched
        if not watched.events.watched or watched.is_behind or self.unseen() > MOST_UNSEEN:
            self._later(REST_S)
            return
        try:
            at_most_s = next(self._turns, None)
        except Exception as error:
            self.failed = f"the simulation has ended: {type(error).__name__}: {error}"
            self.end()
            raise
        now_s = time.monotonic()
        due = now_s - self._sampled_s >= GAUGES_S or self.unseen() < FEW_UNSEEN
        if watched.send(gauges=due):
            self._sampled_s = now_s
        if at_most_s is None:
            return
        if at_most_s > 0:
            self._later(at_most_s)
        else:
            self._passes, self._fair_until_s = PASSES, time.monotonic() + FAIR_S
            self._pass()

    def _pass(self) -> None:
        """Let the dashboard run for one more pass of the loop, or take the next turn."""
        self._passes -= 1
        if self._passes > 0 and time.monotonic() < self._fair_until_s:
            self._next = asyncio.get_running_loop().call_soon(self._pass)
        else:
            self._later(0.0)
