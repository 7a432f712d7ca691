"""Convert one event to a row of `format("kafka-edu-events")`, in plain Python.

`event_rows` makes Arrow batches of such rows. Exercise 16-8 gives the same rows to a learner's
code, without Spark and without pyarrow. docs/spark-files.md describes the columns.
"""

import json

from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.trace.event import EVENT_TYPES, Envelope, fields_of, plain


def row_of(envelope: Envelope, file: str, *, as_map: bool) -> dict[str, object]:
    """Return the columns of one event by name. With `as_map`, the column `fields` is a list of
    names and texts. Without it, the column is a JSON text.
    """
    own = fields_of(envelope.event)
    api, total = own.get("api_key"), own.get("total_us")
    topic, partition, group = own.get("topic"), own.get("partition"), own.get("group")
    plain_fields = {name: plain(value) for name, value in own.items()}
    return {
        "file": file,
        "time": envelope.wall_ms * 1000,
        "monoUs": envelope.mono_us,
        "source": str(envelope.source),
        "broker": envelope.broker,
        "number": envelope.seq,
        "cause": envelope.cause or None,
        "event": envelope.name,
        "kind": EVENT_TYPES[envelope.name].kind.value,
        "topic": topic if isinstance(topic, str) else None,
        "partition": partition if isinstance(partition, int) else None,
        "group": group if isinstance(group, str) else None,
        "api": _api_name(api) if isinstance(api, int) else None,
        "totalUs": total if isinstance(total, int) else None,
        "fields": _texts(plain_fields) if as_map else json.dumps(plain_fields, ensure_ascii=False),
    }


def _api_name(key: int) -> str:
    return ApiKey(key).title if key in ApiKey._value2member_map_ else f"api {key}"


def _texts(fields: dict[str, object]) -> list[tuple[str, str | None]]:
    """Return the names and values of the fields. A text stays as it is, None becomes null, and any
    other value becomes JSON.
    """
    return [
        (name, value if isinstance(value, str | None) else json.dumps(value, ensure_ascii=False))
        for name, value in fields.items()
    ]
