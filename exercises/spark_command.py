"""The commands of `kafka-edu lab spark`: the warm JVM of the Spark labs.

`lab check` starts the warm JVM by itself, so nobody needs these commands.
"""

from pathlib import Path
from typing import Final

import click

from kafka_edu.common.busy_machine import family_of
from kafka_edu.common.python_process import command_line
from kafka_edu.learner.learner import LearnerFailure
from kafka_edu.spark.driver_client import Drivers
from kafka_edu.spark.driver_keeper import BUSY, IDLE
from kafka_edu.spark.driver_service import LOG
from kafka_edu.supervisor.child_process import rss_anon

from .runner.public_tests import SPARK_LIMITS
from .runner.spark_learner import SparkLearner, why_no_spark

WARM_UP_JOB: Final = Path(__file__).parent / "runner" / "warm_up_job.py"
"""The path of a job's file. It is not imported here: only a job's process imports PySpark."""
RECORDS: Final = [(1_533_117_600_000_000,), (1_533_117_700_000_000,)]


@click.group()
def spark() -> None:
    """Keep Spark's JVM between two checks, so the second one is faster.

    The first check of a Spark lab starts it.
    """


@spark.command()
def up() -> None:
    """Start Spark's JVM now, and run a small job in it."""
    if why := why_no_spark():
        raise click.ClickException(why)
    drivers = Drivers()
    if drivers.idle_s <= 0:
        raise click.ClickException(f"{IDLE} is 0, so no JVM is kept: unset it first")
    if drivers.problem:
        raise click.ClickException(drivers.problem)
    learner = SparkLearner(WARM_UP_JOB, "build", allowance=SPARK_LIMITS.call)
    try:
        learner.batch("timestamp timestamp", RECORDS)
    except LearnerFailure as failure:
        raise click.ClickException(f"Spark does not work here: {failure.message}") from None
    finally:
        learner.close()
    if learner.no_warm_jvm not in ("", BUSY):
        log = drivers.folder / LOG
        raise click.ClickException(
            f"Spark's JVM cannot be kept: {learner.no_warm_jvm}."
            f"{f' {log} may say more.' if log.exists() else ''} Until that is mended, each check"
            " starts a JVM of its own, and needs more time"
        )
    click.echo(shown(drivers) or "Spark's JVM has ended already.")


@spark.command()
def status() -> None:
    """Say whether Spark's JVM runs, and how much memory it uses."""
    click.echo(
        shown(Drivers()) or "No JVM of Spark is kept. The next check of a Spark lab starts it."
    )


@spark.command()
def down() -> None:
    """End Spark's JVM. The next check of a Spark lab starts another one."""
    drivers = Drivers()
    memory = memory_of(drivers)
    ended = drivers.end()
    if ended is None:
        click.echo("No JVM of Spark is kept.")
    elif ended["in_use"]:
        click.echo("A check uses Spark's JVM. The JVM ends with that check.")
    else:
        click.echo(f"Spark's JVM{memory and f', which used {memory},'} has ended.")


def shown(drivers: Drivers) -> str | None:
    """Return a sentence about the JVM; None if there is no service that keeps one."""
    status = drivers.status()
    if status is None:
        return None
    minutes = f"{status['idle_s'] / 60:g} minutes"
    end = f"It ends after {minutes} without a check, or by `{command_line('lab spark down')}`."
    if status["jvm"] is None:
        return f"Spark's JVM {'is starting' if status['in_use'] else 'does not run now'}. {end}"
    memory = memory_of(drivers)
    used = "is in use" if status["in_use"] else "is free"
    return (
        f"Spark's JVM {used} (process {status['jvm']}{memory and f', {memory} of memory'};"
        f" times lent: {status['loans']}). {end}"
    )


def memory_of(drivers: Drivers) -> str:
    """Return the memory of the service, the JVM and its Python workers; empty if unknown."""
    state = drivers.running()
    found = [] if state is None else [rss_anon(pid) for pid in family_of(state.pid)]
    total = sum(memory for memory in found if memory is not None)
    return f"{total >> 20} MB" if total else ""
