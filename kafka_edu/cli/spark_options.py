"""Options and errors that all commands of Spark jobs share."""

from collections.abc import Iterator
from contextlib import contextmanager

import click

from kafka_edu.common.package_group import PackageGroupError, ensure_group
from kafka_edu.spark.connectors import Connector
from kafka_edu.spark.source_errors import user_error


def _connector(context: click.Context, parameter: click.Parameter, value: str) -> Connector:
    return Connector(value)


#: `--connector`: gives the command a Connector.
connector_option = click.option(
    "--connector",
    type=click.Choice([connector.value for connector in Connector]),
    default=Connector.PYTHON.value,
    show_default=True,
    callback=_connector,
    help="Read and write topics with our own data source, or with Spark's own connector, whose"
    " jars Maven fetches.",
)


def require_spark(*modules: str) -> None:
    """Fetch PySpark, and these further modules of its group, if one is missing. `./kafka-edu`
    prints the size first.
    """
    try:
        ensure_group("spark", "pyspark", "pyarrow", "numpy", *modules)
    except PackageGroupError as error:
        raise click.ClickException(str(error)) from error


@contextmanager
def spark_errors() -> Iterator[None]:
    """Turn the errors of a Spark job that a user can do something about into one line.

    Raises click.ClickException for those. Any other error goes on as it is.
    """
    try:
        yield
    except Exception as error:
        if (line := user_error(error)) is None:
            raise
        raise click.ClickException(line) from error
