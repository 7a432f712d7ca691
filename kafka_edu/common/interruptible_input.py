"""Standard input whose reader is ended by Ctrl-C at any moment.

Python handles a signal between two of its own instructions. A signal may arrive just after Python
has looked for signals, and just before the system call that reads. Such a signal is handled only
when the system call ends. A program that reads from a terminal then continues until the user has
typed one more line. This happens on a busy machine. Therefore the class InterruptibleInput waits
for input and for a signal at the same time.
"""

import io
import os
import select
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TextIO

if sys.version_info >= (3, 12):
    from collections.abc import Buffer
else:
    from typing import Any as Buffer


@contextmanager
def typed_lines() -> Iterator[TextIO]:
    """Read the lines of standard input in a `with` block of the main thread.

    Raises OSError if standard input is closed.
    """
    if sys.stdin is None:  # the shell's `<&-`
        raise OSError("standard input is closed: no line can be read")
    with InterruptibleInput(sys.stdin.fileno()) as typed:
        yield io.TextIOWrapper(io.BufferedReader(typed), encoding="utf-8", errors="replace")


class InterruptibleInput(io.RawIOBase):
    """Reads from a file descriptor, which stays open at the end. Only the main thread may use
    it.
    """

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._descriptor = descriptor
        self._signals, self._signalled = os.pipe()
        for end in (self._signals, self._signalled):
            os.set_blocking(end, False)
        self._before = signal.set_wakeup_fd(self._signalled, warn_on_full_buffer=False)
        self._wait = partial(select.select, [descriptor, self._signals], [], [])

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Buffer, /) -> int:
        """Read some bytes into `buffer`, and return their number. 0 means that the input has ended.
        If a signal arrives, its handler may raise an error.
        """
        while self._descriptor not in self._wait()[0]:
            os.read(self._signals, 4096)
        return os.readv(self._descriptor, [buffer])

    def close(self) -> None:
        if not self.closed:
            signal.set_wakeup_fd(self._before)
            os.close(self._signals)
            os.close(self._signalled)
        super().close()
