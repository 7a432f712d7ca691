"""Watch a cluster through one of its hard moments: a leader killed, a disk lost, and more.

Each demo belongs to a chapter and lies in that chapter's folder. The entry-point group
`kafka_edu.demos` of pyproject.toml names them. So this package imports none of them before one is
called.
"""

from typing import Final

import click

from kafka_edu.cli.command_table import DEMOS, read_group

#: The demo that runs without a name. It is the first command of the README.
FIRST: Final = "web-log"


class DemoGroup(click.Group):
    """The demos of the table `kafka_edu.demos`. Options without a name go to the first demo."""

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
    """Run the demo COMMAND, or web-log without a name.

    web-log streams a web log through three brokers, kills a leader with -9, and shows that no acked
    record is lost. `demo web-log --help` shows its options.
    """
