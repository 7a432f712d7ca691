"""Watch a cluster in a difficult moment: a leader is killed, a disk is lost, and more.

Each demo belongs to a chapter and is a file in that chapter's folder. The entry-point group
`kafka_edu.demos` of pyproject.toml lists the demos. So this package imports a demo only when it is
called.
"""

from typing import Final

import click

from kafka_edu.cli.command_table import DEMOS, read_group

#: The demo that runs if no name is given. The README starts with this command.
FIRST: Final = "web-log"


class DemoGroup(click.Group):
    """The command group of the demos in `kafka_edu.demos`.

    If the command line has options but no name of a demo, the demo `web-log` gets the options.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or (args[0].startswith("-") and args[0] not in self.get_help_option_names(ctx)):
            args = [FIRST, *args]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for name, entry in read_group(DEMOS).items() if entry.found()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = read_group(DEMOS).get(cmd_name)
        if entry is None or not entry.found():
            return None
        command = entry.load()
        return command if isinstance(command, click.Command) else None


@click.group(cls=DemoGroup)
def demo() -> None:
    """Run the demo COMMAND. Without a name, run web-log.

    web-log streams a web log through three brokers, kills a leader with SIGKILL, and shows that no
    acked record is lost. `demo web-log --help` shows its options.
    """
