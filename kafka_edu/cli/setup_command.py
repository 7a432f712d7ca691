"""Download now the packages that some commands will need later."""

import click

from kafka_edu.common.environment_setup import GROUPS
from kafka_edu.common.package_group import PackageGroupError, install


@click.command()
@click.argument("groups", nargs=-1, metavar="[GROUP]...", type=click.Choice(GROUPS))
def setup(groups: tuple[str, ...]) -> None:
    """Download the packages of each GROUP: test, dev, docs, quiz, spark or apache-zookeeper.

    Without a GROUP there is nothing to do: the packages that most commands need are there already.
    """
    for group in groups:
        try:
            install(group)
        except PackageGroupError as error:
            raise click.ClickException(str(error)) from None
    click.echo("ready")
