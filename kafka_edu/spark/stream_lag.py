"""Compute how many records a stream is behind, from the progress that Spark reports after each
micro-batch.

The official connector reports avgOffsetsBehindLatest, maxOffsetsBehindLatest and
minOffsetsBehindLatest in the `metrics` of a source. A Python data source cannot report them: Spark
4.2 takes metrics only from a Java class that implements ReportsSourceMetrics (Spark:
ProgressContext). Spark runs a Python source with its class PythonMicroBatchStream, which does not
implement this interface. It requests only offsets and partitions from the Python process. So Spark
leaves `metrics` empty.

But both connectors report `endOffset` and `latestOffset`, and the difference of the two is the lag.
`with_metrics` fills in the metrics from the lag.
"""

import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.spark.source_errors import CheckpointError
from kafka_edu.spark.source_planning import StreamOffset

#: The names of the official connector's metrics.
METRICS: Final = ("avgOffsetsBehindLatest", "maxOffsetsBehindLatest", "minOffsetsBehindLatest")


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


def with_metrics(progress: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of a query's progress in which each source on topics has the metrics of the
    official connector.

    `progress` is, for example, `query.lastProgress`. A source that has metrics keeps them. A source
    that has read nothing, or whose offsets are not those of topics, gets no metrics. As in the
    official connector, the values are texts.
    """
    return {**progress, "sources": [_with_metrics(source) for source in progress["sources"]]}


def _with_metrics(source: Mapping[str, Any]) -> dict[str, Any]:
    try:
        lag = None if source.get("metrics") else stream_lag(source)
    except CheckpointError:  # these are the offsets of a source that reads no topics
        lag = None
    if lag is None:
        return dict(source)
    return {**source, "metrics": {name: str(getattr(lag, name)) for name in METRICS}}


def _offset(found: object) -> StreamOffset | None:
    if isinstance(found, str):
        found = json.loads(found)
    return StreamOffset.from_json(found) if isinstance(found, dict) else None
