"""Print the table of docs/performance.md: `kafka-edu bench failover --table FILE`.

FILE was written by `kafka-edu bench failover --json FILE`.
"""

import json
from pathlib import Path
from typing import Final

from kafka_edu.cli.report import number

#: Row of the table → name of its figure, without the name of the cluster before it.
ROWS: Final = (
    ("creation until every ISR is full, s", "creation until every ISR is full, s"),
    ("SIGTERM: until the process is gone, s", "sigterm, signal until the process is gone, s"),
    ("… longest gap of a partition, s", "sigterm, longest gap of a partition, s"),
    (
        "… added to it by the client library, s",
        "sigterm, part of the gap that the client library adds, s",
    ),
    ("… failed produces, all rounds", "sigterm, failed produces, all rounds"),
    ("kill -9: until the znode is deleted, s", "kill, signal until the znode is deleted, s"),
    (
        "… from then until all leaders are moved, s",
        "kill, from then until all leaders are moved, s",
    ),
    ("… longest gap of a partition, s", "kill, longest gap of a partition, s"),
    (
        "… added to it by the client library, s",
        "kill, part of the gap that the client library adds, s",
    ),
    (
        "kill -9 of the controller: until the znode is deleted, s",
        "controller-kill, signal until the znode is deleted, s",
    ),
    (
        "… from then until all leaders are moved, s",
        "controller-kill, from then until all leaders are moved, s",
    ),
    ("… longest gap of a partition, s", "controller-kill, longest gap of a partition, s"),
    (
        "… added to it by the client library, s",
        "controller-kill, part of the gap that the client library adds, s",
    ),
    (
        "small cluster: znode to first ack, application, median, ms",
        "small, znode to first ack, application, median, ms",
    ),
    ("… p95, ms", "small, znode to first ack, application, p95, ms"),
    ("… raw probe, median, ms", "small, znode to first ack, raw probe, median, ms"),
    ("… raw probe, p95, ms", "small, znode to first ack, raw probe, p95, ms"),
)


def table(path: Path) -> str:
    """Return the table in Markdown, and after it the targets, one on each line.

    A figure that was not measured is shown as a dash.
    """
    document = json.loads(path.read_text(encoding="utf-8"))
    figures = document["figures"]

    def cell(peer: str, figure: str) -> str:
        return number(figures.get(f"{peer}: {figure}"))

    lines = [
        f"| {figures['partitions']:,} partitions | ours | Apache Kafka 2.8.2 |",
        "| --- | --- | --- |",
    ]
    lines += [
        f"| {row} | {cell('ours', figure)} | {cell('kafka', figure)} |" for row, figure in ROWS
    ]
    lines += ["", "| target | measured | must be | |", "| --- | --- | --- | --- |"]
    for target in document["targets"]:
        verdict = "holds" if target["holds"] else "**does not hold**"
        lines.append(
            f"| {target['name']} | {number(target['value'])} | {target['relation']}"
            f" {number(target['target'])} | {verdict} |"
        )
    return "\n".join(lines)
