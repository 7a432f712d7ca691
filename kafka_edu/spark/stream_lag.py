"""Compute how many records a stream is behind, from the progress that Spark reports after each
micro-batch.

The official connector reports avgOffsetsBehindLatest, maxOffsetsBehindLatest and
minOffsetsBehindLatest in the `metrics` of a source. A Python data source of PySpark 4.2 cannot
report metrics, so its `metrics` is always empty. But both connectors report `endOffset` and
`latestOffset`, and the difference of the two is the lag.
"""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.spark.source_planning import StreamOffset


class Lag(NamedTuple):
    """How many records a stream has not read yet. The fields have the meanings of the official
    connector's metrics.
    """

    avgOffsetsBehindLatest: float
    maxOffsetsBehindLatest: int
    minOffsetsBehindLatest: int
    by_partition: dict[TopicPartition, int]


def stream_lag(source: Mapping[str, Any]) -> Lag | None:
    """Return the lag of one source. `source` is, for example, `query.lastProgress["sources"][0]`.

    Return None if nothing was read yet. The offsets in `source` may be JSON texts or dicts.
    """
    end, latest = _offset(source.get("endOffset")), _offset(source.get("latestOffset"))
    if end is None or latest is None or not latest.offsets:
        return None
    behind = {
        tp: max(offset - end.offsets.get(tp, 0), 0) for tp, offset in sorted(latest.offsets.items())
    }
    numbers = behind.values()
    return Lag(sum(numbers) / len(numbers), max(numbers), min(numbers), behind)


def _offset(found: object) -> StreamOffset | None:
    if isinstance(found, str):
        found = json.loads(found)
    return StreamOffset.from_json(found) if isinstance(found, dict) else None
