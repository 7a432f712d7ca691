"""`kafka-edu bench web-log`: the speed of the Spark lab's log generator, with its truth.

One core makes the lines in memory. The peer is the web log of the demos (`WebLog`), which makes one
line after the other in plain Python. Different lines are counted in a second pass, which is not
timed. Each figure is the best of several runs, in CPU time.
"""

import argparse
import hashlib
import time
from itertools import islice

from rich.console import Console

from kafka_edu.cli.report import Report
from kafka_edu.clients.web_log import WebLog
from kafka_edu.common.package_group import PackageGroupError, ensure_group
from kafka_edu.common.python_process import command_line

from .options import add_repeats

NAME = "web-log"
HELP = "lines/s of the Spark lab's log generator, with its truth (half a minute)"

LINES = 1_000_000
PEER_LINES = 50_000
REPEATS = 3
LINES_A_SECOND = 300_000
DIFFERENT = 0.99


def main(argv: list[str]) -> int:
    """Run the benchmark. Return 0 when it ran, whether or not the targets hold."""
    parser = argparse.ArgumentParser(prog=command_line(f"bench {NAME}"), description=HELP)
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--lines", type=int, default=LINES, metavar="N")
    add_repeats(parser, REPEATS, "runs")
    args = parser.parse_args(argv)
    try:
        ensure_group("spark", "numpy")
    except PackageGroupError as error:
        Console(stderr=True).print(str(error), markup=False, highlight=False)
        return 1
    seconds, size = min(_make(args.lines) for _ in range(max(1, args.repeats)))
    different = _different(args.lines) / args.lines
    report = Report(NAME)
    report.figure("lines", args.lines)
    report.figure("bytes a line", size / args.lines)
    report.figure("lines/s, one core", args.lines / seconds)
    report.figure("MB/s, one core", size / seconds / 1e6)
    report.figure("different lines, %", 100 * different)
    report.figure("lines/s, WebLog in plain Python", PEER_LINES / _peer(PEER_LINES))
    report.target("different lines/s", args.lines * different / seconds, ">=", LINES_A_SECOND)
    report.target("share of different lines", different, ">=", DIFFERENT)
    report.show()
    if args.json:
        report.write(args.json)
    return 0


def _make(lines: int) -> tuple[float, int]:
    """Return the CPU seconds, with the building of tables and all of the truth, and the bytes."""
    from kafka_edu.spark.log_generator import LogGenerator, LogSettings

    began = time.process_time()
    generator = LogGenerator(LogSettings(seed=1))
    size = 0
    while (left := lines - generator.truth.lines) > 0:
        size += len(generator.text.lines(generator.next_block(left)))
    generator.truth.as_json()
    return time.process_time() - began, size


def _different(lines: int) -> int:
    """Return how many lines are different. A digest of 8 bytes stands for each line."""
    from kafka_edu.spark.log_generator import LogGenerator, LogSettings

    generator = LogGenerator(LogSettings(seed=1))
    seen: set[bytes] = set()
    while (left := lines - generator.truth.lines) > 0:
        text = generator.text.lines(generator.next_block(left))
        seen.update(hashlib.blake2b(one, digest_size=8).digest() for one in text.splitlines())
    return len(seen)


def _peer(lines: int) -> float:
    began = time.process_time()
    log = WebLog(seed=1)
    assert sum(1 for _ in islice(log, lines)) == lines
    return time.process_time() - began
