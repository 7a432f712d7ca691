"""The window that [enter] opens: the causes and effects of an event.

The causes come from all processes, and the first cause comes first.
"""

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Footer, Label, Static

from kafka_edu.trace.event import Envelope, fields_of, meaning

from ..view_model.ticker import Link, Ticker
from ..widgets.chain_lines import ChainLines
from ..widgets.drawn import Lines, ink
from ..widgets.event_text import wall_clock


class ChainScreen(ModalScreen[None]):
    """Shows one line for each event. Below are all fields of the event under the cursor."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss", "back", key_display="esc")
    ]

    def __init__(self, ticker: Ticker, envelope: Envelope) -> None:
        super().__init__()
        self._ticker = ticker
        self._envelope = envelope
        self._lines: ChainLines | None = None

    def compose(self) -> ComposeResult:
        links = self._ticker.chain(self._envelope)
        at = next((i for i, link in enumerate(links) if link.envelope == self._envelope), 0)
        self._lines = ChainLines(links, at)
        with Vertical(classes="box"):
            yield Label("What caused it, and what followed", classes="title", markup=False)
            yield self._lines
            yield Static(id="detail")
        yield Footer(compact=True, show_command_palette=False)

    def on_mount(self) -> None:
        if self._lines is not None:
            self._lines.focus()
            self._lines.tick()
            self._show()
            self.set_interval(0.2, self._show)

    def _show(self) -> None:
        if self._lines is not None:
            self.query_one("#detail", Static).update(
                self._detail(self._lines.links[self._lines.cursor])
            )

    def _detail(self, link: Link) -> Text:
        envelope = link.envelope
        text = ink(f"{envelope.name}", "bold")
        cause = f", cause #{envelope.cause}" if envelope.cause else ""
        text.append(f"  #{envelope.seq} of {link.teller}{cause}, {wall_clock(envelope.wall_ms)}\n")
        text.append(meaning(type(envelope.event)) + "\n", style="italic")
        text.append(
            "  ".join(f"{name}={value}" for name, value in fields_of(envelope.event).items())
        )
        return text

    def on_lines_chosen(self, message: Lines.Chosen) -> None:
        """Show the chain of another event."""
        link = message.lines
        if isinstance(link, ChainLines) and link.links[message.index].envelope != self._envelope:
            self.app.switch_screen(ChainScreen(self._ticker, link.links[message.index].envelope))

    async def action_dismiss(self, result: None = None) -> None:
        self.dismiss()
