"""The palette of commands (`:` or ctrl+p): screens, acts, and everything else that has a key."""

from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol, cast

from textual.command import DiscoveryHit, Hit, Hits, Provider


class PaletteCommand(NamedTuple):
    title: str
    run: Callable[[], object]
    help: str


class Commanded(Protocol):
    """The app that the palette belongs to (`DashboardApp`)."""

    def palette_commands(self) -> Iterator[PaletteCommand]:
        """Yield the commands of the palette, the most important one first."""
        ...


class DashboardCommands(Provider):
    """Lists the palette's commands on the current screen. The screen's own acts come first."""

    def _entries(self) -> Iterator[PaletteCommand]:
        return cast(Commanded, self.app).palette_commands()

    async def discover(self) -> Hits:
        """Yield all commands, the most important one first."""
        for entry in self._entries():
            yield DiscoveryHit(entry.title, entry.run, help=entry.help)

    async def search(self, query: str) -> Hits:
        """Yield the commands that match the typed words, the best match first."""
        matcher = self.matcher(query)
        for entry in self._entries():
            score = matcher.match(entry.title) or matcher.match(entry.help) / 2
            if score > 0:
                yield Hit(score, matcher.highlight(entry.title), entry.run, help=entry.help)
