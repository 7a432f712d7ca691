"""Options and error messages that all commands with Spark jobs share."""

from collections.abc import Iterator
from contextlib import contextmanager

import click

from kafka_edu.common.package_group import PackageGroupError, ensure_group
from kafka_edu.spark.connectors import Connector
from kafka_edu.spark.source_errors import user_error


def _connector(context: click.Context, parameter: click.Parameter, value: str) -> Connector:
    return Connector(value)


#: The option `--connector`. Its value is a Connector.
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
    """Download PySpark and the other given modules if one of them is not installed.

    `./kafka-edu` prints the size of the download first.
    """
    try:
        ensure_group("spark", "pyspark", "pyarrow", "numpy", *modules)
    except PackageGroupError as error:
        raise click.ClickException(str(error)) from error


@contextmanager
def spark_errors() -> Iterator[None]:
    """Turn errors of a Spark job that the user can correct into one line of text.

    Raises click.ClickException for such an error. Other errors pass unchanged.
    """
    try:
        yield
    except Exception as error:
        if (line := user_error(error)) is None:
            raise
        raise click.ClickException(line) from error
