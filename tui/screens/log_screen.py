"""The screen Log (L): the files on the disk, and the segments that are deleted or cleaned next."""

from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical

from ..subjects import LOGS, SEGMENTS
from ..widgets.drawn import Lines, set_rows
from ..widgets.log_board import LogAnswer, LogChoice, LogHead, LogLines, SegmentBoard
from .batch_screen import BatchScreen
from .chain_screen import ChainScreen
from .dashboard_screen import DashboardScreen
from .declaration import ScreenDeclaration


class LogScreen(DashboardScreen):
    """Shows the logs of one broker, and below the segments of the chosen log."""

    declaration = ScreenDeclaration(
        name="log",
        key="L",
        title="Log",
        question="What is on the disk, and what will retention or the cleaner remove next?",
        subjects=(LOGS, SEGMENTS),
        acts=("pause", "resume", "kill", "start"),
        break_="give a topic retention.bytes=1000000 and produce, or cleanup.policy=compact",
    )
    default_subject = SEGMENTS
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("w", "bytes", "bytes"),
        *declaration.act_keys(),
    ]

    def body(self) -> ComposeResult:
        """Yield the widgets, and keep references to them."""
        self._choice = LogChoice()
        self._answer = LogAnswer(self.model, id="log-answer")
        self._lines = LogLines(self.model, self._choice)
        self._head = LogHead(self.model, self._lines)
        self._board = SegmentBoard(self.model, self._choice)
        yield self._answer
        with Vertical(id="log-list") as listed:
            self._listed = listed
            yield self._head
            yield self._lines
        yield self._board

    def on_mount(self) -> None:
        self._lines.focus()
        self.tick()

    def tick(self) -> None:
        for widget in (self._head, self._lines):
            if widget.is_mounted:
                widget.tick()
        broker = self._choice.broker(self.model)
        of_broker = f" of broker {broker}" if broker is not None else ""
        self._listed.border_title = f"logs{of_broker}:{self._lines.order_words(' by name')}"
        room = self._listed.outer_size.height + self._board.outer_size.height
        rows = max(min(self._lines.count() + 2, room // 2), 4)
        set_rows(self._listed, rows)
        super().tick()

    def act_values(self) -> dict[str, int | str]:
        """Return the broker whose logs are shown."""
        broker = self._choice.broker(self.model)
        return {"broker": broker} if broker is not None else {}

    def action_broker(self, by: int) -> None:
        """Show the logs of another broker."""
        self._choice.move(self.model, by)
        self.tick()

    def action_bytes(self) -> None:
        """Open the last batch of the chosen log, down to its bytes."""
        log = self._choice.log(self.model)
        if self.folder is None:
            self.notify("a recording has events, and not the bytes of the log's files")
        elif log is None or not log.log_dir:
            self.notify("choose a log first")
        else:
            folder = Path(log.log_dir) / str(log.name.key)
            files = [folder / f"{base:020d}.log" for base in log.segments]
            name = f"{log.name.key} on broker {log.name.broker}"
            self.app.push_screen(BatchScreen(name, files))

    def on_lines_chosen(self, message: Lines.Chosen) -> None:
        """Follow the causes of the last change of the log's segments."""
        if message.lines is not self._lines:
            return
        log = self._choice.log(self.model)
        if log is None or log.news is None:
            self.notify("no segment was added or removed since you began to look")
            return
        self.app.push_screen(ChainScreen(self.model.ticker, log.news))
