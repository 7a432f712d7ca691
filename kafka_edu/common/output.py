"""Standard output and standard error that end the program quietly when their reader has gone.

`kafka-edu topics --list | head -1` closes the pipe while the command still writes. Unix tools then
die of SIGPIPE, silently, and the shell shows 141. A Python program cannot leave SIGPIPE at its
default, because a write to a closed socket raises the same signal. And a BrokenPipeError would be
mistaken for a broken connection, or be printed by the interpreter when it flushes at its end. So
the two streams raise OutputClosed, which is a SystemExit: clean-up runs, and nothing is printed.
"""

import io
import sys
import threading
from typing import Final, TextIO

if sys.version_info >= (3, 12):
    from collections.abc import Buffer
else:
    from typing import Any as Buffer

#: The exit code that a shell shows for a program that died of SIGPIPE.
EXIT_OUTPUT_CLOSED: Final = 141


class OutputClosed(SystemExit):
    """The program that read our output has gone."""

    def __init__(self) -> None:
        super().__init__(EXIT_OUTPUT_CLOSED)


class _ClosableOutput(io.FileIO):
    """A file descriptor. The first write of the main thread without a reader raises OutputClosed.

    Later writes, which clean-up may make, and writes of other threads go nowhere.
    """

    def __init__(self, descriptor: int) -> None:
        super().__init__(descriptor, "wb", closefd=False)
        self._told = False

    def write(self, data: Buffer, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            if not self._told and threading.current_thread() is threading.main_thread():
                self._told = True
                raise OutputClosed from None
            return memoryview(data).nbytes


def _closable(stream: TextIO) -> TextIO:
    """Return the same stream over a _ClosableOutput."""
    if not isinstance(stream, io.TextIOWrapper):  # captured, in a test
        return stream
    try:
        raw = _ClosableOutput(stream.fileno())
    except (OSError, ValueError):
        return stream
    stream.flush()
    return io.TextIOWrapper(
        raw if stream.write_through else io.BufferedWriter(raw),  # `python -u` does so too
        encoding=stream.encoding,
        errors=_errors(stream),
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


def _errors(stream: TextIO) -> str:
    """Return the treatment of characters that the terminal cannot show, so that no
    UnicodeEncodeError ends the program.

    An argument that is not UTF-8 is written as the bytes that came in. A terminal without Unicode
    shows a question mark.
    """
    if stream.errors != "strict":
        return stream.errors or "strict"
    return "surrogateescape" if stream.encoding.lower().replace("-", "") == "utf8" else "replace"


def end_when_output_closes() -> None:
    """Replace sys.stdout and sys.stderr. A stream that the caller has closed (`>&-`) stays None."""
    if sys.stdout is not None:
        sys.stdout = _closable(sys.stdout)
    if sys.stderr is not None:
        sys.stderr = _closable(sys.stderr)


def flush_output() -> None:
    """Write what is buffered. Raises OutputClosed."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
