"""`kafka-edu bench web-log`: how fast the generator makes a web log and its statistics.

One core makes the lines in memory. The comparison is Python's own formatting, which makes the text
of the same lines one by one. The number of different lines is counted in a second pass, which is
not timed. Each figure is the best of several runs, in CPU time.
"""

import argparse
import hashlib
import time
from datetime import UTC, datetime

from kafka_edu.cli.report import Report
from kafka_edu.clients.web_log import catalogue
from kafka_edu.clients.web_log.access_log import MONTHS
from kafka_edu.clients.web_log.generator import LogGenerator, LogSettings
from kafka_edu.common.python_process import command_line

from .options import add_repeats

NAME = "web-log"
HELP = "lines/s of the log generator, with its truth (half a minute)"

LINES = 1_000_000
PEER_LINES = 50_000
REPEATS = 3
LINES_A_SECOND = 300_000
DIFFERENT = 0.99


def main(argv: list[str]) -> int:
    """Run the benchmark. Return 0 when it has run, even if targets are missed."""
    parser = argparse.ArgumentParser(prog=command_line(f"bench {NAME}"), description=HELP)
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--lines", type=int, default=LINES, metavar="N")
    add_repeats(parser, REPEATS, "runs")
    args = parser.parse_args(argv)
    seconds, size = min(_make(args.lines) for _ in range(max(1, args.repeats)))
    different = _different(args.lines) / args.lines
    report = Report(NAME)
    report.figure("lines", args.lines)
    report.figure("bytes a line", size / args.lines)
    report.figure("lines/s, one core", args.lines / seconds)
    report.figure("MB/s, one core", size / seconds / 1e6)
    report.figure("different lines, %", 100 * different)
    peer = min(_peer(PEER_LINES) for _ in range(max(1, args.repeats))) / PEER_LINES
    report.figure("lines/s, text alone, with Python's own formatting", 1 / peer)
    report.figure("times as fast as Python's own formatting", args.lines / seconds * peer)
    report.target("different lines/s", args.lines * different / seconds, ">=", LINES_A_SECOND)
    report.target("share of different lines", different, ">=", DIFFERENT)
    report.show()
    if args.json:
        report.write(args.json)
    return 0


def _make(lines: int) -> tuple[float, int]:
    """Make the lines. Return the CPU seconds and the number of bytes.

    The time includes building the tables and computing all statistics.
    """
    began = time.process_time()
    generator = LogGenerator(LogSettings(seed=1))
    size = 0
    while (left := lines - generator.truth.lines) > 0:
        size += len(generator.text.lines(generator.next_block(left)))
    generator.truth.as_json()
    return time.process_time() - began, size


def _different(lines: int) -> int:
    """Return the number of different lines. Lines are compared by a digest of 8 bytes."""
    generator = LogGenerator(LogSettings(seed=1))
    seen: set[bytes] = set()
    while (left := lines - generator.truth.lines) > 0:
        text = generator.text.lines(generator.next_block(left))
        seen.update(hashlib.blake2b(one, digest_size=8).digest() for one in text.splitlines())
    return len(seen)


def _peer(lines: int) -> float:
    """Return the CPU seconds that Python's own formatting needs for the text of `lines` lines.

    Raises AssertionError if its bytes differ from the generator's.
    """
    generator = LogGenerator(LogSettings(seed=1, has_bad_lines=False))
    block = generator.next_block(lines)
    requests = catalogue.requests()
    columns = (
        block.time_ms,
        block.client,
        block.user,
        block.request,
        block.status,
        block.size,
        block.referrer,
        block.agent,
        block.duration_us,
    )
    began = time.process_time()
    text = []
    for row in zip(*(column.tolist() for column in columns), strict=True):
        time_ms, client, user, number, status, size, referrer, agent, duration_us = row
        moment = datetime.fromtimestamp(time_ms // 1000, UTC)
        request = requests[number]
        text.append(
            f"10.{client >> 16}.{client >> 8 & 255}.{client & 255}"
            f" - {f'user{user}' if user else '-'}"
            f" [{moment:%d}/{MONTHS[moment.month - 1]}/{moment:%Y:%H:%M:%S} +0000]"
            f' "{request.method} {request.path} HTTP/1.1" {status} {size if size >= 0 else "-"}'
            f' "{catalogue.SITE + requests[referrer - 1].path if referrer else "-"}"'
            f' "{catalogue.AGENTS[agent].name}" {duration_us}\n'
        )
    seconds = time.process_time() - began
    assert "".join(text).encode() == generator.text.lines(block), "the peer made other lines"
    return seconds
