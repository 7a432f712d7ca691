"""End the program quietly when the program that reads its output has ended.

`kafka-edu topics --list | head -1` closes the pipe while the command still writes. In this case,
Unix tools end silently by SIGPIPE, and the shell shows 141. A Python program cannot use the default
of SIGPIPE, because a write to a closed socket raises the same signal. BrokenPipeError is no
solution either: it would look like a broken connection, or Python would print it when it flushes
its output at the end. So standard output and standard error raise OutputClosed, which is a
SystemExit: clean-up code runs, and nothing is printed.

A full disk is different: `kafka-edu dump-log … > FILE` ends with one line and exit code 1
(OutputFailed).
"""

import io
import sys
import threading
from typing import Final, TextIO

if sys.version_info >= (3, 12):
    from collections.abc import Buffer
else:
    from typing import Any as Buffer

#: The exit code that a shell shows after SIGPIPE has ended a program.
EXIT_OUTPUT_CLOSED: Final = 141


class OutputClosed(SystemExit):
    """The program that read our output has ended."""

    def __init__(self) -> None:
        super().__init__(EXIT_OUTPUT_CLOSED)


class OutputFailed(SystemExit):
    """The output cannot be written, for example because the disk is full. The code is a message."""

    def __init__(self, error: OSError) -> None:
        super().__init__(
            f"Error: the output cannot be written: {error.strerror or error}. It is not complete."
        )


class _ClosableOutput(io.FileIO):
    """Output to a file descriptor.

    If the reading program has ended, the main thread's first write raises OutputClosed. If the
    output cannot be written for another reason, it raises OutputFailed. Later writes, for example
    of clean-up code, do nothing. If the reading program has ended, writes of other threads do
    nothing either.
    """

    def __init__(self, descriptor: int) -> None:
        super().__init__(descriptor, "wb", closefd=False)
        self._reported = False

    def write(self, data: Buffer, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            # a socket is reset if its reader ends with unread bytes
            is_closed = isinstance(error, BrokenPipeError | ConnectionResetError)
            if not self._reported:
                if threading.current_thread() is threading.main_thread():
                    self._reported = True
                    raise (OutputClosed() if is_closed else OutputFailed(error)) from None
                if not is_closed:
                    raise
            return memoryview(data).nbytes


def _closable(stream: TextIO) -> TextIO:
    """Return a stream that writes to the same file descriptor through _ClosableOutput."""
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
    """Return Python's `errors` setting for characters that the terminal cannot show.

    Such a character must not end the program with a UnicodeEncodeError. An argument that is not
    UTF-8 is written with its original bytes. A terminal without Unicode shows a question mark.
    """
    if stream.errors != "strict":
        return stream.errors or "strict"
    return "surrogateescape" if stream.encoding.lower().replace("-", "") == "utf8" else "replace"


def end_when_output_closes() -> None:
    """Replace sys.stdout and sys.stderr by streams that raise OutputClosed.

    A stream that the caller has closed (`>&-`) stays None.
    """
    if sys.stdout is not None:
        sys.stdout = _closable(sys.stdout)
    if sys.stderr is not None:
        sys.stderr = _closable(sys.stderr)


def flush_output() -> None:
    """Write all buffered output. Raises OutputClosed if the reading program has ended."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
