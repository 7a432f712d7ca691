"""A stored future of a simulated run, played next to the present one, moment by moment.

The stored future is executed again from its file, in a separate process. So none of its events have
to be kept while the present run goes on, and every stored future can be shown.
"""

import asyncio
from pathlib import Path
from typing import Final

from kafka_edu.instruments.stage_feed import StageFeed
from kafka_edu.supervisor.action_client import ActionRefusedError, NoSupervisorError
from kafka_edu.trace.events.simulation import SimulationSampled

from ..asking import by_socket
from ..model import Model
from ..player import Player
from ..simulation import Simulation
from .first_difference import FirstDifference
from .lockstep import Lockstep

POINTS_AT_ONCE: Final = 200
LOOK_EVERY_S: Final = 0.05
SLICE: Final = 100
MOST_SLICES: Final = 20
"""How many slices of events are taken before keys are handled again."""


class ComparedFuture:
    """A stored future: its process, its events, and the model that is built from them."""

    def __init__(self, present: Player, feed: StageFeed, file: Path, future: int) -> None:
        """Start the process. Raises OSError if it cannot be started."""
        self.future = future
        """The number of the stored future."""
        self._present, self._present_feed = present, feed
        self._simulation = Simulation(str(file), None, follows=True)
        self.folder = self._simulation.folder
        self.feed = self._simulation.feed
        self.player = Player(Model(present.model.name))
        self.difference = FirstDifference()
        passed = [e.event for e in present.tape if isinstance(e.event, SimulationSampled)]
        self._steps = Lockstep(passed, feed.waiting_samples())
        self._wake = asyncio.Event()
        self._wake.set()
        feed.on_sample, feed.may_pass = self._arrived, self._steps.may_pass_present
        self.feed.on_sample = self._steps.arrived_in_stored
        self.feed.may_pass = self._steps.may_pass_stored
        self.compare_again()

    @property
    def model(self) -> Model:
        return self.player.model

    @property
    def failed(self) -> str:
        """Why this future cannot be shown. Empty: it can."""
        return self.feed.failed

    @property
    def together(self) -> bool:
        """Whether both futures show the same moment."""
        shown_us = self._present.model.cluster.glow.now_us
        return self._steps.together and self.model.cluster.glow.now_us == shown_us

    def progress(self) -> str:
        """Return how far this future has been executed. This is shown until it has caught up."""
        done, wanted = self.model.cluster.glow.now_us, self._present.model.cluster.glow.now_us
        return f"future {self.future} is executed: {100 * done // max(wanted, 1)} %"

    async def run(self) -> None:
        """Read the events of the stored future, and send it to the points (sampled moments) of the
        present one.
        """
        sends = asyncio.create_task(self._send_points())
        try:
            await self.feed.run()
        finally:
            self._steps.fail()
            sends.cancel()

    def _arrived(self, sampled: SimulationSampled) -> None:
        self._steps.arrived_in_present(sampled)
        self._wake.set()

    async def _send_points(self) -> None:
        while not (self.folder.action_address.exists() and self.feed.simulation is not None):
            await asyncio.sleep(LOOK_EVERY_S)
        ask = by_socket(self.folder)
        while True:
            await self._wake.wait()
            self._wake.clear()
            while points := self._steps.unsent[:POINTS_AT_ONCE]:
                del self._steps.unsent[: len(points)]
                try:
                    await ask("sim-follow", {"points": " ".join(points)})
                except (NoSupervisorError, ActionRefusedError):
                    return  # its process has ended: the feed says why

    def take(self) -> None:
        """Take events of the stored future, up to the moment that the present one shows."""
        for _ in range(MOST_SLICES):
            if self.feed.went_back():
                self.player.cut_after(self.feed.now_us())
                self.compare_again()
            events = self.feed.drain(most=SLICE)
            self.difference.take_stored(events)
            self.player.take(events, self.feed.now_us())
            if len(events) < SLICE:
                break
        if self._stand():
            self.difference.both_stand()
        self._show_the_same()

    def _stand(self) -> bool:
        """Return whether both futures stand at the same moment, and all their events are taken."""
        together = self._steps.together and not self.failed
        return together and self._present_feed.stands and self.feed.stands

    def _show_the_same(self) -> None:
        """Show the moment that the present future shows."""
        present, player = self._present, self.player
        at_us = present.model.cluster.glow.now_us
        if not present.paused:
            player.to_now()
        elif not player.paused or player.model.cluster.glow.now_us != at_us:
            player.show(at_us)
        lanes = present.model.ticker.loud.sources | player.model.ticker.loud.sources
        if lanes != player.model.also_lanes:
            present.model.also_lanes = player.model.also_lanes = frozenset(lanes)
        state = present.model.simulation
        player.model.simulation = state and state._replace(future=self.future)

    def compare_again(self) -> None:
        """Compare from the start, because one of the two futures has gone back in time."""
        self.difference = FirstDifference()
        self.difference.take_present(self._present.tape)
        self.difference.take_stored(self.player.tape)

    def release(self) -> None:
        """Let the present run go on alone."""
        self._present_feed.on_sample = lambda sampled: None
        self._present_feed.may_pass = lambda sampled: True
        self._present.model.also_lanes = frozenset()

    def end(self) -> None:
        """End the process, wait for its end, and delete the files that it has written."""
        self._simulation.end_and_delete()
