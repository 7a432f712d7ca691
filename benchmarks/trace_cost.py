"""`kafka-edu bench trace-cost`: how much more CPU time a broker needs for a request with tracing.

The base is a copy of this checkout from which a script has removed every trace call
(`trace_stripper`). Each case is the unchanged checkout with other settings:

    everything off      no ring, no recording, nobody subscribed
    as shipped          the ring, level state
    hops to a file      the broker records at level hops
    dashboard attached  one dashboard in a terminal, at 1,000 records a second

Base and case run in pairs, in alternating order: base, case; case, base; … Each pair gives one
ratio of the CPU times for a request. The result is the median of the ratios with its 95 %
confidence interval, by bootstrap. A result meets its limit if the upper end of the interval is
below the limit.

A request is a produce request of one record, acks=1, over eight connections, as in
`bench throughput`. CPU time is what the scheduler has counted for all threads of the broker, in ns.
The clusters stay up during the whole benchmark, each with one broker. Each cluster is idle while
another one is measured.
"""

import argparse
import contextlib
import fcntl
import json
import os
import pty
import random
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from confluent_kafka import Producer

from kafka_edu.cli.report import Report
from kafka_edu.common.python_process import checkout, command_line

from .options import add_repeats
from .request_rate import request_rate
from .throughput import create_topic
from .trace_stripper import write_stripped

NAME = "trace-cost"
HELP = "what the instruments cost: CPU time a request, compared with a copy without tracing"

TOPIC: Final = "cost"
RATE_SECONDS: Final = 2.0
WARM_UP_SECONDS: Final = 2.0
RECORDS_PER_SECOND: Final = 1000
DASHBOARD_SECONDS: Final = 5.0
DASHBOARD_STARTS_S: Final = 4.0
RESAMPLES: Final = 5000
OFF, SHIPPED, HOPS, DASHBOARD = (
    "everything off",
    "as shipped",
    "hops to a file",
    "dashboard attached",
)
BOUNDS: Final = {OFF: 0.02, SHIPPED: 0.05, HOPS: 0.25, DASHBOARD: 0.05}
OF_ITSELF: Final = 0.15
"""Limit for the share of one core that the dashboard itself uses."""
RING_OFF: Final = ("edu.trace.ring.bytes=0",)


class Interval(NamedTuple):
    """A median with its 95 % confidence interval."""

    median: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.median:+.1%} ({self.low:+.1%} to {self.high:+.1%})"


def bootstrap(values: Sequence[float], resamples: int = RESAMPLES) -> Interval:
    """Return the median and its confidence interval, by resampling the values. O(n × resamples)."""
    chance = random.Random(1)
    medians = sorted(
        statistics.median(chance.choices(values, k=len(values))) for _ in range(resamples)
    )
    return Interval(
        statistics.median(values),
        medians[int(resamples * 0.025)],
        medians[min(int(resamples * 0.975), resamples - 1)],
    )


def cpu_ns(pid: int) -> int:
    """Return the CPU time of all threads of a process in ns. Raises OSError if it has ended."""
    total = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError):  # a thread that has just ended
            total += int((task / "schedstat").read_text().split()[0])
    return total


class Side(NamedTuple):
    """A cluster of one broker that runs from one checkout with given settings."""

    name: str
    tree: Path
    home: Path
    props: tuple[str, ...] = ()

    def run(self, *words: str) -> None:
        """Run a `kafka-edu` command of this checkout.

        Raises RuntimeError with its output if it fails.
        """
        ran = subprocess.run(
            [sys.executable, "-m", "kafka_edu", *words],
            cwd=self.tree,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if ran.returncode:
            raise RuntimeError(f"{self.name}: {' '.join(words)} failed: {ran.stderr or ran.stdout}")

    @property
    def environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "PYTHONPATH": str(self.tree),
            "KAFKA_EDU_HOME": str(self.home),
            "TERM": "xterm-256color",
        }

    @contextlib.contextmanager
    def up(self) -> "Iterator[Running]":
        """Start the cluster. Yield it as a Running object, and stop it at the end of the block."""
        self.home.mkdir(parents=True, exist_ok=True)
        answer = self.home / "up.json"
        settings = [word for prop in self.props for word in ("--prop", prop)]
        self.run("cluster", "up", "--brokers", "1", "--json", str(answer), *settings)
        try:
            status = json.loads(answer.read_text())
            [broker] = [p for p in status["processes"] if p["process"] == "broker-0"]
            leaders = create_topic(status["bootstrap_servers"], TOPIC, 1)
            yield Running(self, status["bootstrap_servers"], int(broker["pid"]), leaders)
        finally:
            self.run("cluster", "down")


class Running(NamedTuple):
    """A Side whose cluster is up."""

    side: Side
    bootstrap: str
    pid: int
    leaders: list[tuple[str, int]]

    def cpu_us_a_request(self, seconds: float) -> float:
        """Send requests as fast as the broker answers.

        Return the broker's CPU time for each request in µs.
        """
        before = cpu_ns(self.pid)
        began = time.perf_counter()
        rate = request_rate(self.leaders, TOPIC, acks=1, seconds=seconds)
        requests = rate * (time.perf_counter() - began)
        return (cpu_ns(self.pid) - before) / 1000 / requests

    def cpu_us_a_record(self, seconds: float) -> float:
        """Send RECORDS_PER_SECOND records a second, one in each request.

        Return the broker's CPU time for each record in µs.
        """
        producer = Producer(
            {"bootstrap.servers": self.bootstrap, "acks": "1", "linger.ms": 0, "log_level": 0}
        )
        before = cpu_ns(self.pid)
        began = time.perf_counter()
        sent = 0
        while (elapsed := time.perf_counter() - began) < seconds:
            while sent < elapsed * RECORDS_PER_SECOND:
                producer.produce(TOPIC, b"x" * 100, partition=sent % len(self.leaders))
                sent += 1
            producer.poll(0.002)
        if producer.flush(30):
            raise RuntimeError("the broker does not take 1,000 records a second")
        return (cpu_ns(self.pid) - before) / 1000 / sent


@contextlib.contextmanager
def dashboard(running: Running) -> Iterator[int]:
    """Run a dashboard in a terminal of 120 × 40 characters during the block.

    Yield its process id.
    """
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(running.side.tree)
        os.execvpe(
            sys.executable,
            [sys.executable, "-m", "kafka_edu", "dashboard"],
            running.side.environment,
        )

    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))

    def drain() -> None:
        with contextlib.suppress(OSError):
            while os.read(terminal, 1 << 16):
                pass

    threading.Thread(target=drain, daemon=True).start()
    try:
        time.sleep(DASHBOARD_STARTS_S)
        yield pid
    finally:
        os.kill(pid, signal.SIGTERM)
        os.waitpid(pid, 0)
        os.close(terminal)


def pairs_of(base: Running, case: Running, count: int) -> list[float]:
    """Measure `count` pairs.

    For each pair, return the ratio of the CPU times for a request, minus 1.
    """
    for running in (base, case):
        running.cpu_us_a_request(WARM_UP_SECONDS)
    ratios = []
    for number in range(count):
        taken = {}
        for running in (base, case) if number % 2 == 0 else (case, base):
            taken[running.pid] = running.cpu_us_a_request(RATE_SECONDS)
        ratios.append(taken[case.pid] / taken[base.pid] - 1)
    return ratios


def dashboard_pairs(base: Running, case: Running, count: int) -> tuple[list[float], list[float]]:
    """Measure `count` pairs with a dashboard attached to the case.

    Return the ratios, and the share of one core that the dashboard used in each pair.
    """
    ratios, shares = [], []
    with dashboard(case) as pid:
        for running in (base, case):
            running.cpu_us_a_record(WARM_UP_SECONDS)
        for number in range(count):
            taken = {}
            for running in (base, case) if number % 2 == 0 else (case, base):
                before, began = cpu_ns(pid), time.perf_counter()
                taken[running.pid] = running.cpu_us_a_record(DASHBOARD_SECONDS)
                if running is case:
                    shares.append((cpu_ns(pid) - before) / 1e9 / (time.perf_counter() - began))
            ratios.append(taken[case.pid] / taken[base.pid] - 1)
    return ratios, shares


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog=command_line(f"bench {NAME}"),
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_repeats(parser, default=20, what="pairs of each case")
    parser.add_argument(
        "--case", action="append", choices=list(BOUNDS), help="only this case; may be repeated"
    )
    parser.add_argument("--json", metavar="FILE", help="also write the figures to this file")
    arguments = parser.parse_args(argv)
    root = checkout()
    if root is None or not Path("/proc/self/schedstat").exists():
        print("this benchmark needs a checkout, and Linux's /proc", file=sys.stderr)
        return 1
    report = Report(NAME)
    with tempfile.TemporaryDirectory(prefix="kafka-edu-trace-cost-") as folder:
        here = Path(folder)
        removed = write_stripped(here / "stripped")
        print(f"{removed} trace calls stripped from the base; {arguments.repeats} pairs a case")
        base = Side("base", here / "stripped", here / "base", RING_OFF)
        recording = f"edu.record.file={here}/hops.jsonl"
        sides = {
            OFF: Side(OFF, root, here / "off", RING_OFF),
            SHIPPED: Side(SHIPPED, root, here / "shipped"),
            HOPS: Side(HOPS, root, here / "hops", (recording, "edu.record.level=hops")),
            DASHBOARD: Side(DASHBOARD, root, here / "dashboard"),
        }
        with base.up() as bottom:
            for name in arguments.case or list(sides):
                with sides[name].up() as case:
                    _measure(report, bottom, case, arguments.repeats)
    report.show()
    if arguments.json:
        report.write(arguments.json)
    return 0 if report.holds else 1


def _measure(report: Report, base: Running, case: Running, count: int) -> None:
    name = case.side.name
    if name == DASHBOARD:
        ratios, shares = dashboard_pairs(base, case, count)
        own = bootstrap(shares)
        report.figure(f"{DASHBOARD}: its share of a core", f"{own}".replace("+", ""))
        report.target(f"{DASHBOARD}: its share of a core, upper end", own.high, "<=", OF_ITSELF)
    else:
        ratios = pairs_of(base, case, count)
    more = bootstrap(ratios)
    print(f"{name}: {more}", flush=True)
    report.figure(f"{name}: CPU a request, added to the base", str(more))
    report.figure(f"{name}: every pair", [round(ratio, 4) for ratio in ratios])
    report.target(f"{name}: CPU a request, upper end", more.high, "<=", BOUNDS[name])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
