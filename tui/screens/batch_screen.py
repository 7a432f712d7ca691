"""The window that `w` on the Log screen opens: one batch of a segment, down to its bytes."""

from pathlib import Path
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Footer, Label, Static

from kafka_edu.instruments.wire.render import tree_lines
from kafka_edu.instruments.wire.segment import BatchAt, batches_of, decode_batch

from ..in_chinese import Verbatim
from ..widgets.drawn import ink, palette_of


class _Bytes(Static, Verbatim):
    """The widget with the bytes and fields of a batch."""


class BatchScreen(ModalScreen[None]):
    """Shows the fields of a batch next to their bytes, and goes from batch to batch."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,w,q", "dismiss", "back", key_display="esc"),
        Binding("left", "batch(-1)", "batch before", key_display="←"),
        Binding("right", "batch(1)", "next batch", key_display="→"),
        Binding("left_square_bracket", "segment(-1)", "segment before", key_display="["),
        Binding("right_square_bracket", "segment(1)", "next segment", key_display="]"),
        Binding("d", "docs", "what each field means"),
    ]

    def __init__(self, name: str, files: list[Path]) -> None:
        """Open the window for the log `name`.

        `files` are the log's segments, the oldest first. There must be at least one.
        """
        super().__init__()
        self._name = name
        self._files = files
        self._file = len(files) - 1
        self._batches: list[BatchAt] = []
        self._batch = 0
        self._docs = False
        self._title = Label(name, classes="title", markup=False)
        self._text = _Bytes()

    def compose(self) -> ComposeResult:
        with Vertical(classes="box"):
            yield self._title
            with VerticalScroll():
                yield self._text
        yield Footer(compact=True, show_command_palette=False)

    def on_mount(self) -> None:
        self._read_segment()
        self.query_one(VerticalScroll).focus()

    def _read_segment(self) -> None:
        """List the batches of the chosen segment, and show the last one."""
        path, why = self._files[self._file], "this segment has no complete batch yet"
        try:
            self._batches = batches_of(path)
        except OSError as error:  # retention or the cleaner has removed it
            self._batches, why = [], f"{path.name} cannot be read: {error.strerror}"
        self._batch = len(self._batches) - 1
        if self._batches:
            self._show()
        else:
            self._title.update(f"{self._name} · {path.name}")
            self._text.update(why)

    def _show(self) -> None:
        path, batch = self._files[self._file], self._batches[self._batch]
        self._title.update(
            f"{self._name} · {path.name} · batch {self._batch + 1:,} of {len(self._batches):,}:"
            f" offsets {batch.base_offset:,} to {batch.last_offset:,}, from byte"
            f" {batch.position:,}"
        )
        try:
            decoded = decode_batch(path, batch)
        except OSError as error:
            self._text.update(f"{path.name} cannot be read: {error.strerror}")
            return
        colours = palette_of(self._text)
        lines = tree_lines(decoded, unfold=True, docs=self._docs)[1:]
        self._text.update(
            Text("\n").join(
                ink(line.text, f"bold {colours.error}" if line.is_wrong else "") for line in lines
            )
        )

    def action_batch(self, by: int) -> None:
        """Show the batch before or after this one."""
        if self._batches:
            self._batch = min(max(self._batch + by, 0), len(self._batches) - 1)
            self._show()
            self.query_one(VerticalScroll).scroll_home(animate=False)

    def action_segment(self, by: int) -> None:
        """Go to the segment before or after this one."""
        self._file = min(max(self._file + by, 0), len(self._files) - 1)
        self._read_segment()

    def action_docs(self) -> None:
        """Show or hide what each field means."""
        self._docs = not self._docs
        if self._batches:
            self._show()

    async def action_dismiss(self, result: None = None) -> None:
        self.dismiss()
