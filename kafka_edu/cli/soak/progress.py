"""Show the progress of a long command: a moving line on a terminal, otherwise one line a minute."""

import time
from typing import Final

from rich.console import Console
from rich.status import Status

_LINE_EVERY_S: Final = 60.0


class Progress:
    """Show progress while a `with` block runs."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self._status: Status | None = console.status("") if console.is_terminal else None
        self._said_at = 0.0

    def show(self, text: str) -> None:
        now = time.monotonic()
        if self._status is not None:
            self._status.update(text)
        elif now > self._said_at + _LINE_EVERY_S:
            self._said_at = now
            self.console.print(text, soft_wrap=True, highlight=False)

    def __enter__(self) -> "Progress":
        if self._status is not None:
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._status is not None:
            self._status.stop()
