"""Show how requests spend their time: queue, handler, purgatory, response, by broker and API."""

import time
from pathlib import Path

import click

from kafka_edu.instruments.event_source import (
    EventSource,
    colour_of,
    event_options,
    missing_lines,
    read_events,
    styled,
    text_width,
    write_answer,
)
from kafka_edu.instruments.request_times import (
    SIX_PARTS,
    TOTAL,
    ApiTimes,
    RequestTimesView,
    SlowRequest,
    Split,
    brief_time,
    part_words,
)
from kafka_edu.trace.event import SLOW_MS, Source
from kafka_edu.trace.events.network import REQUEST_PARTS

PERCENTS = (50.0, 95.0, 99.0)
_HEADS = ("queue", "local", "remote", "throttle", "resp. q", "send", "total")


@click.command("requests")
@click.option("--broker", type=int, metavar="N", help="This broker only.")
@click.option(
    "--client", metavar="CLIENT", help="Of the slow requests, those of this client id only."
)
@click.option(
    "--slowest",
    "most",
    type=click.IntRange(min=0),
    default=10,
    show_default=True,
    metavar="N",
    help="How many slow requests to show at most.",
)
@event_options
def requests(
    broker: int | None,
    client: str | None,
    most: int,
    cluster: str,
    replay_files: tuple[Path, ...],
    json_file: Path | None,
) -> None:
    """Show where the time of requests is spent, as percentiles by broker and API.

    The times are counted since each broker's start, in Kafka's parts: waiting for a handler, the
    handler's own work, the purgatory, a quota, the response queue, the socket. Below are the
    slowest requests of the last minutes: those that took longer than 100 ms. The time that the
    client itself allowed the request to wait does not count.
    """
    source = read_events(cluster, replay_files)
    view = RequestTimesView()
    for envelope in source.envelopes:
        view.apply(envelope)
    brokers = [each for each in view.brokers() if broker in (None, each)]
    if broker is not None and not brokers:
        known = ", ".join(map(str, view.brokers())) or "none"
        raise click.ClickException(
            f"nothing is known of requests to broker {broker}. Brokers that are known: {known}"
        )
    slow = [
        each
        for each in view.slowest(len(view.slow), broker=broker, within_us=None)
        if client in (None, each.sent.client_id)
    ][:most]
    rows = [times for each in brokers for times in view.of_broker(each)]
    write_answer(_as_json(rows, slow, source), json_file, _lines(view, rows, slow, source))


def _lines(
    view: RequestTimesView, rows: list[ApiTimes], slow: list[SlowRequest], source: EventSource
) -> list[str]:
    lines = []
    broker = None
    for times in rows:
        if times.api.broker != broker:
            broker = times.api.broker
            queues = view.queues.get(broker)
            words = f"broker {broker}"
            if queues is not None and queues.handlers:
                words += (
                    f" · {queues.busy} of {queues.handlers} handlers busy"
                    f" · request queue {queues.requests} of {queues.capacity}"
                    f" · response queue {queues.responses}"
                )
            lines += ["", styled(words, fg=colour_of(Source.of_broker(broker)), bold=True)]
            lines.append(" " * 7 + "".join(f"{head:>10}" for head in _HEADS))
        lines += _api_lines(times)
    if not rows:
        lines.append("No requests are counted in these events.")
    lines += [
        "",
        styled(f"Slowest, of {view.slow_seen:,} slow requests{view.left_out_words()}", bold=True),
    ]
    lines += [_slow_line(each) for each in slow] or [
        f"no request took {SLOW_MS} ms or more, not counting the time that its client wanted to"
        " wait"
    ]
    lines += ["", f"Seen: {source.reach}."]
    return (lines + missing_lines(source))[bool(rows) :]


def _api_lines(times: ApiTimes) -> list[str]:
    split = times.since_start()
    lines = [f"{times.api.name}, {split.requests:,} requests"]
    for percent in (50.0, 99.0):
        cells = "".join(f"{_cell(split, part, percent):>10}" for part in range(len(REQUEST_PARTS)))
        lines.append(f"   p{percent:<3.0f}{cells}")
    return lines


def _cell(split: Split, part: int, percent: float) -> str:
    us = split.percentile_us(part, percent)
    return brief_time(us) if us else "–"


def _slow_line(slow: SlowRequest) -> str:
    at = time.strftime("%H:%M:%S", time.localtime(slow.envelope.wall_ms / 1000))
    part = slow.most
    line = (
        f"{at}  b{slow.broker}  {slow.name}: {brief_time(slow.sent.total_us)}, of which"
        f" {brief_time(slow.parts_us[part])} {part_words(slow.sent.api_key, part)}"
    )
    width = text_width()
    return line if len(line) <= width else line[: width - 1] + "…"


def _as_json(
    rows: list[ApiTimes], slow: list[SlowRequest], source: EventSource
) -> dict[str, object]:
    return {
        "apis": [
            {
                "broker": times.api.broker,
                "api": times.api.name,
                "api_key": times.api.api_key,
                "follower": times.api.follower,
                "requests": times.requests,
                "parts_us": _parts_json(times.since_start()),
            }
            for times in rows
        ],
        "slowest": [
            {
                "broker": each.broker,
                "api": each.api.name,
                "client": each.sent.client_id,
                "correlation_id": each.sent.correlation_id,
                "connection_id": each.sent.connection_id,
                "wall_ms": each.envelope.wall_ms,
                "total_us": each.sent.total_us,
                "parts_us": {REQUEST_PARTS[part]: each.parts_us[part] for part in SIX_PARTS},
                "most": REQUEST_PARTS[each.most],
            }
            for each in slow
        ],
        "missing": source.missing,
    }


def _parts_json(split: Split) -> dict[str, dict[str, float]]:
    return {
        REQUEST_PARTS[part]: {
            "mean": round(split.mean_us(part), 1),
            **{f"p{percent:.0f}": split.percentile_us(part, percent) for percent in PERCENTS},
        }
        for part in range(TOTAL + 1)
    }
