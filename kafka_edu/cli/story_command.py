"""Show one record's life, from `send()` to the commit of a consumer group."""

import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click
from click.core import ParameterSource

from kafka_edu.common.words import plural
from kafka_edu.instruments.event_name import event_name
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
from kafka_edu.instruments.sentences import teller
from kafka_edu.instruments.sentences.words import micros
from kafka_edu.instruments.stored_record import find_stored
from kafka_edu.instruments.story import (
    Absent,
    Known,
    NoStoryError,
    Place,
    Stored,
    Story,
    known_of,
    place_of_produce,
)
from kafka_edu.instruments.story_step import Step
from kafka_edu.trace.reader import History, order

#: Stage of a step → the part of the story to which it belongs.
_PART_OF: Final = {
    "connection": "The producer",
    "send": "The producer",
    "drain": "The producer",
    "sent": "The producer",
    "request": "The leader",
    "queue": "The leader",
    "batch": "The leader",
    "log": "The leader",
    "wait": "The leader",
    "follower": "The replicas",
    "committed": "The replicas",
    "waited": "The answer",
    "answer": "The answer",
    "response": "The answer",
    "callback": "The answer",
    "fetch": "The consumers",
    "consumer": "The consumers",
    "delivered": "The consumers",
    "commit": "The groups",
    "group": "The groups",
    "cut": "What was cut off",
}


@click.command()
@click.argument("record", required=False, metavar="[TOPIC-PARTITION@OFFSET]")
@click.option(
    "--produce",
    metavar="CLIENT#CORRELATION",
    help="Show the first record of this produce request instead.",
)
@event_options
@click.pass_context
def story(
    context: click.Context,
    record: str | None,
    produce: str | None,
    cluster: str,
    replay_files: tuple[Path, ...],
    json_file: Path | None,
) -> None:
    """Show one record's life, such as the life of web-0@1234.

    It begins in send() of the producer: batch, request, the leader's queue and log, the followers,
    the answer, the callback. It continues with each consumer that fetches the record and each group
    that commits a later offset. The steps within a client are seen if it is a client of kafka-edu
    with a tracer, such as those of `kafka-edu load`. Other clients emit no events.

    The place of the record is read from the logs' files. Its hops come from the live processes, or
    from recordings. With both --cluster and --replay they come from both. Hops of fast requests are
    only in recordings of level hops. A hop that was not recorded is marked as not recorded.
    """
    if (record is None) == (produce is None):
        raise click.UsageError(
            "name one record, such as web-0@1234, or --produce CLIENT#CORRELATION"
        )
    both = context.get_parameter_source("cluster") is ParameterSource.COMMANDLINE
    source = _source(cluster, replay_files, both)
    history = History(source.envelopes)
    try:
        if record is not None:
            places = [Place.parse(record)]
        else:
            places = place_of_produce(history, *_request(produce or ""))
        life = _story(places[0], history, source)
    except NoStoryError as error:
        raise click.ClickException(str(error)) from error
    lines = list(_lines(life))
    if len(places) > 1:
        others = ", ".join(map(str, places[1:]))
        lines += textwrap.wrap(f"The same request wrote: {others}.", text_width())
    lines += ["", *textwrap.wrap(f"Seen: {source.reach}.", text_width())]
    lines += missing_lines(source)
    write_answer(_as_json(life, places, source), json_file, lines)


def _request(text: str) -> tuple[str, int]:
    client, hash_sign, number = text.rpartition("#")
    if not hash_sign or not client or not number.isdigit():
        raise NoStoryError(f"'{text}' names no request: write CLIENT#CORRELATION, such as kcat#88")
    return client, int(number)


def _source(cluster: str, replay_files: tuple[Path, ...], both: bool) -> EventSource:
    """Return the events of the recordings if there are any, otherwise the events of the live
    cluster. If there are recordings and `both` is true, return the events of the recordings and of
    the cluster.
    """
    if not (replay_files and both):
        return read_events(cluster, replay_files)
    recorded, live = read_events(cluster, replay_files), read_events(cluster, ())
    seen = {(e.source, e.seq, e.mono_us, e.name) for e in recorded.envelopes}
    more = [e for e in live.envelopes if (e.source, e.seq, e.mono_us, e.name) not in seen]
    merged = sorted([*recorded.envelopes, *more], key=order)
    return EventSource(merged, [*recorded.missing, *live.missing], live.folder)


def _story(place: Place, history: History, source: EventSource) -> Story:
    """Return the story of the record at `place`. Raises NoStoryError with a message of one line."""
    known = known_of(source.envelopes, place)
    _check(place, known)
    stored = {
        broker: find_stored(log_dir, place.topic, place.partition, place.offset)
        for broker, log_dir in known.log_dirs.items()
    }
    life = Story(place, history, known, stored)
    if life.best is None:
        ends = {b: one.log_end for b, one in stored.items() if isinstance(one, Absent)}
        end = max(
            (e for e in (*ends.values(), *known.log_ends.values()) if e is not None), default=None
        )
        if end is not None and place.offset >= end:
            cut = "".join(f". {step.text}" for step in life.steps if step.stage == "cut")
            raise NoStoryError(
                f"{place} is above the log end: the next record of {place.topic}-{place.partition}"
                f" gets offset {end:,}{cut}"
            )
        if end is None and not any(step.is_recorded for step in life.steps):
            why = "; ".join(
                f"broker {broker}: {one.reason}"
                for broker, one in sorted(stored.items())
                if isinstance(one, Absent)
            )
            raise NoStoryError(f"nothing is known of {place}" + (f" ({why})" if why else ""))
    return life


def _check(place: Place, known: Known) -> None:
    """Raise NoStoryError if the topic or partition of `place` does not exist."""
    if place.topic not in known.topics:
        names = ", ".join(sorted(known.topics)[:8]) or "none"
        raise NoStoryError(f"there is no topic '{place.topic}'; known: {names}")
    if known.partitions and place.partition not in known.partitions:
        names = ", ".join(map(str, sorted(known.partitions)))
        raise NoStoryError(
            f"topic {place.topic} has no partition {place.partition}; known: {names}"
        )


def _lines(life: Story) -> Iterator[str]:
    best = life.best
    yield styled(str(life.place), bold=True) + (f": {_record_text(best[1])}" if best else "")
    if not any(one.log_end is not None for one in life.stored.values()):
        yield from textwrap.wrap(
            "The log's files cannot be read here, so only the events say where the record is.",
            text_width(),
        )
        logs: dict[int, Stored | Absent] = {}
    else:
        logs = dict(life.stored)
    for broker, one in sorted(logs.items()):
        leads = " (leader)" if broker == life.known.leader else ""
        text = f"broker {broker}{leads}: {_place_text(one)}"
        yield from textwrap.wrap(text, text_width(), initial_indent="  ", subsequent_indent="    ")
    yield ""
    begins = life.begins
    part = ""
    for step in life.steps:
        if (title := _PART_OF.get(step.stage, part)) != part:
            part = title
            yield styled(part, bold=True)
        since = None
        if step.envelope is not None and begins is not None:
            since = step.envelope.mono_us - begins.mono_us
        yield from _step_lines(step, since)


def _record_text(stored: Stored) -> str:
    if stored.is_control:
        return "a control record (the marker of a transaction)"
    key = "no key" if stored.key is None else f"key {stored.key}"
    if not stored.is_valid:
        return "its batch is damaged: the CRC is wrong"
    value = (
        "a tombstone" if stored.value_bytes is None else f"{stored.value_bytes:,} bytes of value"
    )
    at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(stored.timestamp_ms / 1000))
    return f"{key}, {value}, timestamp {at}"


def _place_text(one: Stored | Absent) -> str:
    if isinstance(one, Absent):
        if not one.is_known:
            return f"not known: {one.reason}"
        return f"does not hold it, because {one.reason}"
    codec = "" if one.codec == "none" else f", {one.codec}"
    batch = (
        f"batch {one.first_offset:,} to {one.last_offset:,}: {plural(one.records, 'record')},"
        f" {one.size:,} bytes{codec}, CRC {'right' if one.is_valid else 'WRONG'}"
    )
    return f"segment {one.segment:,}, byte {one.position:,}; {batch}"


def _step_lines(step: Step, since_us: int | None) -> Iterator[str]:
    """Yield the printed lines of one step, with its time after the first step.

    A dash replaces the time if no hop of this step was recorded.
    """
    if step.envelope is None or since_us is None:
        clock, who, name = "–", "", ""
    else:
        clock = _signed(since_us)
        who, name = teller(step.envelope.source), event_name(step.envelope)
    head = f"{clock:>10}  {who:<4} "
    wrapped = textwrap.wrap(
        step.text + (f"  ({name})" if name else ""), max(text_width() - len(head), 24)
    )
    colour = colour_of(step.envelope.source) if step.envelope is not None else None
    for number, part in enumerate(wrapped):
        before = head if number == 0 else " " * len(head)
        yield styled(before, fg=colour) + part if colour else before + styled(part, dim=True)


def _signed(us: int) -> str:
    return f"−{micros(-us)}" if us < 0 else micros(us)


def _as_json(life: Story, places: list[Place], source: EventSource) -> dict[str, object]:
    begins = life.begins
    return {
        "record": life.place._asdict(),
        "same_request": [place._asdict() for place in places[1:]],
        "leader": life.known.leader,
        "high_watermark": life.known.high_watermark,
        "logs": {
            str(broker): {"held": isinstance(one, Stored), **one._asdict()}
            for broker, one in sorted(life.stored.items())
        },
        "steps": [
            {
                "stage": step.stage,
                "recorded": step.is_recorded,
                "text": step.text,
                "event": None if step.envelope is None else event_name(step.envelope),
                "wall_ms": None if step.envelope is None else step.envelope.wall_ms,
                "since_us": None
                if step.envelope is None or begins is None
                else step.envelope.mono_us - begins.mono_us,
            }
            for step in life.steps
        ],
        "missing": source.missing,
    }
