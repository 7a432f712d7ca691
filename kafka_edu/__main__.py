"""The command line: the script `kafka-edu` runs this file, and so does `python -m kafka_edu`.

Ctrl-C ends the program with one line at any moment, also while Python is still importing. So the
first statement that runs here sets the handler, and only modules that are compiled into Python are
imported before it. For the same reason the script starts Python without the module `site` (-S),
which is loaded here instead. The window that is left is about one millisecond; a Ctrl-C in it ends
Python with its own words.
"""

import _signal  # type: ignore[import-not-found]  # the module `signal` is 4 ms of imports
import posix
import sys


def _stop_at_once(signum: int, frame: object) -> None:
    """Nothing has been started yet, so nothing has to be stopped."""
    posix.write(2, b"stopped\n")
    posix._exit(128 + signum)


def main() -> None:
    """Run the command line; does not return."""
    if _signal.getsignal(_signal.SIGINT) != _signal.SIG_IGN:  # a background job of a script ignores it
        _signal.signal(_signal.SIGINT, _stop_at_once)
    if sys.flags.no_site:
        import site

        site.main()
    from kafka_edu.cli.main import main as run

    run()


if __name__ == "__main__":
    main()
