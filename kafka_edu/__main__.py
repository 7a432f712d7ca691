"""The command line: the script `kafka-edu` runs this file, and so does `python -m kafka_edu`.

Ctrl-C ends the program with one line at any moment, even while Python is still importing. So the
first statement of this file sets the handler of Ctrl-C, and only modules that are compiled into
Python are imported before it. For the same reason the script starts Python without the module
`site` (-S), and this file loads `site` later. About one millisecond remains before the handler is
set. A Ctrl-C in that millisecond ends Python with Python's own message.

When Python itself ends, it gives SIGINT back to the system before it takes its modules apart. From
then on Ctrl-C would kill the process instead of ending it with exit code 130. So the last function
that Python calls before that point ends the process itself.
"""

import _signal  # type: ignore[import-not-found]  # to import `signal` would take 4 ms
import atexit
import posix
import sys


def _stop_at_once(signum: int, frame: object) -> None:
    """End the process at Ctrl-C; nothing has been started yet, so nothing must be stopped."""
    posix.write(2, b"stopped\n")
    posix._exit(128 + signum)


class _Farewell:
    """Handles the time between the end of the command and the end of the process.

    In that time Python waits for threads and calls the atexit functions.
    """

    def __init__(self) -> None:
        self._code = 1  # exit code after an unhandled exception

    def begin(self, ended: SystemExit) -> None:
        """Note the exit code of the finished command, and let Ctrl-C end the process at once.

        The command's output is already written.
        """
        self._code = ended.code if isinstance(ended.code, int) else 0
        if _signal.getsignal(_signal.SIGINT) != _signal.SIG_IGN:
            _signal.signal(_signal.SIGINT, _stop_at_once)

    def end(self) -> None:
        """End the process at once, without the rest of Python's own shutdown."""
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()  # the text that atexit functions have printed
            except Exception:  # the stream is closed, or its reader has gone
                continue
        posix._exit(self._code)


def main() -> None:
    """Run the command line, and end with SystemExit."""
    if (
        _signal.getsignal(_signal.SIGINT) != _signal.SIG_IGN
    ):  # a background job of a script ignores SIGINT
        _signal.signal(_signal.SIGINT, _stop_at_once)
    if sys.flags.no_site:
        import site

        site.main()
    farewell = _Farewell()
    atexit.register(farewell.end)  # registered first, so it is called last
    try:
        if sys.argv[1:2] == ["--set-up-environment"]:  # no package is installed yet
            from kafka_edu.common.environment_setup import set_up

            set_up(sys.argv[2])
        else:
            from kafka_edu.cli.main import main as run

            run()
    except SystemExit as ended:
        farewell.begin(ended)
        raise


if __name__ == "__main__":
    main()
