"""The command `kafka-edu`: find the subcommand in the table, import only that one, and run it."""

import os
import signal
import sys
import threading
from collections.abc import Mapping
from typing import Final, NoReturn

import click

from kafka_edu.cli.command_table import COMMANDS, CommandEntry, read_group
from kafka_edu.common.output import (
    EXIT_OUTPUT_CLOSED,
    OutputClosed,
    end_when_output_closes,
    flush_output,
)
from kafka_edu.common.python_process import EXIT_INTERRUPTED, command_line, program

VERSION = "0.1.0"
INTERRUPT_AGAIN_S: Final = 0.01


class LazyGroup(click.Group):
    """A click group that knows its commands from a table.

    It imports a command when the user calls it.
    """

    def __init__(self, entries: Mapping[str, CommandEntry], **settings: str) -> None:
        super().__init__(name="kafka-edu", help=settings.get("help"))
        self._entries = entries

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._entries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = self._entries.get(cmd_name)
        if entry is None:
            return None
        if not entry.found():
            raise click.ClickException(
                f"the command '{cmd_name}' is not in this installation: there is no module"
                f" {entry.module}"
            )
        command = entry.load()
        if not isinstance(command, click.Command):
            raise click.ClickException(
                f"the command '{cmd_name}' is broken: {entry.module}:{entry.attribute} is not a"
                " click command"
            )
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = [(name, entry.help_line()) for name, entry in self._entries.items()]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def build() -> click.Group:
    """Return the click group with all commands of this installation."""
    group = LazyGroup(
        read_group(COMMANDS),
        help=(
            "A Kafka of the ZooKeeper era whose every moving part can be watched, paused and"
            f" broken. Some you write yourself. Begin with `{command_line('demo')}`."
            f" `{command_line('COMMAND --help')}` describes each command."
        ),
    )
    return click.version_option(VERSION, prog_name="kafka-edu")(group)


def main() -> NoReturn:
    """Run the command line and exit with its code.

    After Ctrl-C it prints one line and exits with 130. If the program that reads our output has
    ended, it prints nothing and exits with 141. Shells expect these two codes.
    """
    signal.signal(signal.SIGTERM, _terminated)
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.unraisablehook = _unraisable
    end_when_output_closes()
    try:
        code = _run()
        flush_output()
    except OutputClosed:
        _end_now(EXIT_OUTPUT_CLOSED)
    except SystemExit as ended:
        code = _exit_code(ended)
    sys.exit(code)


def _run() -> int:
    """Run the command, print its errors, and return its exit code.

    Raises SystemExit where Click itself ends the program, for example after --help.
    """
    try:
        group = build()
        with group.make_context(
            program(), sys.argv[1:]
        ) as context:  # click's `main` would take a broken connection for a closed output
            code = group.invoke(context)
    except BaseException as error:
        if _is_interrupt(error):
            _stopped()
        match error:
            case click.exceptions.Exit():
                code = error.exit_code
            case click.ClickException():
                error.show()
                code = error.exit_code
            case UnicodeEncodeError() if words := _not_utf8():
                click.echo(
                    "Error: names in Kafka and ZooKeeper are UTF-8, and this argument is not UTF-8:"
                    f" {' '.join(words)}",
                    err=True,
                )
                code = 2
            case _:
                raise
    return code if isinstance(code, int) else 0


def _not_utf8() -> list[str]:
    """Return the arguments that are not UTF-8, with a question mark for each wrong byte."""
    arguments = {word: word.encode("utf-8", "replace").decode("utf-8") for word in sys.argv[1:]}
    return [shown for word, shown in arguments.items() if shown != word]


def _is_interrupt(error: BaseException | None) -> bool:
    """Return whether Ctrl-C caused this error, directly or through a chain of causes.

    C code may return normally while KeyboardInterrupt is still set. Python then reports a
    SystemError. Some libraries also wrap the exception.
    """
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, KeyboardInterrupt | click.Abort):
            return True
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return False


def _unraisable(problem: "sys.UnraisableHookArgs") -> None:
    """Report an exception that Python cannot raise, such as one in `__del__`.

    Ctrl-C may arrive while `__del__` runs. Python would ignore this Ctrl-C, and the command would
    continue. So this function sends Ctrl-C again a moment later, from a thread. If
    KeyboardInterrupt were raised in this function, Python would ignore it again.
    """
    if not issubclass(problem.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(problem)
    elif signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        main_thread = threading.main_thread().ident or 0
        again = threading.Timer(
            INTERRUPT_AGAIN_S, signal.pthread_kill, [main_thread, signal.SIGINT]
        )
        again.daemon = True
        again.start()


def _stopped() -> NoReturn:
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # a second Ctrl-C ends the rest of the program
    click.echo("stopped", err=True)
    flush_output()
    _end_now(EXIT_INTERRUPTED)


def _end_now(code: int) -> NoReturn:
    """End the process at once, without Python's exit steps.

    Everything that the command started has already been stopped. The atexit functions of libraries
    do not run, because nobody needs their output.
    """
    os._exit(code)


def _exit_code(ended: SystemExit) -> int:
    """Return the exit code that Python would use: 0 for None, 1 for a text, which is printed."""
    if isinstance(ended.code, str):
        click.echo(ended.code, err=True)
        return 1
    return ended.code or 0


def _terminated(signum: int, frame: object) -> NoReturn:
    """Handle SIGTERM: raise SystemExit, so that everything the command started is stopped."""
    raise SystemExit(128 + signum)
