"""List, describe or delete consumer groups, or reset offsets (Kafka: kafka-consumer-groups.sh).

Offsets are reset only while the group has no members. Otherwise the members would commit their own
offsets again. Without --execute, the new offsets are only shown. (Kafka:
ConsumerGroupCommand.scala)
"""

import asyncio
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.tools.group_options import GroupOptions
from kafka_edu.tools.options import (
    NumberError,
    OptionError,
    OptionSet,
    UsageError,
)
from kafka_edu.tools.tool import (
    BROKER_FAILURES,
    ToolCommand,
    ToolError,
    properties_of,
    run_tool,
    text_of,
)

if TYPE_CHECKING:
    from kafka_edu.tools.group_service import GroupService, GroupSummary

PURPOSE: Final = (
    "List all consumer groups, describe a consumer group, delete consumer group info, or reset"
    " consumer group offsets."
)
MISSING: Final = "-"
_OFFSET_WIDTH: Final = 15


class OffsetRow(NamedTuple):
    """A row of the output: one partition of a group, or one member without partitions."""

    topic: str
    partition: str
    current: str
    end: str
    lag: str
    consumer_id: str
    host: str
    client_id: str


class GroupCommand:
    """One run of the tool."""

    def __init__(self, options: GroupOptions, given: OptionSet, service: "GroupService") -> None:
        self._options = options
        self._given = given
        self._service = service

    async def run(self) -> None:
        o, given = self._options, self._given
        if given.has(o.list):
            for group in await self._service.list_groups():
                print(group)
        elif given.has(o.describe):
            await self._describe(given.values(o.group)[0])
        elif given.has(o.delete):
            await self._delete()
        else:
            from kafka_edu.tools.offset_reset import OffsetReset, export_text

            offsets = await OffsetReset(o, given, self._service).run()
            if given.has(o.export):
                print(export_text(offsets))
            else:
                print(f"\n{'TOPIC':<30} {'PARTITION':<10} {'NEW-OFFSET':<15}")
                for tp, offset in offsets.items():
                    print(f"{tp.topic:<30} {tp.partition:<10} {offset:<15}")

    async def _describe(self, group: str) -> None:
        o, given = self._options, self._given
        summary = await self._service.describe(group)
        if given.has(o.members):
            _print_members(group, summary, verbose=given.has(o.verbose))
        elif given.has(o.state):
            _print_state(group, summary)
        else:
            rows = await self._offset_rows(group, summary)
            if _should_print(group, summary.state, len(rows)):
                _print_offsets(rows)

    async def _offset_rows(self, group: str, summary: "GroupSummary") -> list[OffsetRow]:
        """Return the rows for a group: the members' partitions, then partitions without a member.

        The members with the most partitions come first.
        """
        from kafka_edu.protocol.messages.list_offsets import LATEST_TIMESTAMP

        committed = await self._service.committed(group)
        members = (
            sorted((m for m in summary.members if m.assignment), key=lambda m: -len(m.assignment))
            if committed
            else []
        )
        assigned = {
            tp: member
            for member in members
            for tp in sorted(member.assignment, key=lambda tp: tp.partition)
        }
        unassigned = [tp for tp in sorted(committed) if tp not in assigned]
        ends = await self._service.offsets([*assigned, *unassigned], LATEST_TIMESTAMP)
        rows = [
            _row(
                tp,
                committed.get(tp),
                ends.get(tp),
                member.consumer_id,
                member.host,
                member.client_id,
            )
            for tp, member in assigned.items()
        ]
        return rows + [
            _row(tp, committed[tp], ends.get(tp), MISSING, MISSING, MISSING) for tp in unassigned
        ]

    async def _delete(self) -> None:
        errors = await self._service.delete(self._given.values(self._options.group))
        deleted = [group for group, error in errors.items() if error is Errors.NONE]
        listed = ", ".join(f"'{group}'" for group in deleted)
        if len(deleted) == len(errors):
            print(f"Deletion of requested consumer groups ({listed}) was successful.")
            return
        print("Error: Deletion of some consumer groups failed:")
        for group, error in errors.items():
            if error is not Errors.NONE:
                print(f"* Group '{group}' could not be deleted due to: {error.name}")
        if deleted:
            print(f"\nThese consumer groups were deleted successfully: {listed}")


def _row(
    tp: TopicPartition,
    current: int | None,
    end: int | None,
    consumer_id: str,
    host: str,
    client_id: str,
) -> OffsetRow:
    lag = (
        end - current
        if current not in (None, -1) and end is not None and current is not None
        else None
    )
    return OffsetRow(
        tp.topic,
        str(tp.partition),
        _shown(current),
        _shown(end),
        _shown(lag),
        consumer_id,
        host,
        client_id,
    )


def _shown(number: int | None) -> str:
    return MISSING if number is None else str(number)


def _should_print(group: str, state: str, rows: int) -> bool:
    """Return whether there are rows to print. Otherwise print the reason and the group's state."""
    if state == "Dead":
        print(f"Error: Consumer group '{group}' does not exist.")
    elif state == "Empty":
        sys.stderr.write(f"Consumer group '{group}' has no active members.\n")
    elif state in ("PreparingRebalance", "CompletingRebalance"):
        sys.stderr.write(f"Warning: Consumer group '{group}' is rebalancing.\n")
    elif state != "Stable":
        raise ToolError(
            "kafka.common.KafkaException",
            f"Expected a valid consumer group state, but found '{state}'.",
        )
    return state != "Dead" and rows > 0


def _width(least: int, texts: Iterable[str]) -> int:
    return max([least, *map(len, texts)])


def _print_offsets(rows: Sequence[OffsetRow]) -> None:
    topic, consumer, host = (
        _width(_OFFSET_WIDTH, column)
        for column in zip(*((r.topic, r.consumer_id, r.host) for r in rows), strict=True)
    )
    titles = OffsetRow(
        "TOPIC",
        "PARTITION",
        "CURRENT-OFFSET",
        "LOG-END-OFFSET",
        "LAG",
        "CONSUMER-ID",
        "HOST",
        "CLIENT-ID",
    )
    print()
    for r in (titles, *rows):
        print(
            f"{r.topic:<{topic}} {r.partition:<10} {r.current:<15} {r.end:<15} {r.lag:<15}"
            f" {r.consumer_id:<{consumer}} {r.host:<{host}} {r.client_id}"
        )


def _print_members(group: str, summary: "GroupSummary", *, verbose: bool) -> None:
    if not _should_print(group, summary.state, len(summary.members)):
        return
    consumer = _width(15, (m.consumer_id for m in summary.members))
    host = _width(15, (m.host for m in summary.members))
    client = _width(15, (m.client_id for m in summary.members))
    print(
        f"\n{'CONSUMER-ID':<{consumer}} {'HOST':<{host}} {'CLIENT-ID':<{client}}"
        f" {'#PARTITIONS':<15} {'ASSIGNMENT' if verbose else ''}"
    )
    for m in summary.members:
        assignment = _assignment_text(m.assignment) if verbose else ""
        print(
            f"{m.consumer_id:<{consumer}} {m.host:<{host}} {m.client_id:<{client}}"
            f" {len(m.assignment):<15} {assignment}"
        )


def _assignment_text(assignment: Iterable[TopicPartition]) -> str:
    by_topic: dict[str, list[int]] = {}
    for tp in sorted(assignment):
        by_topic.setdefault(tp.topic, []).append(tp.partition)
    return (
        ", ".join(f"{topic}({','.join(map(str, numbers))})" for topic, numbers in by_topic.items())
        or MISSING
    )


def _print_state(group: str, summary: "GroupSummary") -> None:
    if _should_print(group, summary.state, 1):
        node = summary.coordinator
        coordinator = f"{node.host}:{node.port} ({node.id})"
        width = _width(25, [coordinator])
        print(f"\n{'COORDINATOR (ID)':<{width}} {'ASSIGNMENT-STRATEGY':<25} {'STATE':<20} #MEMBERS")
        print(
            f"{coordinator:<{width}} {summary.assignment_strategy:<25} {summary.state:<20}"
            f" {len(summary.members)}"
        )


async def _run(options: GroupOptions, given: OptionSet, properties: Mapping[str, str]) -> None:
    from kafka_edu.tools.admin_client import open_admin
    from kafka_edu.tools.group_service import GroupService

    servers = given.one(options.bootstrap_server)
    try:
        timeout_ms = given.one(options.timeout)
        async with open_admin(
            servers,
            properties,
            "admin",
            # The default of 5 s is for one request. The first connection may take longer.
            timeout_ms=timeout_ms if given.has(options.timeout) else None,
        ) as admin:
            service = GroupService(admin, timeout_ms)
            await GroupCommand(options, given, service).run()
    except (*BROKER_FAILURES, ToolError, NumberError, OptionError) as error:
        print(f"Error: Executing consumer group command failed due to {text_of(error)}")


def main(words: Sequence[str]) -> int:
    """Run the tool. Return 0 even after a failure, as Kafka's tool does.

    The reason is on standard output.
    """
    options = GroupOptions()

    def run() -> int:
        given = options.parser.parse(words)
        if not words:
            raise UsageError(PURPOSE)
        options.check(given)
        asyncio.run(_run(options, given, properties_of(given, options.command_config)))
        return 0

    return run_tool(options.parser, words, run, PURPOSE)


consumer_groups = ToolCommand("consumer-groups", main, PURPOSE)
