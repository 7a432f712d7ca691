"""Write a web log whose statistics are known, to a file, to standard output or to a topic."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from kafka_edu.cli.report import Report

if TYPE_CHECKING:
    from kafka_edu.clients.web_log.block import LogBlock
    from kafka_edu.clients.web_log.generator import LogGenerator

STANDARD_OUTPUT: Final = "-"
Write = Callable[["LogBlock", bytes], None]


@click.command("generate-log")
@click.option("--lines", default=1_000_000, show_default=True, type=click.IntRange(1))
@click.option(
    "--seed",
    default=1,
    show_default=True,
    type=click.IntRange(0),
    help="The same seed and options give the same bytes.",
)
@click.option(
    "--output", metavar="FILE", help=f"Write to FILE; {STANDARD_OUTPUT} is standard output."
)
@click.option(
    "--topic",
    help="Write to this topic. If it does not exist, it is created with --partitions partitions.",
)
@click.option("--bootstrap-server", metavar="HOST:PORT,…", help="The cluster of --topic.")
@click.option("--partitions", default=4, show_default=True, type=click.IntRange(1))
@click.option("--replication-factor", default=1, show_default=True, type=click.IntRange(1))
@click.option("--append", is_flag=True, help="Write even if the topic has records already.")
@click.option(
    "--truth",
    metavar="FILE",
    type=click.Path(dir_okay=False, writable=True),
    help="Write the correct answers to FILE, as JSON.",
)
@click.option(
    "--start",
    default="2018-08-01T00:00",
    show_default=True,
    metavar="YYYY-MM-DDTHH:MM",
    help="When the log begins, UTC.",
)
@click.option(
    "--lines-a-second",
    type=float,
    help="How busy the site is in the log's own time, as a mean over a day. Default: 200, and less"
    " for a small log, so that it covers an hour.",
)
@click.option(
    "--window",
    default=60,
    show_default=True,
    help="Length of a window of the correct answers, in seconds.",
)
@click.option(
    "--gap", default=300, show_default=True, help="A pause of this many seconds ends a session."
)
@click.option(
    "--watermark", default=120, show_default=True, help="How many seconds late a line may be."
)
@click.option("--late", default=20, show_default=True, help="Late lines per 1,000 lines.")
@click.option(
    "--too-late",
    type=int,
    help="Sessions that come too late, per 1,000 sessions. Default: 5, and more for a small log.",
)
@click.option("--json", "json_file", metavar="FILE", type=click.Path(dir_okay=False, writable=True))
def generate_log(
    lines: int,
    seed: int,
    output: str | None,
    topic: str | None,
    bootstrap_server: str | None,
    partitions: int,
    replication_factor: int,
    append: bool,
    truth: str | None,
    start: str,
    lines_a_second: float | None,
    window: int,
    gap: int,
    watermark: int,
    late: int,
    too_late: int | None,
    json_file: str | None,
) -> None:
    """Write a web log whose statistics are known.

    Lines have Apache's Combined Log Format and the request time in µs. The log contains sessions,
    bots, late lines, bad lines and bursts of 5xx. --truth FILE writes the results that a correct
    job must find in these lines: counts by status, error rate and p99 by window, sessions, top
    paths.
    """
    if (output is None) == (topic is None):
        raise click.UsageError("say where to write to: --output FILE, or --topic NAME")
    if topic is not None and bootstrap_server is None:
        raise click.UsageError("--topic needs --bootstrap-server HOST:PORT")
    try:
        start_ms = round(datetime.fromisoformat(start).replace(tzinfo=UTC).timestamp()) * 1000
    except ValueError:
        raise click.UsageError(
            f"--start {start} is not a time: write it as 2018-08-01T18:00"
        ) from None
    from kafka_edu.clients.web_log.generator import LogGenerator, LogSettings
    from kafka_edu.clients.web_log.small_logs import for_lines
    from kafka_edu.spark.web_log_topic import TopicNotFilled

    settings = LogSettings(
        seed,
        start_ms,
        window_s=window,
        gap_s=gap,
        watermark_s=watermark,
        late_per_mille=late,
    )
    if lines_a_second is not None:
        settings = settings._replace(lines_a_second=lines_a_second)
    if too_late is not None:
        settings = settings._replace(too_late_per_mille=too_late)
    settings = for_lines(
        settings,
        lines,
        keeps_pace=lines_a_second is not None,
        keeps_share=too_late is not None,
    )
    if settings.problem():
        raise click.UsageError(settings.problem())
    generator = LogGenerator(settings)
    try:
        if topic is not None:
            assert bootstrap_server is not None
            target = f"topic {topic}"
            opened = _to_topic(bootstrap_server, topic, partitions, replication_factor, append)
        else:
            assert output is not None
            target = "standard output" if output == STANDARD_OUTPUT else output
            opened = _to_file(output)
        with opened as write:
            seconds = _write(generator, lines, write)
        if truth is not None:
            _write_json(generator, truth)
    except TopicNotFilled as error:
        raise click.ClickException(str(error)) from error
    except OSError as error:
        raise click.ClickException(
            f"{error.filename or output or truth}: {error.strerror}. The log is not complete:"
            " choose another place, or fewer --lines"
        ) from error
    _report(generator, target, seconds, json_file, quiet=output == STANDARD_OUTPUT)


def _write(generator: "LogGenerator", lines: int, write: Write) -> float:
    """Generate `lines` lines and pass them to `write`. Return the seconds that this took."""
    begin = time.monotonic()
    while (left := lines - generator.truth.lines) > 0:
        block = generator.next_block(left)
        write(block, generator.text.lines(block))
    return time.monotonic() - begin


@contextmanager
def _to_file(output: str) -> Iterator[Write]:
    if output == STANDARD_OUTPUT:
        yield lambda _, lines: click.echo(lines, nl=False)
        return
    with Path(output).open("wb") as file:

        def write(_: "LogBlock", lines: bytes) -> None:
            file.write(lines)

        yield write


@contextmanager
def _to_topic(
    bootstrap_server: str, topic: str, partitions: int, replication_factor: int, append: bool
) -> Iterator[Write]:
    from kafka_edu.clients.web_log.records import records
    from kafka_edu.spark.log_topic import TopicWriter, records_in_topic, require_brokers
    from kafka_edu.spark.web_log_topic import TopicNotFilled, create_topic

    require_brokers(bootstrap_server)
    create_topic(bootstrap_server, topic, partitions, replication_factor)
    there = records_in_topic(bootstrap_server, topic)
    if there and not append:
        raise TopicNotFilled(
            f"topic {topic} has {there:,} records already, so its answers would not be the truth of"
            " this log. Choose another topic, or add --append"
        )
    writer = TopicWriter(bootstrap_server, topic)
    yield lambda block, lines: writer.send(records(block, lines))
    writer.flush()


def _write_json(generator: "LogGenerator", path: str) -> None:
    import json

    settings = generator.settings
    begun = [one for one in generator.bursts if one.start_ms // 1000 <= generator.truth.latest_s]
    document = {
        "settings": settings._asdict(),
        **generator.truth.as_json(),
        "bursts": [one._asdict() for one in begun],
    }
    Path(path).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def _report(
    generator: "LogGenerator", target: str, seconds: float, json_file: str | None, quiet: bool
) -> None:
    truth = generator.truth
    report = Report("generate-log")
    for name, value in {
        "lines": truth.lines,
        "bad": truth.bad,
        "late": truth.late,
        "too late": truth.too_late,
        "sessions": truth.sessions,
        "seconds": round(seconds, 3),
        "lines/s": round(truth.lines / max(seconds, 1e-9)),
    }.items():
        report.figure(name, value)
    if not quiet:
        end = datetime.fromtimestamp(truth.latest_s, UTC)
        click.echo(
            f"{truth.lines:,} lines to {target} in {seconds:.1f} s, up to"
            f" {end:%Y-%m-%d %H:%M:%S} of the log's time",
            file=sys.stdout,
        )
        click.echo(
            f"{truth.bad:,} bad, {truth.late:,} late, {truth.too_late:,} too late;"
            f" {truth.sessions:,} sessions",
            file=sys.stdout,
        )
    if json_file is not None:
        report.write(json_file)
