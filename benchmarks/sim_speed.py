"""`kafka-edu bench sim-speed`: how many seconds of a cluster one core simulates in a second.

The simulated cluster has three brokers, a topic of 12 partitions on all of them, a producer with
100 records/s, and a consumer. Our target is for this cluster. There are no faults. All facts are
recorded in memory, in the format of a recording, and hashed.

The figure is virtual seconds a processor second, so it does not depend on what else the machine
does. The start of the cluster counts too. The figure is the median of the rounds. With `--profile`
one more round is played with Python's profiler. It shows how the time is shared among the packages,
and the functions that took the most time. The profiler itself makes that round several times
slower: it makes each call longer, so a package with many short calls has too large a share.
"""

import argparse
import cProfile
import io
import pstats
import statistics
import sys
import time
from collections import Counter, defaultdict
from types import CodeType
from typing import Final, NamedTuple

from rich.console import Console
from rich.table import Table

from kafka_edu.cli.report import Report
from kafka_edu.common.python_process import command_line
from kafka_edu.sim.scenario.explore import leave_out_imports
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


class Share(NamedTuple):
    """One package's share of the time of a profiled round."""

    package: str
    percent: float
    calls: int
    """The calls of its functions in a virtual second."""


class Profiled(NamedTuple):
    """Where the time of a round goes."""

    shares: list[Share]
    """The packages of kafka_edu, the largest share first. `python` is the standard library."""
    functions: str
    """The functions in which most of the time is spent, as a table of text."""


def package_of(code: CodeType) -> str:
    """Return the package of kafka_edu that a function belongs to."""
    if code.co_filename.startswith("<"):  # codecs and value types, compiled at the first use
        return "generated code"
    _, found, path = code.co_filename.replace("\\", "/").rpartition("/kafka_edu/")
    return path.partition("/")[0] if found else "python"


def profiled(seconds: int) -> Profiled:
    """Play a round with Python's profiler. A function written in C counts for its caller."""
    profile = cProfile.Profile()
    played = profile.runcall(play_round, seconds, 1)
    spent: dict[str, float] = defaultdict(float)
    calls: Counter[str] = Counter()
    for entry in profile.getstats():
        if isinstance(entry.code, CodeType):
            package = package_of(entry.code)
            calls[package] += entry.callcount
            spent[package] += entry.inlinetime + sum(
                called.inlinetime for called in entry.calls or () if isinstance(called.code, str)
            )
    whole = sum(spent.values())
    shares = [
        Share(package, round(100 * one / whole, 1), round(calls[package] / played.virtual_s))
        for package, one in sorted(spent.items(), key=lambda item: -item[1])
    ]
    table = io.StringIO()
    pstats.Stats(profile, stream=table).sort_stats("tottime").print_stats(SHOWN)
    return Profiled(shares, table.getvalue())


def show_shares(console: Console, shares: list[Share]) -> None:
    """Print the packages that have at least 1 % of the time."""
    table = Table("package", title="bench sim-speed: profile", title_justify="left")
    table.add_column("share of the time, %", justify="right")
    table.add_column("calls in a virtual second", justify="right")
    for share in shares:
        if share.percent >= 1:
            table.add_row(share.package, f"{share.percent:g}", f"{share.calls:,}")
    console.print(table)


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog=command_line(f"bench {NAME}"), description=HELP)
    add_repeats(parser, 3)
    parser.add_argument(
        "--seconds", type=int, default=60, help="seconds of virtual time under load (default 60)"
    )
    parser.add_argument("--profile", action="store_true", help="show which functions take the time")
    parser.add_argument("--json", metavar="FILE", help="also write the figures to this file")
    arguments = parser.parse_args(argv)
    play_round(2, 0)  # Python compiles and caches things in the first round
    leave_out_imports()  # as `sim explore` does
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
        found = profiled(arguments.seconds)
        show_shares(Console(), found.shares)
        Console().print(found.functions, soft_wrap=True, highlight=False, markup=False)
        report.figure("profile", [share._asdict() for share in found.shares])
        report.figure("functions", found.functions.splitlines())
    if arguments.json:
        report.write(arguments.json)
    return 0 if report.holds else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
