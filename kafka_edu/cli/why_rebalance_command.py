"""Say why a group rebalanced, for whom it waited, and which partitions moved."""

import textwrap
import time
from pathlib import Path

import click

from kafka_edu.common.words import duration
from kafka_edu.instruments.event_source import (
    EventSource,
    event_options,
    missing_lines,
    read_events,
    styled,
    text_width,
    write_answer,
)
from kafka_edu.instruments.rebalances import (
    GroupStory,
    Rebalance,
    Rebalances,
    cause_words,
    outcome_words,
    partitions_words,
    waiting_words,
    way_words,
)

SHOWN_MOVES = 12


@click.command("why-rebalance")
@click.argument("group")
@click.option(
    "--last",
    type=click.IntRange(min=1),
    default=5,
    show_default=True,
    metavar="N",
    help="How many rebalances to show at most, the newest first.",
)
@event_options
def why_rebalance(
    group: str, last: int, cluster: str, replay_files: tuple[Path, ...], json_file: Path | None
) -> None:
    """Say why GROUP rebalanced, for whom it waited, and which partitions moved.

    In a live cluster, the answer covers the last minutes, because each broker keeps its events only
    for this time. The group's members, assignment and offsets are the present ones.
    """
    source = read_events(cluster, replay_files)
    rebalances = Rebalances()
    for envelope in source.envelopes:
        rebalances.apply(envelope)
    story = rebalances.groups.get(group)
    if story is None:
        known = ", ".join(sorted(rebalances.groups)) or "none"
        raise click.ClickException(
            f"nothing is known of group '{group}'. Groups that are known: {known}"
        )
    write_answer(
        _as_json(rebalances, story, last, source),
        json_file,
        _lines(rebalances, story, last, source),
    )


def _lines(rebalances: Rebalances, story: GroupStory, last: int, source: EventSource) -> list[str]:
    now_us = rebalances.now_us
    head, way = (
        textwrap.wrap(words, text_width(), break_on_hyphens=False)
        for words in (head_words(story, now_us), way_words(story, now_us))
    )
    lines = [*(styled(line, bold=True) for line in head), *way]
    shown = list(story.rebalances)[-last:]
    for rebalance in reversed(shown):
        lines += ["", *_rebalance_lines(story, rebalance, now_us)]
    if not shown:
        lines += ["", "The events that are kept show no rebalance."]
    if story.members:
        lines += ["", *_member_lines(rebalances, story)]
    lines += ["", f"Seen: {source.reach}."]
    return lines + missing_lines(source)


def head_words(story: GroupStory, now_us: int) -> str:
    """Return one line about the group: its state, its generation, and its coordinator."""
    parts = [f"group {story.group}", story.state or "state not known"]
    if story.state_since_us:
        parts[-1] += f" for {duration((now_us - story.state_since_us) / 1000)}"
    parts.append(f"generation {story.generation}")
    partition = f" (__consumer_offsets-{story.offsets_partition})"
    place = partition if story.offsets_partition >= 0 else ""
    gone = ", which is gone" if story.coordinator_lost else ""
    parts.append(f"coordinator broker {story.coordinator}{place}{gone}")
    if story.protocol:
        parts.append(story.protocol)
    return " · ".join(parts)


def _rebalance_lines(story: GroupStory, rebalance: Rebalance, now_us: int) -> list[str]:
    at = time.strftime("%H:%M:%S", time.localtime(rebalance.started_wall_ms / 1000))
    took = duration(rebalance.took_ms(now_us))
    took = f"took {took}" if rebalance.is_over else f"{took} so far"
    first, *rest = _wrapped(f"{cause_words(story, rebalance)} ({took})")
    lines = [f"{at}  {styled(first.lstrip(), bold=True)}", *rest]
    if words := waiting_words(story, rebalance, now_us):
        lines += _wrapped(words)
    lines += _wrapped(outcome_words(story, rebalance))
    moves = rebalance.moves()
    for move in moves[:SHOWN_MOVES]:
        before, after = (
            story.name(member) if member else "nobody" for member in (move.before, move.after)
        )
        lines.append(f"            {partitions_words([move.partition])}: {before} → {after}")
    if len(moves) > SHOWN_MOVES:
        lines.append(f"            … and {len(moves) - SHOWN_MOVES} more")
    return lines


def _wrapped(words: str) -> list[str]:
    indent = " " * 10
    return textwrap.wrap(
        words,
        text_width(),
        initial_indent=indent,
        subsequent_indent=indent,
        break_on_hyphens=False,
        break_long_words=False,
    )


def _member_lines(rebalances: Rebalances, story: GroupStory) -> list[str]:
    rows = [("member", "reads", "lag", "last heard")]
    for member in story.members:
        partitions = story.assignment.get(member, frozenset())
        lags = [rebalances.lag(story, partition) for partition in partitions]
        known = [lag for lag in lags if lag is not None]
        sampled = story.sampled.get(member)
        heard = "not known"
        if sampled is not None:
            heard = (
                f"its {sampled.waits} waits here"
                if sampled.waits
                else f"{duration(sampled.heard_ms_ago)} ago"
            )
        rows.append(
            (
                story.name(member) + (" (leader)" if member == story.leader else ""),
                partitions_words(partitions),
                f"{sum(known):,}" if known else "–",
                heard,
            )
        )
    room = max(text_width() - 40, 20)
    widths = [min(max(len(row[i]) for row in rows), room) for i in range(3)]
    return [
        f"{row[0]:<{widths[0]}}  {row[1]:<{widths[1]}}  {row[2]:>{widths[2]}}  {row[3]}".rstrip()
        for row in rows
    ]


def _as_json(
    rebalances: Rebalances, story: GroupStory, last: int, source: EventSource
) -> dict[str, object]:
    now_us = rebalances.now_us
    return {
        "group": story.group,
        "state": story.state,
        "generation": story.generation,
        "protocol": story.protocol,
        "coordinator": story.coordinator,
        "offsets_partition": story.offsets_partition,
        "waits_for": [story.name(member) for member in story.waits_for()],
        "way": [
            {"state": step.state, "wall_ms": step.wall_ms, "note": step.note} for step in story.way
        ],
        "rebalances": [
            _rebalance_json(story, rebalance, now_us)
            for rebalance in reversed(list(story.rebalances)[-last:])
        ],
        "members": [
            {
                "member": member,
                "name": story.name(member),
                "leader": member == story.leader,
                "partitions": sorted(map(list, story.assignment.get(member, ()))),
                "heard_ms_ago": sampled.heard_ms_ago if sampled is not None else None,
                "waits": sampled.waits if sampled is not None else None,
            }
            for member in story.members
            for sampled in [story.sampled.get(member)]
        ],
        "offsets": [
            {
                "topic": topic,
                "partition": partition,
                "offset": offset,
                "lag": rebalances.lag(story, (topic, partition)),
            }
            for (topic, partition), offset in sorted(story.offsets.items())
        ],
        "missing": source.missing,
    }


def _rebalance_json(story: GroupStory, rebalance: Rebalance, now_us: int) -> dict[str, object]:
    return {
        "wall_ms": rebalance.started_wall_ms,
        "trigger": rebalance.trigger,
        "cause": cause_words(story, rebalance),
        "member": rebalance.member,
        "reason": rebalance.reason,
        "waited": waiting_words(story, rebalance, now_us),
        "gathering_ms": rebalance.gathering_ms(now_us),
        "assigning_ms": rebalance.assigning_ms(now_us),
        "took_ms": rebalance.took_ms(now_us),
        "is_over": rebalance.is_over,
        "outcome": outcome_words(story, rebalance),
        "generation": rebalance.generation,
        "moves": [
            {
                "topic": move.partition[0],
                "partition": move.partition[1],
                "before": move.before and story.name(move.before),
                "after": move.after and story.name(move.after),
            }
            for move in rebalance.moves()
        ],
    }
