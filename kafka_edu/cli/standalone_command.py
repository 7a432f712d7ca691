"""`kafka-edu spark standalone`: a standalone cluster of Spark on this machine, until Ctrl-C."""

import click

from kafka_edu.cli.spark_options import spark_errors
from kafka_edu.common.package_group import PackageGroupError, ensure_group
from kafka_edu.common.python_process import command_line


@click.command("standalone")
@click.option("--workers", type=click.IntRange(1, 16), default=2, show_default=True)
@click.option(
    "--cores",
    type=click.IntRange(1, 64),
    default=2,
    show_default=True,
    help="The cores of each worker: the number of tasks that it runs at the same time.",
)
@click.option(
    "--memory-mb",
    type=click.IntRange(512, 65_536),
    default=1024,
    show_default=True,
    help="The memory of each worker.",
)
def standalone(workers: int, cores: int, memory_mb: int) -> None:
    """Run a standalone cluster of Spark on this machine, until Ctrl-C.

    It has a master and some workers. Each is a separate process and uses only the loopback network.
    They need a full Java 17 or newer.
    """
    try:
        ensure_group("spark", "pyspark", "pyarrow", "numpy")
    except PackageGroupError as error:
        raise click.ClickException(str(error)) from error
    from rich.console import Console

    from kafka_edu.spark.standalone_cluster import running_standalone_cluster

    console = Console()
    with (
        spark_errors(),
        running_standalone_cluster(workers, cores=cores, memory_mb=memory_mb) as cluster,
    ):
        console.print(f"[green]●[/] a master and {workers} workers; their page is {cluster.page}")
        job = command_line(f"spark status-codes --master {cluster.master}")
        console.print(f"  Run a job: {job}", soft_wrap=True, highlight=False)
        console.print("  Ctrl-C ends it.")
        cluster.wait()
