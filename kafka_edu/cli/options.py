"""Options that several commands share, with one name."""

from collections.abc import Callable
from typing import TypeVar

import click

_Command = TypeVar("_Command", bound=Callable[..., object])


def cluster_option(command: _Command) -> _Command:
    """Add `--cluster NAME`. The old spelling `--name` works too, and the help does not show it."""
    old = click.option("--name", "name", default="default", hidden=True)
    new = click.option(
        "--cluster",
        "name",
        default="default",
        show_default=True,
        metavar="NAME",
        help="Which cluster; several can be up at once.",
    )
    return new(old(command))
