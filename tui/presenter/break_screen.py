"""The key `B` in a presentation: ideas for breaking something by hand, and a second terminal."""

import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Footer, Label, Static

from kafka_edu.instruments.presenter.break_tools import Idea, as_lines

from ..in_chinese import Verbatim


class _Ideas(Static, Verbatim):
    """A list of the script's sentences and commands."""


class BreakScreen(ModalScreen[None]):
    """Shows the script's ideas for breaking something by hand, with the names of this cluster."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,B,q", "dismiss", "back", key_display="esc"),
        Binding("t", "terminal", "a terminal with these commands"),
    ]

    def __init__(self, found: list[Idea]) -> None:
        super().__init__()
        self._ideas = found

    def compose(self) -> ComposeResult:
        text = Text()
        for line in as_lines(self._ideas):
            text.append(line + "\n", style="" if line.startswith(" ") else "bold")
        with Vertical(classes="box"):
            yield Label("Break it", classes="title", markup=False)
            with VerticalScroll(can_focus=False):
                yield _Ideas(text)
            yield Label(
                "t opens a terminal: the arrow key ↑ shows these commands.\nThe terminal uses the"
                " cluster of this chapter, which is removed when the chapter ends.",
                markup=False,
            )
        yield Footer(compact=True, show_command_palette=False)

    def action_terminal(self) -> None:
        """Open a second terminal. Under tmux it appears below this one. Otherwise it replaces the
        dashboard until the user leaves it.
        """
        with tempfile.NamedTemporaryFile(
            "w", prefix="kafka-edu-break-", suffix=".history", delete=False, encoding="utf-8"
        ) as file:
            file.write("\n".join(command for one in self._ideas for command in one.commands) + "\n")
        shell = shell_command(self._ideas, Path(file.name))
        if os.environ.get("TMUX"):
            subprocess.run(["tmux", "split-window", "-v", shell], check=False)
            return
        with self.app.suspend():
            subprocess.run(["/bin/sh", "-c", shell], check=False)

    async def action_dismiss(self, result: None = None) -> None:
        self.dismiss()


def shell_command(found: list[Idea], history: Path) -> str:
    """Return a shell command that prints the ideas and puts their commands into the history."""
    shell = os.environ.get("SHELL") or "/bin/sh"
    lines = [*as_lines(found), "", "exit closes this terminal."]
    here = f"cd {shlex.quote(os.getcwd())}; export HISTFILE={shlex.quote(str(history))}"
    if home := os.environ.get("KAFKA_EDU_HOME"):  # tmux has its own environment
        here += f" KAFKA_EDU_HOME={shlex.quote(home)}"
    path = f"export PATH={shlex.quote(str(Path(sys.executable).parent))}:$PATH"
    shown = f"printf '%s\\n' {' '.join(map(shlex.quote, lines))}"
    return f"{here}; {path}; {shown}; {shlex.quote(shell)}; rm -f {shlex.quote(str(history))}"
