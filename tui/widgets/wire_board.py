"""The widgets of the Wire screen: the frames, the chosen frame as a tree, and its bytes."""

from collections.abc import Sequence
from typing import ClassVar, Final

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.message import Message

from kafka_edu.instruments.wire.capture import title_of
from kafka_edu.instruments.wire.render import verdict
from kafka_edu.protocol.capture_format import CapturedFrame

from ..in_chinese import Verbatim
from ..model import Model
from ..subjects import WIRE_BYTES, WIRE_FRAMES, WIRE_TREE
from ..view_model.figures import duration
from ..view_model.wire_view import WireView
from .drawn import Drawn, Lines, ink
from .event_text import wall_clock

_WIDE: Final = 100
_FOLDED, _OPEN, _LEAF = "▸", "▾", " "


class WireAnswer(Drawn):
    """A line about the chosen frame, and the verdict: whether every byte of it is correct."""

    subject = WIRE_TREE

    def draw(self) -> Text:
        view, colours = self.model.wire, self.palette
        frame, decoded = view.chosen, view.decoded
        if view.wanted is not None:
            return self._missing(*view.wanted)
        if frame is None or decoded is None:
            return self._nothing()
        text = self._said(frame)
        text.append("\n")
        if decoded.problems and not frame.is_cut:
            words = f"✗ {verdict(decoded, with_path=False)}"
            text.append(words, style=f"bold {colours.error}")
        elif frame.is_cut:
            text.append(f"the first {len(frame.data):,} bytes were kept, and each is explained")
        else:
            text.append(f"✓ {verdict(decoded)}", style=colours.ok)
        if frame.hidden:
            text.append(f" · secrets are hidden: {', '.join(frame.hidden)}", style=colours.warning)
        return text

    def _said(self, frame: CapturedFrame) -> Text:
        """Return a line with the sender, the message and the receiver. It is cut to the widget's
        width.
        """
        text = ink("← " if frame.is_response else "→ ", "bold")
        text.append(f"{title_of(frame)} {'response' if frame.is_response else 'request'}", "bold")
        text.append(" · ")
        text.append(frame.client_id or "(no client id)")
        text.append(" ← " if frame.is_response else " → ")
        broker = f"broker {frame.broker_id}"
        text.append(broker, style=self.palette.broker(frame.broker_id))
        if frame.correlation_id >= 0:
            wide = self.size.width >= _WIDE
            text.append(
                f" · correlation {frame.correlation_id}" if wide else f" #{frame.correlation_id}"
            )
        text.append(f" · {frame.size:,} bytes")
        text.append_text(self._partner(frame))
        text.truncate(max(self.content_size.width, 20), overflow="ellipsis")
        return text

    def _partner(self, frame: CapturedFrame) -> Text:
        partner = self.model.wire.partner
        if partner is None:
            return ink(" · its other half is not here", self.palette.dim)
        took = abs(partner.wall_ms - frame.wall_ms)
        words = f"after {duration(took)}" if took else "within 1 ms"
        return ink(f" · {'answers' if frame.is_response else 'answered'} {words}")

    def _missing(self, connection_id: str, correlation_id: int) -> Text:
        text = ink(f"request #{correlation_id} of {connection_id} is not captured", "bold")
        return text.append(
            "\nc lets all brokers capture what clients say from now on", style=self.palette.dim
        )

    def _nothing(self) -> Text:
        view, colours = self.model.wire, self.palette
        if view.running:
            names = ", ".join(
                dict.fromkeys(n for one in view.running.values() for n in one.clients)
            )
            text = ink(f"capturing the frames of {names}: none has come yet", "bold")
            return text.append("\nlet the client speak, or press l for a load", style=colours.dim)
        text = ink("no frame is captured", "bold")
        ended = [one.ended for one in view.captures.values() if one.ended]
        why = f" (the last capture ended: {ended[-1]})" if ended else ""
        return text.append(f"\nc lets all brokers capture what clients say{why}", style=colours.dim)


class _Revealed(Lines):
    """A list whose cursor another widget may move.

    The line under the cursor is scrolled into view.
    """

    of_events = False  # captured frames come from files, not events
    _hidden = False
    """Whether the cursor was moved to a line that is not in view yet."""

    def put_cursor(self, line: int) -> None:
        """Put the cursor on a line, and scroll to this line if it is out of view."""
        if self.cursor != line:
            self.cursor = line
            self._hidden = True
            self.refresh()
        if self._hidden:
            row = self._shown_row(line)
            top, height = self.scroll_offset.y, max(self.size.height, 1)
            self._hidden = not top <= row < top + height
            if self._hidden:
                self.scroll_to(y=max(row - height // 3, 0), animate=False, force=True)


def search_text(frame: CapturedFrame) -> str:
    """Return the words by which the filter `/` finds a frame."""
    kind = "response" if frame.is_response else "request"
    title, client = title_of(frame), frame.client_id
    return f"b{frame.broker_id} {title} {kind} {client} #{frame.correlation_id}".lower()


class FrameLines(_Revealed):
    """The captured frames, the oldest first. The cursor chooses one."""

    subject = WIRE_FRAMES
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,right", "screen.partner", show=False),
        Binding("enter", "app.focus_next", "its fields", key_display="⏎"),
    ]

    class Moved(Message):
        """A message: the cursor was moved to another frame."""

    def __init__(self, model: Model) -> None:
        super().__init__(id="frames")
        self.model = model
        self._found_for: tuple[tuple[str, ...], int, int] | None = None
        self._found: list[int] = []

    @property
    def view(self) -> WireView:
        return self.model.wire

    def count(self) -> int:
        return len(self.view.listed)

    def _let_through(self) -> Sequence[int]:
        """Return the frames that match the words of `/`, without decoding them."""
        if not self._words:
            return super()._let_through()
        key = self._words, self.view.frames.total, len(self.view.listed)
        if self._found_for != key:
            self._found_for = key
            self._found = [
                index
                for index, frame in enumerate(self.view.listed)
                if all(word in search_text(frame) for word in self._words)
            ]
        return self._found

    def tick(self) -> None:
        at = self.view.listed_at
        super().tick()
        if at is not None:
            self.put_cursor(at)
        title = f"frames: {len(self.view.listed):,}"
        if self.view.filter_words:
            title += f" of {self.view.filter_words}"
        if self.border_title != title:
            self.border_title = title

    def action_move(self, by: int) -> None:
        super().action_move(by)
        if self.cursor < len(self.view.listed):
            self.view.choose(self.view.listed[self.cursor])
            self.post_message(self.Moved())

    def line(self, index: int) -> Text:
        frame, colours = self.view.listed[index], self.palette
        paired = frame is not self.view.chosen and self.view.is_pair(frame)
        clock = wall_clock(frame.wall_ms)
        line = ink(clock if self.size.width >= _WIDE else clock[-9:], colours.dim)
        line.append(" ⇄" if paired else " ▶" if frame is self.view.chosen else "  ", style="bold")
        line.append(" ← " if frame.is_response else " → ")
        line.append(f"b{frame.broker_id} ", style=f"bold {colours.broker(frame.broker_id)}")
        is_right, about = self.view.glance(frame)
        title = f"{title_of(frame)}" if is_right else f"✗ {title_of(frame)}"
        line.append(f"{title:<20}", style="" if is_right else f"bold {colours.error}")
        number = f" #{frame.correlation_id}" if frame.correlation_id >= 0 else ""
        who = f"{frame.client_id or '(no client id)'}{number}"
        line.append(f" {who:<16}")
        line.append(f" {frame.size:>7,} bytes  ", style=colours.dim)
        line.append(about)
        return line


class TreeLines(_Revealed, Verbatim):
    """The chosen frame as a tree. The bytes of the field under the cursor are highlighted."""

    subject = WIRE_TREE
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "fold", "open/shut", key_display="⏎"),
        Binding("left,right", "fold", show=False),
    ]

    def __init__(self, model: Model) -> None:
        super().__init__(id="wire-tree")
        self.model = model

    def _filter(self) -> tuple[str, ...]:
        """Return no words: the filter `/` applies to the list of frames, not to the fields."""
        return ()

    @property
    def view(self) -> WireView:
        return self.model.wire

    def count(self) -> int:
        return len(self.view.rows)

    def tick(self) -> None:
        super().tick()
        self.put_cursor(self.view.row)

    def action_move(self, by: int) -> None:
        super().action_move(by)
        self.view.select_row(self.cursor)
        self.app.screen.query_one(HexLines).tick()

    def action_fold(self) -> None:
        self.view.toggle()
        self.redraw()

    def line(self, index: int) -> Text:
        row, colours = self.view.rows[index], self.palette
        node = row.node
        sign = _LEAF if not (node.children or node.inner) else _OPEN if row.is_open else _FOLDED
        line = Text(f"{'  ' * row.depth}{sign} ")
        if node.wrong:
            line.append("✗ ", style=f"bold {colours.error}")
        line.append(node.name, style=f"bold {colours.error}" if node.wrong else colours.dim)
        if node.value:
            line.append(f"  {node.value}", style=f"bold {colours.error}" if node.wrong else "")
        here = index == self.cursor
        if node.wrong:
            line.append(f"  {node.wrong}", style=colours.error)
        elif not here or self.size.width >= _WIDE:
            line.append(f"  {node.type}", style=colours.dim)
        if here and not self.has_focus:
            line.stylize_before(f"on {colours.cursor}")
        return line


class HexLines(_Revealed):
    """The bytes of the chosen frame. The field of the byte under the cursor is highlighted."""

    subject = WIRE_BYTES
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "byte(-1)", "byte", key_display="←→"),
        Binding("right", "byte(1)", "byte", show=False),
    ]

    def __init__(self, model: Model) -> None:
        super().__init__(id="wire-bytes")
        self.model = model

    def _filter(self) -> tuple[str, ...]:
        """Return no words: the filter `/` applies to the list of frames, not to a frame's bytes."""
        return ()

    @property
    def view(self) -> WireView:
        return self.model.wire

    @property
    def per_line(self) -> int:
        """The number of bytes in a line: 8, or 16 if there is room."""
        return 16 if self.size.width >= 55 else 8

    def count(self) -> int:
        decoded = self.view.decoded
        return -(-len(decoded.data) // self.per_line) if decoded is not None else 0

    def tick(self) -> None:
        super().tick()
        self.put_cursor(self.view.byte // self.per_line)

    def action_move(self, by: int) -> None:
        self._to_byte(self.view.byte + by * self.per_line)

    def action_byte(self, by: int) -> None:
        self._to_byte(self.view.byte + by)

    def _to_byte(self, at: int) -> None:
        self.view.select_byte(at)
        self.tick()
        self.app.screen.query_one(TreeLines).tick()

    def line(self, index: int) -> Text:
        view, colours = self.view, self.palette
        decoded = view.decoded
        if decoded is None:
            return Text()
        first = decoded.first_problem
        wrong = first.at if first is not None else None
        start = index * self.per_line
        data = decoded.data[start : start + self.per_line]
        marked = wrong is not None and start <= wrong < start + len(data)
        line = ink(f"{start:04x}", colours.dim)
        line.append("✗" if marked else " ", style=f"bold {colours.error}")
        low, high = view.span
        for at, byte in enumerate(data, start):
            gap = "  " if at > start and (at - start) % 8 == 0 else " "
            inside = low <= at < high
            style = f"on {colours.cursor}" if inside and at > max(low, start) else ""
            line.append(gap, style=style)
            line.append(f"{byte:02x}", style=self._style(at, at == wrong, inside))
        line.append(" " * (self.per_line * 3 + (self.per_line > 8) + 5 - line.cell_len))
        if self.size.width >= line.cell_len + self.per_line + 1:
            line.append(" ")
            for at, byte in enumerate(data, start):
                shown = chr(byte) if 32 <= byte < 127 else "·"
                line.append(shown, style=self._style(at, at == wrong, low <= at < high, dim=True))
        return line

    def _style(self, at: int, is_wrong: bool, inside: bool, dim: bool = False) -> str:
        colours = self.palette
        if is_wrong:
            return f"bold reverse {colours.error}"
        if at == self.view.byte and self.has_focus:
            return f"bold reverse {colours.text}"
        if inside:
            return f"bold {colours.text} on {colours.cursor}"
        return colours.dim if dim else ""


class FieldDetail(Drawn, Verbatim):
    """The field under the cursor: its position, the versions that have it, and its meaning."""

    subject = WIRE_TREE

    def draw(self) -> Text:
        view, colours = self.model.wire, self.palette
        node, decoded = view.node, view.decoded
        if node is None or decoded is None:
            return Text()
        is_inner = view.rows[view.row].is_inner
        of = " of the unpacked bytes" if is_inner else ""
        place = f"{node.start:,}" if node.size == 1 else f"{node.start:,}-{node.end - 1:,}"
        bytes_ = "byte" if node.size == 1 else "bytes"
        where = f"{bytes_} {place}{of}" if node.size else "no bytes"
        text = ink(view.path, "bold")
        text.append(f"  {where}  {node.type}", style=colours.dim)
        if node.type.startswith("compact"):
            text.append(": length + 1 in a varint (KIP-482)", style=colours.dim)
        if node.versions:
            text.append(f"  in versions {node.versions}", style=colours.text)
        text.append("\n")
        if node.wrong:
            text.append(f"✗ {node.wrong}", style=f"bold {colours.error}")
        elif node.note:
            text.append(node.note)
        return text
