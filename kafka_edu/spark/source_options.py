"""The options of `format("kafka-edu")`: those of Spark's own Kafka connector, under its names (spec
W2).

kafka.bootstrap.servers   where to ask (required)
subscribe                 topics, separated by commas          } one of
assign                    {"topic": [0, 1, …]} as JSON         } these two
startingOffsets           earliest (batch's default) | latest (streaming's default) | {"topic": {"0": 23, "1": -2}}; -2 earliest, -1 latest
endingOffsets             latest (default) | {"topic": {"0": 50}}; batch only
includeHeaders            false (default) | true: a column `headers` more
failOnDataLoss            true (default) | false: what to do when wanted offsets are gone
maxOffsetsPerTrigger      streaming: at most about so many records a micro-batch
kafka.*                   `kafka.client.id`, `kafka.request.timeout.ms` …: handed to the consumer
"""  # noqa: E501

import json
from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

EARLIEST = -2
LATEST = -1


class SourceOptionError(ValueError):
    """An option is missing or wrong. The text names it and its allowed values."""


class Bound(StrEnum):
    EARLIEST = "earliest"
    LATEST = "latest"


Offsets = dict[str, dict[int, int]]
"""topic → partition → offset."""


class SourceOptions(NamedTuple):
    bootstrap_servers: str
    topics: tuple[str, ...]
    assigned: dict[str, list[int]] | None
    """The partitions selected by `assign`. None if whole topics are subscribed to."""
    starting: Bound | Offsets | None
    ending: Bound | Offsets
    include_headers: bool
    fail_on_data_loss: bool
    max_offsets_per_trigger: int | None
    consumer: dict[str, str]


def _flag(options: Mapping[str, str], name: str, default: bool) -> bool:
    value = options.get(name.lower(), str(default)).lower()
    if value not in ("true", "false"):
        raise SourceOptionError(f"option {name} is {value!r}: it must be true or false")
    return value == "true"


def parse_offsets(text: str, name: str) -> Bound | Offsets:
    """Parse `earliest`, `latest`, or the connector's JSON of topic → partition → offset."""
    if text.lower() in (Bound.EARLIEST, Bound.LATEST):
        return Bound(text.lower())
    try:
        return {
            topic: {int(p): int(offset) for p, offset in partitions.items()}
            for topic, partitions in json.loads(text).items()
        }
    except (ValueError, AttributeError, TypeError) as error:
        raise SourceOptionError(
            f'option {name} is {text!r}: it must be earliest, latest, or JSON like {{"topic":'
            ' {"0": 23}}'
        ) from error


def parse_options(given: Mapping[str, str]) -> SourceOptions:
    """Check all options at once.

    Raises SourceOptionError on the first option that is missing, has an unknown value, or
    contradicts another.
    """
    options = {name.lower(): value for name, value in given.items()}
    servers = options.get("kafka.bootstrap.servers")
    if not servers:
        raise SourceOptionError(
            'option kafka.bootstrap.servers is missing: .option("kafka.bootstrap.servers",'
            ' "127.0.0.1:9092")'
        )
    subscribe, assign = options.get("subscribe"), options.get("assign")
    if (subscribe is None) == (assign is None):
        raise SourceOptionError(
            'give one of the options subscribe ("topic1,topic2") and assign (\'{"topic1": [0,'
            " 1]}')"
        )
    assigned: dict[str, list[int]] | None = None
    if assign is not None:
        try:
            assigned = {
                str(topic): sorted(int(p) for p in partitions)
                for topic, partitions in json.loads(assign).items()
            }
        except (ValueError, AttributeError, TypeError) as error:
            raise SourceOptionError(
                f'option assign is {assign!r}: it must be JSON like {{"topic": [0, 1]}}'
            ) from error
    topics = (
        tuple(sorted(assigned))
        if assigned is not None
        else tuple(sorted({t.strip() for t in (subscribe or "").split(",") if t.strip()}))
    )
    if not topics:
        raise SourceOptionError("no topic is named by subscribe or assign")
    ending = parse_offsets(options.get("endingoffsets", "latest"), "endingOffsets")
    if ending is Bound.EARLIEST:
        raise SourceOptionError("option endingOffsets cannot be earliest")
    limit = options.get("maxoffsetspertrigger")
    if limit is not None and not (limit.isdecimal() and int(limit) > 0):
        raise SourceOptionError(
            f"option maxOffsetsPerTrigger is {limit!r}: it must be a number above 0"
        )
    starting = options.get("startingoffsets")
    return SourceOptions(
        servers,
        topics,
        assigned,
        None if starting is None else parse_offsets(starting, "startingOffsets"),
        ending,
        _flag(options, "includeHeaders", False),
        _flag(options, "failOnDataLoss", True),
        int(limit) if limit else None,
        {
            name[len("kafka.") :].replace(".", "_"): v
            for name, v in options.items()
            if name.startswith("kafka.") and name != "kafka.bootstrap.servers"
        },
    )
