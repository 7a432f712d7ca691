"""Two futures of a simulated run on one screen, with the places marked that differ.

Each future is drawn by a dashboard of its own (`TwinApp`). So every screen and every window can be
compared, even those that are added later. On a wide terminal both futures stand side by side. On a
narrow terminal the key `f` switches between them.
"""

from typing import ClassVar, Final, NamedTuple

from rich.cells import cell_len
from rich.style import Style
from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.events import Key, Resize
from textual.geometry import Size
from textual.screen import ModalScreen, Screen
from textual.strip import Strip
from textual.widget import Widget

from kafka_edu.common.words import plural
from kafka_edu.trace.event import Envelope
from kafka_edu.trace.reader import History

from ..view_model.ticker import Link
from ..widgets.drawn import ink, palette_of, set_rows, stacked
from ..widgets.event_text import coloured
from .compared_future import ComparedFuture
from .differences import Differences, Span, differences
from .twin_app import Picture, TwinApp

SIDE_BY_SIDE: Final = 140
"""From this number of columns on, both futures stand side by side."""
SHOW_EVERY_S: Final = 0.05
END_KEYS: Final = frozenset({"F"})
SWAP_KEY: Final = "f"
OF_TIME: Final = frozenset(
    {
        "space", "full_stop", "comma", "plus", "minus", "greater_than_sign", "less_than_sign",
        "z", "u", "b", "J",
    }
)  # fmt: skip
"""Keys that move the run. They go to the present future, and the stored one follows."""
OF_BOTH: Final = frozenset(
    {"up", "down", "left", "right", "pageup", "pagedown", "home", "end", "tab", "S", "R", "d"}
)
"""Keys that choose what is shown. They go to both futures."""
_NO_DIFFERENCES: Final = Differences([], [])


class PictureView(Widget):
    """Shows what a twin has drawn, with marks on the words that differ."""

    def __init__(self, twin: TwinApp, id: str) -> None:
        super().__init__(id=id)
        self.twin = twin
        self.marks: list[list[Span]] = []
        self._shown: tuple[Picture | None, list[list[Span]]] = (None, [])

    def show(self, marks: list[list[Span]]) -> None:
        """Paint the newest picture again, if it has changed."""
        self.marks = marks
        if self._shown[0] is not self.twin.picture or self._shown[1] != marks:
            self._shown = self.twin.picture, marks
            self.refresh()

    def render_line(self, y: int) -> Strip:
        picture = self.twin.picture
        if picture is None or y >= len(picture.lines):
            return Strip.blank(self.size.width)
        line = picture.lines[y].adjust_cell_length(self.size.width)
        characters = self.marks[y] if y < len(self.marks) else []
        text = line.text  # a Chinese character has two cells
        spans = [(cell_len(text[:begin]), cell_len(text[:end])) for begin, end in characters]
        return _marked(line, spans, Style(bgcolor=palette_of(self).differs, bold=True))


def _marked(line: Strip, spans: list[Span], mark: Style) -> Strip:
    """Return a line with these places in the style of a mark. O(places)."""
    if not spans:
        return line
    cuts = [at for span in spans for at in span if at < line.cell_length]
    cuts = list(dict.fromkeys([*cuts, line.cell_length]))
    starts = {begin for begin, _ in spans}
    pieces, at = [], 0
    for piece, cut in zip(line.divide(cuts), cuts, strict=True):
        pieces.append(_on(piece, mark) if at in starts else piece)
        at = cut
    return Strip.join(pieces)


def _on(piece: Strip, mark: Style) -> Strip:
    """Return a piece of a line on the background of a mark. With `Strip.apply_style`, the piece's
    own background would be used.
    """
    return Strip(
        [each._replace(style=(each.style or Style.null()) + mark) for each in piece],
        piece.cell_length,
    )


class _Chain(NamedTuple):
    """The chain of causes of a fact, in the history from which it was computed."""

    fact: Envelope
    history: History
    links: list[Link]


class FuturesPanel(Widget):
    """Where the two futures part: the first fact that differs, with its causes in both."""

    def __init__(self, compared: ComparedFuture, twins: tuple[TwinApp, TwinApp]) -> None:
        super().__init__(id="futures-panel")
        self._compared = compared
        self._twins = twins
        self.active = 0
        self.places: int | None = None
        """How many places of the screen differ, or None if the moments are not the same."""
        self._shown: Text | None = None
        self._chains: list[_Chain | None] = [None, None]

    def show(self, active: int, places: int | None) -> None:
        self.active, self.places = active, places
        if self._draw() != self._shown:
            self.refresh()

    def render(self) -> Text:
        self._shown = self._draw()
        return self._shown

    def needs(self, wide: bool) -> int:
        """Return how many rows the panel needs: its head, and a chain of causes for each future."""
        found = self._compared.difference.found
        if found is None:
            return 2
        chains = [
            1 if fact is None else len(self._causes(side, fact)) for side, fact in enumerate(found)
        ]
        return 1 + (max(chains) if wide else chains[self.active] + 1)

    def _causes(self, side: int, fact: Envelope) -> list[Link]:
        """Return the chain of causes of a fact in a future. It is computed once for each fact,
        because every frame needs it.
        """
        history, known = self._twins[side].model.ticker.history, self._chains[side]
        if known is not None and known.fact == fact and known.history is history:
            return known.links
        links = causes(self._twins[side], fact)
        if history.holds(history.ident(fact)):  # else causes may still be missing
            self._chains[side] = _Chain(fact, history, links)
        return links

    def _future(self, side: int) -> int:
        state = self._twins[side].model.simulation
        return self._compared.future if side else state.future if state is not None else 0

    def _draw(self) -> Text:
        width, colours = self.size.width - 2, palette_of(self)
        rows = max(self.size.height - 1, 2)
        head = ink(f"futures {self._future(0)} and {self._future(1)}", "bold")
        head.append(f" · {self._verdict()}", f"bold {colours.warning}")
        keys = f" · f: {'keys to' if width >= SIDE_BY_SIDE - 2 else 'show'} the other · F: end"
        head.append(keys, colours.dim)
        order = (self.active, 1 - self.active)
        if width >= SIDE_BY_SIDE - 2:
            half = width // 2
            sides = [self._side(side, rows - 1, half - 1) for side in (0, 1)]
            lines = []
            for at in range(max(map(len, sides))):
                left, right = (side[at] if at < len(side) else Text() for side in sides)
                left.truncate(half - 1, overflow="ellipsis", pad=True)
                lines.append(left + ink("│ ", colours.dim) + right)
            return stacked([head, *lines], width)
        own = max(rows - 2, 1)
        shown, hidden = self._side(order[0], own, width), self._side(order[1], 1, width)
        return stacked([head, *shown[:own], *hidden[:1]], width)

    def _verdict(self) -> str:
        compared = self._compared
        if compared.failed:
            return f"the stored one has ended: {compared.failed}"
        if not compared.together:
            return compared.progress()
        found = compared.difference.found
        since = "" if compared.difference.from_start else " since the oldest kept moment"
        same = f"{compared.difference.same:,} facts{since} are the same"
        if found is None:
            return f"no fact differs yet: {same}"
        if self.places is None:
            return f"{same}, then"
        return f"{plural(self.places, 'place')} differ now · {same}, then"

    def _side(self, side: int, rows: int, width: int) -> list[Text]:
        """Return lines with the first fact that only this future has, below the last of its
        causes.
        """
        colours = palette_of(self)
        name = ink(f"{'▶' if side == self.active else ' '} future {self._future(side)} ", "bold")
        found = self._compared.difference.found
        if found is None:
            return [name]
        fact = found[side]
        if fact is None:
            return [name + ink("nothing has happened since then", colours.dim)]
        links = self._causes(side, fact)
        lines = [self._line(side, link, last=link is links[-1]) for link in links[-rows:]]
        lines[0] = name + lines[0]
        for line in lines[1:]:
            line.pad_left(name.cell_len)
        if len(links) > rows:
            lines[0].append(f"  ({len(links) - rows} causes before: ⏎ on 9)", colours.dim)
        return lines

    def _line(self, side: int, link: Link, *, last: bool) -> Text:
        colours = palette_of(self)
        state = self._twins[side].model.simulation
        at_us = link.envelope.mono_us - (state.run_us if state is not None else 0)
        line = ink(f"{at_us / 1e6:.6f} s ", colours.dim)
        line.append(f"{link.teller:<4}", f"bold {colours.broker(link.envelope.broker)}")
        line.append_text(coloured(ink(link.said.text(), "bold" if last else ""), colours))
        return line


def causes(twin: TwinApp, fact: Envelope) -> list[Link]:
    """Return the chain of causes of a fact in a future, with the fact as its last step."""
    links = twin.model.ticker.chain(fact)
    at = next((at for at, link in enumerate(links) if link.envelope == fact), len(links) - 1)
    return links[: at + 1]


class FuturesScreen(Screen[None]):
    """Both futures, and a panel with the first difference. `begin` starts the two dashboards."""

    BINDINGS: ClassVar = []

    def __init__(self, compared: ComparedFuture, twins: tuple[TwinApp, TwinApp]) -> None:
        """The first twin shows the present future, and the second one the stored one."""
        super().__init__()
        self.compared = compared
        self.twins = twins
        self.active = 0
        """The twin that gets keys. On a narrow terminal only this one is shown."""
        self._views = tuple(
            PictureView(twin, f"future-{name}")
            for twin, name in zip(twins, ("present", "stored"), strict=True)
        )
        self._panel = FuturesPanel(compared, twins)
        self._marks = _NO_DIFFERENCES
        self._of: tuple[Picture | None, Picture | None, bool] = (None, None, False)
        self._fitted = (0, 0)
        """The size of each picture."""

    def compose(self) -> ComposeResult:
        yield self._panel
        with Horizontal():
            yield from self._views

    def on_mount(self) -> None:
        self.set_interval(SHOW_EVERY_S, self._show)

    @property
    def _is_wide(self) -> bool:
        return self.size.width >= SIDE_BY_SIDE

    def panel_rows(self, columns: int, rows: int) -> int:
        """Return the rows of the panel: as many as both chains need, if there is room."""
        most = 3 if rows < 30 else 5 if rows < 45 else 7
        return min(self._panel.needs(columns >= SIDE_BY_SIDE), most)

    def picture_size(self, columns: int, rows: int) -> tuple[int, int]:
        """Return the columns and rows of each picture on a terminal of this size."""
        width = (columns - 1) // 2 if columns >= SIDE_BY_SIDE else columns
        return width, max(rows - self.panel_rows(columns, rows) - 1, 1)

    def on_resize(self, event: Resize) -> None:
        self._fitted = (0, 0)
        self._fit(event.size)

    def _fit(self, terminal: Size) -> None:
        """Give the panel the rows that it needs, and the pictures the rest."""
        size = self.picture_size(*terminal)
        if size == self._fitted:
            return
        self._fitted = size
        set_rows(self._panel, self.panel_rows(*terminal) + 1)
        for twin in self.twins:
            twin.resize(*size)
        self._views[0].styles.width = size[0]
        border = ("solid", palette_of(self).dim) if self._is_wide else ("none", "black")
        self._views[1].styles.border_left = border  # type: ignore[assignment]  # (kind, colour name)
        self._arrange()

    def _arrange(self) -> None:
        for side, view in enumerate(self._views):
            view.display = self._is_wide or side == self.active

    def tick(self) -> None:
        """Let both futures draw the present moment."""
        for twin in self.twins:
            twin.call_later(twin.draw)

    def _show(self) -> None:
        """Show the newest pictures. Mark what differs if both show the same moment."""
        self._fit(self.size)
        pictures = self.twins[0].picture, self.twins[1].picture
        if (*pictures, self.compared.together) != self._of:
            self._of = (*pictures, self.compared.together)
            self._marks = self._compare(*pictures)
        comparable = self._marks is not _NO_DIFFERENCES
        self._panel.show(self.active, self._marks.places if comparable else None)
        for view, marks in zip(self._views, self._marks, strict=True):
            view.show(marks)

    def _compare(self, present: Picture | None, stored: Picture | None) -> Differences:
        if (
            present is None
            or stored is None
            or not self.compared.together
            or (present.at_us, present.screen) != (stored.at_us, stored.screen)
        ):
            return _NO_DIFFERENCES
        return differences(present.text(), stored.text())

    def marked_words(self, side: int) -> list[str]:
        """Return the places that are marked in the picture of one future."""
        picture = self.twins[side].picture
        if picture is None:
            return []
        lines = zip(picture.text(), self._marks[side], strict=False)
        return [text[begin:end] for text, spans in lines for begin, end in spans]

    def swap(self) -> None:
        """Make the other future the active one, which gets the keys. If there is room for only one
        future, show it.
        """
        self.active = 1 - self.active
        self._arrange()
        self._show()

    def on_key(self, event: Key) -> None:
        """Pass a key to the active future. Keys of time go to the present future, and some keys to
        both futures.
        """
        event.stop()
        event.prevent_default()
        key = event.key
        active, other = self.twins[self.active], self.twins[1 - self.active]
        windows = [twin for twin in (active, other) if isinstance(twin.screen, ModalScreen)]
        if windows:
            windows[0].press(key, event.character)
        elif key in END_KEYS:
            self.dismiss()
        elif key == SWAP_KEY:
            self.swap()
        elif key in OF_TIME:
            self.twins[0].press(key, event.character)
        elif key == "q":
            self.app.exit()
        elif key in OF_BOTH or event.character in _screen_keys(active):
            active.press(key, event.character)
            other.press(key, event.character)
        else:
            active.press(key, event.character)


def _screen_keys(twin: TwinApp) -> set[str]:
    return {each.key for each in twin.declarations}
