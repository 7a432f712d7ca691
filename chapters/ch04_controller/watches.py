"""Compare two ways to watch ZooKeeper, and count watches, wake-ups and requests in virtual time.

In the old way every broker watches everything, as in the Kafka that had no controller yet. In the
new way one controller watches for all brokers. No process is started.
`kafka_edu.sim.watches_exhibit` says which parts are real (our own ZooKeeper, our controller, each
watch that is set and each that fires) and what is left out. The same sizes always give the same
figures.
"""

from typing import Final

import click
from rich.console import Console
from rich.table import Table

from kafka_edu.cli.demo_frame import demo_command
from kafka_edu.cli.report import Report, number
from kafka_edu.common.python_process import command_line
from kafka_edu.sim.watches_exhibit import Cost, Exhibit, measure

SIZES: Final = ((3, 100), (10, 100), (10, 1000))
LEGEND: Final = (
    "who: which brokers watch and act; fire: watches that fire; woken: brokers that are notified;"
    " reads, writes: requests to ZooKeeper; peak: these requests in the busiest 10 ms; told:"
    " requests of the controller to brokers; ms: virtual time until the last broker knows the"
    " result"
)
DEATH: Final = "a broker dies"
#: Fields of Cost → the name of each figure, and the heading of its column in the table.
COLUMNS: Final = (
    ("watches that fire", "fire"),
    ("brokers woken", "woken"),
    ("reads", "reads"),
    ("writes", "writes"),
    ("requests in the busiest 10 ms", "peak"),
    ("requests to brokers", "told"),
    ("ms until all know", "ms"),
)


@demo_command("watches", figures=False)
@click.option("--brokers", type=click.IntRange(2), help="Measure this size alone.", metavar="N")
@click.option(
    "--partitions",
    type=click.IntRange(1),
    default=100,
    show_default=True,
    help="With --brokers.",
    metavar="M",
)
def watches(console: Console, brokers: int | None, partitions: int) -> Report:
    """Count watches and wake-ups in ZooKeeper, in virtual time.

    Two ways are compared. In the old one, before Kafka had a controller, every broker watches
    everything. In the new one, one controller watches for all brokers.
    """
    report = Report("watches")
    for size in SIZES if brokers is None else ((brokers, partitions),):
        exhibit = measure(*size)
        show(console, exhibit)
        keep(report, exhibit)
        largest = exhibit
    console.print(LEGEND, soft_wrap=True)
    herd, ours = largest.costs[DEATH]
    report.end(
        happened=f"When one of {largest.brokers} brokers with {largest.partitions:,} partitions"
        f" died, {herd.watches_fired:,} watches fired if every broker watches everything, and"
        f" {ours.watches_fired:,} with a controller.",
        why="Without a controller every broker watches every znode and reads it again, but if"
        " there is a controller, only the controller reads, decides, and sends the result to the"
        " brokers.",
        look_next="Read docs/watches.md, and measure another size with"
        f" {command_line('demo watches --brokers 20 --partitions 500')}.",
    )
    return report


def show(console: Console, exhibit: Exhibit) -> None:
    """Print the figures of one size as a table."""
    size = f"{exhibit.brokers} brokers, {exhibit.partitions:,} partitions"
    console.print(
        f"{size}: watches set: {exhibit.watches_herd:,} where everybody watches,"
        f" {exhibit.watches_ours:,} with a controller",
        soft_wrap=True,
    )
    table = Table(box=None, padding=(0, 1, 0, 0))  # so that it fits into eighty columns
    table.add_column("what happens", no_wrap=True)
    table.add_column("who", no_wrap=True)
    for _, heading in COLUMNS:
        table.add_column(heading, justify="right", no_wrap=True)
    for name, (herd, ours) in exhibit.costs.items():
        table.add_row(name, "everybody", *_cells(herd))
        table.add_row("", "controller", *_cells(ours))
    table.add_row("the controller dies", "next one", *_cells(exhibit.controller_dies))
    console.print(table)


def _cells(cost: Cost) -> list[str]:
    return [number(value) for value in cost]


def keep(report: Report, exhibit: Exhibit) -> None:
    """Add the figures of one size to the report, with the target that they must meet.

    With a controller, the number of watches that fire does not grow with the partitions.
    """
    size = f"{exhibit.brokers} brokers, {exhibit.partitions} partitions"
    report.figure(f"{size}: watches set, every broker watches", exhibit.watches_herd)
    report.figure(f"{size}: watches set, controller", exhibit.watches_ours)
    rows = [
        (f"{name}, {who}", cost)
        for name, pair in exhibit.costs.items()
        for who, cost in zip(("everybody watches", "controller"), pair, strict=True)
    ]
    for name, cost in [*rows, ("the controller dies, controller", exhibit.controller_dies)]:
        for (heading, _), value in zip(COLUMNS, cost, strict=True):
            report.figure(f"{size}: {name}: {heading}", value)
    herd, ours = exhibit.costs[DEATH]
    report.target(
        f"{size}: watches that fire when a broker dies, with a controller",
        ours.watches_fired,
        "<=",
        3,
    )
    report.target(
        f"{size}: and if every broker watches, for each of these",
        herd.watches_fired / ours.watches_fired,
        ">=",
        exhibit.partitions / 10,
    )
