"""The command `kafka-edu`: finds the subcommand in the table, imports that one alone, and runs it."""

import signal
import sys
from collections.abc import Mapping
from typing import Final, NoReturn

import click

from kafka_edu.cli.command_table import COMMANDS, CommandEntry, read_group
from kafka_edu.cli.output import EXIT_OUTPUT_CLOSED, OutputClosed, end_when_output_closes, flush_output

#: What a shell shows for a program that died of SIGINT.
EXIT_INTERRUPTED: Final = 130
VERSION = "0.1.0"


class LazyGroup(click.Group):
    """A group whose commands stand in a table and are imported when they are called."""

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
            raise click.ClickException(f"the command '{cmd_name}' is not in this installation: there is no module {entry.module}")
        command = entry.load()
        if not isinstance(command, click.Command):
            raise click.ClickException(f"the command '{cmd_name}' is broken: {entry.module}:{entry.attribute} is no click command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = [(name, entry.help_line()) for name, entry in self._entries.items()]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def build() -> click.Group:
    """The command line with all commands of this installation."""
    group = LazyGroup(
        read_group(COMMANDS),
        help="A Kafka of the ZooKeeper era whose every moving part can be watched, paused, broken and re-written. "
        "Begin with `kafka-edu demo`. `kafka-edu COMMAND --help` tells of each command.",
    )
    return click.version_option(VERSION, prog_name="kafka-edu")(group)


def main() -> NoReturn:
    """Run the command line and exit with its code.

    Ctrl-C exits with 130 and one line; a reader of our output that has gone exits with 141 and
    none: both as shells expect.
    """
    signal.signal(signal.SIGTERM, _terminated)
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    end_when_output_closes()
    try:
        code = _run()
        flush_output()
    except OutputClosed:
        code = EXIT_OUTPUT_CLOSED
    except SystemExit as ended:
        code = _exit_code(ended)
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # all is said and stopped: a second Ctrl-C just ends Python
    sys.exit(code)


def _run() -> int:
    """The exit code of the command, whose errors are printed. Raises SystemExit."""
    try:
        code = build().main(prog_name="kafka-edu", standalone_mode=False)
    except click.exceptions.Exit as exit_:
        code = exit_.exit_code
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("stopped", err=True)
        code = EXIT_INTERRUPTED
    return code if isinstance(code, int) else 0


def _exit_code(ended: SystemExit) -> int:
    """As Python takes it: None is 0, and a text is an error to print."""
    if isinstance(ended.code, str):
        click.echo(ended.code, err=True)
        return 1
    return ended.code or 0


def _terminated(signum: int, frame: object) -> NoReturn:
    """SIGTERM unwinds as Ctrl-C does, so that what a command started is stopped."""
    raise SystemExit(128 + signum)
