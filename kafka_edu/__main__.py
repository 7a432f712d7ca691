"""The command line: the script `kafka-edu` runs this file, and so does `python -m kafka_edu`.

Ctrl-C ends the program with one line at any moment, also while Python is still importing. So the
first statement that runs here sets the handler, and only modules that are compiled into Python are
imported before it. For the same reason the script starts Python without the module `site` (-S),
which is loaded here instead. The window that is left is about one millisecond; a Ctrl-C in it ends
Python with its own words.

At its own end Python gives SIGINT back to the system before it takes its modules apart: from there
on Ctrl-C would kill the process instead of ending it with 130. So the last function that Python
calls before that ends the process itself.
"""

import _signal  # type: ignore[import-not-found]  # the module `signal` is 4 ms of imports
import atexit
import posix
import sys


def _stop_at_once(signum: int, frame: object) -> None:
    """Nothing has been started yet, so nothing has to be stopped."""
    posix.write(2, b"stopped\n")
    posix._exit(128 + signum)


class _Farewell:
    """The time between the end of the command and the end of the process: threads are waited for,
    and atexit functions called.
    """

    def __init__(self) -> None:
        self._code = 1  # of an exception that nobody handles: Python prints it

    def begin(self, ended: SystemExit) -> None:
        """The command is done, and its output written. Ctrl-C does not wait for what is left."""
        self._code = ended.code if isinstance(ended.code, int) else 0
        if _signal.getsignal(_signal.SIGINT) != _signal.SIG_IGN:
            _signal.signal(_signal.SIGINT, _stop_at_once)

    def end(self) -> None:
        """End the process: nothing of Python's own end is needed."""
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()  # what atexit functions have printed
            except Exception:  # closed, or its reader has gone
                continue
        posix._exit(self._code)


def main() -> None:
    """Run the command line; does not return."""
    if (
        _signal.getsignal(_signal.SIGINT) != _signal.SIG_IGN
    ):  # a background job of a script ignores it
        _signal.signal(_signal.SIGINT, _stop_at_once)
    if sys.flags.no_site:
        import site

        site.main()
    farewell = _Farewell()
    atexit.register(farewell.end)  # registered first, it is called last
    try:
        if sys.argv[1:2] == ["--set-up-environment"]:  # by the script: no package is there yet
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
