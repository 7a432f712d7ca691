"""Say why requests still wait: what each one needs, and which broker is missing. For requests that
no longer wait, say what ended the wait.
"""

import textwrap
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import click

from kafka_edu.common.python_process import command_line
from kafka_edu.common.words import duration, plural
from kafka_edu.instruments.event_source import (
    EventSource,
    event_options,
    missing_lines,
    read_events,
    styled,
    text_width,
    write_answer,
)
from kafka_edu.instruments.waiting import left_ms, missing, needed, since, title, what_would_finish
from kafka_edu.instruments.why import Gone, HasEnded, Waits, Wanted, Why
from kafka_edu.trace.event import SourceKind
from kafka_edu.trace.events.log import RepairsFound
from kafka_edu.trace.events.purgatory import Requirement
from kafka_edu.trace.events.replication import ReplicaMoveProgress
from kafka_edu.trace.events.server import TroubleSnapshot

SHOWN_ENDED = 8


@click.command()
@click.option("--broker", type=int, metavar="N", help="Only operations that wait on this broker.")
@click.option("--topic", default="", metavar="TOPIC", help="Only operations on this topic.")
@click.option("--client", default="", metavar="ID", help="Only requests of this client.id.")
@click.option(
    "--all", "everything", is_flag=True, help="Also show idle followers and group members."
)
@event_options
def why(
    broker: int | None,
    topic: str,
    client: str,
    everything: bool,
    cluster: str,
    replay_files: tuple[Path, ...],
    json_file: Path | None,
) -> None:
    """Say for each waiting operation why it still waits, and what ended the operations before.

    Also which replicas move between log dirs, what brokers found damaged in their logs, followers
    that cannot follow, parts of brokers that failed, and processes that ended unexpectedly.

    With a recording, the command shows what waits at the end of the recording. In a live cluster,
    the ended operations are those that had waited longer than 100 ms. A recording of level hops
    contains all of them.
    """
    source = read_events(cluster, replay_files, gauges=True)
    view = Why()
    for envelope in source.envelopes:
        view.apply(envelope)
    wanted = Wanted(broker, topic, client)
    _check(view, wanted, source)
    waiting, ended = view.waiting(wanted), view.ended(wanted)
    shown = waiting if everything else [waits for waits in waiting if not waits.is_routine]
    done = ended if everything else [one for one in ended if not one.is_routine]
    gone = [
        one for source, one in sorted(view.ended_alone.items()) if broker in (None, source.broker)
    ]
    lines = [*_gone_lines(gone, cluster if source.folder is not None else None)]
    lines += [*_waiting_lines(shown, len(waiting) - len(shown)), "", *_ended_lines(done), ""]
    moves = view.moving(wanted)
    lines += _move_lines(moves)
    damage = {id_: found for id_, found in sorted(view.repairs.items()) if broker in (None, id_)}
    lines += _damage_lines(damage)
    failed = {
        id_: parts for id_, parts in sorted(view.failed_parts.items()) if broker in (None, id_)
    }
    lines += _failed_lines(failed)
    lines += textwrap.wrap(f"Seen: {source.reach}.", text_width())
    lines += missing_lines(source)
    answer = {
        "waiting": [_waits_json(waits) for waits in waiting],
        "ended": [_ended_json(one) for one in ended],
        "moves": [{"broker": id_, **progress._asdict()} for id_, progress in moves],
        "damage": {
            str(id_): {"repaired": list(found.last), "stuck": list(found.stuck)}
            for id_, found in damage.items()
            if found.repairs or found.stuck
        },
        "failed": {
            str(id_): [part.text for part in reversed(parts)] for id_, parts in failed.items()
        },
        "ended_unexpectedly": [{"process": one.process, "how": one.how} for one in gone],
        "missing": source.missing,
    }
    write_answer(answer, json_file, lines)


def _check(view: Why, wanted: Wanted, source: EventSource) -> None:
    """Raise click's exception if the wanted broker or topic does not occur in any event."""
    if wanted.broker is not None and wanted.broker not in view.brokers:
        known = ", ".join(map(str, sorted(view.brokers))) or "none"
        raise click.ClickException(f"broker {wanted.broker} sent no events; known: {known}")
    topics = topics_of(source)
    if wanted.topic and topics and wanted.topic not in topics:
        known = ", ".join(sorted(topics)[:8])
        raise click.ClickException(f"there is no topic '{wanted.topic}'; known: {known}")


def topics_of(source: EventSource) -> set[str]:
    """Return the names of all topics that occur in the events."""
    return {
        topic
        for envelope in source.envelopes
        if isinstance(topic := getattr(envelope.event, "topic", None), str)
    }


def _waiting_lines(waiting: list[Waits], routine: int) -> Iterator[str]:
    if not waiting:
        yield styled("Nothing waits.", bold=True)
    else:
        yield styled(f"{plural(len(waiting), 'operation')} waiting", bold=True)
    if routine:
        yield f"{routine:,} more wait for lack of work: followers, members (--all shows them)"
    for waits in waiting:
        yield ""
        yield from _one_waiting(waits)


def _one_waiting(waits: Waits) -> Iterator[str]:
    operation, now_ms, width = waits.operation, waits.now_ms, text_width()
    yield styled(f"▶ {title(operation)}", bold=True)
    clock = time.strftime("%H:%M:%S", time.localtime(waits.since_wall_ms / 1000))
    keys = ", ".join(operation.keys)
    yield from textwrap.wrap(
        f"on broker {waits.broker} for {duration(operation.age_ms)}, since {clock};"
        f" {operation.purgatory} purgatory, keys: {keys}",
        width,
        initial_indent="  ",
        subsequent_indent="  ",
    )
    for need in operation.why:
        yield f"  needs {needed(need)}"
        yield from _holders(need, now_ms)
    yield "  would finish it:"
    for sentence in what_would_finish(operation, now_ms):
        yield from textwrap.wrap(
            sentence, width, initial_indent="    · ", subsequent_indent="      "
        )


def _holders(need: Requirement, now_ms: int) -> Iterator[str]:
    behind = {f"broker {one.broker}": one for one in missing(need)}
    for name, have in need.holders:
        one = behind.get(name)
        if one is None:
            mark = "✓" if need.needs == "high watermark" else " "
            yield f"    {name:<12} {have:>12,}  {mark}".rstrip()
        else:
            shown = f"✗ {one.behind:,} behind, {since(one, now_ms)}"
            yield f"    {name:<12} {have:>12,}  {styled(shown, fg='red')}"


def _ended_lines(ended: list[HasEnded]) -> Iterator[str]:
    if not ended:
        yield "No ended operation is known."
        return
    yield styled("Ended last", bold=True)
    for one in ended[:SHOWN_ENDED]:
        at = time.strftime("%H:%M:%S", time.localtime(one.envelope.wall_ms / 1000))
        text = (
            f"{at} broker {one.broker}: {one.title}, after {duration(one.event.waited_ms)}:"
            f" {one.cause}"
        )
        yield from textwrap.wrap(
            text, text_width(), initial_indent="  ", subsequent_indent=" " * 11
        )
    if len(ended) > SHOWN_ENDED:
        yield f"  … and {len(ended) - SHOWN_ENDED:,} before (--json holds them)"


def _move_lines(moves: list[tuple[int, ReplicaMoveProgress]]) -> Iterator[str]:
    """For each replica that moves, yield lines that say how far its copy is, and what holds it
    back.
    """
    if not moves:
        return
    yield styled(f"{plural(len(moves), 'replica')} on the way to another log dir", bold=True)
    for broker, move in moves:
        left = move.log_end_offset - move.future_log_end_offset
        held = (
            "it waits, because replica.alter.log.dirs.io.max.bytes.per.second is reached"
            if move.throttled
            else "it is copied, or waits for one before it"
        )
        text = (
            f"broker {broker}: {move.topic}-{move.partition} to {move.to_dir}:"
            f" {plural(left, 'record')} of {move.log_end_offset:,} left; {held}"
        )
        yield from textwrap.wrap(text, text_width(), initial_indent="  ", subsequent_indent="    ")
    yield ""


def _fault(text: str) -> list[str]:
    """Return the lines of one fault. Lines do not break within paths and commands, so that they can
    be copied.
    """
    return textwrap.wrap(
        text,
        text_width(),
        initial_indent="  ✕ ",
        subsequent_indent="    ",
        break_on_hyphens=False,
        break_long_words=False,
    )


def _damage_lines(damage: Mapping[int, RepairsFound]) -> Iterator[str]:
    """Yield lines about damage that brokers found in their logs, repaired or not."""
    for broker, found in damage.items():
        lines = [*found.stuck, *found.last]
        if not lines:
            continue
        summary = found.summary or "it cannot repair this by itself"
        title = f"Damage that broker {broker} has found since its start: {summary}"
        for line in textwrap.wrap(title, text_width()):
            yield styled(line, bold=True)
        for line in lines:
            yield from _fault(line)
        if found.repairs > len(found.last):
            yield f"  … and {found.repairs - len(found.last):,} before (broker.log has them)"
        yield ""


def _failed_lines(failed: Mapping[int, list[TroubleSnapshot]]) -> Iterator[str]:
    """Yield lines about log dirs that failed, and about instruments that do not work any more."""
    for broker, parts in failed.items():
        yield styled(f"Failed on broker {broker} since its start", bold=True)
        for part in parts:
            yield from _fault(part.text)
        yield ""


def _gone_lines(gone: list[Gone], cluster: str | None) -> Iterator[str]:
    """Yield lines about processes that ended and are not started again. `cluster` is the name of
    the live cluster, or None for a recording.
    """
    if not gone:
        return
    yield styled("Ended unexpectedly", bold=True)
    for one in gone:
        todo = ""
        if cluster is not None and one.child.kind is not SourceKind.PROXY:  # it is restarted
            start = command_line(f"cluster start {one.process.removeprefix('broker-')}", cluster)
            todo = f". Start it again with: {start}"
        yield from _fault(f"{one.process} {one.how}{todo}")
    yield ""


def _waits_json(waits: Waits) -> dict[str, object]:
    operation = waits.operation
    return {
        "broker": waits.broker,
        "purgatory": operation.purgatory,
        "operation": title(operation),
        "client": operation.client,
        "correlation_id": operation.correlation_id,
        "keys": list(operation.keys),
        "waited_ms": operation.age_ms,
        "since_wall_ms": waits.since_wall_ms,
        "left_ms": left_ms(operation, waits.now_ms),
        "routine": waits.is_routine,
        "needs": [
            {
                "subject": need.subject,
                "needs": need.needs,
                "at_least": need.at_least,
                "have": need.have,
                "holders": dict(need.holders),
                "missing": [one._asdict() for one in missing(need)],
            }
            for need in operation.why
        ],
        "would_finish": what_would_finish(operation, waits.now_ms),
    }


def _ended_json(one: HasEnded) -> dict[str, object]:
    return {
        "broker": one.broker,
        "operation": one.title,
        "wall_ms": one.envelope.wall_ms,
        "waited_ms": one.event.waited_ms,
        "cause": one.cause,
        "routine": one.is_routine,
    }
