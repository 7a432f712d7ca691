"""The dashboard on a simulated run, which can show two futures of the run side by side."""

import asyncio
from typing import ClassVar

from textual.binding import Binding, BindingType

from .app import DashboardApp
from .futures.choice_screen import (
    NONE_STORED,
    FutureChoiceScreen,
    StoredFuture,
    acts_of,
    stored_futures,
)
from .futures.compared_future import ComparedFuture
from .futures.futures_screen import FuturesScreen
from .futures.twin_app import TwinApp
from .palette import THEMES


class SimulatedApp(DashboardApp):
    """The dashboard, with the key `f`."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("f", "futures", "two futures")]

    def action_futures(self) -> None:
        """Ask for a stored future, and show it next to the present one."""
        screen, state = self.shown_screen(), self.model.simulation
        if screen is None or self._folder is None or state is None:
            return
        stored = stored_futures(self._folder, state.future)
        if not stored:
            screen.acts.refuse(NONE_STORED)
            return
        acts = acts_of(self._folder.future(state.future))
        self.push_screen(FutureChoiceScreen(state.future, acts, stored, self.compare_with))

    def compare_with(self, future: StoredFuture) -> None:
        """Show a stored future next to the present one, until somebody ends the comparison."""
        screen, feed, folder = self.shown_screen(), self._simulation, self._folder
        if screen is None or feed is None or folder is None:
            return
        try:
            compared = ComparedFuture(self.player, feed, future.file, future.number)
        except OSError as error:
            screen.acts.refuse(f"future {future.number} cannot be played: {error}")
            return
        light, ascii_only = self.theme == THEMES[1].name, self.ascii_filter.enabled
        present, stored = (
            TwinApp(
                self.model.name,
                of_folder,
                of_feed,
                player,
                screen.declaration.name,
                light=light,
                ascii_only=ascii_only,
            )
            for of_folder, of_feed, player in (
                (folder, feed, self.player),
                (compared.folder, compared.feed, compared.player),
            )
        )
        both = FuturesScreen(compared, (present, stored))
        size = both.picture_size(*self.size)
        self._compared = compared
        self.run_worker(compared.run(), group="futures")
        for twin in (present, stored):
            self.run_worker(twin.run_async(headless=True, size=size), group="futures")
        self.push_screen(both, lambda _: self._end_comparison(both))

    def _end_comparison(self, both: FuturesScreen) -> None:
        """Show the present future alone again."""
        for twin in both.twins:
            twin.exit()
        self._compared = None
        both.compared.release()
        self.run_worker(asyncio.to_thread(both.compared.end), group="ends")
