"""`kafka-edu bench sim-speed`: how many seconds of a cluster one core simulates in a second.

The cluster is that of the target: three brokers, a topic of 12 partitions on all of them, a
producer with 100 records/s, and a consumer. There are no faults. All facts are recorded in memory,
in the format of a recording, and hashed.

The figure is virtual seconds a processor second, so it does not depend on what else the machine
does. The start of the cluster counts too. The figure is the median of the rounds. With `--profile`
one more round is played with Python's profiler, and the functions that took the most time are
shown. The profiler itself makes that round several times slower.
"""

import argparse
import cProfile
import io
import pstats
import statistics
import sys
import time
from typing import Final, NamedTuple

from rich.console import Console

from kafka_edu.cli.report import Report
from kafka_edu.common.python_process import command_line
from kafka_edu.sim.scenario.language import parse
from kafka_edu.sim.scenario.scenario_run import ScenarioRun
from kafka_edu.trace.event import Envelope
from kafka_edu.trace.wire_format import encode

from .options import add_repeats

NAME = "sim-speed"
HELP = "how many seconds of a cluster of three brokers one core simulates in a second (a minute)"

AT_LEAST: Final = 20.0
SHOWN: Final = 30
SCENARIO: Final = """\
> cluster brokers=3 min.insync.replicas=2
> topic t partitions=12 rf=3
> producer p topic=t rate=100
> consumer c topic=t
> run {seconds}s
> settle 2s
"""


class Played(NamedTuple):
    """One round."""

    virtual_s: float
    cpu_s: float
    wall_s: float
    facts: int
    recorded: int
    """The bytes of the recording."""
    acked: int
    read: int

    @property
    def speed(self) -> float:
        """Virtual seconds a processor second."""
        return self.virtual_s / self.cpu_s


def play_round(seconds: int, seed: int) -> Played:
    """Simulate `seconds` under load. Raises AssertionError if a rule of the checker is broken."""
    recording = io.BytesIO()

    def record(envelope: Envelope) -> None:
        recording.write(encode(envelope))

    cpu_s, wall_s = time.process_time(), time.monotonic()
    result = ScenarioRun(
        parse(SCENARIO.format(seconds=seconds), "sim-speed"), seed, on_fact=record
    ).play()
    cpu_s, wall_s = time.process_time() - cpu_s, time.monotonic() - wall_s
    if not result.holds:
        raise AssertionError(f"a rule is broken without any fault: {result.violations[0]}")
    return Played(
        result.virtual_ms / 1_000,
        cpu_s,
        wall_s,
        result.facts,
        recording.tell(),
        result.acked,
        result.read,
    )


def profiled(seconds: int) -> str:
    """Return the functions in which a round spends its time, as a table of text."""
    profile = cProfile.Profile()
    profile.runcall(play_round, seconds, 1)
    table = io.StringIO()
    pstats.Stats(profile, stream=table).sort_stats("tottime").print_stats(SHOWN)
    return table.getvalue()


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog=command_line(f"bench {NAME}"), description=HELP)
    add_repeats(parser, 3)
    parser.add_argument(
        "--seconds", type=int, default=60, help="virtual seconds under load (default 60)"
    )
    parser.add_argument("--profile", action="store_true", help="show where the time goes")
    parser.add_argument("--json", metavar="FILE", help="write the figures here too")
    arguments = parser.parse_args(argv)
    play_round(2, 0)  # Python compiles and caches things in the first round
    rounds = [play_round(arguments.seconds, seed) for seed in range(1, arguments.repeats + 1)]
    report = Report("bench sim-speed")
    report.figure("rounds", len(rounds))
    for name, values in (
        ("virtual seconds", [one.virtual_s for one in rounds]),
        ("processor seconds", [one.cpu_s for one in rounds]),
        ("seconds", [one.wall_s for one in rounds]),
        ("facts", [one.facts for one in rounds]),
        ("bytes recorded", [one.recorded for one in rounds]),
        ("records acked", [one.acked for one in rounds]),
        ("records read", [one.read for one in rounds]),
    ):
        report.figure(name, round(statistics.median(values), 2))
    speed = statistics.median(one.speed for one in rounds)
    report.target("virtual seconds a processor second", round(speed, 1), ">=", AT_LEAST)
    report.show()
    if arguments.profile:
        Console().print(profiled(arguments.seconds), soft_wrap=True, highlight=False, markup=False)
    if arguments.json:
        report.write(arguments.json)
    return 0 if report.holds else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
