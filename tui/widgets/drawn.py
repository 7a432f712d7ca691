"""The two kinds of widgets: a picture, and a list that draws only the lines in view.

Both draw only what has changed.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.binding import Binding, BindingType
from textual.events import Click
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget

from ..model import Model
from ..palette import DARK, LIGHT, Palette
from ..reader import reader_of, unknown_to
from ..subjects import Subject
from ..view_model.figures import old


def palette_of(widget: Widget) -> Palette:
    """Return the colours for the present theme."""
    return DARK if widget.app.current_theme.dark else LIGHT


def ink(words: str, style: str = "") -> Text:
    """Return a text in which only these words have this style. Appended text gets its own style.

    `Text(words, style)` would also apply the style to the appended text.
    """
    return Text().append(words, style=style)


def stacked(lines: Sequence[Text], width: int) -> Text:
    """Return the lines as one text. A line wider than `width` ends with an ellipsis."""
    for line in lines:
        line.truncate(width, overflow="ellipsis")
    return Text("\n").join(lines)


def aged(lines: Sequence[Text], age_us: int, colours: Palette) -> list[Text]:
    """Return the lines as the lines of an old sample: dimmed, with their age after the first line.

    If `age_us` is 0, the lines are up to date and stay unchanged.
    """
    if not age_us:
        return list(lines)
    dimmed = [ink(line.plain.rstrip(), colours.dim) for line in lines]
    for first in dimmed[:1]:
        first.append(f"  {old(age_us)}", style=f"bold {colours.warning}")
    return dimmed


def set_rows(widget: Widget, rows: int) -> None:
    """Give a widget this many rows. Do nothing if it has them, because Textual would lay out the
    screen again.
    """
    height = widget.styles.height
    if height is None or height.value != rows:
        widget.styles.height = rows


class Drawn(Widget):
    """A widget that draws the model as one text."""

    subject: ClassVar[Subject]

    def __init__(self, model: Model, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.model = model
        self._shown: Text | None = None

    @property
    def palette(self) -> Palette:
        return palette_of(self)

    def draw(self) -> Text:
        """Return the whole picture for the widget's current size."""
        raise NotImplementedError

    def render(self) -> Text:
        self._shown = self.draw()
        return self._shown

    def tick(self) -> None:
        """Draw the picture again if it has changed."""
        if self.draw() != self._shown:
            self.refresh()


Value = float | str
"""A number or word of a line. The list can be sorted by it."""


class Order(NamedTuple):
    """A column by which a list can be sorted."""

    name: str
    greatest_first: bool = False


class Lines(ScrollView, can_focus=True):
    """A list of lines with a cursor. A line that is too long ends with an ellipsis.

    With `follow`, the list keeps showing the last line while the cursor is on it. Drawing takes
    time only for the lines in view. But if the app has a filter, or the list is sorted, every line
    or its value is read. `cursor` is the index of a line in the list's own order, even if the list
    is filtered or sorted.
    """

    subject: ClassVar[Subject]
    heads: ClassVar[int] = 0
    """How many of the first lines are headings. They stay at the top."""
    of_events: ClassVar[bool] = True
    """Whether the lines come from events.

    Then an empty list can be wrong until all snapshots have been received.
    """
    orders: ClassVar[tuple[Order, ...]] = ()
    """The columns by which the list can be sorted. If empty, the list keeps its own order."""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", "up", show=False),
        Binding("down", "move(1)", "down", show=False),
        Binding("pageup", "page(-1)", "page up", show=False),
        Binding("pagedown", "page(1)", "page down", show=False),
        Binding("home", "move(-1000000)", "first", show=False),
        Binding("end", "move(1000000)", "last", show=False),
        Binding("enter", "choose", "why", key_display="⏎"),
        # Textual's own bindings of these keys would scroll sideways and hide the screen's keys in
        # the footer.
        Binding("left", "screen.broker(-1)", "broker", key_display="←→"),
        Binding("right", "screen.broker(1)", "broker", show=False),
    ]

    class Chosen(Message):
        """A message: [enter], or a click on the line under the cursor, has chosen a line."""

        def __init__(self, lines: "Lines", index: int) -> None:
            super().__init__()
            self.lines = lines
            self.index = index

        @property
        def control(self) -> "Lines":
            return self.lines

    def __init__(self, id: str | None = None, follow: bool = False) -> None:
        super().__init__(id=id)
        self.cursor = 0
        self._follow = follow
        self._count = 0
        self._seen: list[Text] = []
        self._ready: dict[int, Text] = {}
        """Lines that the last tick has drawn, and that wait to be painted.

        They are kept, so that each line is drawn only once in a frame.
        """
        self._base = Style.null()
        """The list's own style, valid while it is painted."""
        self._why_empty = ""
        """The text that the last tick showed instead of lines."""
        self._words: tuple[str, ...] = ()
        self._shown_lines: Sequence[int] = range(0)
        """The indices of the lines that pass the filter, in the displayed order."""
        self.sorted_by: Order | None = None
        """The column by which the list is sorted, or None for the list's own order."""
        self._height = 0
        self._last = 0
        """The last displayed line at the last tick."""

    @property
    def palette(self) -> Palette:
        return palette_of(self)

    def count(self) -> int:
        """Return the number of lines."""
        raise NotImplementedError

    def line(self, index: int) -> Text:
        """Return the text of one line, however long it is."""
        raise NotImplementedError

    def empty(self) -> str:
        """Return the text that is shown if the list has no lines."""
        return ""

    def _nothing(self) -> str:
        """Return the text of a list without lines. If possible, it says why the list is empty."""
        if self._words:
            return f"no line holds: {' '.join(self._words)}"
        unknown = unknown_to(self) if self.of_events else ""
        return unknown or self.empty()

    def values(self, index: int) -> Mapping[str, Value | None]:
        """Return column → the line's value, for the columns of `orders`.

        A line whose value is None comes last.
        """
        return {}

    def sort(self) -> None:
        """Sort by the next column. After the last column, return to the list's own order."""
        names = [order.name for order in self.orders]
        at = names.index(self.sorted_by.name) + 1 if self.sorted_by is not None else 0
        self._sort_by(self.orders[at] if at < len(names) else None)

    def reverse(self) -> None:
        """Reverse the order of the sorted list."""
        order = self.sorted_by
        if order is not None:
            self._sort_by(order._replace(greatest_first=not order.greatest_first))

    def _sort_by(self, order: Order | None) -> None:
        self.sorted_by = order
        self.redraw()
        self._reveal(self._shown_row(self.cursor))

    def column(self, name: str) -> str:
        """Return the name of a column, with an arrow if the list is sorted by this column."""
        order = self.sorted_by
        if order is None or order.name != name:
            return name
        return f"{'▼' if order.greatest_first else '▲'}{name}"

    def order_words(self, own: str = "") -> str:
        """Return the part of the title that says how the list is sorted: ` by ▲client`.

        `own` is the text for the list's own order.
        """
        order = self.sorted_by
        return own if order is None else f" by {self.column(order.name)}"

    def out_of_view(self) -> str:
        """Return how many lines are above and below the visible part, for the list's title."""
        if not self.size.height:
            return ""
        above = self.scroll_offset.y
        below = len(self._shown_lines) - above - self.size.height
        words = [f"{above} more above"] * (above > 0) + [f"{below} more below"] * (below > 0)
        return f" · {', '.join(words)}" if words else ""

    def cursor_moved(self) -> None:
        """React to a key or a click that has moved the cursor.

        A list overrides this method and not `on_click`: Textual itself calls the `on_click` of each
        class of a widget, so `super().on_click` would count one click twice.
        """

    def _visible(self) -> dict[int, Text]:
        """Draw the lines in view. Return index → text."""
        top, width = self.scroll_offset.y, self.scrollable_content_region.width
        in_view = self._shown_lines[top : top + self.size.height]
        return {index: self._fitted(index, width) for index in in_view}

    def _fitted(self, index: int, width: int) -> Text:
        """Draw one line. If it is wider than `width` it ends with an ellipsis."""
        text = self.line(index)
        text.truncate(width, overflow="ellipsis")
        return text

    def _filter(self) -> tuple[str, ...]:
        """Return the filter's words. A line must contain all of them."""
        return reader_of(self).filter_words

    def _let_through(self) -> Sequence[int]:
        """Return the indices of the lines that contain all words of the filter, in sorted order."""
        if not self._words and self.sorted_by is None:
            return range(self.count())
        heads = range(min(self.heads, self.count()))
        found = [i for i in range(len(heads), self.count()) if self._holds_words(i)]
        if self.sorted_by is not None:
            found = self._in_order(found, self.sorted_by)
        return [*heads, *found] if found else []

    def _holds_words(self, index: int) -> bool:
        plain = self.line(index).plain.lower() if self._words else ""
        return all(word in plain for word in self._words)

    def _in_order(self, lines: Sequence[int], order: Order) -> list[int]:
        """Return the lines in sorted order. Lines with equal values keep their own order."""
        known: list[tuple[tuple[float, str], int]] = []
        unknown: list[int] = []
        for index in lines:
            value = self.values(index)[order.name]
            if value is None:
                unknown.append(index)
            else:
                known.append(((0, value) if isinstance(value, str) else (value, ""), index))
        known.sort(key=lambda pair: pair[0], reverse=order.greatest_first)
        return [*(index for _, index in known), *unknown]

    def _shown_row(self, index: int) -> int:
        """Return the displayed row of a line.

        If the line is hidden, return the row of the next line, or in a sorted list the first row.
        """
        shown = self._shown_lines
        if self.sorted_by is None:
            return min(bisect_left(shown, index), max(len(shown) - 1, 0))
        return shown.index(index) if index in shown else 0

    def tick(self) -> None:
        """Draw the list again if a line in view has changed."""
        words = self._filter()
        changed, self._words = words != self._words, words
        self._shown_lines = self._let_through()
        count = len(self._shown_lines)
        if count != self._count or changed:
            at_end = self.cursor >= self._last
            self._count = count
            self._last = self._shown_lines[-1] if count else 0
            self.virtual_size = Size(self.size.width, count)
            if self._follow and at_end:
                self.cursor = self._last
                self.scroll_to(y=count, animate=False, force=True)
            if count:
                self.cursor = self._shown_lines[self._shown_row(self.cursor)]
            else:
                self.cursor = 0
        if self._height != self.size.height:
            self._height = self.size.height
            if self._follow and self.cursor >= self._last:
                self.scroll_to(y=max(count - self._height, 0), animate=False, force=True)
        drawn = self._visible()
        seen = list(drawn.values())
        self._ready.clear()
        why_empty = "" if count else self._nothing()
        changed |= why_empty != self._why_empty
        self._why_empty = why_empty
        if seen != self._seen or changed:
            self._seen = seen
            self._ready = drawn
            self.refresh()

    def redraw(self) -> None:
        """Draw all lines again, because the theme or the width has changed."""
        self._seen = []
        self._count = -1
        self.tick()
        self.refresh()

    def watch_show_vertical_scrollbar(self, shown: bool) -> None:
        """Set a scrollbar that has just appeared to the list's scroll position.

        Textual moves only a visible scrollbar, and a list may scroll in the same tick in which it
        gets one.
        """
        if shown:
            self.vertical_scrollbar.position = self.scroll_y

    def on_resize(self) -> None:
        self.redraw()

    def render_lines(self, crop: Region) -> list[Strip]:
        """Paint lines. Values that all lines share are looked up only once."""
        self._base = self.rich_style
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        row = self.scroll_offset.y + y
        width = self.size.width
        index = self._shown_lines[row] if row < len(self._shown_lines) else -1
        if 0 <= index < self.count():
            text = self._ready.pop(index, None)
            if text is None:
                text = self._fitted(index, self.scrollable_content_region.width)
            if index == self.cursor and self.has_focus:
                text = text.copy()
                text.pad_right(max(width - text.cell_len, 0))
                text.stylize_before(f"on {self.palette.cursor}")
        else:
            text = ink(self._nothing() if row == 0 else "", self.palette.dim)
            text.truncate(width, overflow="crop")
        base = self._base
        painted = [
            Segment(piece.text, base + piece.style if piece.style else base)
            for piece in text.render(self.app.console)
        ]
        if (room := width - text.cell_len) > 0:
            painted.append(Segment(" " * room, base))
        return Strip(painted, width)

    def action_move(self, by: int) -> None:
        self._shown_lines = self._let_through()  # new lines may have come since the last tick
        rows = len(self._shown_lines)
        row = min(max(self._shown_row(self.cursor) + by, 0), max(rows - 1, 0))
        self.cursor = self._shown_lines[row] if rows else 0
        self._ready.clear()
        self._reveal(row)
        self.refresh()
        self.cursor_moved()

    def _reveal(self, row: int) -> None:
        """Scroll just far enough to bring this row into view."""
        top, height = self.scroll_offset.y, self.size.height
        if row < top:
            self.scroll_to(y=row, animate=False)
        elif row >= top + height:
            self.scroll_to(y=row - height + 1, animate=False)

    def action_page(self, by: int) -> None:
        self.action_move(by * max(self.size.height - 1, 1))

    def action_choose(self) -> None:
        if len(self._shown_lines) and self.cursor < self.count():
            self.post_message(self.Chosen(self, self.cursor))

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()

    def on_click(self, event: Click) -> None:
        inside = event.get_content_offset(self)  # it is None on the border
        if inside is None:
            return
        row = inside.y + self.scroll_offset.y
        if row < len(self._shown_lines):
            index = self._shown_lines[row]
            again = index == self.cursor
            self.cursor = index
            self._ready.clear()
            self.refresh()
            self.cursor_moved()
            if again or event.chain > 1:
                self.action_choose()
