"""Show the causes of an event as a tree, and what followed from it: `chain b1#4711`."""

import textwrap
import time
from collections.abc import Sequence
from pathlib import Path

import click

from kafka_edu.instruments.chain import Chain, ChainLine, chain_of
from kafka_edu.instruments.event_name import UnknownEventError, event_name, find_event
from kafka_edu.instruments.event_source import (
    EventSource,
    colour_of,
    event_json,
    event_options,
    missing_lines,
    read_events,
    styled,
    text_width,
    write_answer,
)
from kafka_edu.trace.event import Envelope
from kafka_edu.trace.reader import History


@click.command()
@click.argument("event", nargs=-1, required=True)
@click.option(
    "--followed",
    "most",
    type=click.IntRange(min=0),
    default=20,
    show_default=True,
    metavar="N",
    help="How many lines of what followed to show at most.",
)
@event_options
def chain(
    event: Sequence[str],
    most: int,
    cluster: str,
    replay_files: tuple[Path, ...],
    json_file: Path | None,
) -> None:
    """Show the causes of EVENT as a tree, and what followed from it.

    EVENT is a process and a number, such as `b1#4711`. Or it is a kind of event and some words:
    `LeaderElected web-1` means the last event of this kind that contains these words. In a live
    cluster, each process keeps its events of the last minutes. The hops of fast requests are only
    in recordings of level hops.
    """
    source = read_events(cluster, replay_files)
    try:
        found = find_event(source.envelopes, event)
    except UnknownEventError as error:
        raise click.ClickException(str(error)) from error
    result = chain_of(History(source.envelopes), found, most)
    write_answer(_as_json(result, source), json_file, list(_lines(result, source)))


def _lines(chain: Chain, source: EventSource) -> list[str]:
    last = chain.envelope
    first = chain.causes[0].envelope
    clock = time.strftime("%H:%M:%S", time.localtime(last.wall_ms / 1000))
    lines = [
        styled(f"Why {event_name(last)} {last.name}", bold=True)
        + f"  at {clock}.{last.wall_ms % 1000:03d}"
    ]
    for line in chain.causes:
        lines += _line(line, first, is_last=line.envelope is last)
    lines += textwrap.wrap(f"The chain begins there: {chain.beginning}.", text_width())
    if chain.effects:
        lines += ["", styled("What followed", bold=True)]
        for line in chain.effects:
            lines += _line(line, first)
        if chain.effects_left:
            lines.append(f"… and {chain.effects_left:,} more (--followed N shows more)")
    else:
        lines += ["", "No event that followed from it is known."]
    lines += ["", *_footer(source)]
    return lines


def _footer(source: EventSource) -> list[str]:
    lines = textwrap.wrap(f"Seen: {source.reach}.", text_width())
    lines += missing_lines(source)
    return lines


def _line(line: ChainLine, first: Envelope, *, is_last: bool = False) -> list[str]:
    """Return the printed lines of one event. A text that is too long continues in the next line."""
    envelope = line.envelope
    since_ms = (envelope.mono_us - first.mono_us) / 1000
    name = event_name(envelope)
    text = line.text
    if line.more:
        text += f" … and {line.more:,} more like it"
    if line.also:
        shown = ", ".join(line.also[:2]) + ("…" if len(line.also) > 2 else "")
        text += f"  (also: {shown})"
    head = f"{_since(since_ms):>9} {name:<9} {'▶ ' if is_last else ''}{line.rails}"
    below = " " * 20 + ("  " if is_last else "") + line.rails.replace("├╴", "│ ")
    wrapped = textwrap.wrap(
        text, max(text_width() - len(head), 24), break_long_words=False, break_on_hyphens=False
    ) or [""]
    colour = colour_of(envelope.source)
    drawn = [
        f"{head[:10]}{styled(head[10:20], fg=colour)}{head[20:]}" + styled(wrapped[0], bold=is_last)
    ]
    return drawn + [below + styled(part, bold=is_last) for part in wrapped[1:]]


def _since(ms: float) -> str:
    return f"{ms / 1000:,.3f} s"


def _as_json(chain: Chain, source: EventSource) -> dict[str, object]:
    return {
        "event": event_json(chain.envelope),
        "causes": [_line_json(line) for line in chain.causes],
        "begins": chain.beginning,
        "followed": [_line_json(line) for line in chain.effects],
        "followed_not_shown": chain.effects_left,
        "missing": source.missing,
    }


def _line_json(line: ChainLine) -> dict[str, object]:
    return {
        **event_json(line.envelope),
        "depth": line.rails.count("│") + line.rails.count("├"),
        "text": line.text,
        "also_because_of": list(line.also),
        "more_like_it": line.more,
    }
