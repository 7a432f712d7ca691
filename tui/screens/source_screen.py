"""The window that the key `o` opens: the source of a widget's class. `e` opens it in $EDITOR."""

import os
import shlex
import subprocess
from typing import ClassVar

from rich.syntax import Syntax
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Footer, Label, Static

from ..in_chinese import Verbatim
from ..subjects import Source


class _Code(Static, Verbatim):
    """The widget with the source text of a module."""


class SourceScreen(ModalScreen[None]):
    """Shows the source of a module, from the class onwards."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,o,q", "dismiss", "back", key_display="esc"),
        Binding("e", "edit", "open in $EDITOR"),
    ]

    def __init__(self, source: Source) -> None:
        super().__init__()
        self._source = source

    def compose(self) -> ComposeResult:
        code = self._source.path().read_text(encoding="utf-8")
        theme = "github-dark" if self.app.current_theme.dark else "friendly"
        with Vertical(classes="box"):
            yield Label(
                f"{self._source.cls} · kafka_edu/{self._source.module.replace('.', '/')}.py",
                classes="title",
                markup=False,
            )
            with VerticalScroll():
                yield _Code(
                    Syntax(
                        code, "python", line_numbers=True, theme=theme, background_color="default"
                    )
                )
        yield Footer(compact=True, show_command_palette=False)

    def on_mount(self) -> None:
        scroll = self.query_one(VerticalScroll)
        scroll.focus()
        self.call_after_refresh(scroll.scroll_to, y=self._source.line() - 1, animate=False)

    def action_edit(self) -> None:
        editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
        if not editor:
            self.notify("set EDITOR to open it in your editor")
            return
        with self.app.suspend():
            subprocess.run(
                [*shlex.split(editor), f"+{self._source.line()}", str(self._source.path())],
                check=False,
            )

    async def action_dismiss(self, result: None = None) -> None:
        self.dismiss()
