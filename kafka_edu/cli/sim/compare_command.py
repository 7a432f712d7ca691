"""Show where two futures of a simulated run part: `kafka-edu sim compare`."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

import click
from rich.console import Console

from kafka_edu.cli.demo_frame import json_option
from kafka_edu.cli.report import Report
from kafka_edu.cli.sim.scenario_files import load, seed_of, seed_option
from kafka_edu.instruments.chain import chain_of
from kafka_edu.instruments.event_name import event_name
from kafka_edu.sim.scenario.compare import Played, first_difference, play_whole
from kafka_edu.sim.scenario.explore import rules_broken
from kafka_edu.sim.sim_cluster import silent_brokers
from kafka_edu.sim.transcript import narrate
from kafka_edu.trace.event import Envelope
from kafka_edu.trace.reader import History

STORY_LINES: Final = 6


@click.command()
@click.argument("first")
@click.argument("second")
@seed_option
@json_option
def compare(first: str, second: str, seed: int | None, json_file: Path | None) -> None:
    """Play two futures, and show the first fact that differs, with its causes in both.

    FIRST and SECOND are scenario files. The dashboard writes one for each future (`dashboard
    --sim`).
    """
    console = Console()
    futures = [(name, load(name)) for name in (first, second)]
    with silent_brokers():
        played = [
            (name, play_whole(scenario, seed_of(scenario, seed))) for name, scenario in futures
        ]
    found = first_difference(played[0][1].facts, played[1][1].facts)
    if found is None:
        _say(console, f"the same {len(played[0][1].facts):,} facts: one future")
    else:
        _say(console, f"{found.same:,} facts are the same. Then the futures part:")
        others = (played[1][1], played[0][1])
        facts = (found.first, found.second)
        for (name, future), other, fact in zip(played, others, facts, strict=True):
            _say(console, "")
            for line in (*_part(name, future, fact), *_story(future, other, found.same)):
                _say(console, line)
    _say(console, "")
    for name, future in played:
        rules = ", ".join(rules_broken(future.result.violations)) or "every rule holds"
        _say(console, f"in the end of {name}: {future.result.acked:,} records acked, {rules}")
    if json_file is not None:
        report = Report("sim compare")
        report.figure("facts that are the same", found.same if found is not None else "all")
        for (name, future), fact in zip(
            played, (found.first, found.second) if found is not None else (None, None), strict=True
        ):
            report.figure(f"{name}: digest", future.result.digest)
            report.figure(f"{name}: parts with", fact.name if fact is not None else "no fact")
        report.write(json_file)


def _say(console: Console, line: str) -> None:
    console.print(line, soft_wrap=True, highlight=False, markup=False)


def _part(name: str, future: Played, fact: Envelope | None) -> Iterator[str]:
    """Yield the lines about the first fact of one future that the other future does not have."""
    if fact is None:
        yield f"{name} has ended"
        return
    at_s = (fact.mono_us - future.begun_us) / 1e6
    yield f"{name}, at {at_s:.6f} s: {event_name(fact)} {fact.name}"
    for line in chain_of(History(future.facts), fact, 0).causes:
        one = line.envelope
        since_s = (one.mono_us - future.begun_us) / 1e6
        mark = "▶ " if one is fact else ""
        yield f"{since_s:>10.6f} s  {event_name(one):<9} {mark}{line.rails}{line.text}"


def _story(future: Played, other: Played, begin: int) -> Iterator[str]:
    """Yield the first lines about what happened in `future` from the fact with the index `begin`
    on, in the words of `sim run`. Lines that `other` has too, perhaps at a different time, are left
    out.
    """
    both = {narrate(fact) for fact in other.facts[begin:]}
    lines = (
        f"  {(fact.mono_us - future.begun_us) / 1e6:.3f} s  {line}"
        for fact in future.facts[begin:]
        if (line := narrate(fact)) is not None and line not in both
    )
    yield "  what happened here alone:"
    yield from islice(lines, STORY_LINES)
