"""A dashboard that draws into memory: one of the two futures that are shown side by side.

It has all screens and windows of the dashboard, and gets keys. It neither reads events nor has a
clock: the dashboard on the terminal tells it when to draw.
"""

from typing import NamedTuple

from textual.events import Key, Resize
from textual.geometry import Size
from textual.strip import Strip

from kafka_edu.instruments.stage_feed import StageFeed
from kafka_edu.supervisor.cluster_folder import ClusterFolder

from ..app import DashboardApp
from ..player import Player
from ..widgets.keys_footer import KeysFooter


class Picture(NamedTuple):
    """The picture that a twin has drawn, as lines of text."""

    lines: tuple[Strip, ...]
    at_us: int
    """The moment that it shows."""
    screen: str
    """The name of the screen."""
    rows: int
    """How many lines are about the cluster. Those below show keys."""

    def text(self) -> list[str]:
        return [line.text for line in self.lines[: self.rows]]


class TwinApp(DashboardApp):
    """Draws the model of a player that somebody else moves."""

    # Only one of two lists may need a scrollbar. Its width must not make their lines differ.
    CSS = "Lines { scrollbar-gutter: stable; }"

    def __init__(
        self,
        name: str,
        folder: ClusterFolder,
        feed: StageFeed,
        player: Player,
        screen: str,
        *,
        light: bool,
        ascii_only: bool,
    ) -> None:
        super().__init__(
            name,
            folder,
            feed=feed,
            player=player,
            screen=screen,
            light=light,
            ascii_only=ascii_only,
        )
        self._load = None  # the dashboard on the terminal starts and ends loads
        self.picture: Picture | None = None

    def begin(self) -> None:
        """Do nothing: the other dashboard reads the events."""

    def take_events(self) -> None:
        """Do nothing, as in `begin`."""

    def press(self, key: str, character: str | None) -> None:
        """Press a key in this dashboard, and draw what it changes."""
        self.post_message(Key(key, character))
        self.call_later(self.draw)

    def resize(self, columns: int, rows: int) -> None:
        """Draw pictures of this size from now on."""
        size = Size(columns, rows)
        self.post_message(Resize(size, size))

    def follow_to(self, screen: str) -> None:
        """Show the screen that the other future shows."""
        self.action_look(screen)
        self.draw()

    def draw(self) -> None:
        """Draw the present state of the model."""
        self.look()
        shown = self.shown_screen()
        if shown is None or not self.screen.is_mounted:
            return
        lines = tuple(self.screen._compositor.render_strips())
        footers = [each.region.y for each in self.screen.query(KeysFooter)]
        self.picture = Picture(
            lines,
            self.model.cluster.glow.now_us,
            shown.declaration.name,
            min([len(lines), *(row for row in footers if row)]),
        )

    async def action_quit(self) -> None:
        """Do nothing: when the dashboard on the terminal ends, this one ends too."""
