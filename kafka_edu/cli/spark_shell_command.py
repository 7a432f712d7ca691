"""`spark shell`: a Python console with a Spark session and functions to read a cluster's topics."""

import ast
import code
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import click

from kafka_edu.cli.spark_options import connector_option, require_spark, spark_errors
from kafka_edu.spark.connectors import Connector, format_of
from kafka_edu.spark.source_errors import user_error

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_PROMPTS: Final = (">>> ", "... ")
_HELP: Final = """\
spark            the session; it knows the formats kafka-edu, kafka-edu-segments, kafka-edu-events
F                pyspark.sql.functions
topics()         the topics of {servers}
topic("web")     the records of a topic, as a DataFrame; options by name: startingOffsets="latest"
lines("web")     the same, with the values as text in a column `line`
follow("web")    the same records as a stream
Ctrl-C stops a job, Ctrl-D leaves."""


class Topics:
    """The functions with which the console reads the topics of one cluster."""

    def __init__(self, spark: "SparkSession", servers: str, connector: Connector) -> None:
        self._spark = spark
        self._options = {"kafka.bootstrap.servers": servers}
        self._format = format_of(connector)

    def topics(self) -> list[str]:
        """Return the names of the topics. Raises SourceError if the cluster does not answer."""
        from kafka_edu.spark.fetch_client import FetchClient
        from kafka_edu.spark.source_options import parse_options

        options = parse_options({**self._options, "subscribePattern": ".*"})
        rounds, pause_ms = options.offset_retries + 1, options.offset_retry_ms
        with FetchClient(options.consumer, rounds, pause_ms) as client:
            return sorted({tp.topic for tp in client.layout(options.topics).partitions})

    def topic(self, name: str, **options: str) -> "DataFrame":
        """Return the records that the topic holds now, as a DataFrame."""
        reader = self._spark.read.format(self._format)
        return reader.options(**self._options, subscribe=name, **options).load()

    def lines(self, name: str, **options: str) -> "DataFrame":
        """Return the values of the records of a topic as text."""
        rows = self.topic(name, **options)
        return rows.selectExpr("partition", "offset", "timestamp", "cast(value as string) as line")

    def follow(self, name: str, **options: str) -> "DataFrame":
        """Return the records of a topic as a streaming DataFrame, which also gets new records."""
        reader = self._spark.readStream.format(self._format)
        return reader.options(**self._options, subscribe=name, **options).load()


class SparkConsole(code.InteractiveConsole):
    """A Python console that prints an error of a Spark job as one line."""

    def __init__(self, names: dict[str, Any], cancel: Callable[[], None]) -> None:
        super().__init__(names, filename="<shell>")
        self._cancel = cancel
        self.failed = False
        """Whether a statement has raised an error."""

    def showtraceback(self) -> None:
        """Print the exception that is being handled."""
        error = sys.exception() if sys.version_info >= (3, 12) else sys.exc_info()[1]
        self.failed = True
        if isinstance(error, KeyboardInterrupt):
            self.write("\nstopped\n")
            self._cancel()  # Ctrl-C has ended the wait here, but not the job in the JVM
        elif error is not None and (line := user_error(error)) is not None:
            self.write(f"Error: {line}\n")
        elif type(error).__module__.partition(".")[0] in ("pyspark", "py4j"):
            self.write(f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}\n")
        else:
            super().showtraceback()

    def showsyntaxerror(self, *arguments: Any, **options: Any) -> None:
        """Print a syntax error."""
        self.failed = True
        super().showsyntaxerror(*arguments, **options)

    def run_piped(self, text: str) -> None:
        """Run the statements of `text` without prompts, and print their values.

        Stop at the first error. This method is used when the statements come from a pipe and not
        from a terminal.
        """
        try:
            statements = ast.parse(text, "<stdin>").body
        except SyntaxError:
            self.showsyntaxerror("<stdin>")
            return
        for statement in statements:
            self.runcode(compile(ast.Interactive([statement]), "<stdin>", "single"))
            if self.failed:
                return


@click.command("shell")
@click.option(
    "--bootstrap-server",
    metavar="HOST:PORT,…",
    default="127.0.0.1:9092",
    show_default=True,
    help="The cluster whose topics the helpers read.",
)
@click.option("--master", default="local[*]", show_default=True, help="Spark's master.")
@click.option(
    "--remote",
    metavar="sc://HOST:PORT",
    help="Use a Spark Connect server as the driver, and no master.",
)
@connector_option
def shell(bootstrap_server: str, master: str, remote: str | None, connector: Connector) -> None:
    """Start a Python console with a Spark session, and functions to read a cluster's topics.

    Statements can be piped in. If one of them fails, the statements after it are not run, and the
    exit code is 1.
    """
    from rich.console import Console

    require_spark()
    from kafka_edu.spark.connect_session import connect_session
    from kafka_edu.spark.connectors import start_session

    terminal = sys.stdin.isatty()
    text = "" if terminal else sys.stdin.read()
    failed = False
    with (
        spark_errors(),
        Console(stderr=True).status(f"starting Spark on {remote or master}") as status,
        connect_session(remote)
        if remote
        else start_session("shell", master, connector=connector) as spark,
    ):
        status.stop()
        from pyspark.sql import functions

        helpers = Topics(spark, bootstrap_server, connector)
        console = SparkConsole(
            {
                "spark": spark,
                "F": functions,
                "topics": helpers.topics,
                "topic": helpers.topic,
                "lines": helpers.lines,
                "follow": helpers.follow,
            },
            spark.interruptAll if remote else spark.sparkContext.cancelAllJobs,
        )
        if terminal:
            _talk(console, bootstrap_server)
        else:
            console.run_piped(text)
            failed = console.failed
    if failed:
        raise click.exceptions.Exit(1)


def _talk(console: SparkConsole, servers: str) -> None:
    """Read and run statements from a terminal until Ctrl-D."""
    import readline
    import rlcompleter

    readline.set_completer(rlcompleter.Completer(console.locals).complete)
    readline.parse_and_bind("tab: complete")
    sys.ps1, sys.ps2 = _PROMPTS
    console.interact(banner=_HELP.format(servers=servers), exitmsg="")
