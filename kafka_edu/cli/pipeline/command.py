"""Run a pipeline that evaluates a web log on Spark, watch it, and check its results."""

import contextlib
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from kafka_edu.cli.spark_options import connector_option, require_spark, spark_errors
from kafka_edu.spark.connectors import Connector
from kafka_edu.spark.source_errors import SourceError
from kafka_edu.spark.spark_master import check_master

if TYPE_CHECKING:
    from rich.console import Console

    from kafka_edu.cli.pipeline.run import Outcome, Run
    from kafka_edu.cli.pipeline.screen import Steps
    from kafka_edu.spark.pipeline_log import LogFeeder
    from kafka_edu.spark.pipeline_settings import PipelineSettings
    from kafka_edu.spark.pipeline_view import PipelineView

#: Lines in each second of the log's own time. The default log of 100,000 lines covers about an
#: hour. A smaller log has fewer lines in each second (`small_logs`).
LINES_A_SECOND: Final = 25.0
PARTITIONS: Final = 4
RESULT_PARTITIONS: Final = 2
#: Each shuffle partition keeps its own state for windows and sessions. Two are enough for one
#: machine.
SHUFFLE_PARTITIONS: Final = "2"
#: --screenshot draws the view when this share of the lines has been read.
PICTURE_AT: Final = 0.75


def _servers(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """Return the list of servers unchanged.

    Raises click's exception if a server is not HOST:PORT.
    """
    for server in (value or "").split(",") if value is not None else ():
        host, _, port = server.strip().rpartition(":")
        if not host or not port.isdecimal() or not 0 < int(port) < 65_536:
            raise click.BadParameter(
                f"{server!r} is not HOST:PORT. Write for example 127.0.0.1:9092, and put commas"
                " between several addresses"
            )
    return value


@click.command("pipeline")
@click.option(
    "--bootstrap-server",
    metavar="HOST:PORT,…",
    callback=_servers,
    help="Use this cluster. Without this option, a cluster is started, and stopped at the end.",
)
@click.option(
    "--topic",
    default="web-log",
    show_default=True,
    help="The topic. If it does not exist, it is created with 4 partitions.",
)
@click.option(
    "--lines",
    default=100_000,
    show_default=True,
    type=click.IntRange(1, 50_000_000),
    help="Lines of web log to write.",
)
@click.option(
    "--rate",
    type=click.IntRange(1, 1_000_000),
    help="Lines a second. Default for a stream: 5,000, or less for a small log, so that the stream"
    " runs for 20 s. The other modes write as fast as possible, before Spark reads.",
)
@click.option(
    "--seed",
    default=1,
    show_default=True,
    type=click.IntRange(0),
    help="The same seed and --lines give the same log.",
)
@click.option("--master", default="local[*]", show_default=True, help="Spark's master.")
@connector_option
@click.option("--batch", is_flag=True, help="Read the topic once, as a table. Default: a stream.")
@click.option(
    "--available-now",
    is_flag=True,
    help="Fill the topic first. The stream ends when it has read the whole topic.",
)
@click.option(
    "--batch-lines",
    default=20_000,
    show_default=True,
    type=click.IntRange(100, 10_000_000),
    help="The most lines in one micro-batch.",
)
@click.option(
    "--result-topic",
    help="Windows are written to this topic too, as JSON: exactly once by our own connector, at"
    " least once by Spark's. Default: the name of --topic and -windows. '' for none.",
)
@click.option(
    "--out",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Results, plots and report. Default: a new folder, whose name is printed.",
)
@click.option(
    "--checkpoint",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where a stream keeps its offsets and its state. Default: checkpoint in --out.",
)
@click.option("--json", "json_file", metavar="FILE", type=click.Path(dir_okay=False))
@click.option(
    "--report",
    "report_file",
    metavar="FILE.html",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The report. Default: report.html in --out.",
)
@click.option("--plain", is_flag=True, help="Print lines of text instead of the live view.")
@click.option(
    "--screenshot",
    "svg_file",
    metavar="FILE.svg",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Draw the live view as it was when three quarters of the lines were read.",
)
def pipeline(
    bootstrap_server: str | None,
    topic: str,
    lines: int,
    rate: int | None,
    seed: int,
    master: str,
    connector: Connector,
    batch: bool,
    available_now: bool,
    batch_lines: int,
    result_topic: str | None,
    out: Path | None,
    checkpoint: Path | None,
    json_file: str | None,
    report_file: Path | None,
    plain: bool,
    svg_file: Path | None,
) -> None:
    """Run a log pipeline: producer, cluster, Spark, Parquet. Watch it, and check its results.

    Spark parses each line of a web log, puts bad lines into quarantine, and counts windows (error
    rate, exact p99) and sessions. The results are compared with the true values, which the log's
    generator knows. docs/spark-pipeline.md explains the view and the report.
    """
    if batch and available_now:
        raise click.UsageError("choose one of --batch and --available-now: they are two modes")
    if batch and checkpoint is not None:
        raise click.UsageError("--batch keeps no checkpoint: leave out --checkpoint, or --batch")
    if result_topic == topic:
        raise click.UsageError("--result-topic must not be --topic: Spark would read its own rows")
    if batch and svg_file is not None:
        raise click.UsageError("--batch has no live view to draw: leave out --screenshot")
    require_spark("matplotlib")
    from rich.console import Console

    from kafka_edu.cli.pipeline.results import Places, show_results
    from kafka_edu.cli.pipeline.run import Mode, Run, apart_s, stream_rate
    from kafka_edu.cli.pipeline.screen import Steps
    from kafka_edu.spark.pipeline_folder import FolderError, claim_checkpoint, prepare_folders
    from kafka_edu.spark.pipeline_settings import PipelineSettings
    from kafka_edu.spark.web_log_topic import TopicNotFilled

    mode = Mode.BATCH if batch else Mode.AVAILABLE_NOW if available_now else Mode.STREAM
    console = Console()
    steps = Steps(console, is_live=console.is_terminal and not (console.is_dumb_terminal or plain))
    for file in (json_file, report_file, svg_file):
        _require_writable(file)
    try:
        check_master(master)
    except SourceError as error:
        raise click.ClickException(str(error)) from error
    folder = out or Path(tempfile.mkdtemp(prefix="kafka-edu-pipeline-"))
    settings = PipelineSettings(
        bootstrap_server or "",
        topic,
        str(folder.resolve()),
        str((checkpoint or folder / "checkpoint").resolve()),
        connector,
        batch_lines=batch_lines,
        result_topic=f"{topic}-windows" if result_topic is None else result_topic,
        apart_s=apart_s(lines),
    )
    try:
        goes_on = prepare_folders(settings, is_batch=batch)
    except SourceError as error:
        raise click.ClickException(str(error)) from error
    if goes_on and bootstrap_server is None:
        raise click.ClickException(
            f"the checkpoint {settings.checkpoint} belongs to a topic of an earlier run, and the"
            " cluster of that run is gone. Name the cluster with --bootstrap-server, or give"
            " another --out"
        )
    if rate is None and mode is Mode.STREAM:
        rate = stream_rate(lines)
    run = Run(mode, master, lines, seed, rate)
    with contextlib.ExitStack() as stack:
        try:
            if bootstrap_server is None:
                settings = settings._replace(bootstrap_servers=_own_cluster(stack, steps))
            feeder, is_full = _topic(steps, settings, run)
            if settings.result_topic:
                _result_topic(settings, goes_on=goes_on)
            if not batch:
                claim_checkpoint(settings)
            found = _work(console, steps, settings, run, feeder, is_full, svg_file)
        except (TopicNotFilled, FolderError) as error:
            raise click.ClickException(str(error)) from error
    places = Places(
        folder, report_file or folder / "report.html", Path(json_file) if json_file else None
    )
    try:
        holds = show_results(console, steps, settings, run, found, places)
    except OSError as error:
        raise click.ClickException(
            f"{error.filename or folder}: {error.strerror}. The results are in {folder}; the"
            " report is not complete. Free some space, or name another file with --report"
        ) from error
    if not holds:
        raise SystemExit(1)


def _require_writable(file: "Path | str | None") -> None:
    """Raise click's exception if a file cannot be written.

    The check runs before the pipeline starts, so that a long run does not fail at its end.
    """
    if file is None:
        return
    was_there = Path(file).exists()
    try:
        with Path(file).open("ab"):
            pass
        if not was_there:
            Path(file).unlink()
    except OSError as error:
        raise click.ClickException(
            f"cannot write {file}: {error.strerror}. Name a file in a folder that you may write to."
        ) from error


def _own_cluster(stack: contextlib.ExitStack, steps: "Steps") -> str:
    """Start a cluster of three brokers, and stop it when `stack` closes.

    Return the addresses of the brokers: HOST:PORT, separated by commas.
    """
    from kafka_edu.supervisor.cluster import ClusterError, running_cluster

    try:
        with steps.step("starting three brokers"):
            return stack.enter_context(running_cluster("spark")).bootstrap_servers
    except ClusterError as error:
        raise click.ClickException(str(error)) from error


def _topic(steps: "Steps", settings: "PipelineSettings", run: "Run") -> "tuple[LogFeeder, bool]":
    """Create the topic, and return the LogFeeder that writes the log to it.

    Also return whether the log is complete already. The modes available-now and batch read a full
    topic, so they write the whole log in this function. Raises TopicNotFilled if the log cannot be
    written.
    """
    from kafka_edu.cli.pipeline.run import Mode, fill
    from kafka_edu.clients.admin.topic_calls import usual_replicas
    from kafka_edu.clients.web_log.generator import LogSettings
    from kafka_edu.clients.web_log.small_logs import for_lines
    from kafka_edu.spark.log_topic import brokers_up
    from kafka_edu.spark.pipeline_log import LogFeeder
    from kafka_edu.spark.web_log_topic import create_topic

    servers, topic = settings.bootstrap_servers, settings.topic
    with steps.step(f"asking {servers} for topic {topic}"):
        brokers = brokers_up(servers)
        is_new = create_topic(servers, topic, PARTITIONS, usual_replicas(brokers))
        log = for_lines(
            LogSettings(
                run.seed,
                lines_a_second=LINES_A_SECOND,
                window_s=settings.window_s,
                gap_s=settings.gap_s,
                watermark_s=settings.watermark_s,
            ),
            run.lines,
        )
        feeder = LogFeeder(servers, topic, run.lines, log)
        if not is_new and feeder.is_there():
            return feeder, True
    if run.mode is Mode.STREAM:
        return feeder, False
    with steps.step(f"writing {run.lines:,} lines to topic {topic}") as say:
        fill(feeder, run.rate, say, run.lines)
        feeder.send_clock(settings)
    return feeder, True


def _result_topic(settings: "PipelineSettings", *, goes_on: bool) -> None:
    """Create the result topic. Raises TopicNotFilled if an earlier run has written to it.

    If this run continues an earlier run (`goes_on`), the topic may contain records.
    """
    from kafka_edu.clients.admin.topic_calls import usual_replicas
    from kafka_edu.spark.log_topic import brokers_up, records_in_topic
    from kafka_edu.spark.web_log_topic import TopicNotFilled, create_topic

    servers, topic = settings.bootstrap_servers, settings.result_topic
    replicas = usual_replicas(brokers_up(servers))
    if create_topic(servers, topic, RESULT_PARTITIONS, replicas) or goes_on:
        return
    if there := records_in_topic(servers, topic):
        raise TopicNotFilled(
            f"the result topic {topic} holds {there:,} records of an earlier run, so its windows"
            " would be there twice. Choose another one with --result-topic, or '' for none"
        )


def _work(
    console: "Console",
    steps: "Steps",
    settings: "PipelineSettings",
    run: "Run",
    feeder: "LogFeeder",
    is_full: bool,
    svg_file: Path | None,
) -> "Outcome":
    """Run the pipeline on Spark, and return its results compared with the truth.

    Raises TopicNotFilled if the log is incomplete, and click's exception if Spark fails.
    """
    from kafka_edu.cli.pipeline.run import Mode, StreamRun, outcome, run_once
    from kafka_edu.cli.pipeline.screen import LiveScreen, PlainScreen, title_of
    from kafka_edu.spark.connectors import start_session
    from kafka_edu.spark.pipeline import LINES, SESSIONS, WINDOWS, WINDOWS_TOPIC
    from kafka_edu.spark.pipeline_view import PipelineView

    queries = [LINES, WINDOWS, SESSIONS, *([WINDOWS_TOPIC] if settings.result_topic else [])]
    view = PipelineView(settings.topic, run.lines, settings.batch_lines, queries)
    title = title_of(settings.topic, settings.connector, run.mode, run.master)
    with spark_errors(), contextlib.ExitStack() as stack:
        with steps.step(f"starting Spark on {run.master}"):
            spark = stack.enter_context(
                start_session(
                    "pipeline",
                    run.master,
                    connector=settings.connector,
                    config={"spark.sql.shuffle.partitions": SHUFFLE_PARTITIONS},
                )
            )
        begin = time.monotonic()
        if run.mode is Mode.BATCH:
            with steps.step(f"Spark reads topic {settings.topic} and writes {settings.out}"):
                run_once(spark, settings, view)
        else:
            screens = LiveScreen(console, title) if steps.is_live else PlainScreen(console)
            with screens as screen:
                StreamRun(feeder, settings, view, screen, _painter(svg_file, title)).run(
                    spark, run.rate, available_now=is_full
                )
        seconds = time.monotonic() - begin
        with steps.step("comparing the results with the truth"):
            return outcome(spark, settings, feeder.truth, view, seconds)


def _painter(svg_file: Path | None, title: str) -> "Callable[[PipelineView], None]":
    """Return a function that draws the view into the SVG file once, when PICTURE_AT is reached.

    The function does nothing if `svg_file` is None.
    """
    from kafka_edu.cli.pipeline.screen import picture

    is_drawn = svg_file is None

    def taken(view: "PipelineView") -> None:
        nonlocal is_drawn
        if not is_drawn and view.sent - view.behind >= PICTURE_AT * view.lines:
            is_drawn = True
            assert svg_file is not None
            svg_file.write_text(picture(view, title), encoding="utf-8")

    return taken
