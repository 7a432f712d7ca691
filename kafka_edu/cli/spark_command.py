"""Spark jobs that read topics of the cluster through kafka-edu's own data source in Python."""

import contextlib
import sys
import time

import click

from kafka_edu.cli.generate_log_command import generate_log
from kafka_edu.cli.pipeline.command import pipeline
from kafka_edu.cli.spark_options import connector_option, require_spark, spark_errors
from kafka_edu.cli.spark_shell_command import shell
from kafka_edu.cli.standalone_command import standalone
from kafka_edu.spark.connectors import Connector


@click.group()
def spark() -> None:
    """Spark jobs that read topics of the cluster through kafka-edu's own data source in Python."""


spark.add_command(generate_log)
spark.add_command(standalone)
spark.add_command(pipeline)
spark.add_command(shell)


@spark.command("status-codes")
@click.option(
    "--bootstrap-server",
    metavar="HOST:PORT,…",
    help="Use this cluster. Without this option, a cluster is started, and stopped at the end.",
)
@click.option("--topic", default="web-log", show_default=True)
@click.option(
    "--lines",
    default=50_000,
    show_default=True,
    type=click.IntRange(1, 10_000_000),
    help="Lines of web log to write.",
)
@click.option(
    "--seed",
    default=1,
    show_default=True,
    help="The generator's seed. The same seed gives the same log.",
)
@click.option("--master", default="local[*]", show_default=True, help="Spark's master.")
@connector_option
@click.option("--json", "json_file", metavar="FILE", type=click.Path(dir_okay=False, writable=True))
def status_codes(
    bootstrap_server: str | None,
    topic: str,
    lines: int,
    seed: int,
    master: str,
    connector: Connector,
    json_file: str | None,
) -> None:
    """Write a web log to a topic, count its HTTP status codes with Spark, and check the result.

    The result is compared with the true counts, which the log's generator knows.
    """
    require_spark()
    from rich.console import Console
    from rich.table import Table

    from kafka_edu.cli.report import Report
    from kafka_edu.spark.log_topic import fill_topic, require_brokers
    from kafka_edu.spark.status_codes import count_status_codes
    from kafka_edu.spark.web_log_topic import TopicNotFilled, create_topic
    from kafka_edu.supervisor.cluster import running_cluster

    console = Console()
    with contextlib.ExitStack() as stack:
        if bootstrap_server is None:
            with console.status("starting three brokers"):
                bootstrap_server = stack.enter_context(running_cluster("spark")).bootstrap_servers
        try:
            require_brokers(bootstrap_server)
            with console.status(f"writing {lines:,} lines to topic {topic}"):
                create_topic(bootstrap_server, topic, 6, 3)
                truth = {
                    str(status): number
                    for status, number in sorted(
                        fill_topic(bootstrap_server, topic, lines, seed).by_status.items()
                    )
                }
        except TopicNotFilled as error:
            raise click.ClickException(str(error)) from error
        begin = time.monotonic()
        with console.status(f"Spark counts on {master}"), spark_errors():
            found = count_status_codes(bootstrap_server, topic, master, connector)
        seconds = time.monotonic() - begin
    table = Table(
        "status",
        "Spark",
        "truth",
        "",
        title=f"{lines:,} lines of topic {topic}, counted by Spark in {seconds:.1f} s"
        f" (connector {connector})",
    )
    for status in sorted(found.keys() | truth.keys()):
        same = found.get(status) == truth.get(status)
        table.add_row(
            status or "none",
            f"{found.get(status, 0):,}",
            f"{truth.get(status, 0):,}",
            "✓" if same else "✗",
        )
    console.print(table)
    right = found == truth
    console.print(
        "Spark's answer equals the truth."
        if right
        else "Spark's answer differs from the truth. Was the topic empty before?"
    )
    report = Report("spark-status-codes")
    for name, value in {
        "lines": lines,
        "connector": connector.value,
        "seconds": round(seconds, 3),
        "spark": found,
        "truth": truth,
    }.items():
        report.figure(name, value)
    wrong = sum(
        found.get(status, 0) != truth.get(status, 0) for status in found.keys() | truth.keys()
    )
    report.target("status codes with a wrong count", wrong, "==", 0)
    if json_file:
        report.write(json_file)
    if not right:
        sys.exit(1)
