"""The terminal of the page (xterm.js), as Textual sees it."""

import asyncio
from collections.abc import Iterable
from typing import Any, Protocol

from textual import events, messages
from textual._xterm_parser import XTermParser
from textual.driver import Driver
from textual.geometry import Size

_START = (
    "\x1b[?1049h",  # the alternate screen
    "\x1b[?1000h\x1b[?1003h\x1b[?1015h\x1b[?1006h",  # the mouse
    "\x1b[?25l",  # no cursor
    "\x1b[?2004h",  # a pasted text comes in brackets
    "\x1b[?2026$p",  # can the terminal show a whole frame at once?
)
_END = ("\x1b[?2004l", "\x1b[?1006l\x1b[?1015l\x1b[?1003l\x1b[?1000l", "\x1b[?25h", "\x1b[?1049l")


class Terminal(Protocol):
    """The side of the page that shows text."""

    def write(self, text: str, /) -> None:
        """Show text, with the escape sequences of xterm."""
        ...


class TerminalApp(Protocol):
    """An app that has the terminal of a page."""

    terminal: Terminal
    page_size: tuple[int, int]
    """The columns and rows of the terminal. They may change before there is a driver."""


class PageDriver(Driver):
    """Passes what Textual draws to the page, and the page's keys and size to Textual."""

    def __init__(
        self,
        app: Any,
        *,
        debug: bool = False,
        mouse: bool = True,
        size: tuple[int, int] | None = None,
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        self._page: TerminalApp = app
        self._terminal = self._page.terminal
        self._parser = XTermParser(debug=debug)

    @property
    def is_web(self) -> bool:
        return True

    def write(self, data: str) -> None:
        self._terminal.write(data)

    def start_application_mode(self) -> None:
        self._write_all(_START)
        self.resize(*self._page.page_size)

    def _write_all(self, sequences: Iterable[str]) -> None:
        self.write("".join(sequences))

    def disable_input(self) -> None:
        """Do nothing: keys come by `feed`, and no thread reads them."""

    def stop_application_mode(self) -> None:
        self._write_all(_END)

    def feed(self, keys: str) -> None:
        """Take what the terminal of the page has read: keys, mouse, and answers to queries."""
        for event in self._parser.feed(keys):
            self.process_message(event)
        if keys.endswith("\x1b"):  # is it the key Escape, or the start of a sequence?
            asyncio.get_running_loop().call_later(0.1, self._tick)

    def _tick(self) -> None:
        for event in self._parser.tick():
            self.process_message(event)

    def resize(self, columns: int, rows: int) -> None:
        """Take the size of the page's terminal."""
        self._size = (columns, rows)
        size = Size(columns, rows)
        self.send_message(events.Resize(size, size))

    def open_url(self, url: str, new_tab: bool = True) -> None:
        """Do nothing: a worker opens no page."""

    def quit(self) -> None:
        """End the app."""
        self.send_message(messages.ExitApp())
