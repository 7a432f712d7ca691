"""Find the new offsets when a group is reset (ConsumerGroupCommand.prepareOffsetsToReset; KIP-122).

A given offset (--to-offset, --shift-by, --from-file) must lie within the log. If it is after the
log's end, the end is used; if it is before the log's start, the start is used. In both cases the
tool warns.
"""

import calendar
import re
import time
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.protocol.messages.list_offsets import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP
from kafka_edu.tools.group_options import GroupOptions
from kafka_edu.tools.group_service import GroupService
from kafka_edu.tools.options import OptionSet, UsageError, java_integer, java_long
from kafka_edu.tools.tool import ToolError, illegal_argument, log_line, read_text_file

Offsets = Mapping[TopicPartition, int]
LOGGER: Final = "kafka.admin.ConsumerGroupCommand$"
#: xsd:duration
_DURATION: Final = re.compile(
    r"(-?)P(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?"
)
_DATETIME: Final = re.compile(
    r"(\d{4})-(\d{1,2})-(\d{1,2})T(\d{1,2}):(\d{1,2}):(\d{1,2})\.(\d{1,3})(Z|[+-]\d{2}(?::?\d{2})?)?"
)


class OffsetReset:
    """A reset of one group's offsets."""

    def __init__(self, options: GroupOptions, given: OptionSet, service: GroupService) -> None:
        self._options = options
        self._given = given
        self._service = service

    async def run(self) -> Offsets:
        """Return the new offsets, sorted by topic and partition. With --execute, also commit them.

        A group with members gets no new offsets.
        """
        o, given = self._options, self._given
        group = given.one(o.group)
        state = (await self._service.describe(group)).state
        if state not in ("Empty", "Dead"):
            print(
                f"Error: Assignments can only be reset if the group '{group}' is inactive, but the"
                f" current state is {state}."
            )
            return {}
        offsets = dict(sorted((await self._prepare(group, await self._partitions(group))).items()))
        if given.has(o.execute):
            await self._service.commit(group, offsets)
        return offsets

    async def _partitions(self, group: str) -> list[TopicPartition]:
        o, given = self._options, self._given
        if given.has(o.all_topics):
            return sorted(await self._service.committed(group))
        if given.has(o.topic):
            return [tp for text in given.values(o.topic) for tp in await self._of_topic(text)]
        if given.has(o.from_file):
            return []
        raise UsageError("One of the reset scopes should be defined: --all-topics, --topic.")

    async def _of_topic(self, text: str) -> Sequence[TopicPartition]:
        topic, colon, numbers = text.partition(":")
        if colon:
            return [TopicPartition(topic, java_integer(number)) for number in numbers.split(",")]
        return await self._service.partitions(topic)

    async def _prepare(self, group: str, partitions: Collection[TopicPartition]) -> Offsets:
        o, given = self._options, self._given
        if given.has(o.to_offset):
            return await self._within_logs(dict.fromkeys(partitions, given.one(o.to_offset)))
        if given.has(o.to_earliest):
            return await self._known(partitions, EARLIEST_TIMESTAMP, "starting offset")
        if given.has(o.to_latest):
            return await self._known(partitions, LATEST_TIMESTAMP, "ending offset")
        if given.has(o.shift_by):
            return await self._shifted(group, partitions, given.one(o.shift_by))
        if given.has(o.to_datetime):
            return await self._known(
                partitions, parse_datetime(given.one(o.to_datetime)), "offset by timestamp"
            )
        if given.has(o.by_duration):
            return await self._known(
                partitions, before(time.time(), given.one(o.by_duration)), "offset by timestamp"
            )
        if given.has(o.from_file):
            return await self._within_logs(parse_plan(read_text_file(given.one(o.from_file))))
        if given.has(o.to_current):
            committed = await self._service.committed(group)
            without = [tp for tp in partitions if tp not in committed]
            return {tp: committed[tp] for tp in partitions if tp in committed} | dict(
                await self._known(without, LATEST_TIMESTAMP, "ending offset")
            )
        scenarios = ", ".join(map(str, o.scenarios()))
        raise UsageError(
            f"Option '{o.reset}' requires one of the following scenarios: Set({scenarios})"
        )

    async def _known(
        self, partitions: Collection[TopicPartition], timestamp: int, what: str
    ) -> Offsets:
        offsets = await self._service.offsets(partitions, timestamp)
        for tp in partitions:
            if tp not in offsets:
                raise UsageError(
                    f"Error getting {what} of topic partition: {tp.topic}-{tp.partition}"
                )
        return offsets

    async def _shifted(
        self, group: str, partitions: Collection[TopicPartition], by: int
    ) -> Offsets:
        committed = await self._service.committed(group)
        for tp in partitions:
            if tp not in committed:
                raise illegal_argument(
                    f"Cannot shift offset for partition {tp.topic}-{tp.partition} since there is no"
                    " current committed offset"
                )
        return await self._within_logs({tp: committed[tp] + by for tp in partitions})

    async def _within_logs(self, wanted: Offsets) -> Offsets:
        starts = await self._service.offsets(wanted, EARLIEST_TIMESTAMP)
        ends = await self._service.offsets(wanted, LATEST_TIMESTAMP)
        return {
            tp: _within(tp, offset, starts.get(tp, offset), ends.get(tp, offset))
            for tp, offset in wanted.items()
        }


def _within(tp: TopicPartition, offset: int, start: int, end: int) -> int:
    bound, which = (end, "higher than latest") if offset > end else (start, "lower than earliest")
    if start <= offset <= end:
        return offset
    name = f"{tp.topic}-{tp.partition}"
    log_line(
        "WARN",
        f"New offset ({offset}) is {which} offset for topic partition {name}. Value will be set to"
        f" {bound}",
        LOGGER,
    )
    return bound


def export_text(offsets: Offsets) -> str:
    """Return the offsets as CSV text, which --from-file can read."""
    return "".join(f"{tp.topic},{tp.partition},{offset}\n" for tp, offset in offsets.items())


def parse_plan(text: str) -> Offsets:
    """Parse lines of the form topic,partition,offset. Raises ToolError, NumberError."""
    plan = {}
    for line in text.rstrip("\n").split("\n"):
        fields = [field.strip() for field in line.split(",")]
        if len(fields) != 3:
            raise ToolError("scala.MatchError", f"topic,partition,offset is wanted, not {line}")
        plan[TopicPartition(fields[0], java_integer(fields[1]))] = java_long(fields[2])
    return plan


def parse_datetime(text: str) -> int:
    """Parse `2018-01-31T12:00:00.000` into ms since 1970. Raises ToolError.

    The time is UTC unless a time zone follows.
    """
    found = _DATETIME.fullmatch(text)
    if found is None:
        has_zone = any(sign in text.partition("T")[2] for sign in "+-Z")
        raise ToolError(
            "java.text.ParseException", f'Unparseable date: "{text if has_zone else text + "Z"}"'
        )
    year, month, day, hour, minute, second, milliseconds = (
        int(part) for part in found.groups()[:7]
    )
    zone = found[8] or "Z"
    offset_minutes = (
        0
        if zone == "Z"
        else (int(zone[1:3]) * 60 + int(zone[3:].lstrip(":") or 0)) * (-1 if zone[0] == "-" else 1)
    )
    # As in Java's lenient calendar, the 32nd of January is the 1st of February.
    date = datetime(year, 1, 1, tzinfo=UTC)
    months = date.month - 1 + month - 1
    date = date.replace(year=year + months // 12, month=months % 12 + 1)
    date += timedelta(
        days=day - 1,
        hours=hour,
        minutes=minute - offset_minutes,
        seconds=second,
        milliseconds=milliseconds,
    )
    return round(date.timestamp() * 1000)


def before(now_s: float, duration: str) -> int:
    """Return the time that lies `duration` before now, in ms since 1970. Raises ToolError.

    Months and years have the lengths of the calendar.
    """
    found = _DURATION.fullmatch(duration)
    if found is None or duration.rstrip("T") in ("P", "-P") or duration.endswith("T"):
        raise illegal_argument(duration)
    sign = -1 if found[1] else 1
    years, months, days, hours, minutes = (sign * int(part or 0) for part in found.groups()[1:6])
    now = datetime.fromtimestamp(now_s, UTC)
    total = now.year * 12 + now.month - 1 - (years * 12 + months)
    year, month = divmod(total, 12)
    day = min(now.day, calendar.monthrange(year, month + 1)[1])
    moment = now.replace(year=year, month=month + 1, day=day)
    moment -= timedelta(
        days=days, hours=hours, minutes=minutes, seconds=sign * float(found[7] or 0)
    )
    return round(moment.timestamp() * 1000)
